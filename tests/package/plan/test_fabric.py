"""Fabric in the plan: the hosts that look at it, and the links that the topology has of it."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import FabricLink
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.sites import site

EDR = {"link": "100 Gbit/s", "encoding": "none"}
PARTS = [
    {"name": "spine[1-2]", "kind": "switch"},
    {"name": "leaf[1-2]-up1", "kind": "link", **EDR, "count": 2, "feeds": "spine1"},
    {"name": "leaf[1-2]", "kind": "switch", "feeds": ["leaf[1-2]-up1", "spine2"]},
    {"name": "oss1-nic", "kind": "nic", **EDR, "feeds": "leaf1"},
    {"name": "oss1", "kind": "server", "feeds": "oss1-nic"},
    {"name": "oss1-disk", "kind": "disk", "rate": "200 MB/s", "feeds": "oss1"},
    {"name": "client1", "kind": "client", "feeds": "leaf2"},
]


def planned(symptoms: dict[str, Any]) -> Plan:
    fat_tree = {"schema": 1, "site": "tree", "parts": PARTS, "file_systems": []}
    return compile_plan(build(fat_tree), load({"symptoms": symptoms}), {})


def test_nobody_looks_at_the_fabric_by_default() -> None:
    plan = compile_plan(build(site()), load({"symptoms": {"kinds": ["links"]}}), {})
    assert plan.node("client1").fabric is None
    assert "fabric" not in plan.to_json()["nodes"]["client1"]


def test_a_named_host_gets_the_links_between_switches_and_to_hosts() -> None:
    plan = planned({"kinds": ["links"], "fabric": ["client1"]})
    assert plan.node("oss1").fabric is None
    assert plan.node("client1").fabric == (
        FabricLink("leaf1-up1", ("leaf1", "spine1"), 25e9),
        FabricLink("leaf1", ("leaf1", "spine2"), None),
        FabricLink("leaf2-up1", ("leaf2", "spine1"), 25e9),
        FabricLink("leaf2", ("leaf2", "spine2"), None),
        FabricLink("oss1-nic", ("oss1", "leaf1"), 12.5e9, of_host=True),
        FabricLink("client1", ("client1", "leaf2"), None, of_host=True),
    )


@pytest.mark.parametrize(
    ("symptoms", "words"),
    [
        ({"fabric": ["client1"]}, "add links to its kinds of symptoms"),
        ({"kinds": ["kernel"], "fabric": ["client1"]}, "client1, which has no service of links"),
        ({"kinds": ["links"], "fabric": ["client9"]}, "client9 is no host"),
        ({"kinds": ["links"], "fabric": "client1"}, "fabric"),
    ],
)
def test_a_host_whose_findings_nobody_would_see_is_refused(
    symptoms: dict[str, Any], words: str
) -> None:
    with pytest.raises(DocumentError, match=words):
        planned(symptoms)
