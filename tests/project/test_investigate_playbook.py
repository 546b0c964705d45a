"""debug_slow_storage.yml run by Ansible on fake nodes with the real plumbline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.package.parts.locate.scenes import both
from tests.package.parts.locate.test_verb_locate import measured
from tests.project.pretended_site import FakeSite

pytestmark = pytest.mark.long

DEBUG = "debug_slow_storage"
TARGET = {"target": "scratch-OST0002", "budget": "20min"}


@pytest.fixture
def site(tmp_path: Path) -> FakeSite:
    return FakeSite(tmp_path, measured({"oss2-disk1": both(80e6)}))


def test_investigate_measures_until_the_slow_disk_is_named(site: FakeSite, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    run = site.play(DEBUG, {**TARGET, "json": str(file)}, "--limit", "client1,oss1,oss2")
    assert run.code == 0, run.output
    run.shows(
        "known: nothing that is not OK\n",
        "Step 1: write and read of target scratch-OST0002, about ",
        "Step 2: the network between client1 and oss1, about ",
        "Suspects, ambiguous: disk oss2-disk1 or target scratch-OST0002",
        "Step 3: raw read of oss2-disk1, about ",
        "vote  measurement",
        "Shown with -v: ",
        "Ended: ",
        "Suspect: disk oss2-disk1 (1 of 1 slow target crosses it",
    )
    started = [call for call in site.units() if " start " in call and "net" not in call]
    assert started == [
        "client1 start plumbline-ost@scratch-OST0002.service",
        "oss2 start plumbline-raw@oss2-disk1.service",
    ]
    result = json.loads(file.read_text(encoding="utf-8"))
    assert [suspects["alternatives"] for suspects in result["slow"]["sets"]] == [[["oss2-disk1"]]]
    assert [step["layer"] for step in result["steps"]] == ["ost", "net", "raw"]


def test_in_check_mode_investigate_shows_the_first_step_and_measures_nothing(
    site: FakeSite,
) -> None:
    address = "{{ '192.0.2.' ~ 7 }}"
    site.by_ssh("oss2", ansible_host=address, ansible_port=2222, ansible_user="ada")
    run = site.play(DEBUG, TARGET, "--check", "--limit", "client1,oss2")
    assert run.code == 0, run.output
    run.shows("Step 1: write and read of target scratch-OST0002", "Check mode: nothing is measured")
    assert site.units() == []
    # the inventory determines how each node is reached
    calls = site.ssh_calls()
    for command in (
        "plumbline export",
        "plumbline judge --json",
        "/var/lib/plumbline/snapshot.json",
    ):
        assert sum(command in call for call in calls) == 1
    for call in calls:
        assert 'User="ada"' in call
        assert "Port=2222" in call
        assert " 192.0.2.7 " in call


def test_the_limit_holds_and_failures_and_silent_nodes_are_reported(
    site: FakeSite, tmp_path: Path
) -> None:
    unit = "plumbline-ost@scratch-OST0002.service"
    (tmp_path / "client1" / f"{unit}.fails").touch()
    (tmp_path / "oss3" / "down").touch()
    run = site.play(DEBUG, TARGET, "--limit", "client1,oss1,oss3")
    # Ansible's exit codes for a host that failed or was not reached
    assert run.code in (2, 4), run.output
    run.shows(
        "oss3 does not answer: Premature end of stream waiting for become success.",
        "Outside of the limit, so not measured on: server oss2.",
        "Step 1: write and read of target scratch-OST0002",
        f"client1: {unit} failed: plumbline: disk oss2-disk1: cannot be opened",
        "Ended: ",
    )
    assert {call.split()[0] for call in site.units()} <= {"client1", "oss1"}


def test_a_variable_of_a_wrong_type_is_refused(site: FakeSite) -> None:
    run = site.play(DEBUG, {"target": "oss9", "nagios": "perhaps"})
    assert run.code == 2
    run.shows("Validation of arguments failed", "nagios")
    assert "Step 1" not in run.output
