"""What went through a target between two moments, by counters that are read once a second."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.record import Outcome, Record
from plumbline.observe.coverage import Bounds, Counted, by_sampling, covering
from tests.package.observe.servers import START, counted


def of(*records: Record) -> Counted:
    return Counted("oss1", records)


def test_whole_seconds_are_known_exactly() -> None:
    one = of(*counted([10, 20, 30, 40], [1, 1, 1, 1]))
    assert one.moved(START + 1, START + 3, 0) == Bounds(52, 52, 52)


def test_at_the_edges_bytes_are_known_within_the_second_that_they_were_read_in() -> None:
    one = of(*counted([10, 20, 30, 40]))
    assert one.moved(START + 0.5, START + 2.25, 0) == Bounds(20, 5 + 20 + 7.5, 60)


def test_a_clock_in_doubt_widens_both_edges() -> None:
    one = of(*counted([10, 20, 30, 40]))
    assert one.moved(START + 1, START + 3, 0.1) == Bounds(0, 50, 100)
    assert of(*counted([10, 20, 30, 40], late_s=0.1)).moved(START + 1, START + 3, 0).most == 100


def test_seconds_that_one_reading_stands_for_are_one() -> None:
    one = of(*counted([10, 20, 20, 20, 40], merged=[[1, 3]]))
    assert one.moved(START + 2, START + 3, 0) == Bounds(0, 20, 60)


def test_only_what_was_followed_without_a_break_is_covered() -> None:
    first, later = counted([1, 1, 1]), counted([1, 1, 1], start=START + 3)
    apart = counted([1, 1, 1], start=START + 3.5)
    assert of(*first, *later).covers(START, START + 6, 0)
    assert not of(*first, *later).covers(START, START + 6, 0.1)
    assert not of(*first, *apart).covers(START, START + 6, 0)
    # one direction is not all
    assert not of(first[0]).covers(START, START + 3, 0)


def test_a_target_that_stood_still_is_covered() -> None:
    still = of(*counted([0, 0, 0]))
    assert still.covers(START, START + 3, 0)
    assert still.moved(START, START + 3, 0) == Bounds(0, 0, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"details": {"source": "diskstats", "watched": [0, 3], "late_s": 0}},
        {"details": {"source": "lustre", "watched_s": 3}},
        {"outcome": Outcome.FAILED, "rate_Bps": None, "profile_Bps": (), "reason": "gone"},
    ],
    ids=["a disk", "a sampler of an earlier version", "not there"],
)
def test_what_does_not_say_how_long_it_was_followed_covers_nothing(
    changes: dict[str, Any],
) -> None:
    records = [one._replace(**changes) for one in counted([1, 1, 1])]
    assert not of(*records).covers(START, START + 3, 0)


def test_each_sampling_is_one_and_one_that_covers_all_is_found() -> None:
    early = counted([1, 1, 1])
    whole = [one._replace(run_id="another") for one in counted([2, 2, 2, 2])]
    found = covering(by_sampling([*early, *whole]), START, START + 4, 0)
    assert found is not None
    assert found.moved(START, START + 4, 0).most == 8
    assert covering(by_sampling(early), START, START + 4, 0) is None


@pytest.mark.parametrize(
    "details",
    [
        {"watched": None, "jobs": [[1, 2, 3]]},
        {"watched": ["a", 3]},
        {"watched": [0]},
        {"late_s": -1},
        {"merged": [[0, "many"]]},
        {"jobs": [[0, 1, "a", -5, 0]]},
    ],
)
def test_damaged_records_are_said(details: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="what oss1 counted is damaged"):
        of(*counted([1, 1, 1], **details))
