"""The roles, the checks and Nagios on Debian 12, where the network tool is iperf3."""

from __future__ import annotations

from typing import Iterator

import pytest

from tests.lab.conftest import brought_up, changes, with_baselines, without_a_firm_baseline
from tests.lab.lab import Lab, not_ok

INVENTORY, PORT = "tests/lab/bookworm", 8478
# What is named after plumbline, less what is the lab's own or a log; what runs; the user.
TRACES = (
    "find / -xdev -path /proc -prune -o -path /var/log -prune -o -name '*plumbline*' -print"
    " | grep -v -e /dev/disk -e plumbline-lab; find /mnt /run -maxdepth 2 -name '*plumbline*';"
    " systemctl list-units --all --plain --no-legend 'plumbline*'; getent passwd plumbline; true"
)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    yield from brought_up(Lab(INVENTORY, PORT))


def test_a_second_deployment_changes_nothing_and_check_mode_knows(lab: Lab) -> None:
    assert changes(lab.recap("site", "--check")) == {}
    # as a site runs it
    assert changes(Lab(INVENTORY, PORT, fast=False).recap("site")) == {}


def test_everything_is_measured_and_ok_on_debian_12(lab: Lab) -> None:
    services = with_baselines(lab, 1).services()
    assert not_ok(services).keys() - without_a_firm_baseline(services) == set()
    assert len(services) == 2 + 1 + 2 + 1 + 2
    assert lab.on_host("oss1", "cut -d. -f1 /etc/debian_version") == "12"


def test_removal_leaves_nothing_and_nagios_goes_on(lab: Lab) -> None:
    assert "/usr/lib/plumbline" in lab.on_host("oss1", TRACES)
    lab.playbook("remove")
    for host in ("mon1", "oss1", "client1"):
        assert lab.on_host(host, TRACES) == ""
    assert lab.on_host("mon1", "systemctl is-active nagios4") == "active"
    assert changes(lab.recap("remove")) == {}
