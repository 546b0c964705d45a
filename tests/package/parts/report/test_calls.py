"""A call profile: ranks by bytes and time, and stragglers."""

from __future__ import annotations

import json
from typing import Any, Sequence

import pytest

from plumbline.model.profile import Block, Calls, Profile, by_tenths, durations_of
from plumbline.model.record import Operation, Record
from plumbline.model.trend import Run
from plumbline.parts.parallel.job import Result
from plumbline.parts.parallel.tally import details, details_of_all
from plumbline.parts.report.calls import Rank, calls_figure, of_profile, of_run
from tests.package.parts.parallel.test_tally import result, tally
from tests.package.records import record

MIB = 1 << 20


def block(rank: int, seconds: float, count: int = 200, operation: str = "write") -> Block:
    calls = Calls(count)
    for number in range(count):
        calls.add(number * seconds / count, seconds / count, MIB)
    return Block(rank, f"nid{rank}", "scratch-OST0000", operation, calls)


def profile(*seconds: float) -> Profile:
    return Profile({}, tuple(block(rank, duration) for rank, duration in enumerate(seconds)))


def ranks(calls: Profile) -> Sequence[Rank]:
    (operation,) = of_profile(calls)
    return operation.ranks


def test_a_rank_with_several_operations_counts_once() -> None:
    writes = profile(10, 10.1, 9.9, 10.2, 25).blocks
    reads = tuple(block._replace(operation="read") for block in writes)
    finding = calls_figure(Profile({}, writes + reads)).finding
    assert finding.startswith("5 ranks, 1 of them straggles: rank 4 on nid4. Time of a client: ")


def test_a_rank_is_drawn_with_few_points_up_to_its_end() -> None:
    (rank,) = ranks(profile(10))
    points = rank.points
    assert len(points) < 80
    assert points[0] == (0, 0.0)
    assert points[-1][0] == 200 * MIB
    assert points[-1][1] == pytest.approx(10)


def test_a_straggler_has_its_own_trace() -> None:
    bundle, durations, _ = calls_figure(profile(10, 10, 10, 25)).plots
    assert [trace["name"] for trace in bundle.data] == ["ranks", "rank 3 on nid3"]
    assert bundle.data[0]["x"].count(None) == 3
    assert durations.title.startswith("write: how long calls took")


def test_each_client_has_the_time_of_its_last_rank() -> None:
    """As in Edison's figure 12: unequal to read what was just written, equal to read it again."""
    blocks = [
        block(rank, seconds, operation=operation)._replace(client=f"nid{rank // 2}")
        for operation, times in (("read", (10, 12, 9, 25)), ("reread", (10, 10, 10, 10)))
        for rank, seconds in enumerate(times)
    ]
    figure = calls_figure(Profile({}, tuple(blocks)))
    assert figure.finding.endswith(" Time of a client: read 12.0 to 25.0 s, reread 10.0 to 10.0 s.")
    read, reread = figure.plots[-1].data
    assert (read["name"], read["x"], read["y"]) == ("read", ["nid0", "nid1"], [12.0, 25.0])
    assert (reread["name"], reread["y"]) == ("reread", [10.0, 10.0])
    # one client has nobody to compare it with
    alone = calls_figure(Profile({}, (blocks[0], blocks[1])))
    assert "client" not in alone.finding
    assert not any("client" in plot.title for plot in alone.plots)


def test_durations_are_counted_in_ten_bins_per_decade() -> None:
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


def test_without_a_profile_the_report_names_the_option_for_one() -> None:
    assert "plumbline probe fs --profile" in calls_figure(None).absent
    assert calls_figure(Profile({}, ())).absent == "the call profile holds no calls"


# --- The ranks of a recorded run, from its rates by second.


QUICK = result(0, "a", bytes=600, begin_s=0.5, end_s=6.0, curve=(100.0,) * 6)
SLOW = result(1, "b", bytes=600, begin_s=0.0, end_s=12.0, curve=(50.0,) * 12)


def run(*results: Result, **changes: Any) -> Run:
    """Return a run of reads with records of targets and file system, as from the probe."""
    whole = tally(*results)
    targets = [
        record_of(rank.target, details([rank], whole.of_target(rank.target, 1)), **changes)
        for rank in results
    ]
    total = record_of("scratch", details_of_all(whole, whole.of_all()))
    return Run("fs", "run-1", (*targets, total))


def record_of(component: str, ranks: dict[str, Any], **changes: Any) -> Record:
    times = {"mean": 0.05, "p50": 0.04, "p99": 0.1, "max": 0.2}
    values = {"quantities": times, "details": ranks, **changes}
    return record(layer="fs", component=component, operation=Operation.READ, **values)


def test_each_rank_is_drawn_from_start_to_end() -> None:
    (operation_ranks,) = of_run(run(QUICK, SLOW))
    quick, slow = operation_ranks.ranks
    assert (quick.points[0], quick.points[-1]) == ((0.0, 0.5), (600, 6.0))
    assert slow.points[6] == (300.0, 6.0)
    assert [rank.straggles for rank in operation_ranks.ranks] == [False, True]
    assert (operation_ranks.half_s, operation_ranks.longest_s) == (0.04, 0.2)


def test_the_figure_can_be_drawn_from_the_history() -> None:
    figure = calls_figure(None, run(QUICK, SLOW))
    assert figure.finding == (
        "2 ranks, 1 of them straggles: rank 1 on c1. Drawn by seconds, as the latest run has kept "
        "them."
    )
    assert [plot.title for plot in figure.plots] == [
        "read: ranks by bytes and time",
        "read: how long calls took, half of them up to 0.04 s, the longest 0.2 s",
    ]
    # three calls per rank
    assert sum(figure.plots[1].data[0]["y"]) == 6
    assert [row[:4] for row in list(figure.numbers)[1:]] == [
        ("read", 0, "c1", "a"),
        ("read", 1, "c1", "b"),
    ]


def test_an_old_record_without_durations_is_drawn() -> None:
    old = run(QUICK, SLOW)
    records = [
        old_record._replace(
            details={k: v for k, v in (old_record.details or {}).items() if k != "durations"}
        )
        for old_record in old.records
    ]
    figure = calls_figure(None, old._replace(records=tuple(records)))
    assert [plot.title for plot in figure.plots] == ["read: ranks by bytes and time"]


def test_a_run_of_single_targets_has_no_ranks() -> None:
    assert "layer fs" in calls_figure(None, Run("ost", "run-1", ())).absent
    empty = Run("fs", "run-1", (record_of("scratch", {}),))
    assert calls_figure(None, empty).absent == "the latest run has kept no ranks"


RANK = {"rank": 0, "client": "c1", "target": "a", "bytes": 5, "begin_s": 0, "end_s": 2.0}


@pytest.mark.parametrize(
    "stored",
    [
        {"ranks": 5},
        {"ranks": [5]},
        {"ranks": [{}]},
        {"ranks": [RANK]},
        {"ranks": [{**RANK, "curve": ["x"]}]},
        {"ranks": [{**RANK, "curve": [5], "end_s": "soon"}]},
        {"ranks": [{**RANK, "curve": [5], "end_s": float("inf")}]},
        {"ranks": [{**RANK, "curve": [5], "bytes": float("nan")}]},
        {"ranks": [{**RANK, "curve": [5], "client": None}]},
        {"ranks": [{**RANK, "curve": [5]}], "durations": {"x": 1}},
        {"ranks": [{**RANK, "curve": [5]}], "stragglers": [{}]},
    ],
    ids=json.dumps,
)
def test_damaged_details_are_reported_and_the_report_continues(stored: dict[str, Any]) -> None:
    figure = calls_figure(None, Run("fs", "run-1", (record_of("a", stored),)))
    assert figure.absent.startswith("what run run-1 tells of its ranks is damaged: ")
    assert figure.plots == ()


def test_empty_bins_have_no_bar() -> None:
    stored = {"ranks": [{**RANK, "curve": [5]}], "durations": {"-10": 0, "-9": 3}}
    (operation_ranks,) = of_run(Run("fs", "run-1", (record_of("a", stored),)))
    assert operation_ranks.tenths == {-9: 3}
