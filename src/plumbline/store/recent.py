"""Recent history of a group: latest records and samples with their peers.

The rates of a run are ordered once and serve all its members: the cost grows with the records and
not with the square of the peers.

Daily figures have no moment; a time of which they are all that is left has no runs.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.record import Flag, Operation, Record, Scenario, segments_retransmitted
from plumbline.model.series import SAMPLES, Running, Sample, Series
from plumbline.model.statistics import MediansWithout
from plumbline.model.trend import SERVER
from plumbline.model.validation import numbers
from plumbline.parallel.profile import distance
from plumbline.store.database import Selection, series_of
from plumbline.store.history import History, Point, SeriesKey

Shares = list[Optional[float]]
"""One for each record, newest first; None where it is not known, or an old record is damaged."""


def retransmitted(history: History, key: SeriesKey) -> Shares:
    """Return which share of the segments each run of a pair retransmitted."""
    documents = history.documents(key, SAMPLES)
    pairs: Iterator[tuple[Any, Any]] = (
        (document.get("retransmits"), document.get("bytes")) for document in documents
    )
    return [
        segments_retransmitted(segments, moved) if _all_numbers([segments, moved]) else None
        for segments, moved in pairs
    ]


def apart(history: History, key: SeriesKey, profile: Sequence[float]) -> Shares:
    """Return how far each run's profile is from that of the baseline, 0 within its own scatter."""
    details = (document.get("details") for document in history.documents(key, SAMPLES))
    forms = (detail.get("form") if isinstance(detail, dict) else None for detail in details)
    return [_apart(form, profile) for form in forms]


def _apart(form: object, profile: Sequence[float]) -> Optional[float]:
    if not isinstance(form, list) or not _all_numbers(form) or min(form, default=-1) < 0:
        return None
    if not sum(form) > 0:
        return None
    moved = distance(form, profile)
    return moved.share if moved.share > moved.noise else 0.0


def _all_numbers(values: Sequence[object]) -> bool:
    try:
        for value in values:
            numbers(value=value)
    except TypeError:
        return False
    return True


_NOBODY: tuple[Optional[float], int] = (None, 0)
_NOT_ITS_OWN = {Flag.DEGRADED.value, Flag.DRAINING.value, Flag.FAILED_OVER.value}
"""Flags of a passing state, which tells nothing about the time before and after."""


_NOTHING: Mapping[str, Sequence[float]] = MappingProxyType({})


class Member(NamedTuple):
    """An expected component among its peers; of low coverage a rate does not speak for it.

    ``profiles`` are those of its baselines, by ``operation/scenario``.
    """

    group: str
    min_coverage: float
    profiles: Mapping[str, Sequence[float]] = _NOTHING


Groups = Mapping[tuple[str, str], Member]
"""The expected components by (layer, component); members of one group are peers."""


def groups_of(expected: Iterable[Expectation]) -> Groups:
    """Return the group of each component that is expected."""
    return {
        (expectation.layer, expectation.component): Member(
            expectation.group, expectation.limits.min_coverage, _profiles(expectation)
        )
        for expectation in expected
    }


def _profiles(entry: Expectation) -> Mapping[str, Sequence[float]]:
    return {
        key: reference.baseline.profile
        for key, reference in entry.references.items()
        if reference.baseline and reference.baseline.profile
    }


class _Place(NamedTuple):
    """Key of rates of one run that are peers."""

    layer: str
    group: str
    operation: str
    scenario: str


class Rates:
    """The rates of peers in one run, one a component, in bytes per second."""

    def __init__(self, rates: Mapping[str, float]) -> None:
        """Order them once."""
        self._own = rates.get
        self._all = (median(rates.values()), len(rates)) if rates else _NOBODY
        self._others = MediansWithout(rates.values()) if len(rates) > 1 else None

    def beside(self, component: str) -> tuple[Optional[float], int]:
        """Return the median rate of all others, None when there is none, and their number."""
        own = self._own(component)
        if own is None:
            return self._all
        return (self._others.of(own), self._all[1] - 1) if self._others else _NOBODY


class Recent:
    """Recent figures of the components of one node, read when it is made.

    It answers as a :class:`~plumbline.model.series.Snapshot` does.
    """

    def __init__(self, history: History, groups: Groups, before: Optional[Recent] = None) -> None:
        """Read the samples of all that ``groups`` names; raise StoreError when that fails.

        ``before`` was made of the same history and groups: what has not changed since is taken
        from it.
        """
        self._history = history
        self._groups = groups
        # first, so that what comes meanwhile is read again next time
        self._revisions = history.revisions_of(groups)
        self._points: dict[SeriesKey, tuple[Point, ...]] = {}
        self._latest: dict[SeriesKey, Record] = {}
        self._keys: dict[tuple[str, str], list[SeriesKey]] = {}
        for component in groups:
            if before and before._revisions.get(component) == self._revisions.get(component):
                self._take(component, before)
            else:
                self._read(component)
        self._peers = {place: self._of_runs(place, keys) for place, keys in self._places().items()}
        self._built: dict[tuple[str, str], tuple[Series, ...]] = {}
        self.running: tuple[Running, ...] = history.running()

    def settled(self) -> Recent:
        """Return it with all series built, without what they were built from.

        Of a large site that is as much again.  No other can be made of it as ``before``.
        """
        try:
            for component in self._keys:
                self.of(*component)
        except DocumentError:
            # whoever asks for that component gets the error, and the others are built for him then
            return self
        self._points.clear()
        self._peers.clear()
        return self

    def _take(self, component: tuple[str, str], before: Recent) -> None:
        keys = before._keys.get(component, [])
        self._keys[component] = keys
        for key in keys:
            self._points[key] = before._points[key]
            if key in before._latest:
                self._latest[key] = before._latest[key]

    def _read(self, component: tuple[str, str]) -> None:
        keys = list(self._history.series(*component))
        self._keys[component] = keys
        for key in keys:
            self._points[key] = self._history.points(key, SAMPLES)

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return every series of a component.

        Raises:
            DocumentError: its latest record is damaged.
            StoreError: the history cannot be read.
        """
        place = layer, component
        if place not in self._built:
            self._built[place] = tuple(
                Series(self._latest_of(key), self._samples(key))
                for key in self._keys.get(place, ())
            )
        return self._built[place]

    def _latest_of(self, key: SeriesKey) -> Record:
        if key not in self._latest:
            self._latest[key] = self._history.latest(key)
        return self._latest[key]

    def changed_at(self, latest: Record) -> Optional[float]:
        """Return since when a series has the versions of its latest record, in epoch seconds.

        None where all that is remembered has them; raise StoreError when it cannot be read.
        """
        return self._history.changed_at(SeriesKey(*series_of(latest)), SAMPLES)

    def _samples(self, key: SeriesKey) -> tuple[Sample, ...]:
        runs, name, partner = self._peers[self._place(key)], key.component, key.partner or None
        samples = [
            Sample(
                started_at,
                rate,
                coverage,
                *runs[run_id].beside(name),
                partner,
                in_known_state(flags),
            )
            for run_id, started_at, rate, coverage, flags in self._points[key]
        ]
        profile = self._groups[key.layer, name].profiles.get(f"{key.operation}/{key.scenario}")
        if partner:
            shares = retransmitted(self._history, key)
            samples = [sample._replace(retransmitted=of) for sample, of in zip(samples, shares)]
        if profile:
            shares = apart(self._history, key, profile)
            samples = [sample._replace(apart=of) for sample, of in zip(samples, shares)]
        return tuple(samples)

    def _place(self, key: SeriesKey) -> _Place:
        group = self._groups[key.layer, key.component].group
        return _Place(key.layer, group, key.operation, key.scenario)

    def _places(self) -> dict[_Place, list[SeriesKey]]:
        places: dict[_Place, list[SeriesKey]] = {}
        for key in self._points:
            places.setdefault(self._place(key), []).append(key)
        return places

    def _of_runs(self, subject: _Place, keys: Sequence[SeriesKey]) -> dict[str, Rates]:
        """Return the rates of each run by which a sample of these peers can be judged."""
        rates: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for key in keys:
            # oldest first: of two in one run the later counts
            for run_id, _, rate, _, _ in reversed(self._points[key]):
                of_run = rates[run_id]
                if rate is not None:
                    of_run[key.component] = rate
        for run_id in rates.keys() - self._whole(keys):
            rates[run_id] = self._rates_of(run_id, subject)
        return {run_id: Rates(of_run) for run_id, of_run in rates.items()}

    def _whole(self, keys: Sequence[SeriesKey]) -> frozenset[str]:
        """Return the runs of which no peer's record can lie before its oldest sample."""
        windows = [frozenset(point.run_id for point in self._points[key]) for key in keys]
        cut = [runs for key, runs in zip(keys, windows) if len(self._points[key]) >= SAMPLES]
        return frozenset.intersection(*cut) if cut else frozenset().union(*windows)

    def _rates_of(self, run_id: str, subject: _Place) -> dict[str, float]:
        rates = self._history.rates(
            run_id, subject.layer, Operation(subject.operation), Scenario(subject.scenario)
        )
        return {
            component: rate
            for component, rate in rates.items()
            if self._group_of(subject.layer, component) == subject.group
        }

    def _group_of(self, layer: str, component: str) -> Optional[str]:
        member = self._groups.get((layer, component))
        return member and member.group


def in_known_state(flags: str) -> bool:
    """Return whether the words of a point's flags say that its target was slower for a reason."""
    return bool(flags) and not _NOT_ITS_OWN.isdisjoint(flags.split())


MOST_RUNS = 20_000
"""Most runs of a time: an hour of 5,000 targets that are written and read twice each."""


class PastHistory(History):
    """A history without what came later, for reading; use it in a ``with``."""

    def __init__(self, path: Path, until: float) -> None:
        """Open it as it was at a moment, in epoch seconds; raise StoreError if that fails."""
        super().__init__(path)
        for table, column in (("records", "started_at"), ("running", "since")):
            # SQLite looks for a name among temporary ones first (sqlite.org/lang_naming.html); a
            # view takes no bound values
            seen = f"SELECT * FROM main.{table} WHERE {column} <= {float(until)!r}"
            self.change(f"CREATE TEMP VIEW {table} AS {seen}", ())

    def since(self, begin: float) -> list[Record]:
        """Return what was measured since a moment, the first ``MOST_RUNS``."""
        every = self.records(Selection(since=begin))
        runs = islice((record for record in every if record.layer != SERVER), MOST_RUNS)
        return sorted(runs, key=lambda record: record.started_at)
