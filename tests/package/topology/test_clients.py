"""Several clients never measure on the same part of the storage."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import Topology, build
from tests.package.sites import inventory_document, part, site


def of_paper(name: str, clients: str, rate: str) -> dict[str, Any]:
    """Return a machine of the papers with several clients instead of its own."""
    document: dict[str, Any] = inventory_document(name, "topology")
    first, *others = (found for found in document["parts"] if found["kind"] == "client")
    first.update(name=clients, rate=rate)
    document["parts"] = [found for found in document["parts"] if found not in others]
    for file_system in document["file_systems"]:
        file_system["client"] = clients
    return document


def crossed(topology: Topology) -> dict[str, set[str]]:
    """Return the clients that measure across each part of the storage."""
    nodes_of: dict[str, set[str]] = {}
    compiled = compile_plan(topology, load({}), {})
    for node, entries in compiled.expectations.items():
        for entry in entries:
            for name in entry.path if entry.layer == "ost" else ():
                nodes_of.setdefault(name, set()).add(node)
    return {name: nodes for name, nodes in nodes_of.items() if name not in ("aries", "mesh")}


def edison(clients: str = "login[1-4]") -> Plan:
    document = of_paper("edison", clients, "10 GB/s")
    # its eighth of the unit: else each target is given room for all of it
    part(document, "oss[01-84]-array[1-4]")["rate"] = "500 MB/s"
    topology = build(document)
    policy = inventory_document("edison", "policy")
    # its clients are those of the inventory
    del policy["layers"]["fs"]
    return compile_plan(topology, load(policy), {})


@pytest.mark.parametrize(
    ("name", "clients"),
    [("edison", "login[1-4]"), ("edison", "login[1-3]"), ("redstorm", "login[1-2]")],
)
def test_no_part_of_the_storage_has_two_clients(name: str, clients: str) -> None:
    nodes_of = crossed(build(of_paper(name, clients, "10 GB/s")))
    assert {part: nodes for part, nodes in nodes_of.items() if len(nodes) > 1} == {}


def test_the_targets_are_spread_evenly_and_in_order() -> None:
    topology = build(of_paper("edison", "login[1-4]", "10 GB/s"))
    by_client = Counter((target.file_system, target.client) for target in topology.targets.values())
    # units of eight targets: twelve, twelve and eighteen
    assert [by_client["fs1", f"login{number}"] for number in range(1, 5)] == [24] * 4
    assert [by_client["fs3", f"login{number}"] for number in range(1, 5)] == [32, 40, 32, 40]
    clients = [target.client for target in topology.targets.values() if target.file_system == "fs3"]
    assert clients == sorted(clients)


def test_336_targets_are_measured_from_four_clients_in_five_minutes() -> None:
    compiled = edison()
    takes = compiled.takes_s("ost")
    assert sorted(takes) == [f"login{number}" for number in range(1, 5)]
    assert sum(len(compiled.expectations[name]) for name in takes) == 336
    assert max(takes.values()) <= 300.0


def behind_one_part(kind: str) -> dict[str, Any]:
    """Return two servers whose disks share a part, and two clients."""
    document = site()
    part(document, "client1")["name"] = "client[1-2]"
    document["parts"].insert(-1, {"name": "shared", "kind": kind, "feeds": "oss[1-2]"})
    disks = part(document, "oss[1-2]-disk[1-2]")
    disks["feeds"], disks["through"] = "shared", "oss[1-2]"
    document["file_systems"][0]["client"] = "client[1-2]"
    return document


def clients(document: dict[str, Any]) -> list[str]:
    return [target.client for target in build(document).targets.values()]


@pytest.mark.parametrize("kind", ["controller", "enclosure"])
def test_all_targets_behind_one_part_have_one_client(kind: str) -> None:
    assert len(set(clients(behind_one_part(kind)))) == 1


def test_targets_that_share_only_the_network_are_spread_in_blocks() -> None:
    assert clients(behind_one_part("router")) == ["client1", "client1", "client2", "client2"]


def test_a_second_file_system_on_the_same_servers_follows_the_first() -> None:
    document = site()
    part(document, "client1")["name"] = "client[1-2]"
    first = document["file_systems"][0]
    first["client"] = "client[1-2]"
    # in reverse order
    document["file_systems"].append(
        {
            **first,
            "name": "work",
            "targets": [
                {"name": "work-OST0", "part": "oss2-disk1", "subvolume": "work-client-0"},
                {"name": "work-OST1", "part": "oss1-disk1", "subvolume": "work-client-1"},
            ],
        }
    )
    assert clients(document) == ["client1", "client1", "client2", "client2", "client2", "client1"]


def test_a_retired_target_is_not_counted() -> None:
    document = site()
    for described in document["parts"]:
        described["name"] = (
            described["name"].replace("oss[1-2]", "oss[1-4]").replace("disk[1-2]", "disk1")
        )
        if "feeds" in described:
            described["feeds"] = described["feeds"].replace("oss[1-2]", "oss[1-4]")
        described.pop("address", None)
    part(document, "client1")["name"] = "client[1-2]"
    system = document["file_systems"][0]
    system.update(client="client[1-2]", retired="scratch-OST[0-1]")
    system["targets"][0]["part"] = "oss[1-4]-disk1"
    assert clients(document)[2:] == ["client1", "client2"]
