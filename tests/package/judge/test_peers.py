"""The peers of a day are its control: their middle, how far they lie apart, and that for good."""

from __future__ import annotations

import pytest

from plumbline.judge.peers import FEW_APART, LEAST, Kinds

DAY_S = 86400.0


def kinds(days: list[list[float]]) -> Kinds:
    """Return what members 0, 1, ... gave on each of some days."""
    found = Kinds()
    for day, values in enumerate(days):
        for member, value in enumerate(values):
            found.add("kind", str(member), [(day * DAY_S + 7200, value)])
    return found


def test_a_day_has_the_middle_of_its_members() -> None:
    found = kinds([[1.0, 2.0, 3.0, 4.0, 50.0]]).of("kind")
    assert found.days[0].value == 3.0
    assert 1.0 < found.days[0].spread < 4.0


@pytest.mark.parametrize(("members", "known"), [(LEAST - 1, False), (LEAST, True)])
def test_fewer_than_five_members_are_no_control(members: int, known: bool) -> None:
    assert bool(kinds([[1.0] * members]).of("kind").days) is known


def test_members_that_are_alike_still_differ_by_a_little() -> None:
    assert kinds([[1.0] * 6]).of("kind").days[0].spread == pytest.approx(0.015)


def test_a_member_with_many_runs_a_day_counts_once() -> None:
    found = kinds([[0.0] * 4])
    found.add("kind", "busy", [(hour * 3600.0, 9.0) for hour in range(20)])
    assert found.of("kind").days[0].value == 0.0


def test_what_members_differ_by_for_good_is_learnt_from_many_of_them() -> None:
    levels = [0.03 * (-1) ** number for number in range(20)]
    found = kinds([[level + shift for level in levels] for shift in (0.0, -0.4, 0.1)]).of("kind")
    # the nights' own losses, shared by all, do not count
    assert found.apart == pytest.approx(0.0463, abs=1e-3)


@pytest.mark.parametrize(
    ("days", "members", "apart"), [(2, 30, FEW_APART), (3, 19, FEW_APART), (3, 20, 0.01)]
)
def test_until_it_is_known_good_members_may_differ(days: int, members: int, apart: float) -> None:
    assert kinds([[0.0] * members] * days).of("kind").apart == pytest.approx(apart)


def test_of_an_unknown_kind_nothing_is_known() -> None:
    found = Kinds().of("nobody")
    assert not found.days
    assert found.apart == FEW_APART
