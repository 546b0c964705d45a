"""How a collector sees a node: commands, and the files of the kernel."""

from __future__ import annotations

from typing import Any, Protocol, Sequence

from plumbline.errors import ToolError
from plumbline.model.command import Completed
from plumbline.model.json_text import read_json
from plumbline.targets.query import complaint

QUICK_S = 10.0
"""What answers at all on a healthy node answers within this."""


class System(Protocol):
    """A node; paths are absolute, and what is not there is empty, never an error."""

    def run(self, argv: Sequence[str], timeout_s: float) -> Completed:
        """Run a command; raise ToolError if it is not installed."""
        ...

    def read(self, path: str) -> str:
        """Return the text of a small file without blanks at its ends; empty if it has none."""
        ...

    def names(self, folder: str) -> tuple[str, ...]:
        """Return what lies in a folder, in order; nothing if it is not there."""
        ...

    def real(self, path: str) -> str:
        """Return a path with all of its links followed."""
        ...


def ask(system: System, argv: Sequence[str], timeout_s: float = QUICK_S) -> str:
    """Return what a command prints; raise ToolError in its own words unless it succeeds."""
    completed = system.run(argv, timeout_s)
    if not completed.ok:
        raise ToolError(complaint(completed))
    return completed.stdout


def ask_json(system: System, argv: Sequence[str]) -> Any:
    """Return the JSON that a command prints; raise ToolError when it is none."""
    return parse_json(argv[0], ask(system, argv))


def parse_json(program: str, text: str) -> Any:
    """Return what JSON says; raise ToolError when it is none."""
    try:
        return read_json(text)
    except ValueError as error:
        raise ToolError(f"{program} printed no JSON ({error}): {text[:60]!r}") from error
