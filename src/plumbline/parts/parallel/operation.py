"""One operation of one rank: open, start together, move the bytes, flush.

A rank makes one system call after another.  Written bytes are random, so compression gains nothing,
and successive transfers differ in each 4 KiB block, so deduplication gains nothing.

A ``Move`` moves one buffer and returns its bytes; 0 means the end of the file.  Reads get the
buffer in a list, as readv(2) does.  All buffers and arrays are allocated before the start, none
during the calls.  The end of a call is the start of the next, which saves reading the clock twice.

Small transfers may be gathered in memory.  With one buffer a rank fills it, then writes it; with
more, a thread writes one while the rank fills the next, and reading is ahead by as many.  Only
calls of the file system are recorded.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from array import array
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain, islice, repeat
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, PAGESIZE, mmap
from operator import sub
from pathlib import Path
from threading import get_ident
from time import monotonic, time
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Union, cast

from plumbline.model.errors import ToolError, reason_in
from plumbline.model.profile import Calls, durations_of, per_second
from plumbline.model.ranks import Aggregation
from plumbline.model.record import Operation
from plumbline.observe.folders import open_file
from plumbline.parts.parallel.job import Fixed, Job, Result, State

_SHIFT = 8
_DIRECT_POOL = 16 << 20


def sources(transfer: int, direct: bool) -> Iterator[memoryview]:
    """Yield buffers to write, one per transfer, endlessly."""
    # itertools.cycle would copy them into a list first
    return chain.from_iterable(repeat(_aligned(transfer) if direct else _shifted(transfer)))


def landing(transfer: int) -> memoryview:
    """Return a buffer for reading, aligned to a page for O_DIRECT."""
    return memoryview(_memory(_page_multiple(transfer)))[:transfer]


def _shifted(transfer: int) -> list[memoryview]:
    """Return views of one memory area, each shifted by a few bytes; it fits the CPU's cache.

    All shifts are below a page, so all 4 KiB blocks of the views differ.
    """
    memory = memoryview(bytearray(os.urandom(transfer + PAGESIZE)))
    return [memory[start : start + transfer] for start in range(0, PAGESIZE, _SHIFT)]


def _aligned(transfer: int) -> list[memoryview]:
    """Return separate buffers at page boundaries, 16 MiB in total."""
    size = _page_multiple(transfer)
    count = max(2, _DIRECT_POOL // size)
    memory = _memory(size * count)
    for _ in range(size * count // PAGESIZE):
        memory.write(os.urandom(PAGESIZE))
    views = memoryview(memory)
    return [views[size * index : size * index + transfer] for index in range(count)]


def _memory(size: int) -> mmap:
    return mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS)


def _page_multiple(size: int) -> int:
    return -(-size // PAGESIZE) * PAGESIZE


Move = Callable[[Any], int]

_BETWEEN_CLOCKS = 16


class Chunk(NamedTuple):
    """Calls of one loop, from index ``first`` up to ``end``; only their end times are known.

    The first call started at ``began``; each moved ``usual`` bytes except those in ``odd``.
    """

    first: int
    end: int
    began: float
    usual: int
    odd: Mapping[int, int]


class Notes:
    """Calls of a rank, and chunks to convert after the measurement."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.chunks: list[Chunk] = []

    def settle(self) -> None:
        """Convert end times into starts, durations and sizes; calling it again does nothing."""
        while self.chunks:
            _settle(self.calls, self.chunks.pop())


def recorded(move: Move, buffers: Iterator[Any], count: int, notes: Notes, deadline: float) -> None:
    """Make up to ``count`` calls and record each one, by the monotonic clock.

    The calls so far remain, however the loop ends.  The loop itself stores only the end of each
    call, and sizes that differ from the first.
    """
    ends, first = notes.calls.starts, notes.calls.count
    index, size, usual = first, 0, -1
    odd: dict[int, int] = {}
    clock = monotonic
    began = clock()
    try:
        for index, buffer in zip(range(first, first + count), buffers):
            size = move(buffer)
            ends[index] = end = clock()
            if size != usual or end >= deadline:
                usual = size if usual < 0 else usual
                odd[index] = size
                if size == 0 or end >= deadline:
                    break
    finally:
        # an interrupted call has no end
        end = index + bool(index < notes.calls.capacity and ends[index])
        notes.calls.count = end
        notes.chunks.append(Chunk(first, end, began, max(0, usual), odd))
    if size == 0:
        raise _file_ended()


def _settle(calls: Calls, chunk: Chunk) -> None:
    part = slice(chunk.first, chunk.end)
    ends = calls.starts[part]
    starts = array("d", [chunk.began, *ends[:-1]][: len(ends)])
    calls.durations[part] = array("f", map(sub, ends, starts))
    calls.starts[part] = starts
    calls.sizes[part] = array("I", [chunk.usual]) * len(ends)
    for index, size in chunk.odd.items():
        calls.sizes[index] = size


def unrecorded(move: Move, buffers: Iterator[Any], count: int, deadline: float) -> None:
    """Make up to ``count`` calls, which are recorded elsewhere; rarely read the clock."""
    while count > 0 and monotonic() < deadline:
        for buffer in islice(buffers, min(count, _BETWEEN_CLOCKS)):
            if move(buffer) == 0:
                raise _file_ended()
        count -= _BETWEEN_CLOCKS


def _file_ended() -> ToolError:
    return ToolError("the file ended before all its bytes; look who cut it, and whether it is full")


class File(ABC):
    """One file at full size, open for one operation; ``collective`` if all ranks call at once.

    ``put`` writes a piece of any size, ``get`` reads one.
    """

    collective = False
    put: Move
    get: Move

    @abstractmethod
    def sync(self) -> None:
        """Wait until all bytes are on the target."""

    @property
    @abstractmethod
    def position(self) -> Optional[int]:
        """Return the offset of the next call, without waiting for a stuck one."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""


class PosixFile(File):
    """One file at full size, open for one operation of one rank."""

    def __init__(self, path: str, offset: int, write: bool, direct: bool) -> None:
        """Open at ``offset``; raise OSError if that fails, or the path is not a safe file."""
        flags = (os.O_WRONLY if write else os.O_RDONLY) | (os.O_DIRECT if direct else 0)
        self._descriptor = open_file(path, flags)
        if not write:
            drop_cached(self._descriptor)
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        self.put = partial(os.write, self._descriptor)
        self.get = partial(os.readv, self._descriptor)

    def sync(self) -> None:
        """Wait until all bytes are on the target."""
        os.fsync(self._descriptor)

    @property
    def position(self) -> Optional[int]:
        """Return the offset of the next call, without waiting for a stuck one."""
        # proc(5): "pos:\t123"; lseek(2) would wait for a stuck call
        with open(f"/proc/self/fdinfo/{self._descriptor}", encoding="ascii") as fdinfo:
            return int(fdinfo.readline().split()[1])

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def flush(path: str) -> None:
    """Flush a file: wait until all bytes of this client are on the target."""
    descriptor = open_file(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def drop_cached(descriptor: int) -> None:
    """Drop a file from this client's page cache; dirty pages stay.

    posix_fadvise(2) needs no privilege and has no other effect on the system.
    """
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


class _Worker:
    """Executor of tasks one after another, in a thread or immediately."""

    def __init__(self, threaded: bool) -> None:
        self._thread = ThreadPoolExecutor(1) if threaded else None
        # start the thread before the measurement
        self.do(bool).result()

    def do(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a task; the result of the future raises its errors."""
        if self._thread is not None:
            return self._thread.submit(work, *arguments)
        done: Future[Any] = Future()
        done.set_result(work(*arguments))
        return done

    def end(self) -> None:
        if self._thread is not None:
            self._thread.shutdown()


class _Timed:
    """Recorder of calls of the file system, for one thread at a time."""

    def __init__(self, move: Move, calls: Calls) -> None:
        self._move = move
        self._calls = calls

    def __call__(self, buffer: Any) -> int:
        start = monotonic()
        size = self._move(buffer)
        self._calls.add(start, monotonic() - start, size)
        return size


class Buffers:
    """Buffers between small transfers and large calls of the file system."""

    def __init__(self, move: Move, aggregation: Aggregation, calls: Calls) -> None:
        self._move = _Timed(move, calls)
        self._free = [landing(aggregation.size) for _ in range(aggregation.buffers)]
        self._worker = _Worker(threaded=aggregation.buffers > 1)
        self._begun: deque[tuple[Future[Any], memoryview]] = deque()

    def close(self) -> None:
        """Wait for all that was begun; raise the error of a call."""
        try:
            self._finish()
            while self._begun:
                self._begun.popleft()[0].result()
        finally:
            self._worker.end()

    def _finish(self) -> None:
        """Begin the last call."""


class WriteBehind(Buffers):
    """Buffers that gather small transfers into large writes."""

    def __init__(self, move: Move, aggregation: Aggregation, calls: Calls) -> None:
        super().__init__(move, aggregation, calls)
        self._buffer, self._filled = self._free.pop(), 0

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

    def _finish(self) -> None:
        if self._filled:
            self._pass_on()

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


class ReadAhead(Buffers):
    """Buffers that read large pieces ahead for small transfers, ``limit`` bytes in total."""

    def __init__(self, move: Move, aggregation: Aggregation, calls: Calls, limit: int) -> None:
        super().__init__(move, aggregation, calls)
        self._unread = limit
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

    def _next(self) -> None:
        if self._buffer is not None:
            self._free.append(self._buffer)
        while self._free:
            buffer = self._free.pop()
            self._begun.append((self._worker.do(self._read, buffer), buffer))
        read, self._buffer = self._begun.popleft()
        self._filled, self._handed_out = read.result(), 0

    def _read(self, buffer: memoryview) -> int:
        size = min(len(buffer), self._unread)
        moved = self._move([buffer[:size]]) if size else 0
        self._unread -= moved
        return moved


_BETWEEN_VOTES = 64


class Ended(BaseException):
    """Signal to end the run: store the result so far and exit."""


class Work(NamedTuple):
    """Task of one rank: at most ``transfers``; ``vote`` agrees with the ranks of a shared file.

    ``worker`` is rank, client and target.
    """

    worker: tuple[int, str, str]
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
    """Measured part of an operation; the bytes moved are known however it ends.

    All memory is allocated before the start.  ``start`` and ``ended_at`` are seconds of this rank's
    monotonic clock, ``began_at`` is the start in seconds since the epoch.
    """

    def __init__(self, work: Work, file: File) -> None:
        self.state = State.DONE
        self.reason = ""
        self.start = self.ended_at = self.began_at = 0.0
        self.calls = _room_for(work.job)
        self._notes = Notes(self.calls)
        self._work = work
        self._file = file
        self._line = self._gathering()
        self._move, self._buffers = self._moving()

    def make(self, start: float) -> None:
        """Move the bytes; errors become state and reason; only Ended is raised."""
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
            self.state, self.reason = State.FAILED, reason_in(error)
        finally:
            self.ended_at = monotonic()
            self._notes.settle()
        short = self._work.job.fixed is Fixed.DATA and self.bytes < self._requested
        if self.state is State.DONE and short:
            self.state = State.SHORT

    @property
    def bytes(self) -> int:
        """Bytes moved so far."""
        return self.calls.bytes

    @property
    def _requested(self) -> int:
        return self._work.transfers * self._work.job.test.transfer

    def _gathering(self) -> Union[WriteBehind, ReadAhead, None]:
        aggregation = self._work.job.test.aggregation
        if aggregation is None:
            return None
        if self._work.writes:
            return WriteBehind(self._file.put, aggregation, self.calls)
        return ReadAhead(self._file.get, aggregation, self.calls, self._requested)

    def _moving(self) -> tuple[Move, Iterator[Any]]:
        """Return the function that moves a transfer, and its endless buffers."""
        job, through = self._work.job, cast(Any, self._line or self._file)
        if self._work.writes:
            return through.put, sources(job.test.transfer, job.direct and self._line is None)
        return through.get, repeat([landing(job.test.transfer)])

    def _work_off(self, deadline: float) -> None:
        if self._line is None:
            self._loop(deadline)
            return
        try:
            unrecorded(self._move, self._buffers, self._work.transfers, deadline)
        finally:
            self._line.close()

    def _loop(self, deadline: float) -> None:
        remaining = self._work.transfers
        if not self._file.collective:
            recorded(self._move, self._buffers, remaining, self._notes, deadline)
            return
        # all ranks of a shared file must make the same number of calls
        while remaining > 0 and self._work.vote(monotonic() < deadline):
            count = min(remaining, _BETWEEN_VOTES)
            recorded(self._move, self._buffers, count, self._notes, float("inf"))
            remaining -= _BETWEEN_VOTES

    def _sync(self) -> None:
        """Wait for the target, recorded as a call without bytes."""
        start = monotonic()
        self._file.sync()
        self.calls.add(start, monotonic() - start, 0)


def _room_for(job: Job) -> Calls:
    """Return arrays for all calls of one operation: transfers or buffers, and fsync."""
    gathered = job.test.aggregation
    if gathered is not None:
        # a file system may write only part of a buffer
        return Calls(4 * (job.bytes // gathered.size + gathered.buffers) + 2)
    return Calls(job.transfers + 2)


def result_of(work: Work, attempt: Attempt) -> Result:
    """Return the result of an attempt.

    The start times of the calls are made relative to the common start, in place.
    """
    brief = brief_of(work, attempt)
    calls = attempt.calls
    for index in range(calls.count):
        calls.starts[index] = max(0.0, calls.starts[index] - attempt.start)
    return brief._replace(curve=per_second(calls), durations=durations_of(calls))


def brief_of(work: Work, attempt: Attempt) -> Result:
    """Return the result without the curve, which takes seconds for a million calls."""
    calls = attempt.calls
    return Result(
        *work.worker,
        operation=work.operation,
        state=attempt.state,
        reason=attempt.reason,
        bytes=attempt.bytes,
        began_at=attempt.began_at,
        begin_s=max(0.0, calls.starts[0] - attempt.start) if calls.count else 0.0,
        end_s=attempt.ended_at - attempt.start,
    )


def unfinished(work: Work, attempt: Attempt, moved: int) -> Result:
    """Return the result of a read that is stuck in a call after ``moved`` bytes."""
    return Result(
        *work.worker,
        operation=work.operation,
        state=State.SHORT,
        reason=ENDED,
        bytes=moved,
        began_at=attempt.began_at,
        end_s=monotonic() - attempt.start,
    )


def not_begun(work: Work, reason: Optional[str]) -> Result:
    """Return the result of a rank that could not start."""
    return Result(*work.worker, work.operation, State.FAILED, reason or "not begun")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    # two threads may do this at once
    part = path.with_name(f"{path.name}.{get_ident()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
