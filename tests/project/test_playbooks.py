"""A node that goes down while it measures does not hold a playbook up."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Iterator

from tests.project.repository import ROOT, document, tracked


def tasks(found: Any) -> Iterator[dict[str, Any]]:
    """Yield every task of a list of plays or tasks, those in blocks too."""
    for one in found:
        yield one
        for key in ("tasks", "pre_tasks", "post_tasks", "block", "rescue", "always"):
            yield from tasks(one.get(key) or ())


def task_files(*patterns: str) -> list[Path]:
    """Return playbooks and files of tasks, without files of variables."""
    return [path for path in tracked(*patterns) if path.parent.name != "vars"]


def test_what_starts_a_measurement_has_a_limit_and_is_not_polled() -> None:
    started = []
    for path in task_files("playbooks/*.yml"):
        for task in tasks(document(path)):
            # polling goes on for as many rounds as the limit has seconds, each a new connection
            assert "async" not in task, f"{path.name}: {task['name']}"
            if "hpcops.plumbline.probe" in task:
                assert "timeout" in task, f"{path.name}: {task['name']}"
                started.append(path.stem)
    assert sorted(started) == ["measure_slot", "measure_storage"]


def test_a_variable_that_a_person_may_give_is_described_and_has_a_kind() -> None:
    for name in ("probe", "baseline", "debug_slow_storage"):
        checked = next(
            task["hpcops.plumbline.variables"]["argument_spec"]
            for task in tasks(document(ROOT / f"playbooks/{name}.yml"))
            if "hpcops.plumbline.variables" in task
        )
        assert checked
        for variable, said in checked.items():
            assert {"description", "type"} <= set(said), f"{name}.yml: {variable}"


def test_a_connection_to_a_dead_host_is_given_up_in_time() -> None:
    said = (ROOT / "ansible.cfg").read_text(encoding="utf-8")
    assert "ServerAliveInterval=10" in said
    assert "ServerAliveCountMax=3" in said


def test_a_block_does_not_change_what_its_own_condition_asks() -> None:
    """Each task of a block asks again, and a task that was skipped registers that."""
    for path in task_files("playbooks/*.yml", "roles/*/tasks/*.yml"):
        for one in tasks(document(path)):
            asked = str(one.get("when", "")) if "block" in one else ""
            registered = {
                task["register"] for task in tasks(one.get("block", ())) if "register" in task
            }
            assert [name for name in registered if re.search(rf"\b{name}\b", asked)] == [], path
