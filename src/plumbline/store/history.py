"""History of one node: every record and running measurement, old runs as daily figures.

Each record is committed as it comes, so that a killed run or a full disk loses nothing before it.
The order is that of arrival: a wall clock that was stepped cannot make an old record the latest.

Old runs become daily figures a part at a time, each part for good.  What the judge looks at stays:
the latest KEEP_RECORDS of a series, and all of the runs that these come from, for their peers.  A
day goes as a whole or not at all.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from math import nan
from statistics import median
from typing import (
    Any,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
)

from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.expectation import Measured
from plumbline.model.layers import LAYERS
from plumbline.model.layers.fs import FS
from plumbline.model.record import Operation, Record, Scenario
from plumbline.model.series import Running
from plumbline.model.trend import SERVER
from plumbline.model.units import DAY_S
from plumbline.model.validation import read_json
from plumbline.store.database import (
    FIGURES,
    OF_SERIES,
    RECORD,
    RUNNING,
    SERIES,
    Day,
    Store,
    compact,
    day_of,
    inflated,
    month_of,
    packed,
    read_record,
    row,
    running,
    unpacked,
)
from plumbline.store.version_changes import changed_at, software_of

KEEP_DAYS = 400
KEEP_RECORDS = 30
"""The latest records of a series stay, whatever the clock says of their age."""

KEEP_SERVER_DAYS = 7
"""Days that servers' counters are kept, except near runs of all targets, which are drawn."""

_BESIDE_S = 3600.0


class SeriesKey(NamedTuple):
    """Key of records that are comparable in time; ``partner`` is empty if there is none."""

    layer: str
    component: str
    operation: str
    scenario: str
    partner: str


class Point(NamedTuple):
    """One record of a series in short; units as in :class:`~plumbline.model.record.Record`.

    ``flags`` are words with blanks between them.
    """

    run_id: str
    started_at: float
    rate: Optional[float]
    coverage: Optional[float]
    flags: str


_NEWEST = f"FROM records WHERE {OF_SERIES} ORDER BY seq DESC LIMIT ?"


KEEP_WHOLE_DAYS = 60
"""Runs of so many days are kept as they are: twice what the judge looks back on nightly runs."""

_TOGETHER = 2000
"""Records of one transaction, so that nobody waits long for the history."""


class Thinned(NamedTuple):
    """Number of runs that became daily figures; ``unfinished``: more remain."""

    runs: int
    days: int
    unfinished: bool

    def sentence(self) -> str:
        """Return what was done, in words."""
        more = "; more is left for the next collection" if self.unfinished else ""
        return (
            f"history: {self.runs} runs older than {KEEP_WHOLE_DAYS} days became {self.days} daily "
            f"figures{more}"
        )


class _Run(NamedTuple):
    seq: int
    run_id: str
    started_at: float
    rate: float
    body: object


class _Gone(NamedTuple):
    """The runs of one series on one day."""

    key: SeriesKey
    runs: list[_Run]


class History(Store):
    """The database of one node; use it in a ``with``."""

    def begin(self, run_id: str, running: Running) -> None:
        """Note that a measurement begins; :meth:`end` takes the note away."""
        self.change(
            "INSERT OR REPLACE INTO running (layer, component, since, run_id, process, "
            "interrupted) VALUES (?, ?, ?, ?, ?, ?)",
            (*running[:3], run_id, json.dumps(running.process), running.interrupted),
        )

    def end(self, layer: str, component: str) -> None:
        """Note that a measurement has ended, in whatever way."""
        self.change("DELETE FROM running WHERE layer = ? AND component = ?", (layer, component))

    def interrupt(self, layer: str, component: str) -> None:
        """Note that nothing is left of a measurement that has begun."""
        self.change(
            "UPDATE running SET interrupted = 1 WHERE layer = ? AND component = ?",
            (layer, component),
        )

    def running(self) -> tuple[Running, ...]:
        """Return what has begun and not ended, whether or not its run is still alive."""
        return tuple(running(row) for row in self.rows(RUNNING))

    def save(self, record: Record) -> None:
        """Keep one record for good; raise StoreError when it cannot be written."""
        self.change(f"INSERT {RECORD}", row(record))

    def keep_evidence(self, evidence: Mapping[Subject, Evidence]) -> None:
        """Keep what the last runs say of all components and groups, in the place of what was."""
        with self.together():
            self.change("DELETE FROM evidence")
            for subject, weighed in evidence.items():
                self.change(
                    "INSERT INTO evidence (layer, name, is_group, body) VALUES (?, ?, ?, ?)",
                    (*subject, compact(weighed._asdict())),
                )

    def evidence(self) -> dict[Subject, Evidence]:
        """Return what was kept last; raise DocumentError where it is damaged."""
        return {
            (layer, name, bool(is_group)): self._evidence(body)
            for layer, name, is_group, body in self.table(
                "SELECT layer, name, is_group, body FROM evidence"
            )
        }

    def series(self, layer: str, component: str) -> tuple[SeriesKey, ...]:
        """Return the keys of all series of a component."""
        rows = self.table(
            f"SELECT DISTINCT {SERIES} FROM records WHERE layer = ? AND component = ? "
            "ORDER BY operation, scenario, partner",
            (layer, component),
        )
        return tuple(map(SeriesKey._make, rows))

    def points(self, key: SeriesKey, count: int) -> tuple[Point, ...]:
        """Return the latest ``count`` records of a series in short, newest first."""
        return tuple(self.select(Point, _NEWEST, *key, count))

    def documents(self, key: SeriesKey, count: int) -> list[dict[str, Any]]:
        """Return the latest ``count`` records of a series as they are written, newest first.

        One that is damaged is empty.
        """
        return [_document(body) for (body,) in self._newest(key, count, "body")]

    def latest(self, key: SeriesKey) -> Record:
        """Return the latest record of a series, whole; raise StoreError when there is none."""
        for (body,) in self._newest(key, 1, "body"):
            return read_record(body, self.path)
        raise StoreError(f"history {self.path} has no record of {' '.join(key).strip()}")

    def changed_at(self, key: SeriesKey, count: int) -> Optional[float]:
        """Return since when versions are those of the last record, in seconds since the epoch.

        None where the last ``count`` records have the same ones.
        """
        return changed_at(self._newest(key, count, "started_at, body"))

    def _newest(self, key: SeriesKey, count: int, columns: str) -> list[tuple[Any, ...]]:
        return self.table(f"SELECT {columns} {_NEWEST}", (*key, count))

    def last_before(self, layer: str, components: Collection[str], at: float) -> float:
        """Return when one of some components was last measured before a moment, 0 for never."""
        query = "SELECT max(started_at) FROM records WHERE layer = ? AND component = ? AND "
        times = [
            started_at
            for name in components
            for (started_at,) in self.table(f"{query}started_at < ?", (layer, name, at))
            if started_at
        ]
        days = [day.at for name in components for _, day in self.days(layer, name) if day.at < at]
        return max([*times, *days], default=0.0)

    def days(
        self, layer: Optional[str], component: Optional[str]
    ) -> Iterator[tuple[SeriesKey, Day]]:
        """Yield the daily figures of a component, or of all, by series."""
        chosen = {"layer = ?": layer, "component = ?": component}
        tests = {test: value for test, value in chosen.items() if value is not None}
        query = f"SELECT {SERIES}, figures FROM days"
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        rows = self.rows(query + where, tuple(tests.values()))
        return ((SeriesKey(*key), day) for *key, figures in rows for day in unpacked(figures))

    def rates(
        self, run_id: str, layer: str, operation: Operation, scenario: Scenario
    ) -> dict[str, float]:
        """Return the rate of each component that gave one in a run, in bytes per second."""
        rows = self.rows(
            "SELECT component, rate FROM records WHERE run_id = ? AND layer = ? "
            "AND operation = ? AND scenario = ? AND rate IS NOT NULL",
            (run_id, layer, operation.value, scenario.value),
        )
        return dict(rows)

    def prune(self, before: float) -> int:
        """Drop what started before a moment, but never the latest of a series; return the count."""
        self.change("DELETE FROM days WHERE month < ?", (month_of(before),))
        return self.change(
            "DELETE FROM records WHERE seq IN (SELECT seq FROM (SELECT seq, started_at, "
            f"row_number() OVER (PARTITION BY {SERIES} ORDER BY seq DESC) AS place FROM records) "
            "WHERE place > ? AND started_at < ?)",
            (KEEP_RECORDS, before),
        )

    def _evidence(self, body: object) -> Evidence:
        try:
            return Evidence.from_json(read_json(str(body)))
        except (ValueError, DocumentError) as error:
            raise DocumentError(
                f"history {self.path} holds damaged evidence: {error}; measure again to replace it"
            ) from error

    def prune_servers(self, now: float) -> int:
        """Drop what servers counted more than KEEP_SERVER_DAYS before ``now``; return the count.

        What was counted within an hour of a run of layer ``fs`` stays as long as other records.
        """
        runs = sorted(
            at for (at,) in self.table("SELECT started_at FROM records WHERE layer = ?", (FS.name,))
        )
        old = self.table(
            "SELECT seq, started_at FROM records WHERE layer = ? AND started_at < ?",
            (SERVER, now - KEEP_SERVER_DAYS * DAY_S),
        )
        gone = [seq for seq, at in old if not _beside(runs, at)]
        with self.together():
            for seq in gone:
                self.change("DELETE FROM records WHERE seq = ?", (seq,))
        return len(gone)

    def begin_confirmation(self, run: Sequence[Measured]) -> None:
        """Note a run that confirms, at least one measurement, for good before it begins.

        One that is killed counts, or it could be tried for ever.
        """
        with self.together():
            self.change("DELETE FROM confirmed WHERE at < ?", (run[0].at - KEEP_DAYS * DAY_S,))
            for measurement in run:
                self.change(
                    "INSERT INTO confirmed (run_id, at, layer, component, bytes, control) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    measurement,
                )

    def confirmed(self, layer: str) -> tuple[Measured, ...]:
        """Return what was begun to confirm in a layer, the oldest first."""
        return tuple(self.select(Measured, "FROM confirmed WHERE layer = ? ORDER BY seq", layer))

    def planned_at(self, layer: str, since: float, until: float) -> dict[str, float]:
        """Return when each component was last measured otherwise, between two moments."""
        return dict(
            self.table(
                "SELECT component, max(started_at) FROM records WHERE started_at BETWEEN ? AND ? "
                "AND layer = ? AND run_id NOT IN (SELECT run_id FROM confirmed) "
                "GROUP BY component",
                (since, until, layer),
            )
        )

    def thin(self, now: float, go_on: Callable[[], bool]) -> Thinned:
        """Thin the days before the last KEEP_WHOLE_DAYS for as long as ``go_on`` says so.

        A kill at any moment leaves each run or its daily figure, and the next call goes on.

        Raises:
            StoreError: the history cannot be read or written.
        """
        before = (day_of(now) - KEEP_WHOLE_DAYS) * DAY_S
        keys = [key for layer in LAYERS for key in self._series_of(layer)]
        judged = {point.run_id for key in keys for point in self.points(key, KEEP_RECORDS)}
        runs = days = 0
        for part in _parts(self._thinnable(key, before, judged) for key in keys):
            if not go_on():
                return Thinned(runs, days, unfinished=True)
            self._make_daily(part)
            runs += sum(len(series.runs) for series in part)
            days += len(part)
        return Thinned(runs, days, unfinished=False)

    def _series_of(self, layer: str) -> Iterator[SeriesKey]:
        query = f"SELECT DISTINCT {SERIES} FROM records WHERE layer = ?"
        return map(SeriesKey._make, self.table(query, (layer,)))

    def _thinnable(self, key: SeriesKey, before: float, judged: set[str]) -> list[_Gone]:
        """Return the days of a series of which no run is judged by any more."""
        by_day: defaultdict[int, list[_Run]] = defaultdict(list)
        old = f"FROM records WHERE {OF_SERIES} AND started_at < ? ORDER BY seq"
        for run in self.select(_Run, old, *key, before):
            by_day[day_of(run.started_at)].append(run)
        return [
            _Gone(key, runs)
            for runs in by_day.values()
            if judged.isdisjoint(run.run_id for run in runs)
        ]

    def _make_daily(self, part: list[_Gone]) -> None:
        """Put figures in the place of runs; no verdict changes, so no revision does."""
        revisions = "UPDATE revisions SET revision = ? WHERE layer = ? AND component = ?"
        with self.together():
            before = self.revisions_of({series.key[:2] for series in part})
            for series in part:
                self._add_daily(series)
                for run in series.runs:
                    self.change("DELETE FROM records WHERE seq = ?", (run.seq,))
            for place, revision in before.items():
                self.change(revisions, (revision, *place))

    def _add_daily(self, gone: _Gone) -> None:
        last = max(gone.runs, key=lambda run: run.started_at)
        rates = [run.rate for run in gone.runs if run.rate is not None]
        software = self._software_id(software_of(last.body))
        day = Day(last.started_at, len(gone.runs), median(rates) if rates else nan, software)
        place = (*gone.key, month_of(day.at))
        days = [figure for (blob,) in self.table(FIGURES, place) for figure in unpacked(blob)]
        self.change(
            "INSERT OR REPLACE INTO days VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*place, packed([*days, day])),
        )

    def _software_id(self, text: str) -> int:
        self.change("INSERT OR IGNORE INTO software (text) VALUES (?)", (text,))
        ((number,),) = self.table("SELECT id FROM software WHERE text = ?", (text,))
        return int(number)


def _document(body: object) -> dict[str, Any]:
    try:
        document = read_json(inflated(body))
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _beside(moments: Sequence[float], at: float) -> bool:
    """Return whether one of some moments, in their order, is near another one."""
    place = bisect_left(moments, at - _BESIDE_S)
    return place < len(moments) and moments[place] <= at + _BESIDE_S


def _parts(groups: Iterable[list[_Gone]]) -> Iterator[list[_Gone]]:
    """Yield what goes together in parts of some thousand runs."""
    part: list[_Gone] = []
    runs = 0
    for every in groups:
        for series in every:
            part.append(series)
            runs += len(series.runs)
            if runs >= _TOGETHER:
                yield part
                part, runs = [], 0
    if part:
        yield part
