"""What is kept of several runs is read as it was written, and refused where it is damaged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence
from tests.package.judgements import evidence


@pytest.mark.parametrize("also", [(), (("write", 0.55), ("read together", 0.7))])
def test_it_is_read_as_it_was_written(also: tuple[tuple[str, float], ...]) -> None:
    found = evidence(also=also)
    assert Evidence.from_json(json.loads(json.dumps(found._asdict()))) == found


def test_a_document_of_before_has_neither_other_operations_nor_further_runs() -> None:
    raw = evidence()._asdict()
    del raw["also"], raw["more"]
    assert Evidence.from_json(raw) == evidence()


@pytest.mark.parametrize(
    "also", [None, 1, ["write"], [["write", "much"]], [["write", -1.0]], [[1, 0.5]], [["a", 1, 2]]]
)
def test_other_operations_that_are_none_are_damage(also: Any) -> None:
    with pytest.raises(DocumentError):
        Evidence.from_json({**evidence()._asdict(), "also": also})


@pytest.mark.parametrize("more", [-1, 1.5, "2", True])
def test_further_runs_that_are_no_number_are_damage(more: Any) -> None:
    with pytest.raises(DocumentError):
        Evidence.from_json({**evidence()._asdict(), "more": more})
