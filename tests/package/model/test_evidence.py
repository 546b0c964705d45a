"""Evidence survives writing and reading; damage is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plumbline.model.codec import read
from plumbline.model.evidence import Evidence
from tests.package.judgements import evidence


@pytest.mark.parametrize("also", [(), (("write", 0.55), ("read together", 0.7))])
def test_evidence_survives_writing_and_reading(also: tuple[tuple[str, float], ...]) -> None:
    written = evidence(also=also)
    assert read(Evidence, json.loads(json.dumps(written._asdict()))) == written


def test_a_document_of_an_older_version_lacks_other_operations_and_further_runs() -> None:
    raw = evidence()._asdict()
    del raw["also"], raw["more"]
    assert read(Evidence, raw) == evidence()


@pytest.mark.parametrize(
    "also", [None, 1, ["write"], [["write", "much"]], [["write", -1.0]], [[1, 0.5]], [["a", 1, 2]]]
)
def test_invalid_other_operations_are_refused(also: Any) -> None:
    with pytest.raises(TypeError):
        read(Evidence, {**evidence()._asdict(), "also": also})


@pytest.mark.parametrize("more", [-1, 1.5, "2", True])
def test_an_invalid_number_of_further_runs_is_refused(more: Any) -> None:
    with pytest.raises(TypeError):
        read(Evidence, {**evidence()._asdict(), "more": more})
