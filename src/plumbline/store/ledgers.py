"""Ledgers of unfinished work: confirmations begun, points of a sweep done.

Each measurement is noted before it begins: one that is killed counts, or it could be tried for
ever.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Sequence

from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.expectation import Measured
from plumbline.model.units import DAY_S
from plumbline.model.validation import read_json
from plumbline.parallel.sweep import Ledger
from plumbline.store.database import Store
from plumbline.store.history import KEEP_DAYS
from plumbline.store.replacing import replace, writing


class Confirmed(Store):
    """The notes on confirmation in one history; use it in a ``with``."""

    def begin(self, run: Sequence[Measured]) -> None:
        """Note a run, at least one measurement, for good before it begins."""
        with self.together():
            self.change("DELETE FROM confirmed WHERE at < ?", (run[0].at - KEEP_DAYS * DAY_S,))
            for measurement in run:
                self.change(
                    "INSERT INTO confirmed (run_id, at, layer, component, bytes, control) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    measurement,
                )

    def measured(self, layer: str) -> tuple[Measured, ...]:
        """Return what was begun in a layer, the oldest first."""
        rows = self.table(
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
            self.table(
                "SELECT component, max(started_at) FROM records WHERE started_at BETWEEN ? AND ? "
                "AND layer = ? AND run_id NOT IN (SELECT run_id FROM confirmed) "
                "GROUP BY component",
                (since, until, layer),
            )
        )


class SweepFile:
    """One sweep's file; a kill at any moment leaves the state before or after a point."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> Ledger:
        """Return what the sweep has done.

        Raises:
            FileNotFoundError: it has not begun.
            DocumentError: the file is damaged; the message names it.
            StoreError: it cannot be read.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StoreError(
                f"{self.path} cannot be read: {error.strerror}; name another folder with --state"
            ) from error
        except UnicodeDecodeError as error:
            raise DocumentError(f"{self.path} is no text; begin the sweep with --again") from error
        try:
            return Ledger.from_json(read_json(text))
        except ValueError as error:
            raise DocumentError(f"{self.path}: {error}; begin the sweep with --again") from error
        except DocumentError as error:
            raise DocumentError(f"{self.path}: {error}") from error

    def save(self, ledger: Ledger) -> None:
        """Keep what was done; raise StoreError when that fails."""
        with writing(self.path):
            self.path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
            replace(self.path, json.dumps(ledger.to_json(), allow_nan=False, indent=1))
