"""Runs plumbline as a person does: its command, as a process, with the clock at one moment.

The system's clock is set for the command alone, by the program faketime; nothing of plumbline is
imported or replaced.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Mapping, NamedTuple, Sequence

from tests.project.repository import tracked

ROOT = Path(__file__).parents[2]
CHECKS = ROOT / "checks"
DATA = ROOT / "tests" / "data" / "characterization"
COMMAND = str(Path(sys.executable).with_name("plumbline"))


@cache
def inventories() -> Path:
    """Return a copy of the inventories as git has them; a running lab writes into its own."""
    folder = Path(mkdtemp(prefix="plumbline-inventories-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for path in tracked("inventories"):
        copy = folder / path.relative_to(ROOT / "inventories")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return folder


class Answer(NamedTuple):
    """The end of a command: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    def document(self) -> Any:
        """Return the JSON that was printed; of several lines a list."""
        return parsed(self.out, self.err)


def parsed(text: str, trouble: str = "") -> Any:
    """Return a JSON text, or a list of its lines where each is one."""
    try:
        return json.loads(text)
    except ValueError:
        try:
            return [json.loads(line) for line in text.splitlines()]
        except ValueError as error:
            raise AssertionError(f"no JSON: {text[:300]!r} {trouble[:600]}") from error


def run(*argv: str, at: float, environment: Mapping[str, str] = {}) -> Answer:
    """Return the answer of ``plumbline ARGV`` at a moment, in seconds since the epoch."""
    return answer_of([COMMAND, *argv], at, environment)


def answer_of(command: Sequence[str], at: float, environment: Mapping[str, str] = {}) -> Answer:
    """Return the answer of any command at a moment."""
    moment = datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    done = subprocess.run(
        ["faketime", "-m", "-f", moment, *command],
        env={
            **os.environ,
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            # times of files are those of the system
            "NO_FAKE_STAT": "1",
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return Answer(done.returncode, done.stdout, done.stderr)
