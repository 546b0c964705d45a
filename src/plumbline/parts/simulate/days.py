"""Simulated days: when they end, when runs of a layer start, and the slots of host pairs."""

from __future__ import annotations

from math import ceil
from typing import Iterator

from plumbline.model.units import DAY_S
from plumbline.plan.capture import LAST_RUNS

FIRST_DAY = 20454
"""The day after those of the baselines, in days since the epoch: 2026-01-01."""

_HOUR_S = 7200.0
"""Runs begin at two in the night, as in the default policy."""


def end_of(day: int) -> float:
    """Return the end of a day, the first of which is 1, in epoch seconds."""
    return (FIRST_DAY + day) * DAY_S


def starts(day: int, period_s: float) -> Iterator[float]:
    """Yield the starts of a layer's runs on a day; one of them is on the first day."""
    begin, end = end_of(day - 1), end_of(day)
    first = FIRST_DAY * DAY_S + _HOUR_S
    number = max(-LAST_RUNS, ceil((begin - first) / period_s))
    while first + number * period_s < end:
        yield first + number * period_s
        number += 1


def slots(day: int, slot_s: float) -> Iterator[int]:
    """Yield the numbers of the slots of host pairs that begin on a day."""
    number = ceil(end_of(day - 1) / slot_s)
    while number * slot_s < end_of(day):
        yield number
        number += 1
