"""Candidates are accepted for a reason, by a person, and slow ones by name only."""

from __future__ import annotations

import pytest

from plumbline.model.errors import DocumentError, UsageError
from plumbline.plan.baseline import Candidate, accept
from tests.package.plan.test_document import BASELINE, KEY

OLD = BASELINE._replace(median_Bps=100e6)
NEW = BASELINE._replace(median_Bps=120e6, accepted_by="", reason="")
OTHER = KEY._replace(component="scratch-OST0009")
SLOW = {KEY: Candidate(NEW), OTHER: Candidate(NEW, "50.0 MB/s is 40 % of its peers'")}


def test_a_candidate_takes_the_place_with_name_and_reason() -> None:
    merged = accept({KEY: OLD}, {KEY: Candidate(NEW)}, [], " ada ", "firmware 4.2")
    assert merged == {KEY: NEW._replace(accepted_by="ada", reason="firmware 4.2")}


def test_what_has_no_candidate_stays() -> None:
    merged = accept({OTHER: OLD}, {KEY: Candidate(NEW)}, [], "ada", "new")
    assert merged[OTHER] == OLD
    assert set(merged) == {KEY, OTHER}


def test_named_components_alone_are_taken() -> None:
    merged = accept({}, SLOW, [KEY.component], "ada", "new")
    assert set(merged) == {KEY}


def test_a_slow_one_is_refused_with_everything_else() -> None:
    with pytest.raises(DocumentError, match="40 % of its peers'; a slow part must not") as error:
        accept({}, SLOW, [], "ada", "new")
    assert "--component scratch-OST0009" in str(error.value)


def test_a_slow_one_is_accepted_by_name() -> None:
    merged = accept({}, SLOW, [OTHER.component], "ada", "an older kind of disk")
    assert set(merged) == {OTHER}


@pytest.mark.parametrize(("by", "reason"), [("ada", " "), (" ", "new")])
def test_reason_and_person_are_needed(by: str, reason: str) -> None:
    with pytest.raises(UsageError, match="needs a reason and a person"):
        accept({}, {KEY: Candidate(NEW)}, [], by, reason)


def test_a_name_without_candidate_is_refused() -> None:
    with pytest.raises(UsageError, match="no candidate of oss9; capture one first"):
        accept({}, SLOW, ["oss9"], "ada", "new")
