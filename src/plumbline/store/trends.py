"""Read a whole history for plots: all series, all pairs, the latest run.

Each needs one or two queries; the courses are read from daily figures and the index only.
"""

from __future__ import annotations

from array import array
from heapq import merge
from itertools import compress, groupby, islice
from math import nan
from operator import itemgetter
from pathlib import Path
from sys import intern
from typing import Any, Iterator, Mapping, Optional, Sequence

from plumbline.model.limits import Limits
from plumbline.model.space import SPACE
from plumbline.model.trend import SERVER, Course, PairTest, Run, VersionChange
from plumbline.observe.coverage import Job, LastRun, others_of
from plumbline.store.collection import Unanswered, read_clocks
from plumbline.store.database import (
    SERIES,
    Selection,
    Store,
    day_columns,
    month_of,
    read_record,
)
from plumbline.store.history import SeriesKey
from plumbline.store.version_changes import version_changes

_OF_COMPONENT = "(layer, component) = (?, ?) AND"
_RUNS = f"FROM records WHERE {{}} started_at >= ? AND layer != '{SPACE}'"
# the names of a series once, and not with each of its runs
_COUNTS = f"SELECT {SERIES}, count(*) {_RUNS} GROUP BY {SERIES} ORDER BY {SERIES}"
_COURSES = f"SELECT started_at, rate {_RUNS} ORDER BY {SERIES}, seq"
# SQLite takes the other columns of a group from the row with its max().
_PAIRS = (
    "SELECT component, partner, operation, started_at, rate, body, max(seq) FROM records "
    "WHERE layer = ? AND started_at >= ? GROUP BY component, partner, operation"
)
_DAYS = f"SELECT {SERIES}, figures FROM days WHERE {{}} month >= ? ORDER BY {SERIES}, month"
_LATEST_RUN = (
    "SELECT run_id FROM records WHERE layer = ? AND rate IS NOT NULL AND started_at >= ? "
    "ORDER BY seq DESC LIMIT 1"
)
_LAST_RUNS = (
    "SELECT layer, component, run_id, coverage, id FROM records "
    "WHERE started_at >= ? AND started_at <= ? AND rate IS NOT NULL ORDER BY started_at"
)
_BODY = "SELECT body FROM records WHERE id = ?"
_MAX_SAMPLE_S = 3600.0
_SLACK_S = 60.0
_MAX_JOBS_READ = 500
"""Most records that are read in full for the jobs beside them, those of least coverage."""

Place = tuple[str, str]
"""Layer and component."""


_Part = tuple[SeriesKey, Sequence[float], Sequence[float], bool]
"""Times and rates of a series, by its key, and whether they are daily figures."""


class Pictures(Store):
    """A history for plots since a time in seconds since the epoch; a context manager.

    All methods raise StoreError if the history cannot be read.
    """

    def __init__(self, path: Path, since: float) -> None:
        """Open a history; raise StoreError if there is none or that fails."""
        super().__init__(path, existing=True)
        self._since = since

    def courses(self, *component: str) -> tuple[Course, ...]:
        """Return the course of each series, daily figures first.

        Of all, or of one ``component`` by layer and name.
        """
        times, rates, ends = array("d"), array("d"), []
        with self.transaction("DEFERRED"):
            parts = merge(self._thinned(component), self._runs(component), key=itemgetter(0))
            for key, of_series in groupby(parts, key=itemgetter(0)):
                days = 0
                for _, part_times, part_rates, is_thinned in of_series:
                    days += is_thinned * len(part_times)
                    times.extend(part_times)
                    rates.extend(part_rates)
                ends.append((key, len(times), days))
        # views of two arrays: the memory of many small ones would not be freed with them
        all_times, all_rates = memoryview(times), memoryview(rates)
        begins = [0, *(end for _, end, _ in ends)]
        return tuple(
            Course._make((*map(intern, key), all_times[begin:end], all_rates[begin:end], days))
            for begin, (key, end, days) in zip(begins, ends)
        )

    def _runs(self, component: tuple[str, ...]) -> Iterator[_Part]:
        counts, courses = (
            query.format(_OF_COMPONENT if component else "") for query in (_COUNTS, _COURSES)
        )
        values = (*component, self._since)
        runs = self.rows(courses, values)
        for *key, count in self.table(counts, values):
            times, rates = zip(*islice(runs, count))
            yield SeriesKey(*key), times, [nan if rate is None else rate for rate in rates], False

    def _thinned(self, component: tuple[str, ...]) -> Iterator[_Part]:
        query = _DAYS.format(_OF_COMPONENT if component else "")
        rows = self.rows(query, (*component, month_of(self._since)))
        for key, series in groupby(rows, key=itemgetter(0, 1, 2, 3, 4)):
            times, rates = day_columns((row[-1] for row in series), "at", "rate")
            # only the row of the first month may begin before the start
            if min(times, default=self._since) < self._since:
                late = [at >= self._since for at in times]
                times, rates = (array("d", compress(column, late)) for column in (times, rates))
            if times:
                yield SeriesKey(*key), times, rates, True

    def unanswered(self) -> tuple[Unanswered, ...]:
        """Return the nodes that did not answer the last collection."""
        return tuple(self.select(Unanswered, "FROM collected WHERE trouble != '' ORDER BY node"))

    def pairs(self, layer: str) -> tuple[PairTest, ...]:
        """Return the latest test of each pair of a layer by each operation."""
        rows = self.rows(_PAIRS, (layer, self._since))
        return tuple(self._pair(cells, body) for *cells, body, _ in rows)

    def version_changes(self) -> tuple[VersionChange, ...]:
        """Return the changes of software and settings in the records, by date."""
        return version_changes(self, self._since)

    def latest_run(self, layers: Sequence[str]) -> Optional[Run]:
        """Return the latest run in the first of ``layers`` with any run, None without one."""
        for layer in layers:
            for (run_id,) in self.table(_LATEST_RUN, (layer, self._since)):
                records = self.records(Selection(layer, run_id=run_id))
                return self._with_counters(Run(layer, run_id, tuple(records)))
        return None

    def last_runs(
        self, limits: Mapping[Place, Limits], since: float, until: float
    ) -> list[LastRun]:
        """Return the last run of each component with ``limits``, between two times since the epoch.

        Runs without a rate do not count.
        """
        last: dict[Place, tuple[str, Optional[float], str]] = {}
        for layer, component, run, coverage, record_id in self.rows(_LAST_RUNS, (since, until)):
            place = layer, component
            if place in limits:
                before = last.get(place)
                if before is None or before[0] != run or _less(coverage, before[1]):
                    last[place] = run, coverage, record_id
        contended = [
            place for place, (_, coverage, _) in last.items() if limits[place].contended(coverage)
        ]
        lowest = sorted(contended, key=lambda place: last[place][1] or 0.0)[:_MAX_JOBS_READ]
        jobs = {place: self._job_beside(last[place][2]) for place in lowest}
        return [
            LastRun(*place, coverage, limits[place].contended(coverage), jobs.get(place))
            for place, (_, coverage, _) in last.items()
        ]

    def _job_beside(self, record_id: str) -> Optional[Job]:
        for (body,) in self.rows(_BODY, (record_id,)):
            others = others_of(read_record(body, self.path))
            return others.job if others else None
        return None

    def _with_counters(self, run: Run) -> Run:
        """Add the servers' counters during a run, with a margin for clock differences."""
        clocks = read_clocks(self)
        slack_s = _SLACK_S + 2 * max((abs(clock.ahead_s) for clock in clocks), default=0.0)
        begin = min(record.started_at for record in run.records) - slack_s
        end = max(record.finished_at for record in run.records) + slack_s
        selection = Selection(SERVER, since=begin - _MAX_SAMPLE_S, until=end)
        servers = (record for record in self.records(selection) if record.finished_at >= begin)
        counters = sorted(servers, key=lambda record: record.started_at)
        return run._replace(servers=tuple(counters), clocks=clocks)

    def _pair(self, cells: list[Any], body: object) -> PairTest:
        component, partner, operation, started_at, rate = cells
        record = read_record(body, self.path)
        return PairTest(
            component, partner, operation, started_at, rate, record.retransmits, record.bytes
        )


def _less(coverage: Optional[float], than: Optional[float]) -> bool:
    return coverage is not None and (than is None or coverage < than)
