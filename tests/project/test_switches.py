"""Switches of roles are read with ``bool``: -e gives a text, and the text 'false' is true."""

from __future__ import annotations

import re

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
    """Return the names of all boolean options of roles."""
    names = set()
    for path in tracked("roles/*/meta/argument_specs.yml"):
        for entry in document(path)["argument_specs"].values():
            options = (entry.get("options") or {}).items()
            names |= {name for name, option in options if option["type"] == "bool"}
    return names


UNREAD = re.compile(
    rf"\b({'|'.join(sorted(switches()))})\b(?!( \| default\(\w+\))? \| bool)(?![:=])"
)
TEXT_LINE = re.compile(r"^\s*(#|\w*_?msg:|- name:)|\bset in\b")


def test_switches_are_read_as_booleans() -> None:
    lines = ((path, line) for path in READERS for line in path.read_text().splitlines())
    assert [
        (str(path.relative_to(ROOT)), line)
        for path, line in lines
        if not TEXT_LINE.search(line) and UNREAD.search(line)
    ] == []
