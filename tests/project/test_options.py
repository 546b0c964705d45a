"""Options named in messages and pages are options of roles."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Iterator

import pytest

from tests.project.playbook import run_play
from tests.project.repository import ROOT, document, tracked

ROLES = sorted({path.relative_to(ROOT).parts[1] for path in tracked("roles/*/*")}, key=len)
NAMED = re.compile(rf"\b(?:{'|'.join(reversed(ROLES))})_[a-z][a-z_]*\b")
OF_ROLE = re.compile(r"\b([a-z]+_[a-z_]+) of the role ([a-z_]+)")
# playbooks, the compiled plan, and variables of Icinga's own check command
NO_OPTIONS = {
    "agent_plan",
    "lab_break",
    "lab_down",
    "lab_up",
    "nrpe_command",
    "nrpe_timeout",
    "nrpe_timeout_unknown",
    "report_gbits",
}


def options() -> dict[str, set[str]]:
    """Return the options of each role."""
    return {
        path.parts[-3]: {
            name
            for entry in document(path)["argument_specs"].values()
            for name in entry.get("options") or {}
        }
        for path in tracked("roles/*/meta/argument_specs.yml")
    }


@cache
def messages() -> tuple[tuple[Path, str], ...]:
    """Return all texts in the package, concatenated ones as one."""
    return tuple(_messages())


def _messages() -> Iterator[tuple[Path, str]]:
    for path in tracked("src/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value


def shared() -> set[str]:
    """Return the variables of roles for use by other roles."""
    names = {name for path in tracked("roles/*/vars/*.yml") for name in document(path)}
    return {name for name in names if not name.startswith("__")}


OPTIONS = options()
ALL = set().union(*OPTIONS.values())


@pytest.mark.slow
def test_options_in_messages_of_the_package_exist() -> None:
    named = {(path.name, name) for path, text in messages() for name in NAMED.findall(text)}
    assert "agent_lustre_capabilities" in {name for _, name in named}
    assert {(path, name) for path, name in named if name not in ALL | NO_OPTIONS} == set()


def test_a_message_names_the_right_role_of_an_option() -> None:
    pairs = {pair for _, text in messages() for pair in OF_ROLE.findall(text)}
    assert pairs
    assert {(name, role) for name, role in pairs if name not in OPTIONS.get(role, set())} == set()


@pytest.mark.long
def test_the_roles_refuse_unknown_capabilities(tmp_path: Path) -> None:
    variables = {"agent_lustre_capabilities": "{{ given }}"}
    output = run_play(tmp_path, "options", variables).stdout
    assert "another has all; write names as in" in output
    assert re.findall(r"^fatal: \[(\w+)\]", output, re.MULTILINE) == ["another"]


PAGES = [*tracked("docs/*.md"), ROOT / "README.md"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_options_in_pages_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = {name for code in re.findall(r"`([^`]+)`", text) for name in NAMED.findall(code)}
    assert named - ALL - shared() - NO_OPTIONS == set()
