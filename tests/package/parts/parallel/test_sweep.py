"""Sweeps: grid, estimates, course under a budget, and knees."""

from __future__ import annotations

import json
from typing import Any, Callable, Sequence

import pytest

from plumbline.model.codec import read_document, write
from plumbline.model.errors import BusyError, DocumentError, PlumblineError
from plumbline.model.ranks import TESTS, Aggregation
from plumbline.model.record import Operation
from plumbline.parts.parallel.axes import Grid, Point, Setting, Value, apply, moving, points_of
from plumbline.parts.parallel.sweep import (
    START_S,
    Budget,
    Estimate,
    Ledger,
    Load,
    MeasuredPoint,
    Remark,
    Sweep,
    advice,
    estimate,
    planned,
    remarks,
    spread,
    summaries,
)
from tests.package.parts.parallel.points import MIB, done, point
from tests.package.recorded import table

FILE = table("sweep.yml")


def grid(writers: Sequence[int], transfer: Sequence[int] = (MIB,)) -> Grid:
    return {"writers": writers, "transfer": transfer, "stripes": (1,), "oversubscription": (1,)}


def test_the_ends_come_first_then_the_middle_then_the_quarters() -> None:
    writers = [point["writers"] for point in points_of(grid((1, 2, 4, 8, 16)))]
    assert writers == [1, 16, 4, 2, 8]


def test_the_first_points_of_two_axes_are_the_corners_of_the_grid() -> None:
    points = points_of(grid((1, 2, 4), (4096, 65536, MIB)))
    assert len(points) == len({tuple(axes.items()) for axes in points}) == 9
    assert {(axes["writers"], axes["transfer"]) for axes in points[:4]} == {
        *((1, 4096), (1, MIB), (4, 4096), (4, MIB)),
    }
    assert points[-1] == point(2, 65536)


@pytest.mark.parametrize("number", range(1, 12))
def test_no_value_of_an_axis_is_lost(number: int) -> None:
    points = points_of(grid(range(1, number + 1)))
    assert sorted(int(axes["writers"]) for axes in points) == list(range(1, number + 1))


def test_a_value_given_twice_is_measured_once() -> None:
    twice = grid((2, 1, 2))
    assert [axes["writers"] for axes in points_of(twice)] == [1, 2]
    assert moving(twice) == ("writers",)


def test_no_point_is_repeated_before_all_have_been_measured() -> None:
    points = points_of({**grid((1, 2, 4)), "repeat": (1, 2)})
    assert [(axes.get("repeat", 1), axes["writers"]) for axes in points] == [
        *((1, 1), (1, 4), (1, 2), (2, 1), (2, 4), (2, 2)),
    ]


ON_EIGHT = Setting(
    TESTS["mpiio-shared-1m2"]._replace(collective=False), targets=8, hosts=2, bytes=64 * MIB
)


@pytest.mark.parametrize(("axes", "alone", "figures"), FILE["sizes"])
def test_axes_determine_targets_ranks_and_bytes(
    axes: Point, alone: bool, figures: list[int]
) -> None:
    setting = apply(axes, ON_EIGHT._replace(alone=alone))
    assert [setting.in_use, setting.ranks, setting.rank_bytes / MIB] == figures


@pytest.mark.parametrize(
    ("axis", "value", "field", "expected"),
    [
        ("transfer", 4096, "transfer", 4096),
        ("stripe_size", 4 * MIB, "stripe_bytes", 4 * MIB),
        ("gather", "2x1MiB", "aggregation", Aggregation(2, MIB)),
        ("gather", "none", "aggregation", None),
        ("hints", "cb_nodes=2+romio_cb_read=x", "hints", {"cb_nodes": "2", "romio_cb_read": "x"}),
        ("hints", "none", "hints", {}),
        ("repeat", 2, "name", "mpiio-shared-1m2"),
    ],
)
def test_axes_change_the_test(axis: str, value: Value, field: str, expected: object) -> None:
    assert getattr(apply({axis: value}, ON_EIGHT).test, field) == expected


@pytest.mark.parametrize(("axes", "sentence"), FILE["impossible"])
def test_an_impossible_point_is_refused(axes: Point, sentence: str) -> None:
    with pytest.raises(PlumblineError, match=sentence):
        apply({**point(1), **axes}, ON_EIGHT)


def test_a_few_targets_are_spread_over_many_servers() -> None:
    servers = ["oss1", "oss1", "oss1", "oss2", "oss2", "oss3"]
    assert [servers[index] for index in spread(servers)] == [
        *("oss1", "oss2", "oss3", "oss1", "oss2", "oss1"),
    ]


# --- Expected duration of a point


LOAD = Load(60.0, (Operation.WRITE, Operation.READ), lambda _point: 10**9)
UNBEGUN = Ledger({}, 10**9)


def test_the_first_point_is_estimated_by_its_limits() -> None:
    assert estimate(point(1, MIB), LOAD, UNBEGUN) == Estimate(START_S + 120, at_most=True)


def test_a_point_of_fixed_time_takes_that_time() -> None:
    load = LOAD._replace(fixed_time=True)
    assert estimate(point(1, MIB), load, UNBEGUN) == Estimate(START_S + 120, at_most=False)


def test_the_duration_of_a_point_is_estimated_from_the_most_similar_one() -> None:
    measured = (
        # 10 s of writing, 5 s of reading, 5 s of other work
        done(point(4, MIB), 100, 200, seconds=20.0),
        done(point(1, MIB), 10, 10, seconds=125.0),
    )
    ledger = UNBEGUN._replace(done=measured)
    similar = estimate(point(8, MIB), LOAD, ledger)
    assert similar.seconds == pytest.approx(20.0)
    assert not similar.at_most
    assert estimate(point(1, 2 * MIB), LOAD, ledger).seconds == pytest.approx(125.0)


def test_a_failed_point_gives_no_estimate() -> None:
    measured = (done(point(1, MIB), None, seconds=1.0, reason="full"),)
    assert estimate(point(1, MIB), LOAD, UNBEGUN._replace(done=measured)).at_most


# --- Knees: more writers or larger transfers without more rate


WRITE = (Operation.WRITE,)


def of_writers(rates_MBps: Sequence[float]) -> Remark:
    """Return the remark on 1, 2, 4, ... writers with these rates."""
    points = [done(point(1 << place, MIB), rate) for place, rate in enumerate(rates_MBps)]
    (remark,) = remarks(points, WRITE)
    return remark


@pytest.mark.parametrize(("rates_MBps", "sentence"), FILE["knees"])
def test_the_knee_is_the_fewest_writers_with_the_full_rate(
    rates_MBps: Sequence[float], sentence: str
) -> None:
    text = of_writers(rates_MBps).sentence()
    assert text.startswith(sentence)
    assert ("of the best" in text) == ("of the best" in sentence)


def test_a_knee_does_not_depend_on_the_order_of_measuring() -> None:
    points = [done(point(writers, MIB), rate) for writers, rate in ((8, 400), (1, 200), (2, 395))]
    (remark,) = remarks(points, WRITE)
    assert (remark.value, remark.rising) == (2, False)


def test_each_line_of_a_grid_has_its_own_knee() -> None:
    points = [
        done(point(writers, transfer), rate, rate)
        for writers, transfer, rate in ((1, 4096, 10), (2, 4096, 20), (1, MIB, 100), (2, MIB, 100))
    ]
    both = (Operation.WRITE, Operation.READ)
    knees = {(r.axis, r.operation.value, r.beside): r.value for r in remarks(points, both)}
    assert knees == {
        ("writers", "write", "4 KiB"): 2,
        ("writers", "write", "1 MiB"): 1,
        ("writers", "read", "4 KiB"): 2,
        ("writers", "read", "1 MiB"): 1,
        ("transfer", "write", "1 writer"): MIB,
        ("transfer", "write", "2 writers"): MIB,
        ("transfer", "read", "1 writer"): MIB,
        ("transfer", "read", "2 writers"): MIB,
    }


def test_over_subscription_is_judged_by_the_rate_of_each_target() -> None:
    """A quarter of the targets gives less in total, though each of them may give as much."""
    points = [
        done(point(1, MIB), 400, targets=4),
        done(point(1, MIB, oversubscription=4), 50, targets=1),
    ]
    (remark,) = remarks(points, WRITE)
    assert remark.sentence() == (
        "write: 1-fold over-subscription gives 100.0 MB/s a target; beyond that nothing brings "
        "5 % more; 4-fold over-subscription: 50 % of the best"
    )


def test_a_point_without_a_figure_is_no_point_of_a_line() -> None:
    points = [done(point(1, MIB), 100), done(point(2, MIB), None, reason="full")]
    assert remarks(points, WRITE) == ()


def test_a_gain_within_the_range_of_the_runs_does_not_count() -> None:
    runs = [
        done(point(writers, **({"repeat": run} if run > 1 else {})), rate)
        for writers, rates in ((1, (90, 100, 130)), (2, (119, 120, 121)))
        for run, rate in enumerate(rates, 1)
    ]
    single, double = summaries(runs)
    assert (single.runs, single.rates[Operation.WRITE].text) == (3, "100.0 MB/s -10/+30 %")
    assert double.rates[Operation.WRITE] == (120e6, 119e6, 121e6)
    (remark,) = remarks(runs, WRITE)
    assert (remark.value, remark.rising) == (1, False)


def test_values_that_are_words_have_a_best_and_a_worst() -> None:
    points = [
        done(point(1, hints=hints), rate)
        for hints, rate in (("a=1", 50), ("none", 100), ("b=1", 90))
    ]
    (remark,) = remarks(points, WRITE)
    assert remark.sentence() == (
        "write: hints none gives 100.0 MB/s, the most; hints a=1: 50 % of the best"
    )


def test_advice_begins_with_the_important_axes_and_ends_with_the_gaps() -> None:
    entries = [
        done(point(writers, transfer, stripes=stripes), rate, 2 * rate)
        for writers, transfer, stripes, rate in (
            *((1, 4096, 1, 10), (4, 4096, 1, 20), (1, MIB, 1, 200), (4, MIB, 1, 400)),
            (4, MIB, 2, 399),
        )
    ]
    ledger = Ledger({}, PLANNED, (*entries, done(point(2), None, reason="full")))
    first, *lines, last = advice(ledger, "scratch")
    assert first == (
        "scratch, best of 5 points, 1970-01-01: write 400.0 MB/s and read 800.0 MB/s "
        "with 4 writers, 1 MiB on 4 targets."
    )
    assert lines == [
        "Take transfer 1 MiB: 400.0 MB/s, and more may bring more; transfer 4 KiB: 5 % of the "
        "best.",
        "Take 4 writers: 400.0 MB/s, and more may bring more; 1 writer: 50 % of the best.",
        "The axis stripes makes no difference: 1 stripe will do.",
    ]
    # the best by a hair does not contradict the advice
    rates = ((4, 399), (16, 400), (1, 99))
    nearly = tuple(done(point(writers, MIB), rate, rate) for writers, rate in rates)
    first, line, _ = advice(Ledger({}, PLANNED, nearly), "scratch")
    assert "with 16 writers" in first
    assert line == "4 writers will do: 399.0 MB/s, 100 % of the best; 1 writer: 25 % of the best."
    assert last.startswith("Not covered: other values of oversubscription, stripe size, targets, ")
    assert last.endswith("; each point was measured once; points without a figure: 1.")
    assert advice(Ledger({}, PLANNED), "scratch") == ()


# --- The ledger of a sweep


POINTS = points_of(grid((1, 2, 4)))
PLANNED = 2 * 10**9


def test_a_ledger_survives_the_json_round_trip() -> None:
    ledger = Ledger({"test": "ost"}, PLANNED).ended(done(POINTS[0], 100, 200))
    assert read_document(Ledger, json.loads(json.dumps(write(ledger)))) == ledger


def test_failed_points_remain_and_measured_ones_do_not() -> None:
    ledger = Ledger({}, PLANNED)
    for entry in (done(POINTS[0], 100, 200), done(POINTS[1], None, reason="full")):
        ledger = ledger.ended(entry)
    assert ledger.remaining(POINTS) == POINTS[1:]
    again = ledger.ended(done(POINTS[1], 50, 50))
    assert again.remaining(POINTS) == POINTS[2:]
    assert len(again.done) == 2


def test_a_point_counts_with_its_estimate_until_it_is_over() -> None:
    ledger = Ledger({}, PLANNED)
    assert ledger.begun(PLANNED, 60.0)[2:] == ((), PLANNED, 60.0)
    assert ledger.ended(done(POINTS[0], 100, written=10**9))[3:] == (10**9, 20.0)


DAMAGES: list[dict[str, Any]] = [
    {"schema": 2},
    {"done": None},
    {"done": [{}]},
    {"written": "much"},
    {"done": [{**write(done(point(1), 1)), "point": {"colour": 1}}]},
    {"seconds": float("nan")},
]


@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_a_damaged_document_is_refused_with_the_remedy(damage: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="begin it with --again"):
        read_document(Ledger, {**write(Ledger({}, PLANNED)), **damage})


def test_a_negative_rate_is_refused() -> None:
    raw = write(Ledger({}, PLANNED, (done(point(1, MIB), -1.0),)))
    with pytest.raises(DocumentError, match="no rate"):
        read_document(Ledger, raw)


# --- A sweep under its budget and with interruptions


GB = 10**9
GRID = grid((1, 2, 4, 8))
EMPTY = Ledger({}, GB)


class Store:
    """Keeps the ledger like a file."""

    def __init__(self) -> None:
        self.ledger = EMPTY

    def save(self, ledger: Ledger) -> None:
        self.ledger = ledger


def sweep(store: Store, budget_bytes: int = 100 * GB, seconds: float = 3600.0) -> Sweep:
    load = Load(60.0, (Operation.WRITE, Operation.READ), lambda _point: GB)
    return Sweep(points_of(GRID), load, Budget(budget_bytes, seconds), store.save)


def measuring(order: list[int]) -> Callable[[Point], MeasuredPoint]:
    """Return a function that measures points at 100 MB/s and notes their writers."""

    def measure(point: Point) -> MeasuredPoint:
        order.append(int(point["writers"]))
        return done(point, 100, 100)

    return measure


def test_all_points_are_measured_and_kept() -> None:
    store, order = Store(), list[int]()
    ending = sweep(store).work_off(EMPTY, measuring(order))
    assert (ending.reason, order) == ("", [1, 8, 2, 4])
    assert store.ledger == ending.ledger
    assert (store.ledger.written, store.ledger.seconds) == (4 * GB, 80.0)


def test_the_byte_budget_ends_a_sweep_and_a_larger_one_continues_it() -> None:
    store, order = Store(), list[int]()
    ending = sweep(store, budget_bytes=3 * GB).work_off(EMPTY, measuring(order))
    assert order == [1, 8, 2]
    assert "3000.0 MB of the budget of 3000.0 MB are written" in ending.reason
    ending = sweep(store, budget_bytes=4 * GB).work_off(store.ledger, measuring(order))
    assert (ending.reason, order) == ("", [1, 8, 2, 4])


def test_the_time_budget_ends_a_sweep_before_a_point_that_does_not_fit() -> None:
    store, order = Store(), list[int]()
    # the first may take 123 s but takes 20 s, as will those after it
    ending = sweep(store, seconds=125.0).work_off(EMPTY._replace(seconds=0.0), measuring(order))
    assert (order, ending.reason) == ([1, 8, 2, 4], "")
    ending = sweep(store, seconds=100.0).work_off(EMPTY, measuring(order))
    assert "a point takes up to 2 min; raise --limit, or lower --seconds" in ending.reason


def test_a_kill_loses_only_the_current_point_and_counts_its_bytes() -> None:
    store, order = Store(), list[int]()

    def measure(point: Point) -> MeasuredPoint:
        if len(order) == 2:
            raise KeyboardInterrupt
        return measuring(order)(point)

    with pytest.raises(KeyboardInterrupt):
        sweep(store).work_off(EMPTY, measure)
    assert [entry.point["writers"] for entry in store.ledger.done] == [1, 8]
    # the third counts with its estimate from the first two
    assert store.ledger.written == 3 * GB
    assert 60.0 <= store.ledger.seconds < 70.0
    sweep(store).work_off(store.ledger, measuring(order))
    assert order == [1, 8, 2, 4]


def test_a_target_locked_by_another_run_costs_nothing() -> None:
    store = Store()

    def measure(point: Point) -> MeasuredPoint:
        raise BusyError("held")

    with pytest.raises(BusyError):
        sweep(store).work_off(EMPTY, measure)
    assert store.ledger == EMPTY


def test_three_points_without_a_figure_end_a_sweep_and_are_tried_again() -> None:
    store, tried = Store(), list[int]()

    def measure(point: Point) -> MeasuredPoint:
        tried.append(int(point["writers"]))
        return done(point, None, reason="mpirun is missing", written=0)

    ending = sweep(store).work_off(EMPTY, measure)
    assert ending.reason == "3 points in a row gave no figure, the last: mpirun is missing"
    assert tried == [1, 8, 2]
    order: list[int] = []
    assert sweep(store).work_off(store.ledger, measuring(order)).reason == ""
    assert order == [1, 8, 2, 4]


def test_a_plan_names_the_points_beyond_the_budget() -> None:
    points = planned(sweep(Store(), budget_bytes=3 * GB), EMPTY)
    assert [(point["writers"], reason != "") for point, reason in points] == [
        *((1, False), (8, False), (2, False), (4, True)),
    ]
