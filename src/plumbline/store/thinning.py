"""Turn the old runs of a history into daily figures, a part at a time, each part for good.

What the judge looks at stays: the latest KEEP_RECORDS of a series, and all of the runs that these
come from, for their peers.  A day goes as a whole or not at all.
"""

from __future__ import annotations

from collections import defaultdict
from math import nan
from statistics import median
from typing import Callable, Iterable, Iterator, NamedTuple

from plumbline.model.layers import LAYERS
from plumbline.model.units import DAY_S
from plumbline.store.database import (
    FIGURES,
    OF_SERIES,
    SERIES,
    Day,
    day_of,
    month_of,
    packed,
    unpacked,
)
from plumbline.store.history import KEEP_RECORDS, History, SeriesKey
from plumbline.store.version_changes import software_of

KEEP_WHOLE_DAYS = 60
"""Runs of so many days are kept as they are: twice what the judge looks back on nightly runs."""

_TOGETHER = 2000
"""Records of one transaction, so that nobody waits long for the history."""

_OLD = (
    f"SELECT seq, run_id, started_at, rate, body FROM records WHERE {OF_SERIES} "
    "AND started_at < ? ORDER BY seq"
)


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


class Thinning(History):
    """A history whose old runs become daily figures; use it in a ``with``."""

    def thin(self, now: float, go_on: Callable[[], bool]) -> Thinned:
        """Thin the days before the last KEEP_WHOLE_DAYS for as long as ``go_on`` says so.

        A kill at any moment leaves each run or its daily figure, and the next call goes on.

        Raises:
            StoreError: the history cannot be read or written.
        """
        before = (day_of(now) - KEEP_WHOLE_DAYS) * DAY_S
        keys = [key for layer in LAYERS for key in self._keys(layer)]
        judged = {point.run_id for key in keys for point in self.points(key, KEEP_RECORDS)}
        runs = days = 0
        for part in _parts(self._days(key, before, judged) for key in keys):
            if not go_on():
                return Thinned(runs, days, unfinished=True)
            self._replace(part)
            runs += sum(len(series.runs) for series in part)
            days += len(part)
        return Thinned(runs, days, unfinished=False)

    def _keys(self, layer: str) -> Iterator[SeriesKey]:
        query = f"SELECT DISTINCT {SERIES} FROM records WHERE layer = ?"
        return map(SeriesKey._make, self.table(query, (layer,)))

    def _days(self, key: SeriesKey, before: float, judged: set[str]) -> list[_Gone]:
        """Return the days of a series of which no run is judged by any more."""
        by_day: defaultdict[int, list[_Run]] = defaultdict(list)
        for row in self.table(_OLD, (*key, before)):
            by_day[day_of(row[2])].append(_Run._make(row))
        return [
            _Gone(key, runs)
            for runs in by_day.values()
            if judged.isdisjoint(run.run_id for run in runs)
        ]

    def _replace(self, part: list[_Gone]) -> None:
        """Put figures in the place of runs; no verdict changes, so no revision does."""
        revisions = "UPDATE revisions SET revision = ? WHERE layer = ? AND component = ?"
        with self.together():
            before = self.revisions_of({series.key[:2] for series in part})
            for series in part:
                self._add(series)
                for run in series.runs:
                    self.change("DELETE FROM records WHERE seq = ?", (run.seq,))
            for place, revision in before.items():
                self.change(revisions, (revision, *place))

    def _add(self, gone: _Gone) -> None:
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
