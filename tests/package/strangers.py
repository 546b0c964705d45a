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


def let_through(folder: Path) -> None:
    """Let all users pass through the folders above, which pytest made private."""
    end = Path(tempfile.gettempdir()).resolve()
    for above in folder.resolve().parents:
        if above == end:
            return
        above.chmod(0o711)
    raise ValueError(f"{folder} does not lie in {end}; give pytest a --basetemp there")
