"""Who used what in a time is the part of all that is known that falls into it."""

from __future__ import annotations

import pytest

from plumbline.model.record import Operation
from plumbline.observe.jobs import (
    COUNTERS,
    DARSHAN,
    Job,
    JobIo,
    JobRequests,
    Window,
    asked,
    shown,
    used,
    without_traffic,
)


def io(job: str, begin: float, end: float, **changes: object) -> JobIo:
    values = {"target": "OST0", "operation": Operation.WRITE, "bytes": 1000.0, "source": DARSHAN}
    return JobIo(**{"job": job, "begin": begin, "end": end, **values, **changes})  # type: ignore[arg-type]


def test_of_what_lasts_longer_the_part_within_the_time_counts() -> None:
    (found,) = used([io("7", 100, 200)], Window(150, 400))
    assert (found.bytes, found.begin, found.end) == (500, 150, 200)
    assert found.rate_Bps == 10


def test_the_job_that_moved_most_comes_first_and_its_parts_are_one() -> None:
    found = used(
        [io("7", 0, 10), io("8", 0, 10, bytes=1500.0), io("7", 20, 30, small=0.5)], Window()
    )
    assert [(one.job, one.bytes, one.begin, one.end) for one in found] == [
        ("7", 2000, 0, 30),
        ("8", 1500, 0, 10),
    ]
    assert found[0].small == 0.5


def test_who_says_it_is_told_apart() -> None:
    found = used([io("7", 0, 10), io("7", 0, 10, source=COUNTERS)], Window())
    assert {one.source for one in found} == {COUNTERS, DARSHAN}


def test_another_target_or_time_is_left_out() -> None:
    known = [io("7", 0, 10), io("8", 0, 10, target="OST1"), io("9", 90, 91)]
    assert [one.job for one in used(known, Window(0, 50), "OST0")] == ["7"]


def test_what_has_no_duration_is_there_at_its_moment() -> None:
    assert [one.rate_Bps for one in used([io("7", 10, 10)], Window(5, 15))] == [None]
    assert used([io("7", 10, 10)], Window(11, 15)) == []


def test_jobs_that_ran_and_of_which_nothing_is_known_are_named() -> None:
    jobs = {name: Job(name, begin, end) for name, begin, end in (("7", 0, 9), ("8", 0, None))}
    jobs["9"] = Job("9", 100, 200)
    assert [job.id for job in without_traffic(jobs, {"7"}, Window(0, 50))] == ["8"]


def test_requests_of_a_job_are_those_of_the_time() -> None:
    found = [
        JobRequests("7", "MDT0", 0, 10, {"open": 10}),
        JobRequests("7", "MDT0", 10, 20, {"open": 4, "close": 6}),
        JobRequests("8", "MDT1", 0, 10, {"open": 1}),
        JobRequests("9", "MDT0", 30, 40, {"open": 99}),
    ]
    first, second = asked(found, Window(5, 20))
    assert first == JobRequests("7", "MDT0", 5, 20, {"open": 9.0, "close": 6.0})
    assert (second.job, second.number) == ("8", 0.5)
    assert [one.job for one in asked(found, Window(), "MDT1")] == ["8"]


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("4711", "4711"),
        ("a\nb\x1b[31m", "a b\N{REPLACEMENT CHARACTER}[31m"),
        ("x" * 99, "x" * 37 + "..."),
        ("\udcff", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_a_name_of_any_bytes_is_shown_safely(name: str, safe: str) -> None:
    assert shown(name) == safe
