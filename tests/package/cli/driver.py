"""Calls of one verb as on the command line, and inventories written for a test."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

import yaml

from plumbline.cli import build_parser
from plumbline.model.limits import Baseline
from plumbline.plan.baseline import Key, write_baselines
from tests.forks import Fork, Forks
from tests.package.sites import site
from tests.processes import run_to_end

SOURCE = Path(__file__).parents[3] / "src"
CLIENT = Path(__file__).parents[2] / "fork_client.py"
COMMAND = (sys.executable, "-m", "plumbline.cli")


# What a run loads; a verb that needs more imports it itself.
IMPORTED = (
    "plumbline.parts.parallel.verbs",
    "plumbline.cli.records",
    "plumbline.cli.probe",
    *(f"plumbline.cli.probe_{form}" for form in ("planned", "directories", "confirm", "mount")),
    "plumbline.measure.raw",
    *(f"plumbline.measure.probes.{tool}" for tool in ("calls", "fio", "sgp_dd")),
)


@cache
def _forks() -> Forks:
    """Return the process that starts the command line, once for all tests of this process."""
    folders = {"PYTHONPATH": str(SOURCE)}
    forks = Forks(sys.executable, modules=(str(SOURCE), *IMPORTED), environment=folders)
    atexit.register(forks.close)
    return forks


def client() -> tuple[str, ...]:
    """Return a command that is the command line, for programs that start it."""
    return (sys.executable, "-IS", str(CLIENT), _forks().path)


def start(home: Path, *words: str, **variables: str) -> Fork:
    """Start the command line as a process with temporary files and state in ``home``."""
    return _forks().start(words, home, environment(home, variables))


def environment(home: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process with temporary files and state in ``home``."""
    (home / "tmp").mkdir(exist_ok=True)
    folders = {"TMPDIR": str(home / "tmp"), "XDG_STATE_HOME": str(home / "state")}
    inherited = {key: value for key, value in os.environ.items() if key != "XDG_RUNTIME_DIR"}
    return {**inherited, "PYTHONPATH": str(SOURCE), **folders, **variables}


def finish(
    home: Path, *words: str, inside: Sequence[str] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process and check that it prints no traceback.

    With a command ``inside`` which it runs, such as nsenter, or other modules, it starts anew.
    """
    if inside or "PYTHONPATH" in variables:
        given = environment(home, variables)
        ended = run_to_end(*inside, *COMMAND, *words, env=given, cwd=home, timeout=300)
    else:
        process = start(home, *words, **variables)
        out, err = process.communicate(timeout=300)
        ended = subprocess.CompletedProcess(process.args, process.wait(), out, err)
    assert "Traceback" not in ended.stderr
    return ended


class Printed(NamedTuple):
    """Output of a call."""

    out: str
    err: str

    @property
    def document(self) -> Any:
        """Return the parsed JSON of standard output."""
        return json.loads(self.out)


Run = Callable[..., Printed]
"""Type of the fixture ``run``: words of a command line and the expected exit code."""


def call(verb: str, *argv: str) -> int:
    """Run ``plumbline VERB ARGV`` and return its exit code; errors are raised."""
    arguments = build_parser(verb).parse_args([verb, *argv])
    code: int = arguments.run(arguments)
    return code


def inventory(
    folder: Path,
    topology: Optional[dict[str, Any]] = None,
    policy: Optional[dict[str, Any]] = None,
) -> str:
    """Write an inventory to ``folder`` and return its path."""
    documents = folder / "group_vars" / "all"
    documents.mkdir(parents=True)
    (folder / "hosts.yml").write_text("all: {}\n", encoding="utf-8")
    for name, content in (("topology", topology or site()), ("policy", policy)):
        if content is not None:
            text = yaml.safe_dump({f"plumbline_{name}": content})
            (documents / f"{name}.yml").write_text(text, encoding="utf-8")
    return str(folder)


def accept(folder: str, baselines: Mapping[Key, Baseline]) -> None:
    """Write accepted baselines to an inventory."""
    path = Path(folder) / "group_vars" / "all" / "baselines.yml"
    path.write_text(yaml.safe_dump(write_baselines(baselines)), encoding="utf-8")
