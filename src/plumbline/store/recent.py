"""Recent history of a node's components: latest records, and samples with their peers.

The rates of a run are sorted once for all its members, so that the cost grows with the number of
records, not with the square of the peers.

Daily figures are no runs: a period that has only daily figures has none.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from itertools import islice
from marshal import dumps
from math import nan
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.profile import distance
from plumbline.model.record import (
    Flag,
    Operation,
    Record,
    Scenario,
    segments_retransmitted,
)
from plumbline.model.series import SAMPLES, Running, Samples, Series
from plumbline.model.statistics import MediansWithout
from plumbline.model.trend import NOT_MEASURED
from plumbline.model.validation import numbers
from plumbline.store.database import Selection, read_record, series_of
from plumbline.store.history import History, Point, SeriesKey

Shares = list[Optional[float]]
"""One share per record, newest first; None if unknown, or if an old record is damaged."""


def retransmit_shares(history: History, key: SeriesKey) -> Shares:
    """Return the share of retransmitted segments in each run of a pair."""
    documents = history.documents(key, SAMPLES)
    pairs: Iterator[tuple[Any, Any]] = (
        (document.get("retransmits"), document.get("bytes")) for document in documents
    )
    return [
        segments_retransmitted(segments, moved) if _all_numbers([segments, moved]) else None
        for segments, moved in pairs
    ]


def profile_distances(history: History, key: SeriesKey, profile: Sequence[float]) -> Shares:
    """Return the distance of each run's profile from the baseline's, 0 within its own scatter."""
    details = (document.get("details") for document in history.documents(key, SAMPLES))
    forms = (detail.get("form") if isinstance(detail, dict) else None for detail in details)
    return [_profile_distance(form, profile) for form in forms]


def _profile_distance(form: object, profile: Sequence[float]) -> Optional[float]:
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
_TEMPORARY = {Flag.DEGRADED.value, Flag.DRAINING.value, Flag.FAILED_OVER.value}
"""Flags of a temporary state, which shows nothing about other runs."""


_NOTHING: Mapping[str, Sequence[float]] = MappingProxyType({})

_OFTEN_EQUAL = [
    *map(
        Record._fields.index,
        ("run_id", "layer", "component", "host", "path", "tool", "spec_hash"),
    )
]
"""Places of the fields that are equal in many records of a site."""
_MAPPINGS = [*map(Record._fields.index, ("spec", "versions"))]
_PROFILE = Record._fields.index("profile")


class Member(NamedTuple):
    """An expected component of a peer group.

    Rates below ``min_coverage`` do not count; ``profiles`` are those of its baselines, by
    ``operation/scenario``.
    """

    group: str
    min_coverage: float
    profiles: Mapping[str, Sequence[float]] = _NOTHING


Groups = Mapping[tuple[str, str], Member]
"""The expected components by (layer, component); members of one group are peers."""


def groups_of(expected: Iterable[Expectation]) -> Groups:
    """Return the group membership of each expected component."""
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


class _PeerKey(NamedTuple):
    """Key of the rates of one run that are peers."""

    layer: str
    group: str
    operation: str
    scenario: str


class Rates:
    """The rates of peers in one run, one per component, in bytes per second."""

    def __init__(self, rates: Mapping[str, float]) -> None:
        """Sort the rates once."""
        self._own = rates.get
        self._all = (median(rates.values()), len(rates)) if rates else _NOBODY
        self._others = MediansWithout(rates.values()) if len(rates) > 1 else None

    def others(self, component: str) -> tuple[Optional[float], int]:
        """Return the median rate of all others, None if there are none, and their number."""
        own = self._own(component)
        if own is None:
            return self._all
        return (self._others.of(own), self._all[1] - 1) if self._others else _NOBODY


class Recent:
    """Recent series of one node's components, read at construction.

    Has the interface of :class:`~plumbline.model.series.Snapshot`.
    """

    def __init__(self, history: History, groups: Groups, before: Optional[Recent] = None) -> None:
        """Read the samples of all components in ``groups``; raise StoreError if that fails.

        ``before`` is of the same history and groups; components without changes are taken from it.
        """
        self._history = history
        self._groups = groups
        self._points: dict[SeriesKey, tuple[Point, ...]] = {}
        # parsed when needed, and not one by one between queries, which takes a third longer
        self._bodies: dict[SeriesKey, object] = {}
        self._latest: dict[SeriesKey, Record] = {}
        self._shared: dict[Any, Any] = {}
        self._keys: dict[tuple[str, str], list[SeriesKey]] = {}
        self._built: dict[tuple[str, str], tuple[Series, ...]] = {}
        with history.transaction("DEFERRED"):
            self._revisions = history.revisions_of(groups)
            for component in groups:
                if before and before._revisions.get(component) == self._revisions.get(component):
                    self._copy(component, before)
                else:
                    self._read(component)
            self._peers = {
                place: self._of_runs(place, keys) for place, keys in self._places().items()
            }
            self.running: tuple[Running, ...] = history.running()

    def without_sources(self) -> Recent:
        """Build all series and drop their sources, which halves the memory of a large site.

        The result can no longer be used as ``before``.
        """
        try:
            for component in self._keys:
                self.of(*component)
        except DocumentError:
            # keep the sources: the caller gets the error when asking for that component
            return self
        for source in (self._points, self._bodies, self._peers, self._keys, self._latest):
            source.clear()
        return self

    def _copy(self, component: tuple[str, str], before: Recent) -> None:
        keys = before._keys.get(component, [])
        self._keys[component] = keys
        for key in keys:
            self._points[key] = before._points[key]
            self._bodies[key] = before._bodies[key]
            if key in before._latest:
                self._latest[key] = before._latest[key]

    def _read(self, component: tuple[str, str]) -> None:
        bodies = self._history.series(*component)
        self._bodies.update(bodies)
        self._keys[component] = list(bodies)
        for key in bodies:
            self._points[key] = self._history.points(key, SAMPLES)

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return all series of a component.

        Raises:
            DocumentError: the latest record of a series is damaged.
            StoreError: the history cannot be read.
        """
        component_key = layer, component
        if component_key not in self._built:
            self._built[component_key] = tuple(
                Series(self._latest_of(key), self._samples(key))
                for key in self._keys.get(component_key, ())
            )
        return self._built[component_key]

    def _latest_of(self, key: SeriesKey) -> Record:
        if key not in self._latest:
            record = read_record(self._bodies[key], self._history.path)
            self._latest[key] = self._light(record)
        return self._latest[key]

    def _light(self, record: Record) -> Record:
        """Return a record whose parts are those of an earlier one where they are equal.

        Its profile is left out, which no judge reads.
        """
        values: list[Any] = [*record]
        same = self._shared.setdefault
        for place in _OFTEN_EQUAL:
            values[place] = same(values[place], values[place])
        for place in _MAPPINGS:
            # format 2 distinguishes 1, 1.0 and True
            values[place] = values[place] and same(dumps(values[place], 2), values[place])
        values[_PROFILE] = ()
        return Record._make(values)

    def changed_at(self, latest: Record) -> Optional[float]:
        """Return the time since a series has the versions of its latest record, in epoch seconds.

        None if all its recent records have them; raise StoreError if the history cannot be read.
        """
        return self._history.changed_at(SeriesKey(*series_of(latest)), SAMPLES)

    def _samples(self, key: SeriesKey) -> Samples:
        runs, name = self._peers[self._place(key)], key.component
        profile = self._groups[key.layer, name].profiles.get(f"{key.operation}/{key.scenario}")
        numbers: list[float] = []
        # half a million samples
        for run_id, started_at, rate, coverage, flags in self._points[key]:
            peers_rate, peers = runs[run_id].others(name)
            numbers += (
                started_at,
                nan if rate is None else rate,
                nan if coverage is None else coverage,
                nan if peers_rate is None else peers_rate,
                peers,
                flags != "" and in_known_state(flags),
                nan,
                nan,
            )
        samples = Samples(array("d", numbers), key.partner or None)
        if key.partner:
            samples = samples.having("retransmitted", retransmit_shares(self._history, key))
        if profile:
            samples = samples.having("apart", profile_distances(self._history, key, profile))
        return samples

    def _place(self, key: SeriesKey) -> _PeerKey:
        group = self._groups[key.layer, key.component].group
        return _PeerKey(key.layer, group, key.operation, key.scenario)

    def _places(self) -> dict[_PeerKey, list[SeriesKey]]:
        places: dict[_PeerKey, list[SeriesKey]] = {}
        for key in self._points:
            places.setdefault(self._place(key), []).append(key)
        return places

    def _of_runs(self, peers: _PeerKey, keys: Sequence[SeriesKey]) -> dict[str, Rates]:
        """Return the rates of each run that the samples of these peers need."""
        rates: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for key in keys:
            # oldest first, so that the later of two records in a run is used
            for run_id, _, rate, _, _ in reversed(self._points[key]):
                component_rates = rates[run_id]
                if rate is not None:
                    component_rates[key.component] = rate
        for run_id in rates.keys() - self._complete_runs(keys):
            rates[run_id] = self._rates_of(run_id, peers)
        return {run_id: Rates(component_rates) for run_id, component_rates in rates.items()}

    def _complete_runs(self, keys: Sequence[SeriesKey]) -> frozenset[str]:
        """Return the runs that are complete: no peer's record is older than its oldest sample."""
        windows = [frozenset(point.run_id for point in self._points[key]) for key in keys]
        cut = [runs for key, runs in zip(keys, windows) if len(self._points[key]) >= SAMPLES]
        return frozenset.intersection(*cut) if cut else frozenset().union(*windows)

    def _rates_of(self, run_id: str, peers: _PeerKey) -> dict[str, float]:
        rates = self._history.rates(
            run_id, peers.layer, Operation(peers.operation), Scenario(peers.scenario)
        )
        return {
            component: rate
            for component, rate in rates.items()
            if self._group_of(peers.layer, component) == peers.group
        }

    def _group_of(self, layer: str, component: str) -> Optional[str]:
        member = self._groups.get((layer, component))
        return member and member.group


def in_known_state(flags: str) -> bool:
    """Return whether a point's flags name a reason why its target was slower."""
    return bool(flags) and not _TEMPORARY.isdisjoint(flags.split())


MAX_RUNS = 20_000
"""Most runs of a period: an hour of 5,000 targets, each written and read twice."""


class PastHistory(History):
    """A history as it was at a past time, for reading; a context manager."""

    def __init__(self, path: Path, until: float) -> None:
        """Open it as it was at a time in epoch seconds; raise StoreError if that fails."""
        super().__init__(path, existing=True)
        for table, column in (("records", "started_at"), ("running", "since")):
            # SQLite resolves names to temporary views first (sqlite.org/lang_naming.html); a
            # view takes no bound values
            query = f"SELECT * FROM main.{table} WHERE {column} <= {float(until)!r}"
            self.change(f"CREATE TEMP VIEW {table} AS {query}", ())

    def since(self, begin: float) -> list[Record]:
        """Return the first ``MAX_RUNS`` measurements since a time."""
        records = self.records(Selection(since=begin))
        measured = (record for record in records if record.layer not in NOT_MEASURED)
        runs = islice(measured, MAX_RUNS)
        return sorted(runs, key=lambda record: record.started_at)
