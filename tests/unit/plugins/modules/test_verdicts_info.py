"""The verdicts of a node are returned as they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.hpcops.plumbline.plugins.modules import verdicts_info
from ansible_collections.hpcops.plumbline.tests.unit.plugins.modules.on_node import caller


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return caller(tmp_path, monkeypatch)


def test_verdicts_are_those_asked_for_and_the_worst_state_is_said(run: Any) -> None:
    result, module = run(verdicts_info)
    assert (len(result["verdicts"]), result["state"]) == (4, "CRITICAL")
    assert (result["changed"], result["node"]) == (False, "client1")
    assert module.asked[0].endswith("plumbline judge --json")
    result, _ = run(verdicts_info, layers=["ost"])
    assert (len(result["verdicts"]), result["state"]) == (3, "UNKNOWN")
    result, _ = run(verdicts_info, components=["scratch-OST0000"])
    assert (len(result["verdicts"]), result["state"]) == (1, "OK")


def test_what_the_last_run_says_by_itself_can_be_asked_for(run: Any) -> None:
    _, module = run(verdicts_info, last_run=True)
    assert module.asked[0].endswith("plumbline judge --json --last-run")


@pytest.mark.parametrize("asked", [{"components": ["x"]}, {"layers": ["raw"]}])
def test_a_node_that_judges_nothing_of_it_is_not_asked(run: Any, asked: dict[str, Any]) -> None:
    result, module = run(verdicts_info, **asked)
    assert (result["verdicts"], result["state"]) == ([], "UNKNOWN")
    assert module.asked == []


def test_a_node_that_measures_nothing_is_not_judged(run: Any, tmp_path: Path) -> None:
    (tmp_path / "expectations.json").write_text('{"node": "mon1", "entries": []}')
    result, module = run(verdicts_info)
    assert (result["verdicts"], module.asked) == ([], [])
