"""What each day says about the members of a group, each beside its siblings in the same runs.

Siblings of one host share their noise, so each is set against the others of its own run.  One run
is still uncertain, and so is one day: how far a day's figure can be trusted shows in how far apart
the siblings lie on that day, and in how far apart the component's own runs of that day lie.  The
larger of the two is the standard error.
"""

from __future__ import annotations

from math import log, sqrt
from statistics import median
from typing import Iterable, Mapping, NamedTuple, Sequence

from plumbline.model.record import Flag
from plumbline.model.series import Day
from plumbline.store.history import Point, SeriesKey

KEPT = 14
"""Days that are kept of each component."""

_DAY_S = 86400.0
_MAD_TO_SIGMA = 1.4826
"""Median absolute deviation to standard deviation of a normal distribution (Hampel, 1974)."""

_MEDIAN_ERROR = 1.2533
"""Standard error of a median times sqrt(n) / sigma, sqrt(pi / 2); the midmean's is smaller."""

_RUNS_TO_SPREAD = 4
"""Of fewer runs the spread says nothing."""

_NOT_ITS_OWN = {Flag.DEGRADED.value, Flag.FAILED_OVER.value}
"""What is known to be slow for a while says nothing about the days before and after."""


class Member(NamedTuple):
    """An expected component among its peers; of low coverage a rate does not speak for it."""

    group: str
    min_coverage: float


Groups = Mapping[tuple[str, str], Member]
"""The expected components by (layer, component); members of one group are peers."""

Points = Mapping[SeriesKey, Sequence[Point]]
"""The records of each series in short, newest first."""

Rates = Mapping[str, float]
"""The rate of each member of a group that gave one in a run, in bytes per second."""


class Days:
    """The days of all components of a node, found group by group when one of it is asked for."""

    def __init__(self, points: Points, groups: Groups, now: float) -> None:
        """Take the days up to ``now``, in epoch seconds, out of series that reach as far back."""
        self._points = points
        self._groups = groups
        self._since = kept_since(now)
        self._siblings: dict[tuple[str, ...], list[SeriesKey]] = {}
        for key in points:
            self._siblings.setdefault(self._place(key), []).append(key)
        self._known: dict[tuple[str, ...], dict[str, tuple[Day, ...]]] = {}

    def of(self, key: SeriesKey) -> tuple[Day, ...]:
        """Return the days of a series, newest first.

        A network pair has none: its ends have no siblings in the same test.
        """
        if key.partner:
            return ()
        place = self._place(key)
        if place not in self._known:
            self._known[place] = compare_days(self._runs(self._siblings[place]))
        return self._known[place].get(key.component, ())

    def _place(self, key: SeriesKey) -> tuple[str, ...]:
        group = self._groups[key.layer, key.component].group
        return (key.layer, group, key.operation, key.scenario, key.partner)

    def _runs(self, keys: Sequence[SeriesKey]) -> Iterable[tuple[float, Rates]]:
        runs: dict[str, tuple[float, dict[str, float]]] = {}
        for key in keys:
            member = self._groups[key.layer, key.component]
            # of two in one run the later counts
            for point in reversed(self._points[key]):
                rate_Bps = point.rate_Bps
                recent = point.started_at >= self._since
                if rate_Bps is not None and recent and _speaks(point, member):
                    of_run = runs.setdefault(point.run_id, (point.started_at, {}))
                    of_run[1][key.component] = rate_Bps
        return runs.values()


def kept_since(now: float) -> float:
    """Return how far back the days reach that are kept; both in epoch seconds."""
    return now - KEPT * _DAY_S


def _speaks(point: Point, member: Member) -> bool:
    """Return whether a rate is the component's own: neither contended nor in a known state."""
    quiet = point.coverage is None or point.coverage >= member.min_coverage
    return quiet and not (point.flags and _NOT_ITS_OWN.intersection(point.flags.split()))


def compare_days(runs: Iterable[tuple[float, Rates]]) -> dict[str, tuple[Day, ...]]:
    """Return the days of each member, newest first, from runs as (start in epoch seconds, rates).

    Only rates above zero count.  A run with a single member says nothing.
    """
    losses: dict[int, dict[str, list[float]]] = {}
    for started_at, rates in runs:
        for name, loss in _losses(rates).items():
            of_day = losses.setdefault(int(started_at // _DAY_S), {})
            of_day.setdefault(name, []).append(loss)
    days: dict[str, list[Day]] = {}
    for day in sorted(losses, reverse=True)[:KEPT]:
        for name, found in _of_day(day, losses[day]).items():
            days.setdefault(name, []).append(found)
    return {name: tuple(found) for name, found in days.items()}


def _losses(rates: Rates) -> dict[str, float]:
    """Return log(median of the others / own) of each member of a run."""
    ordered = sorted((log(rate), name) for name, rate in rates.items() if rate > 0)
    values = [value for value, _ in ordered]
    if len(values) < 2:
        return {}
    return {
        name: median_without(values, place) - value for place, (value, name) in enumerate(ordered)
    }


def median_without(ordered: Sequence[float], place: int) -> float:
    """Return the median of ascending values, at least two, less the one at ``place``."""
    left = len(ordered) - 1
    upper = left // 2
    value = ordered[upper + (upper >= place)]
    if left % 2:
        return value
    lower = upper - 1
    return (ordered[lower + (lower >= place)] + value) / 2


def _of_day(day: int, losses: Mapping[str, Sequence[float]]) -> dict[str, Day]:
    middles = {name: midmean(found) for name, found in losses.items()}
    spread = _spread(list(middles.values()))
    return {
        name: Day(
            day,
            round(middle, 5),
            round(max(spread, _own_error(losses[name])), 5),
            len(losses[name]),
            len(losses) - 1,
        )
        for name, middle in middles.items()
    }


def midmean(values: Sequence[float]) -> float:
    """Return the mean of the middle half: nearly as steady as a mean, as hard to upset as a median.

    Of fewer than four values it is their mean, but for three the median.
    """
    ordered = sorted(values)
    cut = (len(ordered) + 1) // 4
    middle = ordered[cut : len(ordered) - cut]
    return sum(middle) / len(middle)


def _own_error(losses: Sequence[float]) -> float:
    """Return the standard error of the middle of a component's own runs; 0 of too few."""
    if len(losses) < _RUNS_TO_SPREAD:
        return 0.0
    return _MEDIAN_ERROR * _spread(losses) / sqrt(len(losses))


def _spread(values: Sequence[float]) -> float:
    """Return the standard deviation of values, found so that a few odd ones do not matter."""
    centre = median(values)
    return _MAD_TO_SIGMA * median(abs(value - centre) for value in values)
