"""The requested verdicts of a node are returned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpcops.plumbline.plugins.modules import verdicts_info
from ansible_collections.hpcops.plumbline.tests.unit.plugins.modules.on_node import caller


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return caller(tmp_path, monkeypatch)


def test_the_requested_verdicts_and_their_worst_state_are_returned(run: Any) -> None:
    result, module = run(verdicts_info)
    assert (len(result["verdicts"]), result["state"]) == (4, "CRITICAL")
    assert (result["changed"], result["node"]) == (False, "client1")
    assert module.commands[0].endswith("plumbline judge --json")
    result, _ = run(verdicts_info, layers=["ost"])
    assert (len(result["verdicts"]), result["state"]) == (3, "UNKNOWN")
    result, _ = run(verdicts_info, components=["scratch-OST0000"])
    assert (len(result["verdicts"]), result["state"]) == (1, "OK")


def test_verdicts_of_the_last_run_alone_can_be_requested(run: Any) -> None:
    _, module = run(verdicts_info, last_run=True)
    assert module.commands[0].endswith("plumbline judge --json --last-run")


@pytest.mark.parametrize("arguments", [{"components": ["x"]}, {"layers": ["raw"]}])
def test_a_node_without_the_requested_components_is_not_queried(
    run: Any, arguments: dict[str, Any]
) -> None:
    result, module = run(verdicts_info, **arguments)
    assert (result["verdicts"], result["state"]) == ([], "UNKNOWN")
    assert module.commands == []


def test_a_node_that_measures_nothing_is_not_judged(run: Any, tmp_path: Path) -> None:
    (tmp_path / "expectations.json").write_text('{"node": "mon1", "entries": []}')
    result, module = run(verdicts_info)
    assert (result["verdicts"], module.commands) == ([], [])
