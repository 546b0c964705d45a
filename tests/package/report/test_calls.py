"""A call profile: ranks by bytes and time, and who straggles."""

from __future__ import annotations

from typing import Sequence

import pytest

from plumbline.parallel.profile import Block, Calls, Profile, by_tenths, durations_of
from plumbline.report.calls import Rank, calls_figure, of_profile

MIB = 1 << 20


def block(rank: int, seconds: float, count: int = 200, operation: str = "write") -> Block:
    calls = Calls(count)
    for number in range(count):
        calls.add(number * seconds / count, seconds / count, MIB)
    return Block(rank, f"nid{rank}", "scratch-OST0000", operation, calls)


def profile(*seconds: float) -> Profile:
    return Profile({}, tuple(block(rank, taken) for rank, taken in enumerate(seconds)))


def ranks(of: Profile) -> Sequence[Rank]:
    (only,) = of_profile(of)
    return only.ranks


def test_who_ends_far_later_straggles() -> None:
    found = ranks(profile(10, 10.1, 9.9, 10.2, 25))
    assert [one.straggles for one in found] == [False] * 4 + [True]
    assert calls_figure(profile(10, 10.1, 9.9, 10.2, 25)).finding == (
        "5 ranks, 1 of them straggles: rank 4 on nid4."
    )


def test_a_rank_counts_once_however_many_operations_it_had() -> None:
    writes = profile(10, 10.1, 9.9, 10.2, 25).blocks
    reads = tuple(one._replace(operation="read") for one in writes)
    finding = calls_figure(Profile({}, writes + reads)).finding
    assert finding == "5 ranks, 1 of them straggles: rank 4 on nid4."


def test_ranks_that_are_alike_do_not_straggle() -> None:
    assert calls_figure(profile(10, 10.2, 10.9, 10.4)).finding == "4 ranks, none straggles."


def test_a_rank_is_drawn_by_few_points_that_end_where_it_ended() -> None:
    (rank,) = ranks(profile(10))
    drawn = rank.points
    assert len(drawn) < 80
    assert drawn[0] == (0, 0.0)
    assert drawn[-1][0] == 200 * MIB
    assert drawn[-1][1] == pytest.approx(10)


def test_a_straggler_is_a_trace_of_its_own() -> None:
    bundle, durations = calls_figure(profile(10, 10, 10, 25)).plots
    assert [trace["name"] for trace in bundle.data] == ["ranks", "rank 3 on nid3"]
    assert bundle.data[0]["x"].count(None) == 3
    assert durations.title.startswith("write: how long calls took")


def test_durations_are_counted_by_tenths_of_a_decade() -> None:
    calls = Calls(4)
    for duration in (0.1, 0.1, 1.0, 10.0):
        calls.add(0.0, duration, MIB)
    assert by_tenths(durations_of(calls)) == {-10: 2, 0: 1, 10: 1}


def test_the_numbers_have_every_rank_once() -> None:
    figure = calls_figure(profile(10, 11))
    assert [row[:5] for row in list(figure.numbers)[1:]] == [
        ("write", 0, "nid0", "scratch-OST0000", 200),
        ("write", 1, "nid1", "scratch-OST0000", 200),
    ]


def test_without_a_profile_it_is_said_how_to_get_one() -> None:
    assert "plumbline probe fs --profile" in calls_figure(None).absent
    assert calls_figure(Profile({}, ())).absent == "the call profile holds no calls"
