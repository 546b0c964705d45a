"""Nodes that gave no answer when a console last asked them for what they have measured."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from plumbline.store.database import Database

COLLECTED = """CREATE TABLE IF NOT EXISTS collected (
    node TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    answered_at REAL,
    tried_at REAL,
    trouble TEXT NOT NULL
)"""
"""The statement that makes the table; the history of a node has none."""

_QUERY = (
    "SELECT node, tried_at, answered_at, trouble FROM collected WHERE trouble != '' ORDER BY node"
)


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


def read_unanswered(database: Database) -> tuple[Unanswered, ...]:
    """Return the nodes that did not answer; raise StoreError if the history is unreadable."""
    rows = database.table(_QUERY) if database.has("collected") else []
    return tuple(map(Unanswered._make, rows))
