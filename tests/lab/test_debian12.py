"""Roles, checks and Nagios on Debian 12, with iperf3, servers behind an uplink, and layer oss."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Callable, Iterator

import pytest

from tests.lab.conftest import (
    brought_up,
    changes,
    traces,
    with_baselines,
    without_a_firm_baseline,
)
from tests.lab.lab import MAX_RUNS, Console, Lab, Service, not_ok

INVENTORY, PORT = "tests/lab/bookworm", 8478


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    yield from brought_up(Lab(INVENTORY, PORT), "/data/disk1/plumbline /data/disk2/plumbline")


def test_a_second_deployment_and_check_mode_change_nothing(lab: Lab) -> None:
    assert changes(lab.recap("site", "--check")) == {}
    # without Mitogen, like a site
    assert changes(Lab(INVENTORY, PORT, fast=False).recap("site")) == {}


DEGRADED = {
    "component": "oss1-disk1",
    "kind": "degraded",
    "severity": "WARNING",
    "direction": "raises",
    "sentence": "virtual drive 0/1 is degraded",
}


def test_a_degraded_array_of_a_vendor_tool_is_a_warning_until_it_is_repaired(
    lab: Lab,
) -> None:
    console = Console(lab)
    shown = []
    for symptoms in ([DEGRADED], []):
        output = json.dumps({"schema": 1, "examined": 2, "symptoms": symptoms})
        lab.on_host("oss1", f"echo '{output}' > /etc/vendor-arrays.json")
        lab.on_host("oss1", "systemctl start plumbline-symptoms.service")
        shown.append(lab.measure(console, "raw")["SYMPTOMS oss1 arrays"])
    assert [service.state for service in shown] == ["WARNING", "OK"]
    assert "oss1-disk1: virtual drive 0/1 is degraded" in shown[0].output


def test_everything_is_measured_and_ok_on_debian_12(lab: Lab) -> None:
    for run in range(2):
        lab.measure_layers(("ost", "oss", "raw", "net"), run)
    # its flows read the files that ost keeps
    for _ in range(RUNS_OF_UPLINK):
        lab.playbook("probe", TOGETHER)
    services = with_baselines(lab, 0).services()
    assert not_ok(services).keys() - without_a_firm_baseline(services) == set()
    # with the groups of all targets, and of the disks of a server
    assert Counter(name.split()[0] for name in services) == {
        "OST": 4 + 1,
        "OSS": 4 + 1,
        "RAW": 4 + 2,
        "NET": 4,
        "SHARED": 1,
        "SYMPTOMS": 1,
    }
    assert lab.on_host("oss1", "cut -d. -f1 /etc/debian_version") == "12"


UPLINK = "SHARED uplink1 read"
TOGETHER = {"together": "uplink1", "fail": "false"}
RUNS_OF_UPLINK = 3
# 62 MB/s are left to TCP: more than the link of a client, less than two of them ask for
SLOW_UPLINK = {"link": "uplink1", "rate": "520Mbit"}


def uplink_until(lab: Lab, console: Console, shown: Callable[[str], bool]) -> dict[str, Service]:
    """Read the uplink until its service has a state, each client's targets alone, and check all."""
    for _ in range(MAX_RUNS):
        lab.playbook("probe", TOGETHER)
        if shown(console.services()[UPLINK].state):
            break
    for client in ("client1", "client2"):
        lab.on_host(client, "systemctl start plumbline-ost.service")
    return console.check_now(collect=False)


def test_a_slow_uplink_that_no_single_probe_shows_is_named(lab: Lab) -> None:
    console = Console(lab)
    lab.break_now(**SLOW_UPLINK)
    services = uplink_until(lab, console, lambda state: state in ("WARNING", "CRITICAL"))
    assert set(not_ok(services)) - without_a_firm_baseline(services) == {UPLINK}
    assert "link uplink1" in services[UPLINK].output
    lab.break_now(heal="uplink1")
    assert uplink_until(lab, console, lambda state: state == "OK")[UPLINK].state == "OK"


def share_of_pairs() -> float:
    """Measure the pairs through the uplink at once; return their sum / the ceiling."""
    lines: list[str] = []
    Lab(INVENTORY, PORT, show=lines.append).playbook("probe", {"through": "uplink1"})
    sums = re.search(r"uplink1, send: at most .* by 2 pairs at once, (\d+) % of", "".join(lines))
    assert sums, lines
    return int(sums[1]) / 100


def test_the_sum_of_the_pairs_through_a_slow_uplink_shows_its_loss(lab: Lab) -> None:
    healthy = share_of_pairs()
    lab.break_now(**SLOW_UPLINK)
    # 520 of 800 Mbit/s, and what the shaper lets through at once
    assert share_of_pairs() < min(0.75, healthy)
    lab.break_now(heal="uplink1")


QUERIES = """
import json, urllib.parse, urllib.request
metric = "plumbline_lustre_looked_timestamp_seconds"
for query in ("up", "node_textfile_scrape_error", f"{metric} > bool 0"):
    url = "http://127.0.0.1:9090/api/v1/query?" + urllib.parse.urlencode({"query": query})
    for sample in json.load(urllib.request.urlopen(url))["data"]["result"]:
        print(query.split()[0], sample["metric"]["instance"], sample["value"][1])
"""
"""Prints what Prometheus has of each host."""


def test_prometheus_has_the_counters_of_all_nodes_and_listens_locally(lab: Lab) -> None:
    expected = {
        f"{name} {host} {value}"
        for host in ("client1", "client2", "oss1", "oss2")
        for name, value in (
            ("up", 1),
            ("node_textfile_scrape_error", 0),
            ("plumbline_lustre_looked_timestamp_seconds", 1),
        )
    }
    assert set(lab.on_host("mon1", f"python3 -c '{QUERIES}'").splitlines()) == expected
    listening = "ss -Hltn | awk '{print $4}' | grep -E ':(9090|9100)$'"
    assert lab.on_host("mon1", listening) == "127.0.0.1:9090"
    assert lab.on_host("oss1", listening) == "10.77.0.11:9100"


def test_removal_leaves_nothing_and_nagios_keeps_running(lab: Lab) -> None:
    assert "/usr/lib/plumbline" in traces(lab, "oss1")
    lab.playbook("remove")
    for host in ("mon1", "oss1", "oss2", "client1", "client2"):
        assert traces(lab, host) == ""
    assert lab.on_host("mon1", "systemctl is-active nagios4") == "active"
    assert changes(lab.recap("remove")) == {}
