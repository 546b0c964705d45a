"""How the clocks of nodes differ from the console's, as it was found when they were last asked."""

from __future__ import annotations

from plumbline.model.trend import NodeClock
from plumbline.store.database import Database

CLOCKS = (
    "CREATE TABLE IF NOT EXISTS clocks (node TEXT PRIMARY KEY, at REAL NOT NULL, "
    "ahead_s REAL NOT NULL, within_s REAL NOT NULL)"
)
"""The statement that makes the table; the history of a node has none."""


def keep_clock(database: Database, clock: NodeClock) -> None:
    """Keep how a clock stands, in the place of how it stood; raise StoreError if that fails."""
    database.change(
        "INSERT OR REPLACE INTO clocks (node, at, ahead_s, within_s) VALUES (?, ?, ?, ?)", clock
    )


def read_clocks(database: Database) -> tuple[NodeClock, ...]:
    """Return how each clock stands of which it is known; raise StoreError if it is unreadable."""
    there = database.has("clocks")
    rows = database.table("SELECT node, at, ahead_s, within_s FROM clocks") if there else []
    return tuple(map(NodeClock._make, rows))
