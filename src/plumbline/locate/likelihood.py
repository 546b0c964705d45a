"""How well components with what they have left explain rates, as a logarithm of odds.

Sets of one size that all explain what is bad need not be equally likely: good measurements
may all be a little slow, or bad ones differ by more than one remaining capacity makes likely.  A
set is scored against the claim that everything is healthy: by each measurement that it crosses,
with a normal error of its logarithm.  No measurement may count for more than ``MOST_ERRORS``
standard errors either way, because real errors have long tails.
"""

from __future__ import annotations

from math import log
from typing import Iterable, Mapping, Sequence

from plumbline.locate.observation import Observation
from plumbline.locate.parts import Lane, Part, remaining

Expected = Mapping[int, tuple[float, float]]

EQUAL = log(1000)
"""Sets whose odds differ by less than 1000 to 1 are ambiguous."""

MOST_ERRORS = 6.0

_LEAST_BPS = 1.0


def expected(part: Part) -> dict[int, tuple[float, float]]:
    """Return what a part leaves of each measurement that it slows, by index.

    A range of the logarithm of B/s of one flow: from what overhead may take away to all that the
    part has left.
    """
    found: dict[int, tuple[float, float]] = {}
    for lane in part.lanes:
        for index, (low, high) in _of_lane(lane).items():
            before = found.get(index, (low, high))
            found[index] = (min(low, before[0]), min(high, before[1]))
    return found


def _of_lane(lane: Lane) -> dict[int, tuple[float, float]]:
    left = log(remaining(lane))
    found = {}
    for one in lane.members:
        low = left - one.room
        if low < one.needed:
            share = log(one.flows)
            found[one.observation] = (low - share, min(left, one.needed) - share)
    return found


def odds(parts: Iterable[Expected], observations: Sequence[Observation]) -> float:
    """Return the logarithm of the odds of these parts together against a healthy system.

    A measurement that several of them slow is as slow as the slowest of them makes it.
    """
    merged: dict[int, tuple[float, float]] = {}
    for ranges in parts:
        for index, (low, high) in ranges.items():
            before = merged.get(index, (low, high))
            merged[index] = (min(low, before[0]), min(high, before[1]))
    return sum(_gain(observations[index], *range_) for index, range_ in merged.items())


def _gain(observation: Observation, low: float, high: float) -> float:
    measured = log(max(observation.measured_Bps, _LEAST_BPS))
    healthy = abs(measured - log(observation.of.expected_Bps))
    off = max(low - measured, measured - high, 0.0)
    return (_square(healthy / observation.error) - _square(off / observation.error)) / 2


def _square(errors: float) -> float:
    return min(errors, MOST_ERRORS) ** 2
