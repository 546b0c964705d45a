"""``plumbline symptoms`` and ``changes``: signs of faults, and changes of conditions."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Optional

import pytest

from plumbline.cli import main
from plumbline.model.codec import write
from plumbline.model.errors import ToolError
from plumbline.model.symptom import Look, Report
from plumbline.model.units import DAY_S
from plumbline.parts.facts.gather import COLLECTORS
from plumbline.parts.facts.node import Past
from plumbline.parts.facts.saved import FABRIC_FILE, SavedLook, load_fabric, save_symptoms
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.store.facts import keep_collected, keep_conditions, load_ledger
from plumbline.topology.graph import build
from tests.package.cli.driver import Run
from tests.package.model.ledgers import condition, look_at
from tests.package.parts.facts.symptoms_nodes import expectations
from tests.package.sites import site

# --- ``plumbline symptoms`` on this machine names all its collectors.


@pytest.fixture
def in_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run as the systemd unit; a user who calls by hand gets a remark about the unit."""
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
    raised = [
        symptom
        for look in looks
        for symptom in look["symptoms"]
        if symptom["direction"] == "raises"
    ]
    assert [look["collector"] for look in looks] == list(COLLECTORS)
    assert code == bool(raised)
    assert "symptoms.json is not there: counters have no earlier look to compare with" in err


@pytest.mark.usefixtures("in_unit")
def test_the_next_look_compares_with_the_saved_one(
    words: list[str], tmp_path: Path, run: Run
) -> None:
    main([*words, "--save"])
    saved = json.loads((tmp_path / "symptoms.json").read_text(encoding="utf-8"))
    assert set(saved["past"]) == {"older", "newer", "highest"}
    out, err = run(*words, code=None)
    assert err == ""
    assert [line.split()[0] for line in out.splitlines()[-len(COLLECTORS) :]] == list(COLLECTORS)


def test_conditions_of_the_node_are_saved_with_a_look(words: list[str], tmp_path: Path) -> None:
    main(words)
    assert not (tmp_path / "conditions.json").exists()
    main([*words, "--save"])
    ledger = load_ledger(str(tmp_path / "conditions.json"))
    main([*words, "--save"])
    next_ledger = load_ledger(str(tmp_path / "conditions.json"))
    assert ledger.node == "oss1"
    assert "kernel" in {item.name for item in ledger.conditions}
    assert next_ledger.taken_at > next_ledger.since == ledger.since


@pytest.mark.usefixtures("in_unit")
def test_a_damaged_state_is_reported_and_replaced(
    words: list[str], tmp_path: Path, run: Run
) -> None:
    (tmp_path / "symptoms.json").write_text("{", encoding="utf-8")
    assert "symptoms.json is damaged" in run(*words, "--save", code=None).err
    assert run(*words, code=None).err == ""


def set_unavailable(path: Path, collector: str, *, unavailable: str) -> None:
    """Change one collector in the saved look."""
    saved = json.loads(path.read_text(encoding="utf-8"))
    for look in saved["looks"]:
        if look["collector"] == collector:
            look["unavailable"] = unavailable
    path.write_text(json.dumps(saved), encoding="utf-8")


def test_a_look_by_hand_does_not_replace_a_more_complete_one(
    words: list[str],
    tmp_path: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "symptoms.json"
    assert main([*words, "--save"]) in (0, 1)
    saved = json.loads(path.read_text(encoding="utf-8"))
    # this machine has no zpool, but the saved look of the unit has
    assert [look["unavailable"] for look in saved["looks"] if look["collector"] == "zfs"] != [""]
    set_unavailable(path, "zfs", unavailable="")
    before = path.read_bytes()
    assert "as root: systemctl start plumbline-symptoms" in run(*words, "--save", code=77).err
    assert path.read_bytes() == before
    monkeypatch.setenv("PLUMBLINE_UNIT", "plumbline-symptoms.service")
    assert main([*words, "--save"]) in (0, 1)
    assert path.read_bytes() != before


def of_fabric(report: dict[str, Any]) -> dict[str, Any]:
    return next(look for look in report["looks"] if look["collector"] == "fabric")


def saved_fabric(folder: Path, looked_at: float, *, unavailable: str = "") -> None:
    look = Look("fabric", 28, unavailable=unavailable, kind="links")
    report = Report("oss1", looked_at, (look,))
    save_symptoms(folder / FABRIC_FILE, SavedLook(report, Past()))


@pytest.mark.parametrize(
    ("age_s", "unavailable", "words"),
    [
        (None, "", "nobody has looked at the fabric; systemctl start plumbline-fabric"),
        (3600, "", ""),
        (3600, "iblinkinfo is not installed", "iblinkinfo is not installed"),
        (50 * 3600, "", "the last look at the fabric is 2 d old; see systemctl status plumb"),
    ],
    ids=["none", "today's", "failed", "old"],
)
def test_a_host_that_looks_at_the_fabric_repeats_its_daily_look(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    age_s: Optional[float],
    unavailable: str,
    words: str,
) -> None:
    path = tmp_path / "expectations.json"
    own = expectations("oss1")._replace(fabric=())
    path.write_text(json.dumps(own.to_json()), encoding="utf-8")
    if age_s is not None:
        saved_fabric(tmp_path, time.time() - age_s, unavailable=unavailable)
    main(["symptoms", "--expectations", str(path), "--state", str(tmp_path), "--json"])
    look = of_fabric(json.loads(capsys.readouterr().out))
    assert (look["kind"], look["examined"]) == ("links", 0 if words else 28)
    assert look["unavailable"].startswith(words)
    assert bool(look["unavailable"]) is bool(words)


def test_a_damaged_look_at_the_fabric_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "expectations.json"
    own = expectations("oss1")._replace(fabric=())
    path.write_text(json.dumps(own.to_json()), encoding="utf-8")
    for text, words in (
        ('{"looks": []}', "fabric.json is damaged"),
        ("[1", "fabric.json is damaged"),
        (json.dumps({**write(Report("oss1", 1.0, ())), "past": Past()._asdict()}), "old"),
    ):
        (tmp_path / FABRIC_FILE).write_text(text, encoding="utf-8")
        main(["symptoms", "--expectations", str(path), "--state", str(tmp_path), "--json"])
        assert words in of_fabric(json.loads(capsys.readouterr().out))["unavailable"]


@pytest.mark.skipif(Path("/sys/class/infiniband").exists(), reason="this host has InfiniBand")
def test_the_verb_of_the_fabric_says_why_it_was_not_looked_at(
    words: list[str], tmp_path: Path, run: Run
) -> None:
    out, _ = run("fabric", *words[1:], "--save", code=3)
    reason = "/sys/class/infiniband is not there: no InfiniBand adapter, or no driver for it"
    assert out == f"oss1: the fabric is not looked at: {reason}\n"
    with pytest.raises(ToolError, match="no InfiniBand adapter"):
        load_fabric(str(tmp_path / FABRIC_FILE), time.time())


def test_commands_of_the_site_run_last_and_their_failure_is_reported(
    words: list[str], tmp_path: Path, run: Run
) -> None:
    result = {"schema": 1, "examined": 3, "symptoms": []}
    (tmp_path / "said.json").write_text(json.dumps(result), encoding="utf-8")
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


# --- ``plumbline changes`` on a node and on the console.


SERVERS = ("oss1", "oss2", "oss3", "oss4", "oss5")


def save_bills(folder: Path, node: str, *versions: str) -> None:
    """Save bills of a node, a day apart, the last one an hour ago."""
    folder.mkdir(exist_ok=True)
    for number, version in enumerate(versions):
        at = time.time() - 3600 - DAY_S * (len(versions) - 1 - number)
        keep_conditions(folder, look_at(node, at, condition("Lustre", version)))


@pytest.fixture
def source(tmp_path: Path) -> list[str]:
    plan = compile_plan(build(site()), load({}), {})
    document = plan.to_json()
    for name in SERVERS:
        document["nodes"][name] = {**document["nodes"]["oss1"], "node": name}
        document["parts"][name] = document["parts"]["oss1"]
    (tmp_path / "plan.json").write_text(json.dumps(document), encoding="utf-8")
    history = tmp_path / "history.sqlite"
    history.touch()
    return ["changes", "--plan", str(tmp_path / "plan.json"), "--history", str(history)]


def collect_bills(tmp_path: Path, node: str, *versions: str) -> None:
    save_bills(tmp_path / node, node, *versions)
    ledger = load_ledger(str(tmp_path / node / "conditions.json"))
    keep_collected(tmp_path / "history.sqlite", node, write(ledger))


def test_a_node_shows_its_own_changes(tmp_path: Path, run: Run) -> None:
    save_bills(tmp_path, "oss1", "2.3.0", "2.4.0")
    header, line = run("changes", "--state", str(tmp_path)).out.splitlines()
    assert header.split() == ["found", "area", "change", "on"]
    assert line.split()[3:] == ["software", "Lustre", "2.3.0", "->", "2.4.0", "oss1"]


def test_a_change_after_a_gap_shows_when_the_old_value_was_last_seen(
    tmp_path: Path, run: Run
) -> None:
    now = time.time()
    for age_d, version in ((9, "2.3.0"), (1, "2.4.0")):
        keep_conditions(
            tmp_path, look_at("oss1", now - age_d * DAY_S, condition("Lustre", version))
        )
    assert "2.3.0 -> 2.4.0; old value last seen 20" in run("changes", "--state", str(tmp_path)).out


def test_older_changes_are_not_listed(tmp_path: Path, run: Run) -> None:
    save_bills(tmp_path, "oss1", "2.3.0", "2.4.0", "2.4.0", "2.4.0")
    assert run("changes", "--state", str(tmp_path), "--since", "2d").out.startswith(
        "no change since "
    )
    assert "Lustre 2.3.0 -> 2.4.0" in run("changes", "--state", str(tmp_path), "--since", "3d").out


def test_a_shorter_record_of_changes_is_reported_with_its_start(tmp_path: Path, run: Run) -> None:
    save_bills(tmp_path, "oss1", "2.3.0")
    assert (
        "; followed on all nodes since " in run("changes", "--state", str(tmp_path), code=None).out
    )


def test_a_node_that_differs_sets_exit_code_1(source: list[str], tmp_path: Path, run: Run) -> None:
    for node in SERVERS:
        collect_bills(tmp_path, node, "2.4.0")
    assert "no node of 5 differs from most of its kind" in run(*source, "--differences").out
    collect_bills(tmp_path, "oss4", "2.4.1")
    assert run(*source, "--differences", code=1).out == "oss4: Lustre 2.4.1, 4 peers 2.4.0\n"
    (difference,) = run(*source, "--differences", "--json", code=1).document["differences"]
    assert (difference["nodes"], difference["peers"]) == (["oss4"], 4)


def test_a_node_not_looked_at_for_days_is_excluded(
    source: list[str], tmp_path: Path, run: Run
) -> None:
    for node in SERVERS:
        collect_bills(tmp_path, node, "2.4.0")
    old = look_at("oss4", time.time() - 9 * DAY_S, condition("Lustre", "2.3.0"))
    (tmp_path / "conditions" / "oss4.json").unlink()
    keep_collected(tmp_path / "history.sqlite", "oss4", write(old))
    out, err = run(*source, "--differences")
    assert out == "no node of 4 differs from most of its kind\n"
    assert "left out, last looked at days ago: oss4" in err


@pytest.mark.parametrize("options", [[], ["--differences"], ["--json"]])
def test_without_data_of_any_node_changes_is_an_error(
    options: list[str], source: list[str], tmp_path: Path, run: Run
) -> None:
    out, err = run(*source, *options, code=74)
    assert out == ""
    assert "no changes are known of any node; see that the role symptoms is deployed" in err


def test_with_only_old_data_no_differences_are_claimed(
    source: list[str], tmp_path: Path, run: Run
) -> None:
    old = look_at("oss4", time.time() - 9 * DAY_S, condition("Lustre", "2.3.0"))
    keep_collected(tmp_path / "history.sqlite", "oss4", write(old))
    out, err = run(*source, "--differences", code=3)
    assert out == ""
    assert "left out, last looked at days ago: oss4" in err
