"""How long single calls took: a histogram that ranks can be added up with, and its quantiles.

Its classes are 2 % wide, so a quantile is right within 1 %; mean and longest are exact.
"""

from __future__ import annotations

from collections import Counter
from math import exp, log
from typing import Iterable, Mapping, NamedTuple, Optional

from plumbline.model.record import Latency
from plumbline.profile.calls import Calls

_CLASSES = 50.0
"""For each factor of e: neighbours differ by 2 %."""

_SHORTEST_S = 1e-9

TENTHS = 10
"""Parts of a decade, in which durations are kept and drawn."""


class Durations(NamedTuple):
    """The calls that moved bytes: how many of each class, all seconds, the longest."""

    classes: Mapping[int, int]
    total_s: float
    longest_s: float


def durations_of(calls: Calls) -> Durations:
    """Return the durations of one rank's calls; those without bytes do not count."""
    classes: Counter[int] = Counter()
    total = longest = 0.0
    for index in range(calls.count):
        if calls.sizes[index]:
            duration = calls.durations[index]
            classes[round(log(max(duration, _SHORTEST_S)) * _CLASSES)] += 1
            total += duration
            longest = max(longest, duration)
    return Durations(classes, total, longest)


def together(ranks: Iterable[Durations]) -> Durations:
    """Return the durations of several ranks as one."""
    classes: Counter[int] = Counter()
    total = longest = 0.0
    for rank in ranks:
        classes.update(rank.classes)
        total += rank.total_s
        longest = max(longest, rank.longest_s)
    return Durations(classes, total, longest)


def latency(durations: Durations) -> Optional[Latency]:
    """Return mean, quantiles and longest; None without calls."""
    count = sum(durations.classes.values())
    if not count:
        return None
    median, late = (_quantile(durations, share * count) for share in (0.5, 0.99))
    return Latency(durations.total_s / count, median, late, durations.longest_s)


def by_tenths(durations: Durations) -> dict[int, int]:
    """Return the number of calls by tenths of a decade: 0 is a second, -10 a tenth of one."""
    found: dict[int, int] = {}
    for place, count in sorted(durations.classes.items()):
        tenth = round(place / _CLASSES / log(10) * TENTHS)
        found[tenth] = found.get(tenth, 0) + count
    return found


def _quantile(durations: Durations, rank: float) -> float:
    seen = 0
    for number in sorted(durations.classes):
        seen += durations.classes[number]
        if seen >= rank:
            return min(exp(number / _CLASSES), durations.longest_s)
    return durations.longest_s
