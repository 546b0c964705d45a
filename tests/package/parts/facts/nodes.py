"""A node made of files, its bills and its ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping

from plumbline.model.command import System
from plumbline.model.ledger import Condition, Ledger
from plumbline.model.units import DAY_S
from tests.package.fakes import Answer
from tests.package.parts.facts.symptoms_nodes import make_system
from tests.package.recorded import table

NOW = 1_795_243_788.0
"""2026-11-21 06:49:48 UTC."""

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


def condition(
    name: str, value: str, area: str = "software", subject: str = "", among: str = "node"
) -> Condition:
    return Condition(area, subject, name, value, among)


def look_at(node: str, at: float, *conditions: Condition) -> Ledger:
    return Ledger(node, at, at, conditions=conditions)


def bill(*conditions: Condition, day: float = 0.0, node: str = "oss1") -> Ledger:
    """Return the ledger of a single look, on a day counted from the first."""
    return look_at(node, NOW + day * DAY_S, *conditions)


def ledger(*bills: Ledger) -> Ledger:
    """Return the ledger of a node with these bills."""
    node_ledger = bills[0]
    for later in bills[1:]:
        node_ledger = later.after(node_ledger)
    return node_ledger
