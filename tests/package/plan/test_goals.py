"""What was promised for a group travels with its members, each with its part."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plumbline.model.expectation import Expectation
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.sites import part, site

SCRATCH = {"groups": {"scratch": {"goal": {"write": "200 MB/s", "read": "240 MB/s"}}}}


def expectations(document: dict[str, Any], **layers: Any) -> dict[str, Expectation]:
    """Return the expectations of the nodes, after their way through a document."""
    plan = compile_plan(build(document), load({"layers": layers}), {})
    entries = [each.to_json() for found in plan.expectations.values() for each in found]
    found = [Expectation.from_json(json.loads(json.dumps(entry))) for entry in entries]
    return {f"{one.layer} {one.component}": one for one in found}


def test_equal_targets_owe_equal_parts() -> None:
    found = expectations(site(), ost=SCRATCH)
    for number in range(4):
        references = found[f"ost scratch-OST{number}"].references
        assert references["write/single"].goal_part_Bps == pytest.approx(50e6)
        assert references["read/single"].goal_part_Bps == pytest.approx(60e6)
        assert references["read/single"].goal_Bps is None
    assert found["raw oss1-disk1"].references["read/single"].goal_part_Bps is None


def test_faster_hardware_owes_more() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["name"] = "oss1-disk[1-2]"
    part(document, "oss1-disk[1-2]")["feeds"] = "oss1"
    disk = {**part(document, "oss1-disk[1-2]"), "name": "oss2-disk[1-2]", "feeds": "oss2"}
    document["parts"].insert(4, {**disk, "rate": "40 MB/s"})
    found = expectations(document, ost=SCRATCH)
    parts = [
        found[f"ost scratch-OST{number}"].references["write/single"].goal_part_Bps
        for number in range(4)
    ]
    assert parts == pytest.approx([200e6 / 3, 200e6 / 3, 100e6 / 3, 100e6 / 3])


def test_all_targets_at_once_owe_the_whole_and_none_of_them_a_part() -> None:
    found = expectations(site(), fs={**SCRATCH, "clients": ["client1"]})
    whole = found["fs scratch"].references
    assert (whole["write/together"].goal_Bps, whole["read/together"].goal_Bps) == (200e6, 240e6)
    member = found["fs scratch-OST0"].references
    assert {one.goal_Bps for one in member.values()} == {None}
    assert {one.goal_part_Bps for one in member.values()} == {None}
    assert found["ost scratch-OST0"].references["write/single"].goal_part_Bps is None
