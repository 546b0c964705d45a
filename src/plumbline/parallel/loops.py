"""Loops of a rank over buffers: one call after the other, by the system's own calls.

Written bytes are random, so that nothing compresses them, and two transfers in a row differ in each
block of 4 KiB, so that a target which stores equal blocks once gains nothing by it.

``move`` moves one buffer and returns its bytes; 0 means that the file ended.  Nothing is allocated
that outlives a call: buffers and arrays were made before.  A call's end is the next one's start,
which spares one look at the clock.
"""

from __future__ import annotations

import os
from array import array
from functools import partial
from itertools import chain, islice, repeat
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, PAGESIZE, mmap
from operator import sub
from time import monotonic
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence, TypeVar

from plumbline.model.errors import ToolError
from plumbline.observe.folders import open_file
from plumbline.parallel.profile import Calls

_Item = TypeVar("_Item")

_SHIFT = 8
_DIRECT_POOL = 16 << 20


def sources(transfer: int, direct: bool) -> Iterator[memoryview]:
    """Yield the buffers to write, one per transfer, endlessly."""
    return endless(_aligned(transfer) if direct else _shifted(transfer))


def endless(items: Sequence[_Item]) -> Iterator[_Item]:
    """Return the items again and again; itertools.cycle would make a list of them on the way."""
    return chain.from_iterable(repeat(items))


def landing(transfer: int) -> memoryview:
    """Return a buffer for reading, at the start of a page as O_DIRECT needs it."""
    return memoryview(_memory(_whole_pages(transfer)))[:transfer]


def _shifted(transfer: int) -> list[memoryview]:
    """Return views of one piece of memory, each a few bytes further: it stays in the CPU's cache.

    Read at distances below a page, the blocks of 4 KiB in them are all different.
    """
    memory = memoryview(os.urandom(transfer + PAGESIZE))
    return [memory[start : start + transfer] for start in range(0, PAGESIZE, _SHIFT)]


def _aligned(transfer: int) -> list[memoryview]:
    """Return as many separate pieces at page boundaries as 16 MiB hold."""
    size = _whole_pages(transfer)
    count = max(2, _DIRECT_POOL // size)
    memory = _memory(size * count)
    for _ in range(size * count // PAGESIZE):
        memory.write(os.urandom(PAGESIZE))
    views = memoryview(memory)
    return [views[size * index : size * index + transfer] for index in range(count)]


def _memory(size: int) -> mmap:
    return mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS)


def _whole_pages(size: int) -> int:
    return -(-size // PAGESIZE) * PAGESIZE


Move = Callable[[Any], int]

_BETWEEN_CLOCKS = 16


class Chunk(NamedTuple):
    """Calls of one loop, from ``first`` up to ``end``; only their ends are known.

    The first call began at ``began``; each moved ``usual`` bytes but those in ``odd``.
    """

    first: int
    end: int
    began: float
    usual: int
    odd: Mapping[int, int]


class Notes:
    """Calls of a rank: the arrays, and the chunks to settle after the clock stops."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.chunks: list[Chunk] = []

    def settle(self) -> None:
        """Turn ends into starts, durations and sizes; a second time nothing happens."""
        while self.chunks:
            _settle(self.calls, self.chunks.pop())


def recorded(move: Move, buffers: Iterator[Any], count: int, notes: Notes, deadline: float) -> None:
    """Make up to ``count`` calls and note each one, its start by the monotonic clock.

    What was noted stays, whatever ends the loop.  While it runs only the end of each call is kept,
    and sizes other than that of the first one.
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
        # a call that was interrupted has no end
        made = index + bool(index < notes.calls.capacity and ends[index])
        notes.calls.count = made
        notes.chunks.append(Chunk(first, made, began, max(0, usual), odd))
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


class Sum:
    """Bytes moved by calls that are not noted."""

    bytes = 0


def bare(move: Move, buffers: Iterator[Any], count: int, deadline: float, moved: Sum) -> None:
    """Make up to ``count`` calls, note no more than their sum; the clock is read seldom."""
    while count > 0 and monotonic() < deadline:
        size = some = 0
        for buffer in islice(buffers, min(count, _BETWEEN_CLOCKS)):
            size = move(buffer)
            if size == 0:
                break
            some += size
        moved.bytes += some
        if size == 0:
            raise _file_ended()
        count -= _BETWEEN_CLOCKS


def _file_ended() -> ToolError:
    return ToolError("the file ended before all its bytes; look who cut it, and whether it is full")


class PosixFile:
    """One file at full size, open for one operation of one rank."""

    collective = False

    def __init__(self, path: str, offset: int, write: bool, direct: bool) -> None:
        """Open at ``offset``; raise OSError when that fails, or where something else is there."""
        flags = (os.O_WRONLY if write else os.O_RDONLY) | (os.O_DIRECT if direct else 0)
        self._descriptor = open_file(path, flags)
        self._direct = direct
        if not write:
            drop_cached(self._descriptor)
        os.lseek(self._descriptor, offset, os.SEEK_SET)

    def writing(self, transfer: int) -> tuple[Move, Iterator[Any]]:
        """Return the function that writes, and its buffers."""
        return partial(os.write, self._descriptor), sources(transfer, self._direct)

    def reading(self, transfer: int) -> tuple[Move, Iterator[Any]]:
        """Return the function that reads, and its buffer."""
        return partial(os.readv, self._descriptor), repeat([landing(transfer)])

    def put(self, view: memoryview) -> int:
        """Write a piece of any size."""
        return os.write(self._descriptor, view)

    def get(self, view: memoryview) -> int:
        """Read a piece of any size."""
        return os.readv(self._descriptor, [view])

    def sync(self) -> None:
        """Wait until all bytes are on the target."""
        os.fsync(self._descriptor)

    @property
    def position(self) -> Optional[int]:
        """Return the offset of the next call, without waiting for a stuck one."""
        # proc(5): "pos:\t123"; lseek(2) would wait
        with open(f"/proc/self/fdinfo/{self._descriptor}", encoding="ascii") as fdinfo:
            return int(fdinfo.readline().split()[1])

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def flush(path: str) -> None:
    """Flush a file: wait until all bytes from this client are on the target."""
    descriptor = open_file(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def drop_cached(descriptor: int) -> None:
    """Drop one file from this client's page cache; dirty pages stay.

    posix_fadvise(2) needs no privilege and touches nothing else of the system.
    """
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
