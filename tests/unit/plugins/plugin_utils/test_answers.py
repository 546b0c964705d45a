"""Records come from plumbline export on Ansible's connection."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.answers import (
    Refused,
    head,
    records,
)
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import Completed
from ansible_collections.hpcops.plumbline.tests.unit.plugins.plugin_utils.pretended import (
    FakeNode,
    export,
)


def test_the_head_has_clock_and_symptoms() -> None:
    node = FakeNode("oss1", {"export": export(symptoms={"schema": 1})})
    answer = head(node)
    assert (answer["now"], answer["symptoms"]) == (1000.0, {"schema": 1})
    assert node.commands == ["runuser -u plumbline -- plumbline export"]


def test_records_are_fetched_after_the_last_one_until_none_is_left() -> None:
    answers = [export({"id": "a"}, {"id": "b"}, more=True), export({"id": "c"})]
    node = FakeNode("oss1", {"export": answers})
    batches = list(records(node, (0, ""), 990.0))
    assert [json.loads(line)["id"] for batch in batches for line in batch.records] == [
        "a",
        "b",
        "c",
    ]
    first, second = map(json.loads, node.inputs)
    assert first == {"schema": 1, "after": [0, ""], "limit": 500, "since": 990.0}
    assert second["after"] == [2, "b"]


@pytest.mark.parametrize("row", ['[7,{"id": ]', '[7,{"no": "id"}]', "[7,5]"])
def test_a_damaged_record_is_left_out_and_counted(row: str) -> None:
    text = export({"id": "a"}).replace('{"end"', row + '\n{"end"')
    (batch,) = records(FakeNode("oss1", {"export": text}), (0, ""), 0.0)
    assert (len(batch.records), batch.damaged, batch.cursor) == (1, 1, (7, ""))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            Completed(74, '{"error": "history x cannot be read"}', ""),
            "history x cannot be read; deploy",
        ),
        (Completed(127, "", "sh: plumbline: not found\n"), "sh: plumbline: not found; deploy"),
        (Completed(0, "", ""), "its answer is damaged; deploy"),
        (Completed(0, export({"id": "a"}).rpartition('{"end"')[0], ""), "its answer is damaged"),
        (Completed(0, "5\n6\n", ""), "its answer is damaged"),
    ],
)
def test_an_invalid_answer_is_one_sentence_with_the_remedy(answer: Any, message: str) -> None:
    with pytest.raises(Refused, match=message):
        list(records(FakeNode("oss1", {"export": answer}), (0, ""), 0.0))
