"""Records of a node become a file of the control host, selected by the node's clock."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.hpcops.plumbline.plugins.action.records import bring
from ansible_collections.hpcops.plumbline.tests.unit.plugins.plugin_utils.pretended import (
    FakeNode,
    export,
)


def test_all_answers_become_lines_and_damaged_ones_are_counted(tmp_path: Path) -> None:
    last = export({"id": "c"}).replace('{"end"', '[9,{"id"]\n{"end"')
    answers = [export({"id": "old"}), export({"id": "a"}, {"id": "b"}, more=True), last]
    node = FakeNode("oss1", {"export": answers})
    assert bring(node, tmp_path / "oss1.jsonl", 300.0) == 1
    lines = (tmp_path / "oss1.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a", "b", "c"]
    # 300 s before the clock of the node, which is at 1000 s
    assert [json.loads(line).get("since") for line in node.inputs] == [None, 700.0, 700.0]
