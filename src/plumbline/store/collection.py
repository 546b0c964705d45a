"""History of a console: records of all nodes, their clocks, notes, and who did not answer.

Records and cursor of an answer are kept in one transaction, so a kill at any moment leaves both or
neither.  A record that is there already, by its id, is not kept twice.

Coverage is kept with a record as soon as the counters of the servers show it.  A record that has
coverage already is left as it is.

A note is one row of a table of its own, so it neither waits for a collection for long nor disturbs
one.

The history counts the changes of each component's records itself, so what is kept holds as long as
the counts are those that it rests on.  Both lie in one file: a history that was restored has what
was kept of it then.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Collection, Iterator, NamedTuple, Optional, Sequence

from plumbline.model.codec import write
from plumbline.model.errors import DocumentError
from plumbline.model.exchange import Cursor
from plumbline.model.record import Record
from plumbline.model.series import Running
from plumbline.model.trend import NodeClock, Note
from plumbline.model.units import DAY_S
from plumbline.observe.coverage import OTHERS, Others
from plumbline.store.database import (
    FIGURES,
    RECORD,
    Store,
    day_of,
    deflated,
    month_of,
    read_record,
    row,
    series_of,
    unpacked,
)
from plumbline.store.history import History


def read_clocks(store: Store) -> tuple[NodeClock, ...]:
    """Return how each clock stands of which it is known; raise StoreError if it is unreadable."""
    return tuple(store.select(NodeClock, "FROM clocks"))


class Unanswered(NamedTuple):
    """A node that was asked in vain; times in seconds since the epoch, None for never.

    ``answered_at`` is when it last did answer, ``trouble`` what was heard instead.
    """

    node: str
    tried_at: float
    answered_at: Optional[float]
    trouble: str

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return self._asdict()


def read_unanswered(store: Store) -> tuple[Unanswered, ...]:
    """Return the nodes that did not answer; raise StoreError if the history is unreadable."""
    return tuple(store.select(Unanswered, "FROM collected WHERE trouble != '' ORDER BY node"))


_KEEP = (
    "INSERT INTO collected (node, seq, id, answered_at, tried_at, trouble) "
    "VALUES (?, ?, ?, ?, ?, '') ON CONFLICT (node) DO UPDATE SET seq = excluded.seq, "
    "id = excluded.id, answered_at = excluded.answered_at, tried_at = excluded.tried_at, "
    "trouble = ''"
)
# the id alone may be known already: anything else wrong with a row must not pass
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


class CoveredRecord(NamedTuple):
    """Coverage of a record by the servers' counters; None if they leave it in doubt."""

    record: Record
    coverage: Optional[float]
    others: Others


class ConsoleHistory(History):
    """The history of a console, for whoever adds to it; use it in a ``with``."""

    def cursor(self, node: str) -> Cursor:
        """Return up to where the history of a node was read."""
        return next(iter(self.select(Cursor, "FROM collected WHERE node = ?", node)), Cursor())

    def keep(self, node: str, records: Sequence[Record], cursor: Cursor, now: float) -> int:
        """Keep an answer for good, with the cursor behind it; return how many records were new.

        Raises:
            StoreError: it cannot be written; nothing of it is kept then.
        """
        with self.together():
            new = sum(self.change(_NEW, row(record, deflated)) for record in records)
            self.change(_KEEP, (node, *cursor, now, now))
        return new

    def measures(self, node: str, running: Sequence[Running]) -> None:
        """Note what a node measures now, in the place of what it measured before."""
        with self.together():
            self._forget(node)
            for run in running:
                self.begin(_run_of(node), run)

    def clock(self, clock: NodeClock) -> None:
        """Note how a node's clock stands, in the place of how it stood before."""
        self.change("INSERT OR REPLACE INTO clocks VALUES (?, ?, ?, ?)", clock)

    def failed(self, node: str, trouble: str, now: float) -> None:
        """Note that a node did not answer: what it measures now is not known."""
        with self.together():
            self._forget(node)
            self.change(_FAIL, (node, now, trouble))

    def prune_is_due(self, now: float) -> bool:
        """Return whether a day has gone by since this was last said, and remember it."""
        ((last,),) = self.table("SELECT max(at) FROM pruned")
        due = last is None or not last <= now < last + DAY_S
        if due:
            with self.together():
                self.change("DELETE FROM pruned")
                self.change("INSERT INTO pruned (at) VALUES (?)", (now,))
        return due

    def prune_again(self) -> None:
        """Say that not all was done, so that the next time it is due."""
        self.change("DELETE FROM pruned")

    def is_thinned(self, record: Record) -> bool:
        """Return whether a daily figure stands for the runs of a record's series on its day."""
        place = (*series_of(record), month_of(record.started_at))
        rows = self.table(FIGURES, place)
        day = day_of(record.started_at)
        return any(day_of(figure.at) == day for (blob,) in rows for figure in unpacked(blob))

    def uncovered(self, layer: str, components: Collection[str], since: float) -> Iterator[Record]:
        """Yield what was measured since, in epoch seconds, and has no coverage.

        One that is damaged is left out: whoever judges says so.
        """
        for component, body in self.table(_OPEN, (since, layer)):
            if component in components:
                with suppress(DocumentError):
                    record = read_record(body, self.path)
                    if OTHERS not in (record.details or {}):
                        yield record

    def cover(self, covered: Sequence[CoveredRecord]) -> None:
        """Keep for good what the counters say of records: all of it, or nothing."""
        with self.together():
            for entry in covered:
                self.change(_COVER, (entry.coverage, deflated(_body(entry)), entry.record.id))

    def _forget(self, node: str) -> None:
        self.change("DELETE FROM running WHERE run_id = ?", (_run_of(node),))


def _run_of(node: str) -> str:
    """Return the run id under which a console notes what a node measures."""
    return f"collected from {node}"


def _body(covered: CoveredRecord) -> str:
    record = covered.record
    details = {**(record.details or {}), OTHERS: write(covered.others)}
    body = record._replace(coverage=covered.coverage, details=details).to_json()
    return json.dumps(body, separators=(",", ":"), allow_nan=False)


def add_note(path: Path, note: Note) -> None:
    """Keep a note for good, in a history that may not be there yet; raise StoreError if not."""
    with Store(path) as store:
        store.change("INSERT INTO notes (at, text) VALUES (?, ?)", note)


def read_notes(path: Path) -> tuple[Note, ...]:
    """Return all notes of a history, by their dates; raise StoreError when it cannot be read."""
    with Store(path) as store:
        return tuple(store.select(Note, "FROM notes ORDER BY at, seq"))
