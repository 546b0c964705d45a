"""The whole chain on real hosts: deployed, measured, judged, and seen on the real Nagios.

The tests run in the order in which they stand: each leaves the lab healed for the next one.
"""

from __future__ import annotations

import os
import re
from typing import Iterator

import pytest

from tests.lab import lab
from tests.lab.lab import Console, Service

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the lab needs root")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Bring up the lab, deploy, capture a baseline; leave nothing behind, whatever happens."""
    try:
        lab.playbook("lab_up")
        lab.playbook("site")
        lab.playbook("baseline", {"runs": "3", "reason": "lab test"})
        yield
    finally:
        lab.playbook("lab_down")


@pytest.fixture(scope="module")
def console(cluster: None) -> Console:
    return Console()


@pytest.fixture
def healed() -> Iterator[None]:
    """Heal whatever a test broke, also when it fails."""
    try:
        yield
    finally:
        lab.playbook("lab_break", {"heal": "all"})


def states(services: dict[str, Service]) -> dict[str, str]:
    return {name: service.state for name, service in services.items()}


def changes(recap: str) -> dict[str, str]:
    """Return how many tasks changed something, of the hosts where any did."""
    counts = dict(re.findall(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)", recap, re.MULTILINE))
    assert counts, recap
    return {host: count for host, count in counts.items() if count != "0"}


def test_a_second_deployment_changes_nothing() -> None:
    recap = lab.playbook("site", quiet=True).rpartition("PLAY RECAP")[2]
    assert changes(recap) == {}


def test_check_mode_predicts_no_change_on_a_deployed_site() -> None:
    recap = lab.playbook("site", None, "--check", quiet=True).rpartition("PLAY RECAP")[2]
    assert changes(recap) == {}


def test_a_healthy_cluster_is_ok_in_every_service(console: Console) -> None:
    services = lab.measure(console)
    assert len(services) >= 6 + 6 + 4
    assert console.not_ok(services) == {}


@pytest.mark.parametrize(
    ("breakage", "broken"),
    [
        (
            {"disk": "oss2-disk1", "rate": "80MB/s"},
            {"RAW oss2-disk1 read": "CRITICAL", "OST scratch-OST0002 write read": "WARNING"},
        ),
        (
            {"link": "oss3", "rate": "200Mbit"},
            {
                "NET oss3 send receive": "CRITICAL",
                "OST scratch-OST0004 write read": "CRITICAL",
                "OST scratch-OST0005 write read": "CRITICAL",
            },
        ),
        ({"cable": "oss1"}, {"NET oss1 send receive": "WARNING"}),
    ],
    ids=["slow disk", "slow link", "bad cable"],
)
def test_exactly_the_services_of_the_broken_component_are_not_ok(
    console: Console, healed: None, breakage: dict[str, str], broken: dict[str, str]
) -> None:
    lab.playbook("lab_break", breakage)
    services = lab.measure(console)
    assert states(console.not_ok(services)) == broken
    for name in broken:
        component = name.split()[1]
        assert component in services[name].output
        assert re.search(r"MB/s|retransmit", services[name].output)


def test_healed_components_are_ok_again(console: Console) -> None:
    assert console.not_ok(lab.measure(console)) == {}
