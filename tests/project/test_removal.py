"""Removal of everything that was deployed, and of nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Iterator, Mapping

import pytest

from plumbline.model.layers import LAYERS
from tests.project.playbook import play_output
from tests.project.repository import ROOT, document, tracked
from tests.project.test_packages import deployments

PACKAGE = "ansible.builtin.package"
SHARED = {
    "python3-cryptography",
    "python3-numpy",
    "bash-completion",
    "python3-yaml",
    "python3-pyyaml",
    "python3-jinja2",
}
REMOVALS = tracked("roles/*/tasks/remove*.yml")


def with_conditions(tasks: list[dict[str, Any]], condition: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all tasks with their conditions and those of their blocks."""
    for task in tasks:
        conditions = f"{condition} {task.get('when', '')}"
        yield conditions, task
        yield from with_conditions(task.get("block", []), conditions)


@pytest.mark.parametrize("path", REMOVALS, ids=lambda path: path.parts[-3])
def test_packages_are_removed_only_from_hosts_with_the_role(path: Path) -> None:
    for conditions, task in with_conditions(document(path)):
        if PACKAGE in task:
            assert "agent_remove_packages" in conditions
            assert "_there." in conditions or "_deployed." in conditions or "_mask." in conditions


@pytest.mark.parametrize("path", REMOVALS, ids=lambda path: path.parts[-3])
def test_packages_needed_by_much_other_software_stay(path: Path) -> None:
    role = path.parts[-3]
    named = {
        package
        for names in tracked(f"roles/{role}/vars/*.yml")
        for package in document(names).get(f"__{role}_packages", [])
    }
    for _, task in with_conditions(document(path)):
        # by the role itself, or by timer_unit for it
        package_lists = [
            task.get(PACKAGE, {}).get("name"),
            task.get("vars", {}).get("timer_unit_packages"),
        ]
        for packages in filter(None, package_lists):
            forgotten = {package for package in named & SHARED if package not in packages}
            assert forgotten == set() or "select('search', " in packages


SWITCHES = ("false", "[]", "site_symptoms", "site_space")
"""Defaults of the conditions of roles that an inventory can switch off."""


def test_all_deployed_roles_are_removed_and_the_agent_last() -> None:
    removed = [
        role
        for play in document(ROOT / "playbooks/remove.yml")
        for task in play["tasks"]
        for role in task.get("loop", [])
    ]
    assert sorted(removed) == sorted(document(ROOT / "playbooks/vars/site.yml")["site_roles"])
    assert removed[-1] == "agent"


def test_optional_roles_are_removed_when_switched_off() -> None:
    site = document(ROOT / "playbooks/vars/site.yml")
    switched = {
        role
        for role, when in site["site_roles"].items()
        if any(f"default({word})" in when for word in SWITCHES)
    }
    # what the policy names, it can leave out again
    switched |= {f"{name}_probe" for name, layer in LAYERS.items() if layer.if_named}
    assert {role for traces in site["site_traces"].values() for role in traces} == switched
    for play in document(ROOT / "playbooks/site.yml"):
        tags = {tag for task in play.get("post_tasks", []) for tag in task["tags"]}
        assert tags == switched & {name for name, _ in deployments(play)}


REMOVE = "- ansible.builtin.debug:\n    msg: {role} is removed\n"


def removed(folder: Path, hosts: Mapping[str, str], *words: str) -> set[tuple[str, str]]:
    """Return the hosts and roles of the removals, for hosts that have a role switched on.

    The roles a and b have left traces, c has not.
    """
    for role in ("agent", "a", "b", "c"):
        tasks = folder / "roles" / role / "tasks"
        tasks.mkdir(parents=True)
        (tasks / "remove.yml").write_text(REMOVE.format(role=role))
        (tasks / "names.yml").write_text("- ansible.builtin.debug:\n    msg: names\n")
    for trace in ("a", "b"):
        (folder / trace).touch()
    given = {
        host: {"site_roles": {role: role == switched_on for role in "abc"}}
        for host, switched_on in hosts.items()
    }
    variables = {"switched_off_traces": {role: str(folder / role) for role in "abc"}}
    roles = {"ANSIBLE_ROLES_PATH": f"{folder}/roles"}
    output = play_output(folder, "switched_off", variables, *words, hosts=given, env=roles)
    return set(re.findall(r"^ok: \[(\w+)\] => *\n  +msg: (\w) is removed", output, re.MULTILINE))


@pytest.mark.long
@pytest.mark.parametrize(
    ("hosts", "words", "expected"),
    [
        ({"one": "a", "two": "c"}, [], {("one", "b"), ("two", "a"), ("two", "b")}),
        ({"one": "c"}, ["--check", "--skip-tags", "b"], {("one", "a")}),
        ({"one": "c"}, ["--tags", "b,nagios"], {("one", "b")}),
    ],
)
def test_a_switched_off_role_is_removed_where_it_was_deployed(
    tmp_path: Path, hosts: dict[str, str], words: list[str], expected: set[tuple[str, str]]
) -> None:
    assert removed(tmp_path, hosts, *words) == expected
