"""``plumbline symptoms`` on this very machine, whatever it is: it names all that it asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.cli import main
from plumbline.observe.gather import COLLECTORS
from plumbline.store.facts import load_ledger
from tests.package.cli.driver import Run
from tests.package.observe.symptoms_nodes import expectations


@pytest.fixture
def in_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start as the unit does: an ordinary user who calls by hand reads of the unit as well."""
    monkeypatch.setenv("PLUMBLINE_UNIT", "plumbline-symptoms.service")


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    path = tmp_path / "expectations.json"
    path.write_text(json.dumps(expectations("oss1").to_json()), encoding="utf-8")
    return ["symptoms", "--expectations", str(path), "--state", str(tmp_path)]


def test_the_report_names_every_collector_and_the_exit_code_follows(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([*words, "--json"])
    out, err = capsys.readouterr()
    looks = json.loads(out)["looks"]
    raised = [one for look in looks for one in look["symptoms"] if one["direction"] == "raises"]
    assert [look["collector"] for look in looks] == list(COLLECTORS)
    assert code == bool(raised)
    assert "symptoms.json is not there: counters have nothing to be held against" in err


@pytest.mark.usefixtures("in_unit")
def test_a_look_that_was_saved_is_what_the_next_one_compares_with(
    words: list[str], tmp_path: Path, run: Run
) -> None:
    main([*words, "--save"])
    saved = json.loads((tmp_path / "symptoms.json").read_text(encoding="utf-8"))
    assert set(saved["past"]) == {"older", "newer", "highest"}
    out, err = run(*words, code=None)
    assert err == ""
    assert [line.split()[0] for line in out.splitlines()[-len(COLLECTORS) :]] == list(COLLECTORS)


def test_the_conditions_of_the_node_are_kept_with_a_look_that_is_saved(
    words: list[str], tmp_path: Path
) -> None:
    main(words)
    assert not (tmp_path / "conditions.json").exists()
    main([*words, "--save"])
    ledger = load_ledger(str(tmp_path / "conditions.json"))
    main([*words, "--save"])
    again = load_ledger(str(tmp_path / "conditions.json"))
    assert ledger.node == "oss1"
    assert "kernel" in {one.name for one in ledger.conditions}
    assert again.taken_at > again.since == ledger.since


@pytest.mark.usefixtures("in_unit")
def test_a_damaged_state_is_said_and_does_not_stop_the_next_look(
    words: list[str], tmp_path: Path, run: Run
) -> None:
    (tmp_path / "symptoms.json").write_text("{", encoding="utf-8")
    assert "symptoms.json is damaged" in run(*words, "--save", code=None).err
    assert run(*words, code=None).err == ""


def test_a_node_that_was_not_deployed_is_told_what_to_do(tmp_path: Path, run: Run) -> None:
    assert (
        "deploy the role agent"
        in run("symptoms", "--expectations", str(tmp_path / "none.json"), code=65).err
    )


def saw(path: Path, collector: str, *, unavailable: str) -> None:
    """Change what the saved look says of one collector."""
    saved = json.loads(path.read_text(encoding="utf-8"))
    for look in saved["looks"]:
        if look["collector"] == collector:
            look["unavailable"] = unavailable
    path.write_text(json.dumps(saved), encoding="utf-8")


def test_a_look_by_hand_does_not_replace_one_that_saw_more(
    words: list[str],
    tmp_path: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "symptoms.json"
    assert main([*words, "--save"]) in (0, 1)
    saved = json.loads(path.read_text(encoding="utf-8"))
    # this machine has no zpool, the unit's look had
    assert [one["unavailable"] for one in saved["looks"] if one["collector"] == "zfs"] != [""]
    saw(path, "zfs", unavailable="")
    before = path.read_bytes()
    assert "as root: systemctl start plumbline-symptoms" in run(*words, "--save", code=77).err
    assert path.read_bytes() == before
    monkeypatch.setenv("PLUMBLINE_UNIT", "plumbline-symptoms.service")
    assert main([*words, "--save"]) in (0, 1)
    assert path.read_bytes() != before


def test_a_command_of_the_site_is_asked_last_and_its_failure_is_said(
    words: list[str], tmp_path: Path, run: Run
) -> None:
    said = {"schema": 1, "examined": 3, "symptoms": []}
    (tmp_path / "said.json").write_text(json.dumps(said), encoding="utf-8")
    commands = [
        {"name": "ddn", "kind": "arrays", "argv": ["/bin/cat", str(tmp_path / "said.json")]},
        {"name": "netapp", "kind": "arrays", "argv": ["/bin/false"]},
    ]
    path = tmp_path / "commands.json"
    path.write_text(json.dumps({"schema": 1, "commands": commands}), encoding="utf-8")
    ddn, netapp = run(*words, "--json", "--save", "--commands", str(path), code=None).document[
        "looks"
    ][-2:]
    assert (ddn["collector"], ddn["kind"], ddn["examined"]) == ("ddn", "arrays", 3)
    assert netapp["unavailable"] == "/bin/false failed with exit code 1: without a word"
    path.write_text("{", encoding="utf-8")
    assert "deploy the role symptoms again" in run(*words, "--commands", str(path), code=65).err
