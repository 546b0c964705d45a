"""A history as it was at a moment: the records that had begun until then, for whoever judges it.

Daily figures have no moment; a time of which they are all that is left has no runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Optional

from plumbline.model.trend import SERVER
from plumbline.store.history import History

MOST_RUNS = 20_000
"""Of a time; an hour of 5,000 targets that are written and read twice each."""

_RUNS = (
    "SELECT layer, component, operation, scenario, partner, started_at, outcome, rate_Bps, "
    "coverage FROM records WHERE started_at >= ? AND layer != ? ORDER BY started_at LIMIT ?"
)


class Began(NamedTuple):
    """A measurement in short; units as in :class:`~plumbline.model.record.Record`."""

    layer: str
    component: str
    operation: str
    scenario: str
    partner: str
    started_at: float
    outcome: str
    rate_Bps: Optional[float]
    coverage: Optional[float]


class PastHistory(History):
    """A history without what came later, for reading; use it in a ``with``."""

    def __init__(self, path: Path, until: float) -> None:
        """Open it as it was at a moment, in epoch seconds; raise StoreError if that fails."""
        super().__init__(path)
        for table, column in (("records", "started_at"), ("running", "since")):
            # SQLite looks for a name among temporary ones first (sqlite.org/lang_naming.html); a
            # view takes no bound values
            seen = f"SELECT * FROM main.{table} WHERE {column} <= {float(until)!r}"  # noqa: S608
            self._database.change(f"CREATE TEMP VIEW {table} AS {seen}", ())

    def since(self, begin: float) -> list[Began]:
        """Return what was measured since a moment, the first ``MOST_RUNS``."""
        return list(map(Began._make, self._database.table(_RUNS, (begin, SERVER, MOST_RUNS))))
