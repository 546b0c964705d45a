"""Roles have the same structure, and their documented options are their defaults."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.project.repository import ROOT, document, tracked

ROLES = sorted({ROOT / "roles" / path.relative_to(ROOT).parts[1] for path in tracked("roles/*/*")})

each_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)


def options(role: Path) -> dict[str, dict[str, Any]]:
    """Return the documented options of all entry points."""
    specs = document(role / "meta" / "argument_specs.yml")["argument_specs"]
    return {
        name: option
        for entry in specs.values()
        for name, option in (entry.get("options") or {}).items()
    }


def defaults(role: Path) -> dict[str, Any]:
    """Return the public defaults; names such as ``__role_x`` are private."""
    path = role / "defaults" / "main.yml"
    values = (document(path) or {}) if path.exists() else {}
    return {name: value for name, value in values.items() if not name.startswith("__")}


@each_role
def test_the_documented_options_have_the_defaults_of_the_role(role: Path) -> None:
    documented = {
        name: option.get("default")
        for name, option in options(role).items()
        if not option.get("required")
    }
    assert documented == defaults(role)


@each_role
def test_public_variables_begin_with_the_name_of_their_role(role: Path) -> None:
    assert [name for name in defaults(role) if not name.startswith(f"{role.name}_")] == []


PRIVATE = re.compile(rf"\b__({'|'.join(sorted((role.name for role in ROLES), key=len)[::-1])})_\w+")
# Only roles have private variables.
READERS = tracked("roles/*", "playbooks/*", "plugins/*", "inventories/*", "docs/*")


def test_private_variables_are_used_only_by_their_own_role() -> None:
    foreign: dict[str, set[str]] = {}
    for path in READERS:
        parts = path.relative_to(ROOT).parts
        role = parts[1] if parts[0] == "roles" else None
        matches = PRIVATE.finditer(path.read_text(encoding="utf-8", errors="replace"))
        names = {name[0] for name in matches if name[1] != role}
        if names:
            foreign[str(path.relative_to(ROOT))] = names
    assert foreign == {}


@each_role
def test_shared_names_of_a_role_are_documented(role: Path) -> None:
    page = (ROOT / "docs" / "roles.md").read_text(encoding="utf-8")
    shared = page.split("### Names that roles share")[1].split("\n## ")[0]
    names = {
        name
        for path in tracked(f"roles/{role.name}/vars/*.yml")
        for name in document(path)
        if not name.startswith("__")
    }
    assert {name for name in names if f"`{name}`" not in shared} == set()


@each_role
def test_a_role_with_services_reloads_systemd_before_it_restarts_them(role: Path) -> None:
    # another role's handler that reloads units may run after the one that restarts
    tasks = "".join(path.read_text(encoding="utf-8") for path in role.glob("tasks/*.yml"))
    handlers = role / "handlers" / "main.yml"
    if not handlers.exists() or 'dest: "/etc/systemd/system/' not in tasks:
        return
    calls = [task.get("ansible.builtin.systemd_service", {}) for task in document(handlers)]
    restarts = [call for call in calls if call.get("state") == "restarted"]
    assert [call["name"] for call in restarts if not call.get("daemon_reload")] == []
