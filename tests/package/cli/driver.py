"""Call one verb as the command line does, on an inventory made for the test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

import yaml

from plumbline.cli import build_parser
from tests.package.sites import site

SOURCE = Path(__file__).parents[3] / "src"
COMMAND = (sys.executable, "-m", "plumbline.cli")


def start(home: Path, *words: str, **variables: str) -> subprocess.Popen[str]:
    """Start the command line as a process, whose temporary files and state lie in ``home``."""
    (home / "tmp").mkdir(exist_ok=True)
    places = {"TMPDIR": str(home / "tmp"), "XDG_STATE_HOME": str(home / "state")}
    inherited = {key: value for key, value in os.environ.items() if key != "XDG_RUNTIME_DIR"}
    return subprocess.Popen(
        [*COMMAND, *words],
        env={**inherited, "PYTHONPATH": str(SOURCE), **places, **variables},
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(home: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process to its end, which is no traceback."""
    process = start(home, *words, **variables)
    out, err = process.communicate(timeout=300)
    assert "Traceback" not in err
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


class Printed(NamedTuple):
    """Output of a call."""

    out: str
    err: str

    @property
    def document(self) -> Any:
        """Return the JSON that it is."""
        return json.loads(self.out)


Run = Callable[..., Printed]
"""Type of the fixture ``run``: words of a command line, and the exit code that it must have."""


def call(verb: str, *argv: str) -> int:
    """Run ``plumbline VERB ARGV`` and return its exit code; trouble is raised."""
    arguments = build_parser(verb).parse_args([verb, *argv])
    code: int = arguments.run(arguments)
    return code


def inventory(
    folder: Path,
    topology: Optional[dict[str, Any]] = None,
    policy: Optional[dict[str, Any]] = None,
) -> str:
    """Write an inventory into ``folder`` and return its path."""
    documents = folder / "group_vars" / "all"
    documents.mkdir(parents=True)
    (folder / "hosts.yml").write_text("all: {}\n", encoding="utf-8")
    for name, said in (("topology", topology or site()), ("policy", policy)):
        if said is not None:
            text = yaml.safe_dump({f"plumbline_{name}": said})
            (documents / f"{name}.yml").write_text(text, encoding="utf-8")
    return str(folder)
