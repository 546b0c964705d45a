"""What all of a kind gave on each day: the control for what a host, a night or a file system share.

Of a kind are the measurements of one layer, operation and file system that have the same ceiling,
whoever made them: those of one node where a node judges for itself, those of the whole site where
all records are together.
"""

from __future__ import annotations

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


class Kinds:
    """Collects what was measured, by kind; the key of a kind is the caller's."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._values: dict[object, list[tuple[str, Values]]] = {}
        self._found: dict[object, Kind] = {}

    def add(self, kind: object, member: str, values: Values) -> None:
        """Take in what a member gave; it is not to be changed any more."""
        self._values.setdefault(kind, []).append((member, values))

    def of(self, kind: object) -> Kind:
        """Return what all of a kind gave, the asking member included."""
        if kind not in self._found:
            self._found[kind] = _kind(_by_day(self._values.get(kind, ())))
        return self._found[kind]


def _by_day(given: Iterable[tuple[str, Values]]) -> Mapping[int, Sequence[tuple[str, float]]]:
    """Return what members gave on each day."""
    days: dict[int, list[tuple[str, float]]] = {}
    for member, values in given:
        for at, value in values:
            days.setdefault(int(at // DAY_S), []).append((member, value))
    return days


def _levels(of_day: Sequence[tuple[str, float]]) -> Mapping[str, float]:
    """Return the middle of what each member gave on a day."""
    once = dict(of_day)
    if len(once) == len(of_day):
        return once
    members: dict[str, list[float]] = {}
    for member, value in of_day:
        members.setdefault(member, []).append(value)
    return {member: median(values) for member, values in members.items()}


def _kind(days: Mapping[int, Sequence[tuple[str, float]]]) -> Kind:
    known = {day: _levels(of_day) for day, of_day in days.items()}
    levels = {day: members for day, members in known.items() if len(members) >= LEAST}
    middles = {day: _middle(tuple(of_day.values())) for day, of_day in levels.items()}
    beside: dict[str, list[float]] = {}
    for day, of_day in levels.items():
        middle = middles[day].value
        for member, level in of_day.items():
            beside.setdefault(member, []).append(level - middle)
    usual = {member: median(found) for member, found in beside.items()}
    return Kind(middles, _apart(tuple(beside.values())), usual)


def _middle(values: Sequence[float]) -> Middle:
    """Return the middle of a day.

    A deviation of few values is too small in the mean (Croux and Rousseeuw, 1992: n / (n - 0.8)),
    and their middle is uncertain itself.
    """
    middle, count = median(values), len(values)
    spread = deviation(values, middle) * count / (count - 0.8)
    return Middle(middle, max(LEAST_SPREAD, hypot(spread, error_of_median(spread, count))))


def _apart(members: Sequence[Sequence[float]]) -> float:
    """Return what members differ by on most days; at least what good ones may where few tell."""
    levels = [median(found) for found in members if len(found) >= _DAYS]
    if len(levels) < LEAST:
        return FEW_APART
    spread = deviation(levels) * len(levels) / (len(levels) - 0.8)
    return max(spread, _LEAST_APART if len(levels) >= _MANY else FEW_APART)


def day_of(at: float) -> int:
    """Return the day of a moment, in days since the epoch."""
    return int(at // DAY_S)
