"""Where more no longer brings more."""

from __future__ import annotations

from typing import Sequence

import pytest

from plumbline.model.record import Operation
from plumbline.parallel.sweep import Point, Remark, remarks
from tests.package.parallel.points import MIB, done

WRITE = (Operation.WRITE,)


def of_writers(rates_MBps: Sequence[float]) -> Remark:
    """Return the remark on 1, 2, 4, ... writers that give these rates."""
    points = [done(Point(1 << place, MIB), rate) for place, rate in enumerate(rates_MBps)]
    (remark,) = remarks(points, WRITE)
    return remark


@pytest.mark.parametrize(
    ("rates_MBps", "sentence"),
    [
        # more bring nothing from two on
        (
            (200, 390, 400, 399),
            "write: 2 writers give 390.0 MB/s; beyond that nothing brings 5 % more",
        ),
        ((200, 300, 400), "write: 4 writers give 400.0 MB/s, the most; it still rises there, so "),
        ((400, 401), "write: 1 writer gives 400.0 MB/s; beyond that nothing brings 5 % more"),
        # as the reads of figure 9 of the Red Storm report
        (
            (200, 400, 300, 160),
            "write: 2 writers give 400.0 MB/s; beyond that nothing brings 5 % more; "
            "8 writers: 40 % of the best",
        ),
        ((400, 400, 370), "write: 1 writer gives 400.0 MB/s; beyond that nothing brings 5 % more"),
    ],
)
def test_the_knee_is_the_fewest_that_give_what_the_most_give(
    rates_MBps: Sequence[float], sentence: str
) -> None:
    said = of_writers(rates_MBps).sentence()
    assert said.startswith(sentence)
    assert ("of the best" in said) == ("of the best" in sentence)


def test_a_knee_does_not_depend_on_the_order_of_measuring() -> None:
    points = [done(Point(writers, MIB), rate) for writers, rate in ((8, 400), (1, 200), (2, 395))]
    (remark,) = remarks(points, WRITE)
    assert (remark.value, remark.rising) == (2, False)


def test_every_line_of_a_grid_has_its_own_knee() -> None:
    points = [
        done(Point(writers, transfer), rate, rate)
        for writers, transfer, rate in ((1, 4096, 10), (2, 4096, 20), (1, MIB, 100), (2, MIB, 100))
    ]
    said = {
        (r.axis, r.operation.value, r.beside): r.value for r in remarks(points, tuple(Operation))
    }
    assert said == {
        ("writers", "write", "4 KiB"): 2,
        ("writers", "write", "1 MiB"): 1,
        ("writers", "read", "4 KiB"): 2,
        ("writers", "read", "1 MiB"): 1,
        ("transfer", "write", "1 writer"): MIB,
        ("transfer", "write", "2 writers"): MIB,
        ("transfer", "read", "1 writer"): MIB,
        ("transfer", "read", "2 writers"): MIB,
    }


def test_over_subscription_is_judged_by_what_each_target_gives() -> None:
    """A quarter of the targets gives less in sum, and yet each of them may give as much."""
    points = [
        done(Point(1, MIB), 400, targets=4),
        done(Point(1, MIB, oversubscription=4), 50, targets=1),
    ]
    (remark,) = remarks(points, WRITE)
    assert remark.sentence() == (
        "write: 1-fold over-subscription gives 100.0 MB/s a target; beyond that nothing brings "
        "5 % more; 4-fold over-subscription: 50 % of the best"
    )


def test_a_point_without_a_figure_is_no_point_of_a_line() -> None:
    points = [done(Point(1, MIB), 100), done(Point(2, MIB), None, reason="full")]
    assert remarks(points, WRITE) == ()
