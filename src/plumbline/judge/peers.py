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


_Days = tuple[int, ...]


def kind_of(given: Iterable[tuple[str, Values]]) -> Kind:
    """Return what members gave, each with its moments and logarithms, the asking one included."""
    alike = _by_days(given)
    of_days: defaultdict[int, list[float]] = defaultdict(list)
    for days, rows in alike.items():
        for day, column in zip(days, zip(*rows.values())):
            of_days[day] += column
    middles = {day: _middle(found) for day, found in of_days.items() if len(found) >= LEAST}
    usual: dict[str, float] = {}
    known: list[float] = []
    for days, rows in alike.items():
        places = [(place, middles[day].value) for place, day in enumerate(days) if day in middles]
        if places:
            found = {
                member: median([row[place] - middle for place, middle in places])
                for member, row in rows.items()
            }
            usual.update(found)
            known += found.values() if len(places) >= _DAYS else ()
    return Kind(middles, _apart(known), usual)


def _by_days(
    given: Iterable[tuple[str, Values]],
) -> Mapping[_Days, Mapping[str, Sequence[float]]]:
    """Return what members gave on each day, those together that have the same days: most do."""
    every: dict[str, Values] = {}
    for member, values in given:
        every[member] = [*every[member], *values] if member in every else values
    found: defaultdict[_Days, dict[str, Sequence[float]]] = defaultdict(dict)
    for member, values in every.items():
        days = tuple([day_of(at) for at, _ in values])
        row: Sequence[float] = [value for _, value in values]
        if len(set(days)) < len(days):
            days, row = _middles(days, row)
        found[days][member] = row
    return found


def _middles(days: _Days, values: Sequence[float]) -> tuple[_Days, Sequence[float]]:
    """Return each of some days once, with the middle of its values."""
    found: dict[int, list[float]] = {}
    for day, value in zip(days, values):
        found.setdefault(day, []).append(value)
    return tuple(found), [median(each) for each in found.values()]


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
