"""One operation of one rank: open, start together, move the bytes, flush.

With one buffer a rank fills it, then writes it.  With more, a thread writes one while the rank
fills the next, and reads ahead by as many.  The calls that are noted are those of the file system.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import repeat
from time import monotonic, time
from typing import Any, Callable, Iterator, NamedTuple, Optional, Protocol, Union

from plumbline.model.errors import ToolError
from plumbline.model.record import Operation
from plumbline.parallel.job import Fixed, Job, Result, State
from plumbline.parallel.loops import Move, Notes, Sum, bare, landing, recorded, sources
from plumbline.parallel.profile import Calls, durations_of, per_second
from plumbline.parallel.terms import Aggregation

Piece = Callable[[memoryview], int]
"""Moves a piece of any size and returns its bytes."""


class _Worker:
    """Executor of one task after the other, in a thread or at once."""

    def __init__(self, threaded: bool) -> None:
        self._thread = ThreadPoolExecutor(1) if threaded else None
        # the thread is there before the clock starts
        self.do(bool).result()

    def do(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Begin a task; its errors are raised by the result."""
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
    """Calls of the file system with their times; one thread at a time."""

    def __init__(self, move: Piece, calls: Calls) -> None:
        self._move = move
        self._calls = calls

    def __call__(self, buffer: memoryview) -> int:
        start = monotonic()
        size = self._move(buffer)
        self._calls.add(start, monotonic() - start, size)
        return size


class WriteBehind:
    """Buffers that gather small transfers into large writes."""

    def __init__(self, move: Piece, aggregation: Aggregation, calls: Calls) -> None:
        self._move = _Timed(move, calls)
        self._buffer, *self._free = [landing(aggregation.size) for _ in range(aggregation.buffers)]
        self._filled = 0
        self._worker = _Worker(threaded=aggregation.buffers > 1)
        self._begun: deque[tuple[Future[Any], memoryview]] = deque()

    def put(self, view: memoryview) -> int:
        """Take one transfer and return its bytes; raise the error of an earlier write."""
        done, size = 0, len(view)
        while done < size:
            part = min(size - done, len(self._buffer) - self._filled)
            self._buffer[self._filled : self._filled + part] = view[done : done + part]
            self._filled += part
            done += part
            if self._filled == len(self._buffer):
                self._pass_on()
        return size

    def close(self) -> None:
        """Write the rest and wait for all of it; raise the error of a write."""
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
    """Buffers that read large pieces ahead of small transfers, ``limit`` bytes in all."""

    def __init__(self, move: Piece, aggregation: Aggregation, calls: Calls, limit: int) -> None:
        self._move = _Timed(move, calls)
        self._unread = limit
        self._ahead = aggregation.buffers > 1
        self._worker = _Worker(self._ahead)
        self._idle = [landing(aggregation.size) for _ in range(aggregation.buffers)]
        self._begun: deque[tuple[Future[Any], memoryview]] = deque()
        self._buffer: Optional[memoryview] = None
        self._handed_out = self._filled = 0

    def get(self, buffers: list[memoryview]) -> int:
        """Fill one transfer and return its bytes, fewer at the end of the file."""
        view, done, size = buffers[0], 0, len(buffers[0])
        while done < size:
            if self._handed_out == self._filled:
                self._next()
            if self._buffer is None or not self._filled:
                break
            part = min(size - done, self._filled - self._handed_out)
            view[done : done + part] = self._buffer[self._handed_out : self._handed_out + part]
            self._handed_out += part
            done += part
        return done

    def close(self) -> None:
        """Wait for the reads ahead; raise the error of a read."""
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
        self._filled, self._handed_out = read.result(), 0

    def _read(self, buffer: memoryview) -> int:
        size = min(len(buffer), self._unread)
        moved = self._move(buffer[:size]) if size else 0
        self._unread -= moved
        return moved


_BETWEEN_VOTES = 64


class Ended(BaseException):
    """Signal to end the run: keep the result so far and exit."""


class File(Protocol):
    """One file, open for one operation; ``collective`` is True for collective MPI-IO."""

    collective: bool

    def writing(self, transfer: int) -> tuple[Move, Iterator[Any]]:
        """Return the function that writes, and its buffers."""
        ...

    def reading(self, transfer: int) -> tuple[Move, Iterator[Any]]:
        """Return the function that reads, and its buffer."""
        ...

    def put(self, view: memoryview) -> int:
        """Write a piece of any size."""
        ...

    def get(self, view: memoryview) -> int:
        """Read a piece of any size."""
        ...

    def sync(self) -> None:
        """Wait until all bytes are on the target."""
        ...

    @property
    def position(self) -> Optional[int]:
        """Return the offset of the next call, None if unknown."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class Work(NamedTuple):
    """Task of one rank: ``transfers`` at most; ``vote`` asks the ranks of a shared file."""

    operation: Operation
    job: Job
    transfers: int
    vote: Callable[[bool], bool]

    @property
    def writes(self) -> bool:
        """True if bytes go to the target."""
        return self.operation is Operation.WRITE


ENDED = "the run was ended while this rank was at work"


class Attempt:
    """The measured part; the bytes moved are known after any end.

    All memory is made before the start.  ``start`` and ``ended_at`` are seconds of this rank's
    monotonic clock, ``began_at`` is the start in seconds since the epoch.
    """

    def __init__(self, work: Work, file: File) -> None:
        self.state = State.DONE
        self.reason = ""
        self.start = self.ended_at = self.began_at = 0.0
        self.calls = _room_for(work.job)
        self._moved = Sum()
        self._notes = Notes(self.calls)
        self._work = work
        self._file = file
        self._line = self._gathering()
        self._move, self._buffers = self._moving()

    def make(self, start: float) -> None:
        """Move the bytes; errors are kept as state and reason, and only Ended is raised."""
        self.start = self.ended_at = start
        self.began_at = time() - (monotonic() - start)
        try:
            self._work_off(start + self._work.job.seconds)
            if self._work.writes:
                self._sync()
        except Ended:
            self.state, self.reason = State.ENDED, ENDED
            raise
        except (OSError, ToolError, RuntimeError) as error:
            # MPI.Exception is a RuntimeError
            self.state, self.reason = State.FAILED, str(error)
        finally:
            self.ended_at = monotonic()
            self._notes.settle()
        short = self._work.job.fixed is Fixed.DATA and self.bytes < self._asked
        if self.state is State.DONE and short:
            self.state = State.SHORT

    @property
    def bytes(self) -> int:
        """All bytes moved so far."""
        if self._line is None and not self._work.job.instrument:
            return self._moved.bytes
        return self.calls.bytes

    @property
    def _asked(self) -> int:
        return self._work.transfers * self._work.job.test.transfer

    def _gathering(self) -> Union[WriteBehind, ReadAhead, None]:
        aggregation = self._work.job.test.aggregation
        if aggregation is None:
            return None
        if self._work.writes:
            return WriteBehind(self._file.put, aggregation, self.calls)
        return ReadAhead(self._file.get, aggregation, self.calls, self._asked)

    def _moving(self) -> tuple[Move, Iterator[Any]]:
        transfer = self._work.job.test.transfer
        if isinstance(self._line, WriteBehind):
            return self._line.put, sources(transfer, direct=False)
        if isinstance(self._line, ReadAhead):
            return self._line.get, repeat([landing(transfer)])
        if self._work.writes:
            return self._file.writing(transfer)
        return self._file.reading(transfer)

    def _work_off(self, deadline: float) -> None:
        if self._line is None:
            self._loop(deadline)
            return
        try:
            bare(self._move, self._buffers, self._work.transfers, deadline, self._moved)
        finally:
            self._line.close()

    def _loop(self, deadline: float) -> None:
        remaining = self._work.transfers
        if not self._file.collective:
            self._some(remaining, deadline)
            return
        # all ranks of a shared file must make as many calls
        while remaining > 0 and self._work.vote(monotonic() < deadline):
            self._some(min(remaining, _BETWEEN_VOTES), float("inf"))
            remaining -= _BETWEEN_VOTES

    def _some(self, count: int, deadline: float) -> None:
        if self._work.job.instrument:
            recorded(self._move, self._buffers, count, self._notes, deadline)
        else:
            bare(self._move, self._buffers, count, deadline, self._moved)

    def _sync(self) -> None:
        """Wait for the target: a call that moves nothing."""
        start = monotonic()
        self._file.sync()
        self.calls.add(start, monotonic() - start, 0)


def _room_for(job: Job) -> Calls:
    """Return arrays for all calls of one operation: transfers or buffers, and fsync."""
    gathered = job.test.aggregation
    if gathered is not None:
        # a file system may take a part of a piece only
        return Calls(4 * (job.bytes // gathered.size + gathered.buffers) + 2)
    return Calls(job.transfers + 2 if job.instrument else 2)


def result_of(work: Work, attempt: Attempt, worker: tuple[int, str, str]) -> Result:
    """Return the result of an attempt; ``worker`` is rank, client and target.

    The calls are moved to the common start in place.
    """
    brief = brief_of(work, attempt, worker)
    calls = attempt.calls
    for index in range(calls.count):
        calls.starts[index] = max(0.0, calls.starts[index] - attempt.start)
    return brief._replace(curve=per_second(calls), durations=durations_of(calls))


def brief_of(work: Work, attempt: Attempt, worker: tuple[int, str, str]) -> Result:
    """Return the result without its curve, which takes seconds for a million calls."""
    calls = attempt.calls
    return Result(
        *worker,
        operation=work.operation,
        state=attempt.state,
        reason=attempt.reason,
        bytes=attempt.bytes,
        began_at=attempt.began_at,
        begin_s=max(0.0, calls.starts[0] - attempt.start) if calls.count else 0.0,
        end_s=attempt.ended_at - attempt.start,
    )


def unfinished(work: Work, attempt: Attempt, worker: tuple[int, str, str], moved: int) -> Result:
    """Return the result of a read that waits in a call for good, after ``moved`` bytes."""
    return Result(
        *worker,
        operation=work.operation,
        state=State.SHORT,
        reason=ENDED,
        bytes=moved,
        began_at=attempt.began_at,
        end_s=monotonic() - attempt.start,
    )


def not_begun(operation: Operation, worker: tuple[int, str, str], reason: Optional[str]) -> Result:
    """Return the result of a rank that could not begin."""
    return Result(*worker, operation=operation, state=State.FAILED, reason=reason or "not begun")
