"""The days of the components of a node, out of its history."""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple, Sequence

from plumbline.model.record import Flag
from plumbline.model.series import Day
from plumbline.siblings import DAY_S, KEPT, Rates, compare_days
from plumbline.store.history import Point, SeriesKey

_NOT_ITS_OWN = {Flag.DEGRADED.value, Flag.DRAINING.value, Flag.FAILED_OVER.value}
"""What is known to be slow for a while says nothing about the days before and after."""


class Member(NamedTuple):
    """An expected component among its peers; of low coverage a rate does not speak for it."""

    group: str
    min_coverage: float


Groups = Mapping[tuple[str, str], Member]
"""The expected components by (layer, component); members of one group are peers."""

Points = Mapping[SeriesKey, Sequence[Point]]
"""The records of each series in short, newest first."""


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
            for point in self._points[key]:
                run_id, started_at, rate_Bps, _, _ = point
                if rate_Bps is not None and started_at >= self._since and _speaks(point, member):
                    if run_id not in runs:
                        runs[run_id] = (started_at, {})
                    # newest first: of two in one run the later counts
                    runs[run_id][1].setdefault(key.component, rate_Bps)
        return runs.values()


def kept_since(now: float) -> float:
    """Return how far back the days reach that are kept; both in epoch seconds."""
    return now - KEPT * DAY_S


def in_known_state(flags: str) -> bool:
    """Return whether the words of a point's flags say that its target was slower for a reason."""
    return bool(flags) and not _NOT_ITS_OWN.isdisjoint(flags.split())


def _speaks(point: Point, member: Member) -> bool:
    """Return whether a rate is the component's own: neither contended nor in a known state."""
    quiet = point.coverage is None or point.coverage >= member.min_coverage
    return quiet and not in_known_state(point.flags)
