"""How long a point is expected to take."""

from __future__ import annotations

import pytest

from plumbline.model.record import Operation
from plumbline.parallel.sweep import START_S, Estimate, Ledger, Load, Point, estimate
from tests.package.parallel.points import MIB, done

LOAD = Load(60.0, (Operation.WRITE, Operation.READ))
EMPTY = Ledger({}, 10**9)


def test_the_first_point_takes_its_limits_at_most() -> None:
    assert estimate(Point(1, MIB), LOAD, EMPTY) == Estimate(START_S + 120, at_most=True)


def test_a_point_of_fixed_time_takes_that_time() -> None:
    load = LOAD._replace(fixed_time=True)
    assert estimate(Point(1, MIB), load, EMPTY) == Estimate(START_S + 120, at_most=False)


def test_the_point_most_like_it_says_how_long_a_point_takes() -> None:
    known = (
        # 10 s of writing, 5 s of reading, 5 s beside
        done(Point(4, MIB), 100, 200, seconds=20.0),
        done(Point(1, MIB), 10, 10, seconds=125.0),
    )
    ledger = EMPTY._replace(done=known)
    alike = estimate(Point(8, MIB), LOAD, ledger)
    assert alike.seconds == pytest.approx(20.0)
    assert not alike.at_most
    assert estimate(Point(1, 2 * MIB), LOAD, ledger).seconds == pytest.approx(125.0)


def test_a_point_that_gave_nothing_tells_nothing() -> None:
    known = (done(Point(1, MIB), None, seconds=1.0, reason="full"),)
    assert estimate(Point(1, MIB), LOAD, EMPTY._replace(done=known)).at_most
