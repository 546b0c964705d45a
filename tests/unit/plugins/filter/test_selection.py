"""A selection follows the plan, or is refused with the alternatives."""

from __future__ import annotations

import pytest
from ansible_collections.hpcops.plumbline.plugins.filter.selection import selection
from ansible_collections.hpcops.plumbline.tests.unit.plugins.fakes import PLAN

WITHOUT_FS = {**PLAN, "nodes": {"oss1": PLAN["nodes"]["oss1"]}}
del WITHOUT_FS["fs"]


@pytest.mark.parametrize(
    ("layer", "target", "layers"),
    [
        ("all", "", ["ost", "raw", "fs", "net"]),
        ("all", "scratch", ["ost", "raw", "fs", "net"]),
        ("all", "scratch-OST0000", ["ost", "raw", "net"]),
        ("raw", "oss1-disk2", ["raw"]),
        ("fs", "scratch", ["fs"]),
    ],
)
def test_a_selection_has_its_layers(layer: str, target: str, layers: list[str]) -> None:
    selected = selection(PLAN, layer, target, ["oss1", "client1"])
    assert selected == {"layers": layers, "target": target, "refused": ""}


def test_a_layer_that_the_policy_has_to_name_is_measured_once_it_is_planned() -> None:
    entry = {"layer": "mdt", "component": "scratch-MDT0000", "target": {"kind": "lustre-mdt"}}
    node = {"entries": [*PLAN["nodes"]["client1"]["entries"], entry]}
    plan = {**PLAN, "nodes": {**PLAN["nodes"], "client1": node}}
    assert selection(plan)["layers"] == ["ost", "raw", "fs", "net", "mdt"]
    assert selection(plan, "mdt", "scratch-MDT0000")["refused"] == ""
    assert "mdt; it has nothing" in selection(PLAN, "mdt", "scratch-MDT0000")["refused"]


def test_without_a_client_for_all_targets_the_layer_fs_is_left_out() -> None:
    assert selection(WITHOUT_FS)["layers"] == ["ost", "raw", "net"]


@pytest.mark.parametrize(
    ("layer", "target", "refused"),
    [
        ("osd", "", "There is no layer osd; choose ost, raw, "),
        ("raw", "x", "The plan has no x in layer raw; it has oss1-disk1, oss1-disk2."),
        ("fs", "scratch-OST0000", "The plan has no scratch-OST0000 in layer fs; it has scratch."),
        ("ost", "scratch-OST0000", "is measured by client1, which --limit leaves out."),
    ],
)
def test_an_unmeasurable_selection_is_refused(layer: str, target: str, refused: str) -> None:
    assert refused in selection(PLAN, layer, target, ["oss1"])["refused"]


def test_a_disabled_layer_is_refused_with_the_key_to_set() -> None:
    assert "name layers.fs.clients in plumbline_policy" in selection(WITHOUT_FS, "fs")["refused"]


def test_a_layer_without_measurements_is_refused() -> None:
    refused = selection(WITHOUT_FS, "ost", "x")["refused"]
    assert refused == "The plan has no x in layer ost; it has nothing."
