"""What confirmation has begun on a node, so that a kill or a reboot begins nothing twice.

Each measurement is noted before it begins: one that is killed counts, or it could be tried for
ever.
"""

from __future__ import annotations

from typing import Sequence

from plumbline.model.confirm import Measured
from plumbline.store.database import Store
from plumbline.store.history import KEEP_DAYS
from plumbline.units import DAY_S


class Confirmed(Store):
    """The notes on confirmation in one history; use it in a ``with``."""

    def begin(self, run: Sequence[Measured]) -> None:
        """Note a run, at least one measurement, for good before it begins."""
        with self._database.together():
            self._database.change(
                "DELETE FROM confirmed WHERE at < ?", (run[0].at - KEEP_DAYS * DAY_S,)
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
