"""Call one verb as the command line does, on an inventory made for the test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

import yaml

from plumbline.cli import build_parser
from tests.package.sites import site


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
