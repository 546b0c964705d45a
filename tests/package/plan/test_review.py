"""Many changes are told in a few lines."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.plan.baseline import Candidate, Change, Key, compare, review
from tests.package.plan.test_document import BASELINE


def keys(number: int, operation: str = "read") -> list[Key]:
    return [Key("ost", f"scratch-OST{index:04x}", operation, "single") for index in range(number)]


def changes(candidates: dict[Key, dict[str, Any]]) -> tuple[Change, ...]:
    """Return the changes of baselines that become what is said of each."""
    new = {key: Candidate(BASELINE._replace(**said)) for key, said in candidates.items()}
    return compare(dict.fromkeys(candidates, BASELINE), new)


def test_a_condition_is_told_once_for_all_that_it_changed_for() -> None:
    newer = {"versions": {"client": "2.18.0"}}
    said = {**dict.fromkeys(keys(300), newer), **{key: {} for key in keys(2, "write")}}
    found = review(changes(said))
    assert [tuple(one) for one in found.conditions] == [("a", "client 2.17.0 -> 2.18.0", 300)]
    assert set(found.marks) == set(keys(300))
    assert set(found.marks.values()) == {"a"}


def test_a_row_has_the_marks_of_all_its_conditions() -> None:
    one, other = keys(2)
    newer = {"versions": {"client": "2.18.0"}}
    found = review(changes({one: {**newer, "host": "client2"}, other: newer}))
    assert [line.text for line in found.conditions] == [
        "client 2.17.0 -> 2.18.0",
        "host client1 -> client2",
    ]
    assert found.marks == {one: "a b", other: "a"}


def test_a_condition_that_changed_for_each_otherwise_is_one_line() -> None:
    said = {key: {"fill": 0.2 + index / 10} for index, key in enumerate(keys(7))}
    (line,) = review(changes(said)).conditions
    assert (line.text, line.number) == ("fill by -11 to +49 % of the target", 6)
    moved = {key: {"versions": {"nid": f"10.0.0.{key.component}"}} for key in keys(30)}
    texts = [line.text for line in review(changes(moved)).conditions]
    assert texts == ["client 2.17.0 -> unknown", "nid: 30 different changes"]


def test_more_conditions_than_letters_have_marks_of_their_own() -> None:
    said = {"versions": {f"setting{number:02d}": "on" for number in range(30)}}
    marks = [line.mark for line in review(changes({keys(1)[0]: said})).conditions]
    assert marks[25:28] == ["z", "a1", "b1"]
    assert len(set(marks)) == 31


def test_each_operation_has_its_middle_and_its_extremes() -> None:
    rates = (57.6e6, 115.2e6, 126.72e6)
    said = {key: {"median_Bps": rate} for key, rate in zip(keys(3), rates)}
    (moved,) = review(changes(said)).moved
    assert (moved.layer, moved.operation, moved.number) == ("ost", "read", 3)
    assert moved.ratio == pytest.approx(1.0)
    assert (moved.least.ratio, moved.most.ratio) == pytest.approx((0.5, 1.1))
    assert moved.least.key.component == "scratch-OST0000"


def test_what_is_new_has_not_moved() -> None:
    assert review(compare({}, {keys(1)[0]: Candidate(BASELINE)})).moved == ()
