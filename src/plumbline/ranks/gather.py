"""User-space aggregation, as the library IOBUF did it: few large calls instead of many small ones.

With one buffer a rank fills it, then writes it.  With more, a thread writes one while the rank
fills the next, and reads ahead by as many.  The calls that are noted are those of the file system.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Any, Callable, Optional

from plumbline.profile.calls import Calls
from plumbline.ranks.buffers import landing
from plumbline.ranks.tests import Aggregation

Piece = Callable[[memoryview], int]
"""Moves a piece of any size and returns its bytes."""


class _Worker:
    """Does one thing after the other: in a thread of its own, or at once where there is none."""

    def __init__(self, threaded: bool) -> None:
        self._thread = ThreadPoolExecutor(1) if threaded else None
        # the thread is there before the clock starts
        self.do(bool).result()

    def do(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Begin something; what it raises is raised by the result."""
        if self._thread is not None:
            return self._thread.submit(work, *arguments)
        done: Future[Any] = Future()
        done.set_result(work(*arguments))
        return done

    def end(self) -> None:
        """Wait for what has begun."""
        if self._thread is not None:
            self._thread.shutdown()


class _Timed:
    """Calls the file system and notes it; one thread at a time does."""

    def __init__(self, move: Piece, calls: Calls) -> None:
        self._move = move
        self._calls = calls

    def __call__(self, buffer: memoryview) -> int:
        start = monotonic()
        size = self._move(buffer)
        self._calls.add(start, monotonic() - start, size)
        return size


class WriteBehind:
    """Takes small transfers and writes large ones."""

    def __init__(self, move: Piece, aggregation: Aggregation, calls: Calls) -> None:
        self._move = _Timed(move, calls)
        self._buffer, *self._free = [landing(aggregation.size) for _ in range(aggregation.buffers)]
        self._filled = 0
        self._worker = _Worker(threaded=aggregation.buffers > 1)
        self._begun: deque[tuple[Future[Any], memoryview]] = deque()

    def put(self, view: memoryview) -> int:
        """Take one transfer and return its bytes; raise what an earlier write has raised."""
        taken, size = 0, len(view)
        while taken < size:
            part = min(size - taken, len(self._buffer) - self._filled)
            self._buffer[self._filled : self._filled + part] = view[taken : taken + part]
            self._filled += part
            taken += part
            if self._filled == len(self._buffer):
                self._pass_on()
        return size

    def close(self) -> None:
        """Write what is left and wait for all of it; raise what a write has raised."""
        try:
            if self._filled:
                self._pass_on()
            while self._begun:
                self._begun.popleft()[0].result()
        finally:
            self._worker.end()

    def _pass_on(self) -> None:
        write = self._worker.do(self._write, self._buffer[: self._filled])
        self._begun.append((write, self._buffer))
        if not self._free:
            oldest, buffer = self._begun.popleft()
            oldest.result()
            self._free.append(buffer)
        self._buffer, self._filled = self._free.pop(), 0

    def _write(self, full: memoryview) -> None:
        written = 0
        while written < len(full):
            written += self._move(full[written:])


class ReadAhead:
    """Reads large pieces, ``limit`` bytes in all, ahead of the small ones that it hands out."""

    def __init__(self, move: Piece, aggregation: Aggregation, calls: Calls, limit: int) -> None:
        self._move = _Timed(move, calls)
        self._left = limit
        self._ahead = aggregation.buffers > 1
        self._worker = _Worker(self._ahead)
        self._idle = [landing(aggregation.size) for _ in range(aggregation.buffers)]
        self._begun: deque[tuple[Future[Any], memoryview]] = deque()
        self._buffer: Optional[memoryview] = None
        self._taken = self._filled = 0

    def get(self, buffers: list[memoryview]) -> int:
        """Fill one transfer and return its bytes, fewer at the end of the file."""
        view, given, size = buffers[0], 0, len(buffers[0])
        while given < size:
            if self._taken == self._filled:
                self._next()
            if self._buffer is None or not self._filled:
                break
            part = min(size - given, self._filled - self._taken)
            view[given : given + part] = self._buffer[self._taken : self._taken + part]
            self._taken += part
            given += part
        return given

    def close(self) -> None:
        """Wait for what was begun; raise what a read has raised."""
        try:
            while self._begun:
                self._begun.popleft()[0].result()
        finally:
            self._worker.end()

    def _next(self) -> None:
        if self._buffer is not None:
            self._idle.append(self._buffer)
        while self._idle:
            buffer = self._idle.pop()
            self._begun.append((self._worker.do(self._read, buffer), buffer))
        read, self._buffer = self._begun.popleft()
        self._filled, self._taken = read.result(), 0

    def _read(self, buffer: memoryview) -> int:
        wanted = min(len(buffer), self._left)
        size = self._move(buffer[:wanted]) if wanted else 0
        self._left -= size
        return size
