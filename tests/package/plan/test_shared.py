"""Shared parts in the plan: who reads them, on which terms, with which ceiling and services."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.shared import SharedReads
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.plan.test_exposure import array, client
from tests.package.sites import parts


def compiled(entries: list[dict[str, Any]], **layers: Any) -> Plan:
    policy = load({"layers": {"shared": {}, **layers}})
    return compile_plan(build(parts(*entries)), policy, {})


def of_part(plan: Plan, node: str = "oss1") -> Expectation:
    (entry,) = (item for item in plan.expectations[node] if item.layer == "shared")
    return entry


def reads(plan: Plan, node: str) -> SharedReads:
    (found,) = plan.node(node).shared
    return found


def test_without_a_word_of_the_policy_no_shared_part_is_read() -> None:
    plan = compile_plan(build(parts(*array())), load({}), {})
    assert {entry.layer for entry in plan.expectations["oss1"]} == {"raw"}
    assert plan.node("oss2").shared == ()
    assert "shared" not in plan.node("oss1").to_json()


def test_the_first_node_judges_the_sum_and_all_know_the_flows() -> None:
    plan = compiled(array())
    entry = of_part(plan)
    assert (entry.component, entry.group, entry.host, entry.path) == (
        "ctl",
        "controller",
        "oss1",
        ("ctl",),
    )
    ceiling = entry.references["read/together"].ceiling
    assert ceiling is not None
    assert (ceiling.rate, ceiling.limited_by[0]) == (800e6, "ctl")
    assert [item.layer for item in plan.expectations["oss2"]] == ["raw", "raw"]
    assert reads(plan, "oss1") == reads(plan, "oss2")
    assert reads(plan, "oss2").nodes == ("oss1", "oss2")
    assert [flow.component for flow in reads(plan, "oss1").flows_of("oss2")] == [
        "oss2-disk1",
        "oss2-disk2",
    ]


def test_terms_are_those_of_the_devices_but_for_bytes_and_seconds() -> None:
    raw = {"probe": {"queue_depth": 16, "bytes": "1 GiB", "repeats": 3}}
    plan = compiled(array(), raw=raw, shared={"probe": {"seconds": "20 s"}, "max_load": "5 %"})
    spec = of_part(plan).spec
    assert (spec.tool, spec.queue_depth, spec.repeats, spec.seconds) == ("sgp_dd", 16, 1, 20.0)
    # each of the disks may give 200 MB/s
    assert spec.bytes == pytest.approx(200e6 * 20, rel=1e-3)
    assert spec.pattern == "4 reads of 2 nodes"
    terms = reads(plan, "oss2")
    assert (terms.bytes, terms.seconds, terms.max_load) == (spec.bytes, 20.0, 0.05)
    fewer = compiled(array(), shared={"probe": {"bytes": "64 MiB"}})
    assert of_part(fewer).spec.bytes == 64 << 20


def test_a_client_reads_the_files_that_its_layer_keeps() -> None:
    document = client("800 MB/s", "0013")
    topology = build(parts(*document["parts"], file_systems=document["file_systems"]))
    layers = {"shared": {}, "ost": {"probe": {"bytes": "2 GiB"}}}
    plan = compile_plan(topology, load({"layers": layers}), {})
    entry = of_part(plan, "client1")
    assert (entry.component, entry.group, entry.spec.tool) == ("client1", "client", "fio")
    assert entry.spec.bytes == 2 << 30


def test_parts_take_turns_and_have_time_for_their_reads() -> None:
    two = [
        {**entry, "name": entry["name"].replace("oss", f"oss{site}").replace("ctl", f"ctl{site}")}
        | {
            key: entry[key].replace("oss", f"oss{site}").replace("ctl", f"ctl{site}")
            for key in ("feeds", "through")
            if key in entry
        }
        for site in ("a", "b")
        for entry in array()
        if entry["kind"] != "switch"
    ]
    plan = compiled([{"name": "switch", "kind": "switch"}, *two])
    turns = {
        part.component: (part.turn, part.turns, part.slot_s)
        for node in plan.expectations
        for part in plan.node(node).shared
    }
    assert turns == {"ctla": (0, 2, 60), "ctlb": (1, 2, 60)}
    slow = compiled(array(), shared={"probe": {"seconds": "2 min"}})
    assert reads(slow, "oss1").slot_s == 180


def test_each_part_has_a_service_on_the_node_that_judges_it() -> None:
    services = [item for item in compiled(array()).services if item.layer == "shared"]
    assert [(item.description, item.node, item.check) for item in services] == [
        ("SHARED ctl read", "oss1", "check_shared")
    ]


@pytest.mark.parametrize(
    ("rules", "refusal"),
    [
        (
            {"budget": "1 GB"},
            "a round of 1 parts would read 8000.0 MB, its budget is 1000.0 MB; lower seconds",
        ),
        (
            {"probe": {"tool": "fio"}},
            "probe has no tool: set it in the layer whose reads it drives",
        ),
        ({"components": {"ctl": {"probe": {"repeats": 3}}}}, "ctl probe has no repeats"),
        ({"components": {"oss1-hba": {}}}, "has no component 'oss1-hba'"),
    ],
)
def test_impossible_rules_are_refused(rules: dict[str, Any], refusal: str) -> None:
    with pytest.raises(DocumentError, match=refusal):
        compiled(array(), shared=rules)
