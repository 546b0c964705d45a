"""Hosts are tested in pairs within what is connected; a client may have targets in two networks."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build


def site(**client: Any) -> dict[str, Any]:
    """Return two file systems, one on Ethernet and one on InfiniBand, and a client of both."""
    return {
        "schema": 1,
        "site": "two",
        "parts": [
            {"name": "eth", "kind": "switch", "rate": "100 GB/s"},
            {"name": "ib", "kind": "switch", "rate": "100 GB/s"},
            {"name": "cl1-eth", "kind": "nic", "rate": "1 GB/s", "feeds": "eth"},
            {"name": "cl1-ib", "kind": "nic", "rate": "3 GB/s", "feeds": "ib"},
            {
                "name": "cl1",
                "kind": "client",
                "feeds": ["cl1-eth", "cl1-ib"],
                "address": "10.1.0.1",
                **client,
            },
            {"name": "oss[1-2]", "kind": "server", "feeds": "eth", "address": "10.0.0.[1-2]"},
            {"name": "oss[3-5]", "kind": "server", "feeds": "ib", "address": "10.1.0.[3-5]"},
            {"name": "oss[1-5]-lun", "kind": "disk", "rate": "200 MB/s", "feeds": "oss[1-5]"},
        ],
        "file_systems": [
            {
                "name": name,
                "kind": "lustre",
                "mount": f"/{name}",
                "client": "cl1",
                "targets": [{"name": f"{name}-OST[{targets}]", "part": f"oss[{servers}]-lun"}],
            }
            for name, targets, servers in (("fse", "0000-0001", "1-2"), ("fsi", "0000-0002", "3-5"))
        ],
    }


def plan(document: dict[str, Any]) -> Plan:
    return compile_plan(build(document), load({}), {})


def test_hosts_are_paired_with_those_that_come_to_the_same_part() -> None:
    compiled = plan(site(through="cl1-ib"))
    partners = {
        entry.component: sorted(partner.name for partner in entry.partners)
        for node in ("cl1", *(f"oss{number}" for number in range(1, 6)))
        for entry in compiled.node(node).every()
        if entry.layer == "net"
    }
    assert partners == {
        "cl1": ["oss3", "oss4", "oss5"],
        "oss1": ["oss2"],
        "oss2": ["oss1"],
        "oss3": ["cl1", "oss4", "oss5"],
        "oss4": ["cl1", "oss3", "oss5"],
        "oss5": ["cl1", "oss3", "oss4"],
    }


def test_a_client_in_two_networks_has_targets_in_both() -> None:
    paths = {
        entry.component: entry.path
        for entry in plan(site(through="cl1-ib")).node("cl1").every()
        if entry.layer == "ost"
    }
    assert paths["fse-OST0000"] == ("cl1", "cl1-eth", "eth", "oss1", "oss1-lun", "fse-OST0000")
    assert paths["fsi-OST0000"] == ("cl1", "cl1-ib", "ib", "oss3", "oss3-lun", "fsi-OST0000")


def test_the_network_of_an_address_is_asked_for() -> None:
    with pytest.raises(DocumentError, match="hosts with an address are tested in pairs; choose"):
        plan(site())


def test_a_host_without_a_partner_in_its_network_is_named() -> None:
    document = site(through="cl1-ib")
    document["parts"][5] = {"name": "oss[1-2]", "kind": "server", "feeds": "eth"}
    lone = {"name": "log1", "kind": "server", "feeds": "eth", "address": "10.9.9.9"}
    document["parts"].append(lone)
    with pytest.raises(DocumentError, match=r"log1 has an address.*no other one comes to eth"):
        plan(document)
