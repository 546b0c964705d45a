"""What all of a kind gave on each day: the control for what a host, a night or a file system share.

Of a kind are the measurements of one layer, operation and file system that have the same ceiling,
whoever made them: those of one node where a node judges for itself, those of the whole site where
all records are together.
"""

from __future__ import annotations

from collections import defaultdict
from math import hypot
from statistics import median
from typing import Iterable, Mapping, NamedTuple, Sequence

from plumbline.judge.measurement import Values
from plumbline.robust import deviation, error_of_median
from plumbline.units import DAY_S

LEAST = 5
"""Members, of which four are beside each: two slow ones among fewer make all others look fast."""
_MANY = 20
"""Of fewer members, what they differ by for good is not known from themselves alone."""
_DAYS = 3
"""Of fewer days no member's level is known."""

LEAST_SPREAD = 0.015
"""Even a steady measurement is off by this much: caches, zones of disks, timers."""
FEW_APART = 0.05
"""Good members differ by up to this (ORNL's acceptance limit), where nothing better is known."""
_LEAST_APART = 0.01


class Middle(NamedTuple):
    """What all of a kind gave on a day: the median of their logarithms.

    ``spread`` is the standard deviation of what one more value would differ from it by.
    """

    value: float
    spread: float


class Kind(NamedTuple):
    """What all of a kind gave, day by day, counted from the epoch.

    ``apart`` is what the members differ by for good, a standard deviation of logarithms;
    ``usual`` is by how much each differs from the middle on most days.
    """

    days: Mapping[int, Middle]
    apart: float
    usual: Mapping[str, float]

    def spread(self, day: int) -> float:
        """Return by what one value differs from the middle on a day, or on most; there is one."""
        found = self.days.get(day)
        return found.spread if found else median(one.spread for one in self.days.values())


def kind_of(given: Iterable[tuple[str, Values]]) -> Kind:
    """Return what members gave, each with its moments and logarithms, the asking one included."""
    days = _by_day(given)
    levels = {day: members for day, members in days.items() if len(members) >= LEAST}
    middles = {day: _middle(tuple(of_day.values())) for day, of_day in levels.items()}
    beside: defaultdict[str, list[float]] = defaultdict(list)
    for day, of_day in levels.items():
        middle = middles[day].value
        for member, level in of_day.items():
            beside[member].append(level - middle)
    usual = {member: median(found) for member, found in beside.items()}
    known = [usual[member] for member, found in beside.items() if len(found) >= _DAYS]
    return Kind(middles, _apart(known), usual)


def _by_day(given: Iterable[tuple[str, Values]]) -> Mapping[int, Mapping[str, float]]:
    """Return the middle of what each member gave on each day."""
    days: defaultdict[int, dict[str, float]] = defaultdict(dict)
    often: dict[tuple[int, str], list[float]] = {}
    for member, values in given:
        for at, value in values:
            day = int(at // DAY_S)
            of_day = days[day]
            if member in of_day:
                often.setdefault((day, member), [of_day[member]]).append(value)
            else:
                of_day[member] = value
    for (day, member), found in often.items():
        days[day][member] = median(found)
    return days


def _middle(values: Sequence[float]) -> Middle:
    """Return the middle of a day.

    A deviation of few values is too small in the mean (Croux and Rousseeuw, 1992: n / (n - 0.8)),
    and their middle is uncertain itself.
    """
    middle, count = median(values), len(values)
    spread = deviation(values, middle) * count / (count - 0.8)
    return Middle(middle, max(LEAST_SPREAD, hypot(spread, error_of_median(spread, count))))


def _apart(levels: Sequence[float]) -> float:
    """Return what members differ by on most days; at least what good ones may where few tell."""
    if len(levels) < LEAST:
        return FEW_APART
    spread = deviation(levels) * len(levels) / (len(levels) - 0.8)
    return max(spread, _LEAST_APART if len(levels) >= _MANY else FEW_APART)


def day_of(at: float) -> int:
    """Return the day of a moment, in days since the epoch."""
    return int(at // DAY_S)
