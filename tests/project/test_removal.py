"""What was deployed is taken away again, and nothing of others with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

import pytest

from tests.project.repository import ROOT, document, tracked

PACKAGE = "ansible.builtin.package"
INCLUDED = "ansible.builtin.include_role"
SHARED = {"openssl", "bash-completion", "python3-yaml", "python3-pyyaml", "python3-jinja2"}
REMOVALS = tracked("roles/*/tasks/remove.yml")


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
        if PACKAGE in task:
            forgotten = {one for one in named & SHARED if one not in task[PACKAGE]["name"]}
            assert forgotten == set() or "select('search', " in task[PACKAGE]["name"]


def test_what_a_switch_has_deployed_goes_when_it_is_switched_off() -> None:
    for play in document(ROOT / "playbooks/site.yml"):
        switched = {
            role["role"]
            for role in play.get("roles", [])
            if "default(false)" in role.get("when", "") or "default([])" in role.get("when", "")
        }
        removed = {
            task[INCLUDED]["name"]
            for task in play.get("post_tasks", [])
            if task.get(INCLUDED, {}).get("tasks_from") == "remove"
        }
        assert removed == switched
