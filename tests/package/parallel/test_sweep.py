"""The course of a sweep under its budget, and through interruptions."""

from __future__ import annotations

from typing import Callable

import pytest

from plumbline.model.errors import BusyError
from plumbline.model.record import Operation
from plumbline.parallel.sweep import Budget, Done, Grid, Ledger, Load, Point, Sweep, planned
from tests.package.parallel.points import MIB, done

GB = 10**9
GRID = Grid((1, 2, 4, 8), (MIB,))
EMPTY = Ledger({}, GB)


class Kept:
    """Keeps the ledger as a file would."""

    def __init__(self) -> None:
        self.ledger = EMPTY

    def save(self, ledger: Ledger) -> None:
        self.ledger = ledger


def sweep(kept: Kept, budget_bytes: int = 100 * GB, seconds: float = 3600.0) -> Sweep:
    load = Load(60.0, (Operation.WRITE, Operation.READ))
    return Sweep(GRID.points(), load, Budget(budget_bytes, seconds), kept)


def measuring(order: list[int]) -> Callable[[Point], Done]:
    """Measure every point at 100 MB/s and note its writers."""

    def measure(point: Point) -> Done:
        order.append(point.writers)
        return done(point, 100, 100)

    return measure


def test_all_points_are_measured_and_kept() -> None:
    kept, order = Kept(), list[int]()
    ending = sweep(kept).work_off(EMPTY, measuring(order))
    assert (ending.reason, order) == ("", [1, 8, 2, 4])
    assert kept.ledger == ending.ledger
    assert (kept.ledger.written, kept.ledger.seconds) == (4 * GB, 80.0)


def test_the_bytes_of_the_budget_end_a_sweep_and_more_let_it_go_on() -> None:
    kept, order = Kept(), list[int]()
    ending = sweep(kept, budget_bytes=3 * GB).work_off(EMPTY, measuring(order))
    assert order == [1, 8, 2]
    assert "3000.0 MB of the budget of 3000.0 MB are written" in ending.reason
    ending = sweep(kept, budget_bytes=4 * GB).work_off(kept.ledger, measuring(order))
    assert (ending.reason, order) == ("", [1, 8, 2, 4])


def test_the_minutes_end_a_sweep_before_a_point_that_would_not_fit() -> None:
    kept, order = Kept(), list[int]()
    # the first may take 123 s; it takes 20 s, and so will those after it
    ending = sweep(kept, seconds=125.0).work_off(EMPTY._replace(seconds=0.0), measuring(order))
    assert (order, ending.reason) == ([1, 8, 2, 4], "")
    ending = sweep(kept, seconds=100.0).work_off(EMPTY, measuring(order))
    assert "a point takes up to 2 min; raise --limit, or lower --seconds" in ending.reason


def test_a_kill_loses_the_point_under_way_alone_and_not_its_bytes() -> None:
    kept, order = Kept(), list[int]()

    def measure(point: Point) -> Done:
        if len(order) == 2:
            raise KeyboardInterrupt
        return measuring(order)(point)

    with pytest.raises(KeyboardInterrupt):
        sweep(kept).work_off(EMPTY, measure)
    assert [done.point.writers for done in kept.ledger.done] == [1, 8]
    # of the third as much as the first two let expect
    assert kept.ledger.written == 3 * GB
    assert 60.0 <= kept.ledger.seconds < 70.0
    sweep(kept).work_off(kept.ledger, measuring(order))
    assert order == [1, 8, 2, 4]


def test_a_target_that_another_run_holds_costs_nothing() -> None:
    kept = Kept()

    def measure(point: Point) -> Done:
        raise BusyError("held")

    with pytest.raises(BusyError):
        sweep(kept).work_off(EMPTY, measure)
    assert kept.ledger == EMPTY


def test_three_points_without_a_figure_end_a_sweep_and_are_tried_again() -> None:
    kept, tried = Kept(), list[int]()

    def measure(point: Point) -> Done:
        tried.append(point.writers)
        return done(point, None, reason="mpirun is missing", written=0)

    ending = sweep(kept).work_off(EMPTY, measure)
    assert ending.reason == "3 points in a row gave no figure, the last: mpirun is missing"
    assert tried == [1, 8, 2]
    order: list[int] = []
    assert sweep(kept).work_off(kept.ledger, measuring(order)).reason == ""
    assert order == [1, 8, 2, 4]


def test_a_plan_says_which_points_the_budget_does_not_reach() -> None:
    points = planned(sweep(Kept(), budget_bytes=3 * GB), EMPTY)
    assert [(point.writers, reason != "") for point, reason in points] == [
        *((1, False), (8, False), (2, False), (4, True)),
    ]
