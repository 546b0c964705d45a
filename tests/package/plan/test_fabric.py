"""Network in the plan: hosts that look at the fabric, its links, and the switch of each host."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.codec import read_document
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectations, FabricLink, Switches
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


def test_each_host_gets_the_switches_that_its_links_lead_to_and_the_names_of_all_others() -> None:
    plan = planned({})
    assert plan.node("oss1").switches == Switches(("leaf1",), ("leaf2", "spine[1-2]"))
    assert plan.node("client1").switches == Switches(("leaf2",), ("leaf1", "spine[1-2]"))
    document = plan.to_json()["nodes"]["oss1"]
    assert read_document(Expectations, document).switches == plan.node("oss1").switches


def test_a_host_with_several_links_gets_the_switch_of_each() -> None:
    parts = [
        {"name": "tor[1-2]", "kind": "switch"},
        {"name": "oss1-nic[1-2]", "kind": "nic", **EDR, "feeds": "tor[1-2]"},
        {"name": "oss1", "kind": "server", "feeds": "oss1-nic[1-2]"},
    ]
    topology = build({"schema": 1, "site": "tor", "parts": parts, "file_systems": []})
    assert compile_plan(topology, load({}), {}).node("oss1").switches == Switches(("tor1", "tor2"))


def test_a_host_without_a_switch_gets_none() -> None:
    parts = [{"name": "oss1", "kind": "server"}]
    topology = build({"schema": 1, "site": "alone", "parts": parts, "file_systems": []})
    plan = compile_plan(topology, load({}), {})
    assert plan.node("oss1").switches is None
    assert "switches" not in plan.to_json()["nodes"]["oss1"]


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
