"""Groups and variables agree with the plan."""

from __future__ import annotations

from ansible_collections.hpcops.plumbline.plugins.module_utils.groups import (
    LAYER_GROUPS,
    groups_of,
    hosts_of,
    variables_of,
)
from ansible_collections.hpcops.plumbline.tests.unit.plugins.fakes import PLAN


def test_a_host_is_in_the_groups_of_what_it_measures() -> None:
    groups = groups_of(PLAN)
    assert groups.keys() >= set(LAYER_GROUPS)
    assert {name: hosts for name, hosts in groups.items() if hosts} == {
        "plumbline_nodes": ["oss1", "client1"],
        "plumbline_ost": ["client1"],
        "plumbline_raw": ["oss1"],
        "plumbline_net": ["oss1", "client1"],
        "plumbline_fs": ["client1"],
        "plumbline_fs_clients": ["client1", "oss1"],
        "plumbline_asked": ["client1", "oss1"],
        "plumbline_symptoms": ["oss1"],
    }


def test_groups_exist_even_if_empty() -> None:
    alone = {"nodes": {"oss1": PLAN["nodes"]["oss1"]}, "services": []}
    groups = groups_of(alone)
    assert groups["plumbline_ost"] == groups["plumbline_fs"] == []
    assert groups["plumbline_fs_clients"] == groups["plumbline_asked"] == []
    assert groups["plumbline_symptoms"] == groups["plumbline_space"] == []


def test_hosts_are_found_by_kind() -> None:
    assert hosts_of(PLAN, "server") == ["oss1"]
    assert hosts_of(PLAN, "client") == ["client1"]


def test_a_host_knows_what_it_measures() -> None:
    variables = variables_of(PLAN)
    assert variables["oss1"] == {
        "plumbline_kind": "server",
        "plumbline_address": "10.77.0.11",
        "plumbline_layers": ["raw", "net"],
        "plumbline_components": {"raw": ["oss1-disk1", "oss1-disk2"], "net": ["oss1"]},
    }
    assert variables["router1"] == {"plumbline_kind": "router", "plumbline_address": "10.77.0.1"}
