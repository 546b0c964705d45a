"""Calls of one verb as on the command line, and inventories written for a test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

import yaml

from plumbline.cli import build_parser
from plumbline.model.limits import Baseline
from plumbline.plan.baseline import Key, write_baselines
from tests.package.sites import site

SOURCE = Path(__file__).parents[3] / "src"
COMMAND = (sys.executable, "-m", "plumbline.cli")


def start(
    home: Path, *words: str, inside: Sequence[str] = (), **variables: str
) -> subprocess.Popen[str]:
    """Start the command line as a process with temporary files and state in ``home``.

    ``inside`` is a command that runs it, such as nsenter.
    """
    (home / "tmp").mkdir(exist_ok=True)
    folders = {"TMPDIR": str(home / "tmp"), "XDG_STATE_HOME": str(home / "state")}
    inherited = {key: value for key, value in os.environ.items() if key != "XDG_RUNTIME_DIR"}
    return subprocess.Popen(
        [*inside, *COMMAND, *words],
        env={**inherited, "PYTHONPATH": str(SOURCE), **folders, **variables},
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(
    home: Path, *words: str, inside: Sequence[str] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process and check that it prints no traceback."""
    process = start(home, *words, inside=inside, **variables)
    out, err = process.communicate(timeout=300)
    assert "Traceback" not in err
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


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
