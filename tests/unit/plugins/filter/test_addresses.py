"""Hosts have the addresses that Ansible uses."""

from __future__ import annotations

from typing import Any

from ansible_collections.hpcops.plumbline.plugins.filter.addresses import addresses
from ansible_collections.hpcops.plumbline.tests.unit.plugins.fakes import PLAN

HOSTVARS: dict[str, dict[str, Any]] = {
    "oss1": {"ansible_host": "192.0.2.11", "nrpe_address": "192.0.2.111"},
    "client1": {"ansible_host": "192.0.2.21"},
    "mon1": {},
}


def test_the_address_of_a_host_comes_from_the_inventory_or_else_the_plan() -> None:
    assert addresses(PLAN["hosts"], HOSTVARS) == {
        "oss1": "192.0.2.11",
        "client1": "192.0.2.21",
        "router1": "10.77.0.1",
    }


def test_the_first_defined_variable_of_a_host_is_used() -> None:
    result = addresses(PLAN["hosts"], HOSTVARS, ["nrpe_address", "ansible_host"])
    assert (result["oss1"], result["client1"]) == ("192.0.2.111", "192.0.2.21")


def test_a_host_without_an_address_keeps_its_name() -> None:
    assert addresses(["mon1", "mon2"], HOSTVARS) == {"mon1": "mon1", "mon2": "mon2"}
