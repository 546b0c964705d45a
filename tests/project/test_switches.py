"""Switches of roles: a person who sets one with -e gives a text, and 'false' as a text is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project.repository import ROOT, document, tracked

READERS = [
    *(
        path
        for part in ("tasks", "handlers", "vars", "templates")
        for path in tracked(f"roles/*/{part}/*")
    ),
    *tracked("playbooks/*.yml"),
]


def switches() -> set[str]:
    """Return the names of all options of roles that are true or false."""
    found = set()
    for path in tracked("roles/*/meta/argument_specs.yml"):
        for entry in document(path)["argument_specs"].values():
            options = (entry.get("options") or {}).items()
            found |= {name for name, option in options if option["type"] == "bool"}
    return found


UNREAD = re.compile(
    rf"\b({'|'.join(sorted(switches()))})\b(?!( \| default\(\w+\))? \| bool)(?![:=])"
)
SAID = re.compile(r"^\s*(#|\w*_?msg:|- name:)|\bset in\b")


@pytest.mark.parametrize("path", READERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_switch_is_read_as_one_wherever_it_decides(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if not SAID.search(line)]
    assert [line for line in lines if UNREAD.search(line)] == []
