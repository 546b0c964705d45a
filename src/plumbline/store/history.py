"""History of one node: all records and running measurements, with old runs as daily figures.

Each record is committed when it arrives, so that a killed run or a full disk loses no earlier ones.
Records are in order of arrival, so that a stepped wall clock cannot make an old record the latest.

Old runs are replaced by daily figures in parts, one transaction each.  Records that the judge uses
stay: the latest KEEP_RECORDS of a series, and whole runs with these records, for their peers.  A
day is replaced as a whole or not at all.
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

from plumbline.model.codec import compact, read
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.expectation import Measured
from plumbline.model.layers import LAYERS
from plumbline.model.layers.fs import FS
from plumbline.model.record import Operation, Record, Scenario
from plumbline.model.series import Running
from plumbline.model.space import SPACE
from plumbline.model.trend import SERVER
from plumbline.model.units import DAY_S
from plumbline.model.validation import read_json
from plumbline.store.database import (
    FIGURES,
    OF_SERIES,
    RECORD,
    RUNNING,
    SERIES,
    SOFTWARE,
    Day,
    Selection,
    Store,
    day_of,
    inflate,
    month_of,
    pack_days,
    row,
    running,
    software_of,
    unpack_days,
)
from plumbline.store.version_changes import changed_at

KEEP_DAYS = 400
KEEP_RECORDS = 30
"""Number of latest records of a series that are never pruned, at any age."""

KEEP_SERVER_DAYS = 7
"""Days that servers' counters are kept, except near runs of all targets, which are plotted."""

KEEP_SPACE_DAYS = 2
"""Days with every look at space; of earlier ones the last of each quarter of a day is kept."""

_NEAR_S = 3600.0


class SeriesKey(NamedTuple):
    """Key of a series of comparable records; ``partner`` is empty if there is none."""

    layer: str
    component: str
    operation: str
    scenario: str
    partner: str


class Point(NamedTuple):
    """Summary of a record in a series; units as in :class:`~plumbline.model.record.Record`.

    ``flags`` are words separated by blanks.
    """

    run_id: str
    started_at: float
    rate: Optional[float]
    coverage: Optional[float]
    flags: str


_NEWEST = f"FROM records WHERE {OF_SERIES} ORDER BY seq DESC LIMIT ?"


KEEP_WHOLE_DAYS = 60
"""Days whose runs are kept unchanged: twice as long as the judge looks back on nightly runs."""

_RECORDS_PER_TRANSACTION = 2000
"""Records per transaction; bounds the wait of other processes for the history."""


class Thinned(NamedTuple):
    """Number of runs replaced by daily figures; ``unfinished``: more remain."""

    runs: int
    days: int
    unfinished: bool

    def sentence(self) -> str:
        """Return a summary in words."""
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


class _DayRuns(NamedTuple):
    """The runs of one series on one day."""

    key: SeriesKey
    runs: list[_Run]


class History(Store):
    """The history of one node; a context manager."""

    def begin(self, run_id: str, running: Running) -> None:
        """Store a running measurement; :meth:`end` removes it."""
        self.change(
            "INSERT OR REPLACE INTO running (layer, component, since, run_id, process, "
            "interrupted) VALUES (?, ?, ?, ?, ?, ?)",
            (*running[:3], run_id, json.dumps(running.process), running.interrupted),
        )

    def end(self, layer: str, component: str) -> None:
        """Remove a running measurement after any kind of end."""
        self.change("DELETE FROM running WHERE layer = ? AND component = ?", (layer, component))

    def interrupt(self, layer: str, component: str) -> None:
        """Mark a running measurement as interrupted."""
        self.change(
            "UPDATE running SET interrupted = 1 WHERE layer = ? AND component = ?",
            (layer, component),
        )

    def running(self) -> tuple[Running, ...]:
        """Return all measurements that began and did not end, alive or not."""
        return tuple(running(row) for row in self.rows(RUNNING))

    def save(self, record: Record) -> None:
        """Store one record; raise StoreError if it cannot be written."""
        values = row(record)
        with self.transaction():
            self.change(SOFTWARE, values[-1:])
            self.change(f"INSERT {RECORD}", values)

    def keep_evidence(self, evidence: Mapping[Subject, Evidence]) -> None:
        """Replace the stored evidence of all components and groups."""
        with self.transaction():
            self.change("DELETE FROM evidence")
            for subject, entry in evidence.items():
                self.change(
                    "INSERT INTO evidence (layer, name, is_group, body) VALUES (?, ?, ?, ?)",
                    (*subject, compact(entry)),
                )

    def evidence(self) -> dict[Subject, Evidence]:
        """Return the stored evidence; raise DocumentError if it is damaged."""
        return {
            (layer, name, bool(is_group)): self._evidence(body)
            for layer, name, is_group, body in self.table(
                "SELECT layer, name, is_group, body FROM evidence"
            )
        }

    def series(self, layer: str, component: str) -> dict[SeriesKey, object]:
        """Return the latest record of each series of a component, as stored (``read_record``)."""
        rows = self.table(
            f"SELECT {SERIES}, body FROM records WHERE seq IN (SELECT max(seq) FROM records "
            "WHERE layer = ? AND component = ? GROUP BY operation, scenario, partner) "
            "ORDER BY operation, scenario, partner",
            (layer, component),
        )
        return {SeriesKey(*key): body for *key, body in rows}

    def points(self, key: SeriesKey, count: int) -> tuple[Point, ...]:
        """Return summaries of the latest ``count`` records of a series, newest first."""
        return tuple(self.select(Point, _NEWEST, *key, count))

    def documents(self, key: SeriesKey, count: int) -> list[dict[str, Any]]:
        """Return the latest ``count`` records of a series as documents, newest first.

        A damaged one is empty.
        """
        rows = self.table(f"SELECT body {_NEWEST}", (*key, count))
        return [_document(body) for (body,) in rows]

    def changed_at(self, key: SeriesKey, count: int) -> Optional[float]:
        """Return the time of the last change of versions in a series, in seconds since the epoch.

        None if the last ``count`` records have the same versions.
        """
        return changed_at(self, key, count)

    def last_before(self, layer: str, components: Collection[str], at: float) -> float:
        """Return the last start among these components' records before a time, 0 without any."""
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
        """Yield the daily figures of one or all components, with the series, month by month."""
        where, values = Selection(layer, component).where()
        rows = self.rows(f"SELECT {SERIES}, figures FROM days {where} ORDER BY month", values)
        return ((SeriesKey(*key), day) for *key, figures in rows for day in unpack_days(figures))

    def skipped(self, layer: str) -> set[str]:
        """Return the components of a layer whose last record says that they were skipped."""
        query = (
            "SELECT component FROM records WHERE outcome = 'skipped' AND seq IN "
            "(SELECT max(seq) FROM records WHERE layer = ? GROUP BY component)"
        )
        return {name for (name,) in self.table(query, (layer,))}

    def rates(
        self, run_id: str, layer: str, operation: Operation, scenario: Scenario
    ) -> dict[str, float]:
        """Return the rates of all components in a run, in bytes per second."""
        rows = self.rows(
            "SELECT component, rate FROM records WHERE run_id = ? AND layer = ? "
            "AND operation = ? AND scenario = ? AND rate IS NOT NULL",
            (run_id, layer, operation.value, scenario.value),
        )
        return dict(rows)

    def prune(self, before: float) -> int:
        """Delete records before a time, except the latest of each series; return the number."""
        self.change("DELETE FROM days WHERE month < ?", (month_of(before),))
        return self.change(
            "DELETE FROM records WHERE seq IN (SELECT seq FROM (SELECT seq, started_at, "
            f"row_number() OVER (PARTITION BY {SERIES} ORDER BY seq DESC) AS place FROM records) "
            "WHERE place > ? AND started_at < ?)",
            (KEEP_RECORDS, before),
        )

    def _evidence(self, body: object) -> Evidence:
        try:
            return read(Evidence, read_json(str(body)))
        except (ValueError, KeyError, TypeError) as error:
            raise DocumentError(
                f"history {self.path} holds damaged evidence: {error}; measure again to replace it"
            ) from error

    def prune_servers(self, now: float) -> int:
        """Delete servers' counters older than KEEP_SERVER_DAYS; return the number of records.

        Counters within an hour of a run of layer ``fs`` are kept as long as other records.
        """
        runs = sorted(
            at for (at,) in self.table("SELECT started_at FROM records WHERE layer = ?", (FS.name,))
        )
        old = self.table(
            "SELECT seq, started_at FROM records WHERE layer = ? AND started_at < ?",
            (SERVER, now - KEEP_SERVER_DAYS * DAY_S),
        )
        obsolete = [seq for seq, at in old if not _is_near(runs, at)]
        with self.transaction():
            for seq in obsolete:
                self.change("DELETE FROM records WHERE seq = ?", (seq,))
        return len(obsolete)

    def prune_space(self, now: float) -> int:
        """Delete looks at space older than KEEP_SPACE_DAYS but the last of each quarter of a day.

        Returns the number of records; each node's looks count for themselves.
        """
        return self.change(
            "DELETE FROM records WHERE layer = ? AND started_at < ? AND seq NOT IN (SELECT "
            "max(seq) FROM records WHERE layer = ? GROUP BY component, partner, "
            "CAST(started_at / ? AS INTEGER))",
            (SPACE, now - KEEP_SPACE_DAYS * DAY_S, SPACE, DAY_S / 4),
        )

    def begin_confirmation(self, run: Sequence[Measured]) -> None:
        """Store a confirmation run of at least one measurement before it begins.

        A killed run counts too; otherwise it could be repeated forever.
        """
        with self.transaction():
            self.change("DELETE FROM confirmed WHERE at < ?", (run[0].at - KEEP_DAYS * DAY_S,))
            for measurement in run:
                self.change(
                    "INSERT INTO confirmed (run_id, at, layer, component, bytes, control) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    measurement,
                )

    def confirmed(self, layer: str) -> tuple[Measured, ...]:
        """Return the confirmation measurements of a layer, oldest first."""
        return tuple(self.select(Measured, "FROM confirmed WHERE layer = ? ORDER BY seq", layer))

    def planned_at(self, layer: str, since: float, until: float) -> dict[str, float]:
        """Return the last planned measurement of each component between two times."""
        return dict(
            self.table(
                "SELECT component, max(started_at) FROM records WHERE started_at BETWEEN ? AND ? "
                "AND layer = ? AND run_id NOT IN (SELECT run_id FROM confirmed) "
                "GROUP BY component",
                (since, until, layer),
            )
        )

    def thin(self, now: float, go_on: Callable[[], bool]) -> Thinned:
        """Replace runs before the last KEEP_WHOLE_DAYS by daily figures while ``go_on`` is true.

        A kill at any time leaves each run or its daily figure; the next call continues.

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

    def _thinnable(self, key: SeriesKey, before: float, judged: set[str]) -> list[_DayRuns]:
        """Return the days of a series without any run that the judge still uses."""
        by_day: defaultdict[int, list[_Run]] = defaultdict(list)
        old = f"FROM records WHERE {OF_SERIES} AND started_at < ? ORDER BY seq"
        for run in self.select(_Run, old, *key, before):
            by_day[day_of(run.started_at)].append(run)
        return [
            _DayRuns(key, runs)
            for runs in by_day.values()
            if judged.isdisjoint(run.run_id for run in runs)
        ]

    def _make_daily(self, part: list[_DayRuns]) -> None:
        """Replace runs by daily figures; verdicts stay the same, so the revisions are restored."""
        revisions = "UPDATE revisions SET revision = ? WHERE layer = ? AND component = ?"
        with self.transaction():
            before = self.revisions_of({series.key[:2] for series in part})
            for series in part:
                self._add_daily(series)
                for run in series.runs:
                    self.change("DELETE FROM records WHERE seq = ?", (run.seq,))
            for component, revision in before.items():
                self.change(revisions, (revision, *component))

    def _add_daily(self, day_runs: _DayRuns) -> None:
        last = max(day_runs.runs, key=lambda run: run.started_at)
        rates = [run.rate for run in day_runs.runs if run.rate is not None]
        software = self._software_id(software_of(last.body))
        day = Day(last.started_at, len(day_runs.runs), median(rates) if rates else nan, software)
        place = (*day_runs.key, month_of(day.at))
        days = [figure for (blob,) in self.table(FIGURES, place) for figure in unpack_days(blob)]
        self.change(
            "INSERT OR REPLACE INTO days VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*place, pack_days([*days, day])),
        )

    def _software_id(self, text: str) -> int:
        self.change(SOFTWARE, (text,))
        ((number,),) = self.table("SELECT id FROM software WHERE text = ?", (text,))
        return int(number)


def _document(body: object) -> dict[str, Any]:
    try:
        document = read_json(inflate(body))
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _is_near(times: Sequence[float], at: float) -> bool:
    index = bisect_left(times, at - _NEAR_S)
    return index < len(times) and times[index] <= at + _NEAR_S


def _parts(groups: Iterable[list[_DayRuns]]) -> Iterator[list[_DayRuns]]:
    """Split the days into parts of about ``_RECORDS_PER_TRANSACTION`` runs."""
    part: list[_DayRuns] = []
    runs = 0
    for group in groups:
        for series in group:
            part.append(series)
            runs += len(series.runs)
            if runs >= _RECORDS_PER_TRANSACTION:
                yield part
                part, runs = [], 0
    if part:
        yield part
