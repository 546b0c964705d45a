"""What was deployed is taken away again, and nothing of others with it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest

from tests.project.repository import ROOT, document, tracked

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


def with_reasons(found: list[dict[str, Any]], why: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every task with the conditions of it and of its blocks."""
    for task in found:
        reasons = f"{why} {task.get('when', '')}"
        yield reasons, task
        yield from with_reasons(task.get("block", []), reasons)


@pytest.mark.parametrize("path", REMOVALS, ids=lambda path: path.parts[-3])
def test_packages_go_only_from_where_the_role_was_deployed(path: Path) -> None:
    for reasons, task in with_reasons(document(path)):
        if PACKAGE in task:
            assert "agent_remove_packages" in reasons
            assert "_there." in reasons or "_deployed." in reasons or "_mask." in reasons


@pytest.mark.parametrize("path", REMOVALS, ids=lambda path: path.parts[-3])
def test_packages_that_much_else_depends_on_stay(path: Path) -> None:
    role = path.parts[-3]
    named = {
        package
        for names in tracked(f"roles/{role}/vars/*.yml")
        for package in document(names).get(f"__{role}_packages", [])
    }
    for _, task in with_reasons(document(path)):
        # by the role itself, or by timer_unit for it
        taken = [task.get(PACKAGE, {}).get("name"), task.get("vars", {}).get("timer_unit_packages")]
        for packages in filter(None, taken):
            forgotten = {one for one in named & SHARED if one not in packages}
            assert forgotten == set() or "select('search', " in packages


def test_every_role_that_is_deployed_is_removed_and_the_agent_last() -> None:
    removed = [
        role
        for play in document(ROOT / "playbooks/remove.yml")
        for task in play["tasks"]
        for role in task.get("loop", [])
    ]
    assert sorted(removed) == sorted(document(ROOT / "playbooks/vars/site.yml")["site_roles"])
    assert removed[-1] == "agent"


def test_what_a_switch_has_deployed_goes_when_it_is_switched_off() -> None:
    site = document(ROOT / "playbooks/vars/site.yml")
    switched = {
        role
        for role, when in site["site_roles"].items()
        if any(f"default({word})" in when for word in ("false", "[]", "site_symptoms"))
    }
    assert {role for traces in site["site_traces"].values() for role in traces} == switched
    for play in document(ROOT / "playbooks/site.yml"):
        tags = {tag for task in play.get("post_tasks", []) for tag in task["tags"]}
        assert tags == switched & {role["role"] for role in play.get("roles", [])}


PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  vars:
    ansible_python_interpreter: {python}
  tasks:
    - ansible.builtin.include_tasks:
        file: {root}/playbooks/tasks/switched_off.yml
        apply:
          tags: [always]
      tags: [always]
"""
REMOVE = "- ansible.builtin.debug:\n    msg: {role} is removed\n"


def removed(folder: Path, switched_on: str, *words: str) -> list[str]:
    """Return the roles of which the tasks take away what was deployed: traces of two, not of c."""
    for role in ("agent", "a", "b", "c"):
        tasks = folder / "roles" / role / "tasks"
        tasks.mkdir(parents=True)
        (tasks / "remove.yml").write_text(REMOVE.format(role=role))
        (tasks / "names.yml").write_text("- ansible.builtin.debug:\n    msg: names\n")
    for trace in ("a", "b"):
        (folder / trace).touch()
    (folder / "play.yml").write_text(PLAY.format(root=ROOT, python=sys.executable))
    given = {
        "site_roles": {role: role == switched_on for role in "abc"},
        "switched_off_traces": {role: str(folder / role) for role in "abc"},
    }
    done = subprocess.run(
        [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "localhost,", *words]
        + ["-e", json.dumps(given), str(folder / "play.yml")],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return re.findall(r"msg: (\w) is removed", done.stdout)


@pytest.mark.long
@pytest.mark.parametrize(
    ("switched_on", "words", "gone"),
    [
        ("c", [], ["a", "b"]),
        ("a", [], ["b"]),
        ("c", ["--check"], ["a", "b"]),
        ("c", ["--tags", "b"], ["b"]),
        ("c", ["--skip-tags", "b"], ["a"]),
        ("c", ["--tags", "nagios"], []),
    ],
)
def test_a_role_goes_where_it_was_deployed_and_is_no_longer_switched_on(
    tmp_path: Path, switched_on: str, words: list[str], gone: list[str]
) -> None:
    assert removed(tmp_path, switched_on, *words) == gone
