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


VALUE = re.compile(r"\{\{ (\w+) \}\}")
OF_USERS = ("agent_state", "console_state", "__metrics_state", "__console_metrics_state")
"""Folders that belong to a user of a service."""


def resolved(text: str) -> str:
    """Return a path with the constants of the roles in it."""
    constants = {
        name: value
        for path in tracked("roles/*/vars/main.yml")
        for name, value in (document(path) or {}).items()
        if isinstance(value, str) and name not in OF_USERS
    }
    while (replaced := VALUE.sub(lambda name: constants.get(name[1], name[0]), text)) != text:
        text = replaced
    return text


def test_root_follows_no_link_in_a_folder_of_another_user() -> None:
    inside = re.compile(rf"\{{\{{ ({'|'.join(OF_USERS)}) \}}\}}/")
    paths = list[tuple[str, object]]()
    for task in (task for path in tracked("roles/*/tasks/*.yml") for task in document(path) or ()):
        options = task.get("ansible.builtin.file", {})
        if options.get("state") in (None, "directory", "file", "touch") and options:
            items = task["loop"] if options["path"] == "{{ item.path }}" else [options]
            paths += [(resolved(item["path"]), item.get("follow")) for item in items]
    followed = dict(path for path in paths if inside.match(path[0]))
    assert len(followed) > 4
    keys = {path for path in followed if "/.ssh/" in path}
    assert {path for path, follow in followed.items() if follow is not False} == keys
