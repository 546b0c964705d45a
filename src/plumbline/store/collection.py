"""History of a console: records of all nodes, their clocks, notes, and unreachable nodes.

Records and cursor of an answer are stored in one transaction, so a kill leaves both or neither.  A
record with a known id is not stored twice.

Coverage is added to a record as soon as the servers' counters show it; existing coverage is not
changed.

A note is a row in a separate table, so that it neither waits long for a collection nor disturbs it.

The history itself counts the changes of each component's records; stored results are valid while
these counts are unchanged.  Both are in one file, so they also match in a restored history.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Collection, Iterator, NamedTuple, Optional, Sequence

from plumbline.model.codec import compact, write
from plumbline.model.errors import DocumentError
from plumbline.model.exchange import Cursor
from plumbline.model.record import Record
from plumbline.model.series import Running
from plumbline.model.trend import NodeClock, Note
from plumbline.model.units import DAY_S
from plumbline.observe.coverage import OTHERS, Coverage
from plumbline.store.database import (
    FIGURES,
    RECORD,
    SOFTWARE,
    Store,
    day_of,
    deflate,
    month_of,
    read_record,
    row,
    series_of,
    unpack_days,
)
from plumbline.store.history import History


def read_clocks(store: Store) -> tuple[NodeClock, ...]:
    """Return the known clocks of nodes; raise StoreError if the history is unreadable."""
    return tuple(store.select(NodeClock, "FROM clocks"))


class Unanswered(NamedTuple):
    """A node without an answer; times in seconds since the epoch, None for never.

    ``answered_at`` is the time of its last answer, ``trouble`` the error.
    """

    node: str
    tried_at: float
    answered_at: Optional[float]
    trouble: str


_KEEP = (
    "INSERT INTO collected (node, seq, id, answered_at, tried_at, trouble, day, kept) "
    "VALUES (?, ?, ?, ?, ?, '', ?, ?) ON CONFLICT (node) DO UPDATE SET seq = excluded.seq, "
    "id = excluded.id, answered_at = excluded.answered_at, tried_at = excluded.tried_at, "
    "trouble = '', day = excluded.day, kept = excluded.kept"
)
# only an existing id is tolerated, no other fault of a row
_NEW = f"INSERT {RECORD} ON CONFLICT (id) DO NOTHING"
_FAIL = (
    "INSERT INTO collected (node, seq, id, tried_at, trouble) VALUES (?, 0, '', ?, ?) "
    "ON CONFLICT (node) DO UPDATE SET tried_at = excluded.tried_at, trouble = excluded.trouble"
)


_OPEN = (
    "SELECT component, body FROM records WHERE started_at >= ? AND layer = ? AND coverage IS NULL "
    "AND rate IS NOT NULL ORDER BY seq"
)
_COVER = "UPDATE records SET coverage = ?, body = ? WHERE id = ? AND coverage IS NULL"


class ConsoleHistory(History):
    """The history of a console, for writing; a context manager."""

    def cursor(self, node: str) -> Cursor:
        """Return the position up to which a node's history was collected."""
        return next(iter(self.select(Cursor, "FROM collected WHERE node = ?", node)), Cursor())

    def keep(self, node: str, records: Sequence[Record], cursor: Cursor, now: float) -> int:
        """Store an answer and its cursor; return the number of new records.

        Raises:
            StoreError: it cannot be written; then nothing of it is stored.
        """
        with self.transaction():
            new, size = 0, self.kept_bytes(node, now)
            for record in records:
                *values, software = row(record, deflate)
                self.change(SOFTWARE, (software,))
                if self.change(_NEW, (*values, software)):
                    new += 1
                    size += sum(len(value) for value in values if isinstance(value, (bytes, str)))
            self.change(_KEEP, (node, *cursor, now, now, day_of(now), size))
        return new

    def add(self, record: Record) -> None:
        """Store a record that follows from those of several nodes, unless its id is known."""
        *values, software = row(record, deflate)
        with self.transaction():
            self.change(SOFTWARE, (software,))
            self.change(_NEW, (*values, software))

    def kept_bytes(self, node: str, now: float) -> int:
        """Return the bytes of the records that were stored of a node today, in UTC."""
        query = "SELECT kept FROM collected WHERE node = ? AND day = ?"
        return sum(kept for (kept,) in self.table(query, (node, day_of(now))))

    def has(self, record_id: str) -> bool:
        """Return whether there is a record of this id."""
        return bool(self.table("SELECT 1 FROM records WHERE id = ?", (record_id,)))

    def replace_running(self, node: str, running: Sequence[Running]) -> None:
        """Replace the running measurements of a node."""
        with self.transaction():
            self._forget(node)
            for run in running:
                self.begin(_run_of(node), run)

    def clock(self, clock: NodeClock) -> None:
        """Store the state of a node's clock, replacing the old one."""
        self.change("INSERT OR REPLACE INTO clocks VALUES (?, ?, ?, ?)", clock)

    def failed(self, node: str, trouble: str, now: float) -> None:
        """Record that a node did not answer, and drop its running measurements."""
        with self.transaction():
            self._forget(node)
            self.change(_FAIL, (node, now, trouble))

    def prune_is_due(self, now: float) -> bool:
        """Return whether pruning is due, once a day; if so, record the time."""
        ((last,),) = self.table("SELECT max(at) FROM pruned")
        due = last is None or not last <= now < last + DAY_S
        if due:
            with self.transaction():
                self.change("DELETE FROM pruned")
                self.change("INSERT INTO pruned (at) VALUES (?)", (now,))
        return due

    def request_prune(self) -> None:
        """Make pruning due again, because it was not completed."""
        self.change("DELETE FROM pruned")

    def is_thinned(self, record: Record) -> bool:
        """Return whether the runs of a record's series and day were replaced by a daily figure."""
        key = (*series_of(record), month_of(record.started_at))
        rows = self.table(FIGURES, key)
        day = day_of(record.started_at)
        return any(day_of(figure.at) == day for (blob,) in rows for figure in unpack_days(blob))

    def uncovered(self, layer: str, components: Collection[str], since: float) -> Iterator[Record]:
        """Yield the records without coverage since a time in epoch seconds.

        Damaged records are left out; judging reports them.
        """
        for component, body in self.table(_OPEN, (since, layer)):
            if component in components:
                with suppress(DocumentError):
                    record = read_record(body, self.path)
                    if OTHERS not in (record.details or {}):
                        yield record

    def cover(self, covered: Sequence[tuple[Record, Coverage]]) -> None:
        """Store the coverage of records, all or nothing."""
        with self.transaction():
            for record, coverage in covered:
                details = {**(record.details or {}), OTHERS: write(coverage.others)}
                new = record._replace(coverage=coverage.coverage, details=details)
                self.change(_COVER, (new.coverage, deflate(compact(new)), record.id))

    def _forget(self, node: str) -> None:
        self.change("DELETE FROM running WHERE run_id = ?", (_run_of(node),))


def _run_of(node: str) -> str:
    """Return the run id of a node's running measurements in a console's history."""
    return f"collected from {node}"


def add_note(path: Path, note: Note) -> None:
    """Store a note, creating the history if necessary; raise StoreError if that fails."""
    with Store(path) as store:
        store.change("INSERT INTO notes (at, text) VALUES (?, ?)", note)


def read_notes(path: Path) -> tuple[Note, ...]:
    """Return all notes of a history by date; raise StoreError if it cannot be read."""
    with Store(path, existing=True) as store:
        return tuple(store.select(Note, "FROM notes ORDER BY at, seq"))
