"""Paths: the components crossed by the bytes of a measurement."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.topology.graph import Topology, build
from plumbline.topology.paths import (
    between,
    host_of,
    storage_side,
    to_device,
    to_network,
    to_target,
)
from tests.package.sites import paper, part, site


def target_path(topology: Topology, name: str) -> tuple[str, ...]:
    return to_target(topology, topology.targets[name])


def test_the_path_to_a_target_begins_at_the_client() -> None:
    path = target_path(build(site()), "scratch-OST3")
    assert path == ("client1", "switch1", "oss2-nic", "oss2", "oss2-disk2", "scratch-OST3")


def test_the_storage_side_leaves_out_the_client() -> None:
    topology = build(site())
    path = storage_side(topology, topology.targets["scratch-OST3"])
    assert path == ("switch1", "oss2-nic", "oss2", "oss2-disk2", "scratch-OST3")


def test_the_storage_side_of_a_local_target_begins_at_its_host() -> None:
    document = site()
    document["file_systems"][0]["client"] = "oss1"
    targets = {"name": "local[0-1]", "part": "oss1-disk[1-2]", "subvolume": "s-client-[0-1]"}
    document["file_systems"][0]["targets"] = [targets]
    topology = build(document)
    path = storage_side(topology, topology.targets["local1"])
    assert path == ("oss1", "oss1-disk2", "local1")


def test_the_path_to_a_device_begins_at_its_server() -> None:
    topology = paper("redstorm")
    assert to_device(topology, topology.components["ddn40b-lun4"]) == (
        "oss160",
        "oss160-hba",
        "oss160-fc2",
        "ddn40b-fc4",
        "ddn40b-data",
        "ddn40b-lun4",
    )


def test_the_path_of_a_pair_crosses_the_parts_of_both_hosts() -> None:
    topology = build(site())
    hosts = topology.components
    assert between(topology, hosts["oss2"], hosts["client1"]) == (
        "oss2",
        "oss2-nic",
        "switch1",
        "client1",
    )
    assert to_network(topology, hosts["oss1"]) == ("oss1", "oss1-nic", "switch1")


def test_the_judged_host_is_the_one_nearest_to_the_target() -> None:
    topology = build(site())
    assert host_of(topology, target_path(topology, "scratch-OST3")) == "oss2"


def test_a_local_target_is_judged_on_its_client() -> None:
    document = site()
    document["file_systems"][0]["client"] = "oss1"
    targets = {"name": "local[0-1]", "part": "oss1-disk[1-2]", "subvolume": "s-client-[0-1]"}
    document["file_systems"][0]["targets"] = [targets]
    topology = build(document)
    path = target_path(topology, "local1")
    assert path == ("oss1", "oss1-disk2", "local1")
    assert host_of(topology, path) == "oss1"


def two_ports() -> dict[str, Any]:
    document = site()
    document["parts"].insert(
        3, {"name": "oss[1-2]-port[1-2]", "kind": "port", "feeds": "oss[1-2]", "rate": "70 MB/s"}
    )
    part(document, "oss[1-2]-disk[1-2]")["feeds"] = ["oss[1-2]-port1", "oss[1-2]-port2"]
    return document


def test_through_chooses_the_port_of_a_target() -> None:
    document = two_ports()
    part(document, "oss[1-2]-disk[1-2]").pop("device")
    document["file_systems"][0]["targets"][0]["through"] = "oss[1-2]-port2"
    assert "oss1-port2" in target_path(build(document), "scratch-OST0")


def test_an_ambiguous_path_is_refused_with_its_ports() -> None:
    topology = build(two_ports())
    with pytest.raises(DocumentError, match="by oss1-port1 or by oss1-port2; choose with through"):
        target_path(topology, "scratch-OST0")
    with pytest.raises(DocumentError, match="oss1 - oss1-port1 - oss1-disk1 or oss1 - oss1-port2"):
        to_device(topology, topology.components["oss1-disk1"])


def test_a_target_on_another_fabric_is_refused() -> None:
    document = site()
    part(document, "client1")["feeds"] = "switch2"
    document["parts"].append({"name": "switch2", "kind": "switch"})
    with pytest.raises(DocumentError, match="oss1-disk1 is not connected to client1; follow feeds"):
        target_path(build(document), "scratch-OST0")


def test_a_device_without_a_server_is_refused() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["feeds"] = "switch1"
    topology = build(document)
    with pytest.raises(DocumentError, match="oss1-disk1 has a device but feeds no server"):
        to_device(topology, topology.components["oss1-disk1"])


def test_through_a_part_off_the_path_is_refused() -> None:
    document = site()
    document["file_systems"][0]["targets"][0]["through"] = "client1"
    with pytest.raises(DocumentError, match="no way of oss1-disk1 leads through client1"):
        target_path(build(document), "scratch-OST0")


def test_a_host_with_two_ways_to_the_network_is_refused() -> None:
    document = site()
    document["parts"].append({"name": "switch2", "kind": "switch"})
    part(document, "client1")["feeds"] = ["switch1", "switch2"]
    topology = build(document)
    with pytest.raises(DocumentError, match="client1 - switch1 or client1 - switch2, and hosts"):
        to_network(topology, topology.components["client1"])
