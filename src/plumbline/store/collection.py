"""The history of a console: the records of all nodes, and up to where each node's was read.

Records and cursor of an answer are kept in one transaction, so a kill at any moment leaves both or
neither.  A record that is there already, by its id, is not kept twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from plumbline.model.exchange import Cursor
from plumbline.model.record import Record
from plumbline.model.series import Running
from plumbline.model.trend import NodeClock
from plumbline.store.clocks import CLOCKS, keep_clock
from plumbline.store.database import Store
from plumbline.store.deflated import deflated
from plumbline.store.tables import RECORD, row, series_of
from plumbline.store.thinned import FIGURES, day_of, month_of, unpacked
from plumbline.store.unanswered import COLLECTED
from plumbline.units import DAY_S

_PRUNED = "CREATE TABLE IF NOT EXISTS pruned (at REAL NOT NULL)"
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


class Collection(Store):
    """The history of a console, for whoever adds to it; use it in a ``with``."""

    def __init__(self, path: Path) -> None:
        """Open the history, and begin it where there is none; raise StoreError if that fails."""
        super().__init__(path)
        try:
            self._database.change(COLLECTED, ())
            self._database.change(_PRUNED, ())
            self._database.change(CLOCKS, ())
        except BaseException:
            self._database.close()
            raise

    def cursor(self, node: str) -> Cursor:
        """Return up to where the history of a node was read."""
        query = "SELECT seq, id FROM collected WHERE node = ?"
        return next((Cursor(*row) for row in self._database.table(query, (node,))), Cursor())

    def keep(self, node: str, records: Sequence[Record], cursor: Cursor, now: float) -> int:
        """Keep an answer for good, with the cursor behind it; return how many records were new.

        Raises:
            StoreError: it cannot be written; nothing of it is kept then.
        """
        with self._database.together():
            new = sum(self._database.change(_NEW, row(record, deflated)) for record in records)
            self._database.change(_KEEP, (node, *cursor, now, now))
        return new

    def running(self, node: str, running: Sequence[Running]) -> None:
        """Note what a node measures now, in the place of what it measured before."""
        with self._database.together():
            self._forget(node)
            for one in running:
                self._database.change(
                    "INSERT OR REPLACE INTO running (layer, component, since, run_id) "
                    "VALUES (?, ?, ?, ?)",
                    (*one[:3], _run_of(node)),
                )

    def clock(self, clock: NodeClock) -> None:
        """Note how a node's clock stands, in the place of how it stood before."""
        keep_clock(self._database, clock)

    def failed(self, node: str, trouble: str, now: float) -> None:
        """Note that a node did not answer: what it measures now is not known."""
        with self._database.together():
            self._forget(node)
            self._database.change(_FAIL, (node, now, trouble))

    def prune_is_due(self, now: float) -> bool:
        """Return whether a day has gone by since this was last said, and remember it."""
        ((last,),) = self._database.table("SELECT max(at) FROM pruned")
        due = last is None or not last <= now < last + DAY_S
        if due:
            with self._database.together():
                self._database.change("DELETE FROM pruned", ())
                self._database.change("INSERT INTO pruned (at) VALUES (?)", (now,))
        return due

    def prune_again(self) -> None:
        """Say that not all was done, so that the next time it is due."""
        self._database.change("DELETE FROM pruned", ())

    def is_thinned(self, record: Record) -> bool:
        """Return whether a daily figure stands for the runs of a record's series on its day."""
        place = (*series_of(record), month_of(record.started_at))
        rows = self._database.table(FIGURES, place)
        day = day_of(record.started_at)
        return any(day_of(one.at) == day for (blob,) in rows for one in unpacked(blob))

    def _forget(self, node: str) -> None:
        self._database.change("DELETE FROM running WHERE run_id = ?", (_run_of(node),))


def _run_of(node: str) -> str:
    """Return the run id under which a console notes what a node measures."""
    return f"collected from {node}"
