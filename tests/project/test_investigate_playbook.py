"""debug_slow_storage.yml as Ansible runs it, on nodes that have the real plumbline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.package.cli.test_locate import measured
from tests.package.locate.scenes import both
from tests.project.pretended_site import PretendedSite

pytestmark = pytest.mark.long

DEBUG = "debug_slow_storage"
TARGET = {"target": "scratch-OST0002", "budget": "20min"}


@pytest.fixture
def site(tmp_path: Path) -> PretendedSite:
    return PretendedSite(tmp_path, measured({"oss2-disk1": both(80e6)}))


def test_it_measures_until_the_slow_disk_is_named(site: PretendedSite, tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    ended = site.play(DEBUG, {**TARGET, "json": str(found)})
    assert ended.code == 0, ended.said
    ended.shows(
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
    started = [one for one in site.units() if " start " in one and "net" not in one]
    assert started == [
        "client1 start plumbline-ost@scratch-OST0002.service",
        "oss2 start plumbline-raw@oss2-disk1.service",
    ]
    said = json.loads(found.read_text(encoding="utf-8"))
    assert [one["alternatives"] for one in said["slow"]["sets"]] == [[["oss2-disk1"]]]
    assert [step["layer"] for step in said["steps"]] == ["ost", "net", "raw"]


def test_in_check_mode_it_says_the_first_step_and_measures_nothing(site: PretendedSite) -> None:
    address = "{{ '192.0.2.' ~ 7 }}"
    site.by_ssh("oss2", ansible_host=address, ansible_port=2222, ansible_user="ada")
    ended = site.play(DEBUG, TARGET, "--check")
    assert ended.code == 0, ended.said
    ended.shows(
        "Step 1: write and read of target scratch-OST0002", "Check mode: nothing is measured"
    )
    assert site.units() == []
    # each node is reached as the inventory says
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


def test_the_limit_holds_and_what_fails_or_does_not_answer_is_said(
    site: PretendedSite, tmp_path: Path
) -> None:
    unit = "plumbline-ost@scratch-OST0002.service"
    (tmp_path / "client1" / f"{unit}.fails").touch()
    (tmp_path / "oss3" / "down").touch()
    ended = site.play(DEBUG, TARGET, "--limit", "client1,oss1,oss3")
    # as Ansible ends when a host was not reached, or failed
    assert ended.code in (2, 4), ended.said
    ended.shows(
        "oss3 does not answer: Premature end of stream waiting for become success.",
        "Outside of the limit, so not measured on: server oss2.",
        "Step 1: write and read of target scratch-OST0002",
        f"client1: {unit} failed: plumbline: disk oss2-disk1: cannot be opened",
        "Ended: ",
    )
    assert {one.split()[0] for one in site.units()} <= {"client1", "oss1"}


def test_a_part_or_a_variable_that_does_not_exist_is_refused(site: PretendedSite) -> None:
    ended = site.play(DEBUG, {"target": "oss9", "nagios": "perhaps"})
    assert ended.code == 2
    ended.shows("Validation of arguments failed", "nagios")
    assert "Step 1" not in ended.said
    ended = site.play(DEBUG, {"target": "oss9"})
    assert ended.code == 2
    ended.shows("'oss9' is no part of this site; its targets are scratch-OST0000")
