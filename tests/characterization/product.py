"""Calls of the plumbline command in a process with a fixed clock.

The program faketime sets the clock of the command; no module of plumbline is imported here or
replaced.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Mapping, NamedTuple, Optional, Sequence

from tests.forks import Forks
from tests.project.repository import tracked

ROOT = Path(__file__).parents[2]
CHECKS = ROOT / "checks"
DATA = ROOT / "tests" / "data" / "characterization"
COMMAND = str(Path(sys.executable).with_name("plumbline"))


@cache
def inventories() -> Path:
    """Return a copy of the committed inventories in .cache; a running lab changes its own."""
    folder = ROOT / ".cache" / "inventories"
    files = {
        folder / path.relative_to(ROOT / "inventories"): path for path in tracked("inventories")
    }
    for copy in {path for path in folder.rglob("*") if path.is_file()} - files.keys():
        copy.unlink(missing_ok=True)
    for copy, path in files.items():
        content = path.read_bytes()
        if not copy.exists() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            # whole or not at all: other processes of the tests read and write it too
            with NamedTemporaryFile(dir=copy.parent, delete=False) as file:
                file.write(content)
            Path(file.name).replace(copy)
    return folder


class Answer(NamedTuple):
    """Result of a command: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    def document(self) -> Any:
        """Return the parsed JSON output, a list if it has several lines."""
        return parsed(self.out, self.err)


def parsed(text: str, stderr: str = "") -> Any:
    """Parse a JSON text, or each of its lines into a list."""
    try:
        return json.loads(text)
    except ValueError:
        try:
            return [json.loads(line) for line in text.splitlines()]
        except ValueError as error:
            raise AssertionError(f"no JSON: {text[:300]!r} {stderr[:600]}") from error


# What most verbs of a console import.
IMPORTED = (
    "plumbline.site.inventory",
    "plumbline.parts.locate.investigate",
    "plumbline.parts.locate.paths",
    "plumbline.parts.locate.site",
    "plumbline.parts.report.page",
    "plumbline.parts.report.read",
    *(f"plumbline.cli.{verbs}" for verbs in ("console", "inventory", "records", "verdicts")),
    "yaml",
)
ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    # file times come from the system clock
    "NO_FAKE_STAT": "1",
}


def _at(moment: float) -> tuple[str, ...]:
    """Return the command that runs another one at a time in seconds since the epoch."""
    text = datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    return ("faketime", "-m", "-f", text)


def forks_at(moment: float, *folders: str) -> Forks:
    """Return a process at a time whose forks answer calls, with modules from these folders."""
    python = (*_at(moment), sys.executable)
    return Forks(*python, modules=(*folders, *IMPORTED), environment=ENVIRONMENT)


class _Clock:
    """Processes that answer at one moment after another: one lives at a time."""

    def __init__(self) -> None:
        self._moment = 0.0
        self._forks: Optional[Forks] = None

    def call(self, words: Sequence[str], moment: float) -> subprocess.CompletedProcess[str]:
        if self._forks is None or moment != self._moment:
            self.close()
            self._forks = forks_at(moment)
            self._moment = moment
        return self._forks.call(words)

    def close(self) -> None:
        if self._forks is not None:
            self._forks.close()
            self._forks = None


_CLOCK = _Clock()
atexit.register(_CLOCK.close)


def run(*argv: str, at: float, environment: Mapping[str, str] = {}) -> Answer:
    """Run ``plumbline ARGV`` at a time in seconds since the epoch.

    With variables it runs in a process of its own, as they may name other modules.
    """
    if environment:
        return answer_of([COMMAND, *argv], at, environment)
    return as_answer(_CLOCK.call(argv, at))


def answer_of(command: Sequence[str], at: float, environment: Mapping[str, str] = {}) -> Answer:
    """Run any command at a time in seconds since the epoch."""
    process = subprocess.run(
        [*_at(at), *command],
        env={**os.environ, **ENVIRONMENT, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return as_answer(process)


def as_answer(done: subprocess.CompletedProcess[str]) -> Answer:
    """Return the result of a command that has ended."""
    return Answer(done.returncode, done.stdout, done.stderr)
