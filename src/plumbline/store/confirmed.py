"""What confirmation has begun on a node, so that a kill or a reboot begins nothing twice.

Each measurement is noted before it begins: one that is killed counts, or it could be tried for
ever.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Optional, Sequence

from plumbline.model.confirm import Measured
from plumbline.store.database import Database
from plumbline.store.history import KEEP_DAYS

_DAY_S = 86400.0


class Confirmed:
    """The notes on confirmation in one history; use it in a ``with``."""

    def __init__(self, path: Path) -> None:
        """Open the history; raise StoreError if that fails."""
        self._database = Database(path)

    def __enter__(self) -> Confirmed:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._database.close()

    def begin(self, run: Sequence[Measured]) -> None:
        """Note a run, at least one measurement, for good before it begins."""
        with self._database.together():
            self._database.change(
                "DELETE FROM confirmed WHERE at < ?", (run[0].at - KEEP_DAYS * _DAY_S,)
            )
            for one in run:
                self._database.change(
                    "INSERT INTO confirmed (run_id, at, layer, component, bytes, control) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    one,
                )

    def measured(self, layer: str) -> tuple[Measured, ...]:
        """Return what was begun in a layer, the oldest first."""
        rows = self._database.table(
            "SELECT run_id, at, layer, component, bytes, control FROM confirmed "
            "WHERE layer = ? ORDER BY seq",
            (layer,),
        )
        return tuple(
            Measured(run_id, at, of, component, moved, bool(control))
            for run_id, at, of, component, moved, control in rows
        )

    def planned_at(self, layer: str, since: float, until: float) -> dict[str, float]:
        """Return when each component was last measured otherwise, between two moments."""
        return dict(
            self._database.table(
                "SELECT component, max(started_at) FROM records WHERE started_at BETWEEN ? AND ? "
                "AND layer = ? AND run_id NOT IN (SELECT run_id FROM confirmed) "
                "GROUP BY component",
                (since, until, layer),
            )
        )
