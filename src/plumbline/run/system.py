"""This node as the collectors of symptoms see it; see plumbline.symptoms.system."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Sequence

from plumbline.model.command import CommandRunner, Completed

_MOST_BYTES = 1 << 20
"""No file of /proc or /sys that is read here is longer: /proc/mdstat has some lines an array."""


class LocalSystem:
    """Reads below ``root``, which is / but for a copy of another node's files."""

    def __init__(self, runner: CommandRunner, root: Path = Path("/")) -> None:
        self._runner = runner
        self._root = root

    def run(self, argv: Sequence[str], timeout_s: float) -> Completed:
        """Run a command on this machine; raise ToolError if it is not installed."""
        return self._runner(argv, timeout_s)

    def read(self, path: str, most_bytes: int = _MOST_BYTES) -> str:
        """Return a small file's text without blanks at its ends; empty if it cannot be read.

        Some files of /sys refuse to be read while their device is down: they have nothing to say.
        """
        try:
            with self._below(path).open("rb") as file:
                return file.read(most_bytes).decode("utf-8", "replace").strip()
        # a name with a zero byte is refused as a wrong value
        except (OSError, ValueError):
            return ""

    def names(self, folder: str) -> tuple[str, ...]:
        """Return what lies in a folder, in order; nothing where there is none."""
        try:
            return tuple(sorted(os.listdir(self._below(folder))))
        except (OSError, ValueError):
            return ()

    def real(self, path: str) -> str:
        """Return a path with all of its links followed, as seen from the root."""
        root = os.path.realpath(self._root)
        if "\0" in path:
            # no file has such a name
            return path
        found = os.path.realpath(self._below(path))
        inside = os.path.commonpath([root, found]) == root
        return f"/{os.path.relpath(found, root)}" if inside else found

    def _below(self, path: str) -> Path:
        return self._root / path.lstrip("/")
