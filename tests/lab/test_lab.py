"""The whole chain on real hosts: deployed, measured, judged, and seen on the real Nagios.

The tests run in the order in which they stand: each begins by healing what the one before broke,
so that each also sees the part before it recover.
"""

from __future__ import annotations

import json
from typing import Iterator

import pytest

from tests.lab.conftest import brought_up, changes
from tests.lab.lab import Console, Lab, Service, not_ok


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    yield from brought_up(Lab("inventories/lab", 8477))


@pytest.fixture(scope="module")
def console(lab: Lab) -> Console:
    lab.playbook("baseline", {"runs": "2", "reason": "lab test"})
    return Console(lab)


def test_a_second_deployment_changes_nothing(lab: Lab) -> None:
    assert changes(lab.recap("site")) == {}


def break_only(lab: Lab, breakage: dict[str, str]) -> None:
    lab.playbook("lab_break", {"heal": "all"})
    lab.playbook("lab_break", breakage)


def check_sentences(services: dict[str, Service], broken: dict[str, str]) -> None:
    """Each bad service names its component and its figures."""
    for name in broken:
        assert name.split()[1] in services[name].output
        assert "MB/s" in services[name].output


def test_a_slow_disk_and_a_bad_cable_are_seen_at_once_on_exactly_their_services(
    lab: Lab, console: Console
) -> None:
    break_only(lab, {"cable": "oss1"})
    lab.playbook("lab_break", {"disk": "oss2-disk1", "rate": "80MB/s"})
    services = lab.measure(console)
    slow = {"OST scratch-OST0002 write read": "WARNING", "RAW oss2-disk1 read": "CRITICAL"}
    # what crosses the cable may lose as much as to be told too
    behind = {f"OST scratch-OST000{number} write read" for number in (0, 1)}
    found = {name: state for name, state in not_ok(services).items() if name not in behind}
    assert found == {**slow, "NET oss1 send receive": "WARNING"}
    check_sentences(services, slow)
    assert "sent again (limit 0.5 %), bad cable?" in services["NET oss1 send receive"].output


def test_a_slow_link_is_seen_on_exactly_the_services_behind_it(lab: Lab, console: Console) -> None:
    break_only(lab, {"link": "oss3", "rate": "200Mbit"})
    services = lab.measure(console)
    broken = {
        "NET oss3 send receive": "CRITICAL",
        "OST scratch-OST0004 write read": "CRITICAL",
        "OST scratch-OST0005 write read": "CRITICAL",
    }
    assert not_ok(services) == broken
    check_sentences(services, broken)


def test_a_failing_disk_is_unknown_with_the_tool_s_words_and_not_slow(
    lab: Lab, console: Console
) -> None:
    break_only(lab, {"errors": "oss2-disk1"})
    try:
        lab.playbook("probe", {"layer": "raw", "target": "oss2-disk1", "fail": "false"})
        service = console.services()["RAW oss2-disk1 read"]
    finally:
        lab.playbook("lab_break", {"heal": "all"})
    assert service.state == "UNKNOWN"
    assert "sgp_dd" in service.output
    lab.playbook("probe", {"layer": "raw", "target": "oss2-disk1"})
    assert console.services()["RAW oss2-disk1 read"].state == "OK"


def test_every_verdict_shows_its_evidence(lab: Lab, console: Console) -> None:
    assert console.services()
    judged = json.loads(lab.on_host("oss2", "runuser -u plumbline -- plumbline judge --json"))
    verdicts = judged["verdicts"]
    assert verdicts
    assert [verdict for verdict in verdicts if not verdict["evidence"]] == []
