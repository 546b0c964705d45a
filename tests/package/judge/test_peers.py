"""The peers of a day are its control: their middle, how far they lie apart, and that for good."""

from __future__ import annotations

from math import hypot, nan, sqrt

import numpy as np
import pytest

from plumbline.judge.references import Kind, Measurement, Table, kind_of
from plumbline.model.limits import Limits
from plumbline.model.series import Sample

DAY_S = 86400.0

Runs = list[tuple[int, int, float]]
"""Member, day and value of each run."""


def given(days: list[list[float]]) -> Runs:
    """Return what members 0, 1, ... gave on each of some days."""
    return [
        (member, day, value)
        for day, values in enumerate(days)
        for member, value in enumerate(values)
    ]


def kind_from(runs: Runs) -> Kind:
    members, days, values = np.array(runs, float).reshape(-1, 3).T
    return kind_of(members.astype(int), days, values, int(members.max(initial=-1)) + 1)


def kind(days: list[list[float]]) -> Kind:
    return kind_from(given(days))


def test_a_day_has_the_middle_of_its_members() -> None:
    found = kind([[1.0, 2.0, 3.0, 4.0, 50.0]])
    assert found.middles[0] == 3.0
    assert 1.0 < found.spreads[0] < 4.0


@pytest.mark.parametrize(("members", "known"), [(4, False), (5, True)])
def test_fewer_than_five_members_are_no_control(members: int, known: bool) -> None:
    assert bool(len(kind([[1.0] * members]).days)) is known


def test_members_that_are_alike_still_differ_by_a_little() -> None:
    assert kind([[1.0] * 6]).spreads[0] == pytest.approx(0.015)


def test_a_member_with_many_runs_a_day_counts_once() -> None:
    found = given([[0.0] * 4])
    found += [(4, 0, 9.0)] * 20
    assert kind_from(found).middles[0] == 0.0


def test_what_members_differ_by_for_good_is_learnt_from_many_of_them() -> None:
    levels = [0.03 * (-1) ** number for number in range(20)]
    found = kind([[level + shift for level in levels] for shift in (0.0, -0.4, 0.1)])
    # the nights' own losses, shared by all, do not count
    assert found.apart == pytest.approx(0.0463, abs=1e-3)


@pytest.mark.parametrize(
    ("days", "members", "apart"), [(2, 30, 0.05), (3, 19, 0.05), (3, 20, 0.01)]
)
def test_until_it_is_known_good_members_may_differ(days: int, members: int, apart: float) -> None:
    assert kind([[0.0] * members] * days).apart == pytest.approx(apart)


def test_of_an_unknown_kind_nothing_is_known() -> None:
    found = kind_from([])
    assert not len(found.days)
    assert found.apart == 0.05


def test_two_runs_of_a_day_count_by_their_middle() -> None:
    found = given([[0.0, 0.0, 0.4, 0.4]])
    found += [(4, 0, 0.0), (4, 0, 0.4)]
    assert kind_from(found).middles[0] == pytest.approx(0.2)


@pytest.mark.parametrize("count", [5, 6, 25])
def test_one_more_value_differs_by_the_spread_of_the_day_and_the_error_of_its_middle(
    count: int,
) -> None:
    values = [0.1 * number for number in range(count)]
    middle = (count - 1) / 2
    far = sorted(abs(number - middle) for number in range(count))
    # Croux and Rousseeuw, 1992: what is too small of few values
    spread = 1.4826 * 0.1 * (far[count // 2] + far[~(count // 2)]) / 2 * count / (count - 0.8)
    found = kind([values])
    assert found.middles[0] == pytest.approx(0.1 * middle)
    assert found.spreads[0] == pytest.approx(hypot(spread, 1.2533 * spread / sqrt(count)))


@pytest.mark.parametrize(("days", "apart"), [(2, 0.05), (3, 1.4826 * 0.2 * 5 / 4.2)])
def test_of_five_members_the_fifth_must_be_known_for_three_days(days: int, apart: float) -> None:
    found = [
        (member, day, 0.2 * member) for member in range(5) for day in range(3 if member else days)
    ]
    # a day of four has no middle
    found += [(5, 2, 0.4)] if days == 2 else []
    assert kind_from(found).apart == pytest.approx(apart)


def test_what_a_member_usually_differs_by_is_its_middle_over_the_days() -> None:
    found = kind([[0.0, 0.1, 0.2, 0.3, high] for high in (0.4, 0.5, 0.9)])
    assert found.usual[0] == pytest.approx(-0.2)
    assert found.usual[4] == pytest.approx(0.3)


def test_a_day_without_peers_has_the_spread_of_most_days() -> None:
    quiet, busy = [0.0, 0.1, 0.2, 0.3, 0.4], [0.0, 0.2, 0.4, 0.6, 0.8]
    found = kind([quiet, quiet, busy])
    assert found.spread == found.spreads[0]
    assert list(found.on(np.array([2.0, 7.0]))[1]) == pytest.approx(
        [found.spreads[2], nan], nan_ok=True
    )


@pytest.mark.parametrize(("at", "day"), [(0.0, 0), (86399.9, 0), (86400.0, 1), (86400.1, 1)])
def test_a_day_begins_at_midnight(at: float, day: int) -> None:
    once = Measurement("", "", (Sample(at, 1.0, None, None, 0, None),), None, Limits(), None)
    assert list(Table([once]).days) == [day]


def test_runs_stand_in_the_order_of_their_moments_where_a_clock_was_stepped() -> None:
    stepped = tuple(Sample(at, 1.0, None, None, 0, None) for at in (5.0, 9.0, 7.0))
    assert list(Table([Measurement("", "", stepped, None, Limits(), None)]).at) == [5.0, 7.0, 9.0]
