"""``plumbline history`` shows what was measured, whole records for programs."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from plumbline.cli import main
from plumbline.store.history import History
from tests.package.cli.driver import Run
from tests.package.records import failed, record


@pytest.fixture
def state(tmp_path: Path) -> str:
    with History(tmp_path / "history.sqlite") as history:
        history.save(record(id="old", component="a", started_at=1000.0))
        history.save(record(id="new", component="a", started_at=time.time()))
        history.save(failed(id="raw", component="b", layer="raw", started_at=2000.0))
    return str(tmp_path)


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ([], ["old", "new", "raw"]),
        (["a"], ["old", "new"]),
        (["--layer", "raw"], ["raw"]),
        (["--since", "30d"], ["new"]),
    ],
)
def test_records_are_whole_and_one_a_line(
    state: str, words: list[str], ids: list[str], run: Run
) -> None:
    lines = run("history", "--state", state, "--json", *words).out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ids
    assert all(json.loads(line)["spec"] for line in lines)


def test_people_get_a_table(state: str, run: Run) -> None:
    header, first, _, last = run("history", "--state", state).out.splitlines()
    assert header.split()[:2] == ["started", "layer"]
    assert "1970-01-01 00:16:40Z  ost    a          read" in first
    assert last.endswith("failed fio said no")


def test_a_node_without_history_says_how_to_get_one(tmp_path: Path, run: Run) -> None:
    assert (
        "nothing was measured here yet; run plumbline probe"
        in run("history", "--state", str(tmp_path), code=74).err
    )


def test_to_a_program_a_node_without_history_has_no_records(tmp_path: Path, run: Run) -> None:
    printed = run("history", "--json", "--state", str(tmp_path))
    assert printed.out == ""
    assert "nothing was measured here yet; run plumbline probe" in printed.err
    assert main(["history", "--json", "--state", str(tmp_path / "mistyped")]) == 74


def test_an_age_that_is_not_understood_is_a_sentence(state: str, run: Run) -> None:
    assert (
        "duration 'yesterday' is not a number with a unit"
        in run("history", "--state", state, "--since", "yesterday", code=65).err
    )
