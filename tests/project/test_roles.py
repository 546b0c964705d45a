"""Each role reads like the others, and its documented options are its defaults."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.project.repository import ROOT, document, tracked

ROLES = sorted({ROOT / "roles" / path.relative_to(ROOT).parts[1] for path in tracked("roles/*/*")})
STEPS = ("preflight", "install", "configure", "enable")
# Parts of other roles, which no playbook deploys.
INTERNAL = {"timer_unit"}
# The lab is brought up and broken, not installed.
DEPLOYED = [role for role in ROLES if role.name not in {"lab", *INTERNAL}]

each_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
each_deployed_role = pytest.mark.parametrize("role", DEPLOYED, ids=lambda role: role.name)


def options(role: Path) -> dict[str, dict[str, Any]]:
    """Return the documented options of all entry points."""
    specs = document(role / "meta" / "argument_specs.yml")["argument_specs"]
    return {
        name: option
        for entry in specs.values()
        for name, option in (entry.get("options") or {}).items()
    }


def defaults(role: Path) -> dict[str, Any]:
    """Return the public defaults; ``__role_x`` is nobody's business."""
    path = role / "defaults" / "main.yml"
    values = (document(path) or {}) if path.exists() else {}
    return {name: value for name, value in values.items() if not name.startswith("__")}


def test_there_are_roles() -> None:
    assert ROLES


@each_role
def test_every_default_is_documented(role: Path) -> None:
    assert sorted(set(defaults(role)) - set(options(role))) == []


@each_role
def test_every_documented_option_has_its_default(role: Path) -> None:
    bare = {name for name, option in options(role).items() if not option.get("required")}
    assert sorted(bare - set(defaults(role))) == []


@each_role
def test_the_documented_default_is_the_default(role: Path) -> None:
    given = defaults(role)
    wrong = {
        name: {"documented": option.get("default"), "defaults/main.yml": given[name]}
        for name, option in options(role).items()
        if name in given and option.get("default") != given[name]
    }
    assert wrong == {}


@each_role
def test_every_option_says_what_it_is(role: Path) -> None:
    silent = [name for name, option in options(role).items() if not option.get("description")]
    assert silent == []


@each_role
def test_a_public_variable_carries_the_name_of_its_role(role: Path) -> None:
    assert [name for name in defaults(role) if not name.startswith(f"{role.name}_")] == []


@each_deployed_role
def test_a_role_has_the_same_steps_as_the_others(role: Path) -> None:
    missing = [step for step in ("main", *STEPS) if not (role / "tasks" / f"{step}.yml").is_file()]
    assert missing == []


@each_deployed_role
def test_a_role_takes_its_steps_in_order(role: Path) -> None:
    main = (role / "tasks" / "main.yml").read_text(encoding="utf-8")
    places = [main.find(f"{step}.yml") for step in STEPS]
    assert -1 not in places, f"tasks/main.yml must name {', '.join(STEPS)}"
    assert places == sorted(places)


@pytest.mark.parametrize("name", sorted(INTERNAL))
def test_an_internal_role_is_documented_as_one_and_deployed_by_no_playbook(name: str) -> None:
    role = ROOT / "roles" / name
    specs = document(role / "meta" / "argument_specs.yml")["argument_specs"]
    described = [entry["short_description"] for entry in specs.values()]
    described.append(document(role / "meta" / "main.yml")["galaxy_info"]["description"])
    assert [text for text in described if not text.startswith("Internal - ")] == []
    assert not (role / "tasks" / "main.yml").exists()
    playbooks = tracked("playbooks/*.yml")
    assert [path for path in playbooks if name in path.read_text(encoding="utf-8")] == []


PRIVATE = re.compile(rf"\b__({'|'.join(sorted((role.name for role in ROLES), key=len)[::-1])})_\w+")
# Whatever is not a role has no private variables of its own.
READERS = tracked("roles/*", "playbooks/*", "plugins/*", "inventories/*", "docs/*")


def test_a_private_variable_is_used_by_its_own_role_alone() -> None:
    foreign: dict[str, set[str]] = {}
    for path in READERS:
        parts = path.relative_to(ROOT).parts
        role = parts[1] if parts[0] == "roles" else None
        found = PRIVATE.finditer(path.read_text(encoding="utf-8", errors="replace"))
        names = {name[0] for name in found if name[1] != role}
        if names:
            foreign[str(path.relative_to(ROOT))] = names
    assert foreign == {}


@each_role
def test_a_name_that_a_role_shares_is_documented(role: Path) -> None:
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
def test_a_role_that_describes_services_restarts_them_as_they_are_described_now(role: Path) -> None:
    # the handler of another role that reads the units again may run after one that restarts
    tasks = "".join(path.read_text(encoding="utf-8") for path in role.glob("tasks/*.yml"))
    handlers = role / "handlers" / "main.yml"
    if not handlers.exists() or 'dest: "/etc/systemd/system/' not in tasks:
        return
    asked = [task.get("ansible.builtin.systemd_service", {}) for task in document(handlers)]
    restarted = [one for one in asked if one.get("state") == "restarted"]
    assert [one["name"] for one in restarted if not one.get("daemon_reload")] == []
