"""Calls -> bytes in each second from the common start: the instantaneous rate of a run.

As in the instrumented IOR of the Edison report, section III.C, but a call that spans several
seconds counts in each of them in proportion to its time there.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Iterable, Sequence

from plumbline.profile.calls import Calls


def per_second(calls: Calls) -> tuple[float, ...]:
    """Return the bytes moved in each second; the last one may not be a whole second."""
    bins: list[float] = []
    for index in range(calls.count):
        start, size = calls.starts[index], calls.sizes[index]
        end = start + calls.durations[index]
        first, last = int(start), int(end)
        while len(bins) <= last:
            bins.append(0.0)
        if first == last:
            bins[first] += size
        elif size:
            _spread(bins, start, end, size)
    return tuple(bins)


def _spread(bins: list[float], start: float, end: float, size: int) -> None:
    rate = size / (end - start)
    for second in range(int(start), int(end) + 1):
        bins[second] += rate * (min(end, second + 1) - max(start, second))


def added(curves: Iterable[Sequence[float]]) -> tuple[float, ...]:
    """Return the curve of several that ran at once."""
    return tuple(sum(values) for values in zip_longest(*curves, fillvalue=0.0))


def whole_seconds(curve: Sequence[float], seconds: float) -> tuple[float, ...]:
    """Return the curve without the second in which it ended: bytes of those are rates."""
    return tuple(curve[: int(seconds)])
