"""The measured loops: one call after the other, until all bytes are moved or time is up.

``move`` moves one buffer and returns its bytes; 0 means that the file ended.  Nothing is allocated
that outlives a call: buffers and arrays were made before.  A call's end is the next one's start,
which spares one look at the clock.
"""

from __future__ import annotations

from array import array
from itertools import islice
from operator import sub
from time import monotonic
from typing import Any, Callable, Iterator, Mapping, NamedTuple

from plumbline.errors import ToolError
from plumbline.profile.calls import Calls

Move = Callable[[Any], int]

_BETWEEN_CLOCKS = 16


class Chunk(NamedTuple):
    """What one loop has noted: calls from ``first`` up to ``end``, of which only ends are known.

    The first call began at ``began``; each moved ``usual`` bytes but those in ``odd``.
    """

    first: int
    end: int
    began: float
    usual: int
    odd: Mapping[int, int]


class Notes:
    """Where a loop notes its calls: the arrays, and what is to be settled when the clock stops."""

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
    """Bytes moved by calls that nobody notes."""

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
