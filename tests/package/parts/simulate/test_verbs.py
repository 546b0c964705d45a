"""``plumbline simulate`` predicts alarms of a policy, reproducibly for the same seed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from plumbline.judge.judging import Judging
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.parts.simulate import course
from plumbline.parts.simulate.fleet import Noise
from plumbline.store.history import History
from tests.package.cli.driver import Run, inventory
from tests.package.parts.simulate.fleets import fleet, records
from tests.package.sites import INVENTORIES, inventory_document, part, site

PAGE = INVENTORIES.parent / "docs" / "simulate.md"


def document(run: Run, *argv: str) -> dict[str, Any]:
    raw: dict[str, Any] = run("simulate", *argv, "--json").document
    return raw


@pytest.mark.long
def test_the_documentation_shows_the_real_output(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)
    (example,) = [block for block in blocks if block.startswith("$ ")]
    command, _, expected = example.partition("\n")
    monkeypatch.chdir(INVENTORIES.parent)
    argv = shlex.split(command.removeprefix("$ plumbline "))
    assert run(*argv).out == expected


@pytest.mark.slow
def test_the_same_seed_gives_the_same_faults_for_any_number_of_fleets(
    tmp_path: Path, run: Run
) -> None:
    options = ("-i", inventory(tmp_path), "--days", "3", "--random-faults", "2")
    result = document(run, *options, "--fleets", "2")
    assert result["fleets"] == 2
    assert len(result["faults"]) == 4
    assert document(run, *options)["faults"] == result["faults"][:2]
    other_seed = document(run, *options, "--seed", "2")
    assert [fault["component"] for fault in result["faults"][:2]] != [
        fault["component"] for fault in other_seed["faults"]
    ]


@pytest.mark.slow
def test_a_campaign_is_the_same_on_any_number_of_processors(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("-i", inventory(tmp_path), "--campaign", "6", "--noise", "quiet")
    results = []
    for processors in ({0}, {0, 1}):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, of=processors: of)
        results.append(document(run, *options))
    assert results[0] == results[1]
    assert results[0]["attempts"] == 6


def test_a_gross_fault_is_located_within_days(tmp_path: Path, run: Run) -> None:
    options = ("-i", inventory(tmp_path), "--days", "12", "--noise", "none")
    result = document(run, *options, "--fault", "oss1-disk1=60%@4")
    # two servers in parallel, two targets each, 1 GiB at 80 MB/s
    ost, raw = result["longest_runs"]
    assert (ost["layer"], ost["node"], round(ost["seconds"])) == ("ost", "client1", 165)
    assert (raw["layer"], raw["node"], round(raw["seconds"])) == ("raw", "oss2", 125)
    (fault,) = result["faults"]
    assert fault["identifiable"]
    assert fault["found_days"] <= 7
    assert fault["sentence"].split()[0] in ("oss1-disk1", "scratch-OST0")
    # the target bears the alarm of the device that it lies on
    assert (fault["services"], fault["notifications"]) == (2, 1)
    assert (result["alarms_a_fault"], result["silent_faults"]) == (1, 0)
    assert result["false_alarms"] == [] or not any(
        alarm["number"] for alarm in result["false_alarms"]
    )
    assert (result["false_alarms_a_month"], result["false_alarm_days_share"]) == (0, 0)
    assert result["unknown_share"] == 0
    within = result["detection"][0]["within"]
    assert list(within) == ["1", "3", "7", "14", "30"]
    assert (within["7"], within["14"]) == (1.0, None)
    assert (result["detection"][0]["found"], result["chance"][0]["found"]) == (1, 0)


def test_the_detection_rate_without_a_fault_is_shown_too(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alarms for all components every other day find any fault by chance."""

    def alarming(nodes: Any, judging: Judging) -> Any:
        state = State.WARNING if int(judging.now // 86400) % 2 else State.OK
        for measured in nodes.values():
            for entry in measured:
                yield Verdict(entry.layer, entry.component, state, Reason.SLOW, "slow")

    monkeypatch.setattr(course, "judge_day", alarming)
    options = ("-i", inventory(tmp_path), "--days", "8", "--fault", "oss1-disk1=2%@3")
    result = document(run, *options)
    assert result["detection"] == result["chance"]
    assert result["detection"][0]["found"] == 1
    assert result["false_alarm_days_share"] == 0.5
    lines = run("simulate", *options).out.splitlines()
    assert re.match(
        r"[0-9.]+ false alarms a month, above the budget of 0.5: .* 4 of 8 days", lines[0]
    )
    (size, chance) = [line.split() for line in lines if line.startswith(("2 %", "by chance"))]
    assert size[4:] == chance[2:]


def test_release_and_new_site_simulations_are_one_call_each(tmp_path: Path, run: Run) -> None:
    options = ("-i", inventory(tmp_path), "--days", "8", "--noise", "none")
    result = document(run, *options, "--fault", "release-2.4.0=70%:read@3")
    (fault,) = result["faults"]
    assert (fault["kind"], fault["services"]) == ("release", 1)
    assert fault["found_by"] == "ost group scratch"
    result = document(run, *options, "--fault", "site=75%@0")
    assert (result["faults"][0]["kind"], result["faults"][0]["found_days"]) == ("site", 5)
    assert result["chance"][0]["found"] == 0
    result = document(run, *options, "--fault", "scratch-OST0+neighbour=30%")
    assert [fault["component"] for fault in result["faults"]] == ["scratch-OST0", "scratch-OST1"]


@pytest.mark.slow
def test_the_policy_changes_the_result(tmp_path: Path, run: Run) -> None:
    fault = ("--noise", "none", "--days", "8", "--fault", "scratch-OST0=30%")
    folder = inventory(tmp_path / "strict", policy={"schema": 1})
    lax = inventory(
        tmp_path / "lax", policy={"schema": 1, "limits": {"warning": "60:", "peer_loss": "45%"}}
    )
    assert document(run, "-i", folder, *fault)["faults"][0]["found_days"] is not None
    assert document(run, "-i", lax, *fault)["faults"][0]["found_days"] is None


def test_the_alarm_budget_of_the_policy_is_shown(tmp_path: Path, run: Run) -> None:
    options = ("-i", inventory(tmp_path, policy={"schema": 1, "alarm_budget": 3}), "--days", "2")
    first = run("simulate", *options).out.splitlines()[0]
    assert first == (
        "false alarms: 0 in 0.1 months, on 0 of 2 days (0.0 %); the budget allows 0.2; "
        "too few to tell, try --fleets 60"
    )
    assert document(run, *options)["alarm_budget"] == 3


def test_a_part_with_slack_is_reported_as_unidentifiable(tmp_path: Path, run: Run) -> None:
    raw = site()
    part(raw, "oss[1-2]").pop("address")
    options = ("-i", inventory(tmp_path, raw), "--days", "3", "--noise", "none")
    assert (
        "1 of 1 faults slow no measurement"
        in run("simulate", *options, "--fault", "oss1-nic=30%").out
    )


@pytest.mark.slow
def test_a_simulation_shows_that_an_inventory_raises_false_alarms(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "edison"
    copytree(INVENTORIES / "edison", folder)
    # the paper demonstrated 60 % of the ceiling on FS1, 30 % full
    policy = {"layers": {"ost": {"limits": {"min_efficiency": "70 %"}}}}
    path = folder / "group_vars" / "all" / "policy.yml"
    path.write_text(json.dumps({"plumbline_policy": {"schema": 1, **policy}}), encoding="utf-8")
    options = ("-i", str(folder), "--days", "4", "--noise", "quiet", "--healthy")
    result = document(run, *options, "baselines")
    (alarm,) = result["false_alarms"]
    assert (alarm["layer"], alarm["group"], alarm["reason"]) == ("ost", True, "below_floor")
    assert result["healthy"] == "baselines"
    assert not document(run, *options, "ceilings")["false_alarms"]


def test_the_noise_of_a_history_is_that_of_its_records(tmp_path: Path, run: Run) -> None:
    noise = Noise(component=0.02, run=0.06, day=0.02)
    lab = fleet(inventory_document("lab", "topology"), inventory_document("lab", "policy"))
    path = tmp_path / "history.sqlite"
    with History(path) as history:
        for record in records(lab, noise, 30):
            history.save(record)
    options = ("-i", str(INVENTORIES / "lab"), "--days", "2", "--noise")
    words = document(run, *options, str(path))["noise"]
    match = re.fullmatch(rf"of {path} \(runs differ by ([0-9.]+) %, nights by .*\)", words)
    assert match
    assert 4.5 < float(match[1]) < 7.5


def test_a_noise_that_is_no_history_is_refused(tmp_path: Path, run: Run) -> None:
    options = ("simulate", "-i", str(INVENTORIES / "lab"), "--noise")
    with pytest.raises(UsageError, match="'loud' is none of none, quiet, year and no history"):
        run(*options, "loud")
    path = tmp_path / "history.sqlite"
    with History(path):
        pass
    with pytest.raises(DocumentError, match="the history has no group of 5 members"):
        run(*options, str(path))
