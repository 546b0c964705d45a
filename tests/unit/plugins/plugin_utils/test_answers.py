"""Records come as plumbline export gives them, on the connection that Ansible has."""

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
    Pretended,
    export,
)


def test_the_head_says_clock_and_symptoms() -> None:
    node = Pretended("oss1", {"export": export(symptoms={"schema": 1})})
    found = head(node)
    assert (found["now"], found["symptoms"]) == (1000.0, {"schema": 1})
    assert node.asked == ["runuser -u plumbline -- plumbline export"]


def test_more_is_asked_for_behind_the_last_record_until_there_is_none() -> None:
    answers = [export({"id": "a"}, {"id": "b"}, more=True), export({"id": "c"})]
    node = Pretended("oss1", {"export": answers})
    found = list(records(node, (0, ""), 990.0))
    assert [json.loads(one)["id"] for each in found for one in each.records] == ["a", "b", "c"]
    first, second = map(json.loads, node.given)
    assert first == {"schema": 1, "after": [0, ""], "limit": 500, "since": 990.0}
    assert second["after"] == [2, "b"]


@pytest.mark.parametrize("row", ['[7,{"id": ]', '[7,{"no": "id"}]', "[7,5]"])
def test_a_damaged_record_is_left_out_and_counted(row: str) -> None:
    text = export({"id": "a"}).replace('{"end"', row + '\n{"end"')
    (found,) = records(Pretended("oss1", {"export": text}), (0, ""), 0.0)
    assert (len(found.records), found.damaged, found.cursor) == (1, 1, (7, ""))


@pytest.mark.parametrize(
    ("answer", "said"),
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
def test_what_is_no_answer_is_one_sentence_with_the_remedy(answer: Any, said: str) -> None:
    with pytest.raises(Refused, match=said):
        list(records(Pretended("oss1", {"export": answer}), (0, ""), 0.0))
