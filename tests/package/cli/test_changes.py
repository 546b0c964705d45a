"""``plumbline changes`` on a node and on the console."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from plumbline.model.units import DAY_S
from plumbline.observe.changes import begun
from plumbline.observe.conditions import Bill
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.store.facts import keep_bill, keep_collected, load_ledger
from plumbline.topology.graph import build
from tests.package.cli.driver import Run
from tests.package.observe.nodes import condition
from tests.package.sites import site

SERVERS = ("oss1", "oss2", "oss3", "oss4", "oss5")


def keep(folder: Path, node: str, *versions: str) -> None:
    """Keep bills of a node, a day apart, the last one an hour ago."""
    folder.mkdir(exist_ok=True)
    for number, version in enumerate(versions):
        at = time.time() - 3600 - DAY_S * (len(versions) - 1 - number)
        keep_bill(folder, Bill(node, at, (condition("Lustre", version),)))


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    plan = compile_plan(build(site()), load({}), {})
    document = plan.to_json()
    for name in SERVERS:
        document["nodes"][name] = {**document["nodes"]["oss1"], "node": name}
        document["parts"][name] = document["parts"]["oss1"]
    (tmp_path / "plan.json").write_text(json.dumps(document), encoding="utf-8")
    history = tmp_path / "history.sqlite"
    history.touch()
    return ["changes", "--plan", str(tmp_path / "plan.json"), "--history", str(history)]


def collected(tmp_path: Path, node: str, *versions: str) -> None:
    keep(tmp_path / node, node, *versions)
    ledger = load_ledger(str(tmp_path / node / "conditions.json"))
    keep_collected(tmp_path / "history.sqlite", node, ledger.to_json())


def test_a_node_shows_its_own_changes(tmp_path: Path, run: Run) -> None:
    keep(tmp_path, "oss1", "2.3.0", "2.4.0")
    header, line = run("changes", "--state", str(tmp_path)).out.splitlines()
    assert header.split() == ["found", "area", "change", "on"]
    assert line.split()[2:] == ["software", "Lustre", "2.3.0", "->", "2.4.0", "oss1"]


def test_a_change_that_was_found_late_says_when_the_old_value_was_last_seen(
    tmp_path: Path, run: Run
) -> None:
    now = time.time()
    for age_d, version in ((9, "2.3.0"), (1, "2.4.0")):
        keep_bill(tmp_path, Bill("oss1", now - age_d * DAY_S, (condition("Lustre", version),)))
    assert "2.3.0 -> 2.4.0; old value last seen 20" in run("changes", "--state", str(tmp_path)).out


def test_older_changes_are_left_out(tmp_path: Path, run: Run) -> None:
    keep(tmp_path, "oss1", "2.3.0", "2.4.0", "2.4.0", "2.4.0")
    assert run("changes", "--state", str(tmp_path), "--since", "2d").out.startswith(
        "no change since "
    )
    assert "Lustre 2.3.0 -> 2.4.0" in run("changes", "--state", str(tmp_path), "--since", "3d").out


def test_a_node_that_was_followed_for_less_time_says_so(tmp_path: Path, run: Run) -> None:
    keep(tmp_path, "oss1", "2.3.0")
    assert (
        "; followed on all nodes since " in run("changes", "--state", str(tmp_path), code=None).out
    )


def test_a_node_without_a_ledger_is_one_sentence(tmp_path: Path, run: Run) -> None:
    assert "plumbline symptoms --save" in run("changes", "--state", str(tmp_path), code=65).err


def test_the_console_shows_a_change_of_all_servers_as_one(
    words: list[str], tmp_path: Path, run: Run
) -> None:
    for node in SERVERS:
        collected(tmp_path, node, "2.3.0", "2.4.0")
    (one,) = run(*words, "--json").document["changes"]
    assert one["nodes"] == list(SERVERS)
    out, err = run(*words)
    assert "all 5 servers" in out
    assert "no changes are known of client1" in err


def test_a_node_that_differs_ends_with_1(words: list[str], tmp_path: Path, run: Run) -> None:
    for node in SERVERS:
        collected(tmp_path, node, "2.4.0")
    assert "no node of 5 differs from most of its kind" in run(*words, "--differences").out
    collected(tmp_path, "oss4", "2.4.1")
    assert run(*words, "--differences", code=1).out == "oss4: Lustre 2.4.1, 4 peers 2.4.0\n"
    (one,) = run(*words, "--differences", "--json", code=1).document["differences"]
    assert (one["nodes"], one["peers"]) == (["oss4"], 4)


def test_a_node_that_nobody_looked_at_for_days_is_left_out(
    words: list[str], tmp_path: Path, run: Run
) -> None:
    for node in SERVERS:
        collected(tmp_path, node, "2.4.0")
    old = Bill("oss4", time.time() - 9 * DAY_S, (condition("Lustre", "2.3.0"),))
    (tmp_path / "conditions" / "oss4.json").unlink()
    keep_collected(tmp_path / "history.sqlite", "oss4", begun(old).to_json())
    out, err = run(*words, "--differences")
    assert out == "no node of 4 differs from most of its kind\n"
    assert "left out, last looked at days ago: oss4" in err


@pytest.mark.parametrize("more", [[], ["--differences"], ["--json"]])
def test_where_nothing_is_known_of_any_node_nothing_is_said_to_be_unchanged(
    more: list[str], words: list[str], tmp_path: Path, run: Run
) -> None:
    out, err = run(*words, *more, code=74)
    assert out == ""
    assert "no changes are known of any node; see that the role symptoms is deployed" in err


def test_where_no_node_was_looked_at_for_days_none_is_said_to_be_alike(
    words: list[str], tmp_path: Path, run: Run
) -> None:
    old = Bill("oss4", time.time() - 9 * DAY_S, (condition("Lustre", "2.3.0"),))
    keep_collected(tmp_path / "history.sqlite", "oss4", begun(old).to_json())
    out, err = run(*words, "--differences", code=3)
    assert out == ""
    assert "left out, last looked at days ago: oss4" in err


@pytest.mark.parametrize(
    ("since", "said"), [("5 M", "has no known unit"), ("1e17s", "more than three centuries")]
)
def test_an_age_that_cannot_be_understood_is_a_sentence(since: str, said: str, run: Run) -> None:
    assert said in run("changes", "--since", since, code=65).err


def test_a_history_that_is_not_there_is_a_sentence(
    words: list[str], tmp_path: Path, run: Run
) -> None:
    (tmp_path / "history.sqlite").unlink()
    assert "plumbline collect" in run(*words, code=74).err
