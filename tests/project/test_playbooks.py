"""A node that goes down during a measurement does not block a playbook."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Iterator

from tests.project.playbook import run_playbook, succeeded
from tests.project.repository import ROOT, document, tracked


def tasks(entries: Any) -> Iterator[dict[str, Any]]:
    """Yield all tasks of a list of plays or tasks, including those in blocks."""
    for entry in entries:
        yield entry
        for key in ("tasks", "pre_tasks", "post_tasks", "block", "rescue", "always"):
            yield from tasks(entry.get(key) or ())


def task_files(*patterns: str) -> list[Path]:
    """Return playbooks and task files, without files of variables."""
    return [path for path in tracked(*patterns) if path.parent.name != "vars"]


def test_tasks_that_start_measurements_have_a_limit_and_are_not_polled() -> None:
    started = []
    for path in task_files("playbooks/*.yml"):
        for task in tasks(document(path)):
            # polling opens a new connection for each second of the limit
            assert "async" not in task, f"{path.name}: {task['name']}"
            if "hpcops.plumbline.probe" in task:
                assert "timeout" in task, f"{path.name}: {task['name']}"
                started.append(path.stem)
    assert sorted(started) == ["measure_slot", "measure_storage"]


def test_connections_to_dead_hosts_time_out() -> None:
    settings = (ROOT / "ansible.cfg").read_text(encoding="utf-8")
    assert "ServerAliveInterval=10" in settings
    assert "ServerAliveCountMax=3" in settings


def test_no_block_registers_a_variable_of_its_own_condition() -> None:
    """Each task of a block evaluates the condition again, and skipped tasks register too."""
    for path in task_files("playbooks/*.yml", "roles/*/tasks/*.yml"):
        for entry in tasks(document(path)):
            condition = str(entry.get("when", "")) if "block" in entry else ""
            registered = {
                task["register"] for task in tasks(entry.get("block", ())) if "register" in task
            }
            assert [name for name in registered if re.search(rf"\b{name}\b", condition)] == [], path


COUNTED = re.compile(r"\s*\| length\b|\s*== \[\]|\s*\| sort\b")


def test_no_list_is_in_random_order() -> None:
    """Ansible's filters of sets keep no order, and each run would write another file."""
    unordered = []
    for path in tracked("playbooks/*", "roles/*"):
        text = path.read_text(encoding="utf-8", errors="replace")
        calls = re.finditer(r"\| (?:difference|intersect|union|symmetric_difference)\(", text)
        unordered += [
            (path.name, text[call.start() : call.end() + 20])
            for call in calls
            if not COUNTED.match(text, _end_of_call(text, call.end()))
        ]
    assert unordered == []


def _end_of_call(text: str, start: int) -> int:
    """Return the place behind the bracket that closes the one before ``start``."""
    end, depth = start, 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return end


def test_a_playbook_of_the_tests_leaves_no_folder_in_the_checkout(tmp_path: Path) -> None:
    (tmp_path / "play.yml").write_text("- {hosts: all, gather_facts: false}\n", encoding="utf-8")
    home = tmp_path / "home"
    succeeded(run_playbook(tmp_path / "play.yml", env={"ANSIBLE_HOME": str(home)}))
    assert [path.name for path in home.iterdir()] == ["tmp"]
    assert not [*ROOT.glob("{*")], "Ansible's temporary folder has an unresolved name"
