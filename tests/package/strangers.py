"""Folders of tests for other users than the one that runs them."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator


@contextmanager
def folder_for_all() -> Iterator[Path]:
    """Yield a folder that all users may pass; each start of a pytest closes those of another."""
    with tempfile.TemporaryDirectory(prefix="plumbline-tests-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield folder
