"""The file of a sweep: the points that are done."""

from __future__ import annotations

import json
from pathlib import Path

from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.validation import read_json
from plumbline.parallel.sweep import Ledger
from plumbline.store.replacing import replace, writing


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
