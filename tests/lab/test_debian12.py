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


ASKED = """
import json, urllib.parse, urllib.request
looked = "plumbline_lustre_looked_timestamp_seconds"
for query in ("up", "node_textfile_scrape_error", f"{looked} > bool 0"):
    url = "http://127.0.0.1:9090/api/v1/query?" + urllib.parse.urlencode({"query": query})
    for one in json.load(urllib.request.urlopen(url))["data"]["result"]:
        print(query.split()[0], one["metric"]["instance"], one["value"][1])
"""
"""What Prometheus knows of each host."""


def test_prometheus_knows_what_the_nodes_count_and_nobody_else_can_ask_it(lab: Lab) -> None:
    expected = {
        f"{name} {host} {value}"
        for host in ("client1", "oss1")
        for name, value in (
            ("up", 1),
            ("node_textfile_scrape_error", 0),
            ("plumbline_lustre_looked_timestamp_seconds", 1),
        )
    }
    assert set(lab.on_host("mon1", f"python3 -c '{ASKED}'").splitlines()) == expected
    listening = "ss -Hltn | awk '{print $4}' | grep -E ':(9090|9100)$'"
    assert lab.on_host("mon1", listening) == "127.0.0.1:9090"
    assert lab.on_host("oss1", listening) == "10.77.0.11:9100"


def test_removal_leaves_nothing_and_nagios_goes_on(lab: Lab) -> None:
    assert "/usr/lib/plumbline" in lab.on_host("oss1", TRACES)
    lab.playbook("remove")
    for host in ("mon1", "oss1", "client1"):
        assert lab.on_host(host, TRACES) == ""
    assert lab.on_host("mon1", "systemctl is-active nagios4") == "active"
    assert changes(lab.recap("remove")) == {}
