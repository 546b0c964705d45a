"""A node made of files."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping

from plumbline.model.command import System
from tests.package.fakes import Answer
from tests.package.parts.facts.symptoms_nodes import make_system
from tests.package.recorded import table

FILE = table("conditions/node.yml")
FILES: dict[str, str] = FILE["files"]
HBA = "/sys/devices/pci0000:00/0000:00:01.0/0000:3b:00.0"
DISK = f"{HBA}/host1/target1:0:0/1:0:0:0"


def system(
    root: Path,
    files: Mapping[str, str] = {},
    answers: Mapping[str, Answer] = {},
    links: Mapping[str, str] = {},
) -> System:
    """Return the node of conditions/node.yml with these files and answers in addition."""
    return make_system(root, {**FILES, **files}, answers, {**FILE["links"], **links})
