"""The measured loops: one call after the other, until all bytes are moved or time is up.

``move`` moves one buffer and returns its bytes; 0 means that the file ended.  Nothing is allocated
that outlives a call: buffers and arrays were made before, and a finished call's end is the next
one's start, which spares one look at the clock.
"""

from __future__ import annotations

from itertools import islice
from time import monotonic
from typing import Any, Callable, Iterator

from plumbline.errors import ToolError
from plumbline.profile.calls import Calls

Move = Callable[[Any], int]

_BETWEEN_CLOCKS = 16


def recorded(move: Move, buffers: Iterator[Any], count: int, calls: Calls, deadline: float) -> None:
    """Make up to ``count`` calls and note each one, its start by the monotonic clock.

    What was noted stays, whatever ends the loop.
    """
    starts, durations, sizes = calls.starts, calls.durations, calls.sizes
    index = calls.count
    clock = monotonic
    start = clock()
    try:
        for buffer in islice(buffers, count):
            size = move(buffer)
            end = clock()
            starts[index] = start
            durations[index] = end - start
            sizes[index] = size
            index += 1
            if size == 0:
                raise _file_ended()
            if end >= deadline:
                break
            start = end
    finally:
        calls.count = index


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
