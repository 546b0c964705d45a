"""Peers of the same day: median, spread, and lasting differences."""

from __future__ import annotations

from math import exp, hypot, log, nan, sqrt
from random import Random
from statistics import mean, median

import numpy as np
import pytest

from plumbline.judge.kinds import Kind, Measurement, Table, kind_of
from plumbline.model.limits import Limits
from plumbline.model.series import Sample

DAY_S = 86400.0

Runs = list[tuple[int, int, float]]
"""Member, day and value of each run."""


def runs_of_days(days: list[list[float]]) -> Runs:
    """Return the runs of members 0, 1, ... on each of some days."""
    return [
        (member, day, value)
        for day, values in enumerate(days)
        for member, value in enumerate(values)
    ]


def kind_from(runs: Runs) -> Kind:
    members, days, values = np.array(runs, float).reshape(-1, 3).T
    return kind_of(members.astype(int), days, values, int(members.max(initial=-1)) + 1)


def kind(days: list[list[float]]) -> Kind:
    return kind_from(runs_of_days(days))


def test_a_day_has_the_median_of_its_members() -> None:
    peers = kind([[1.0, 2.0, 3.0, 4.0, 50.0]])
    assert peers.middles[0] == 3.0
    assert 1.0 < peers.spreads[0] < 4.0


@pytest.mark.parametrize(("members", "usable"), [(4, False), (5, True)])
def test_fewer_than_five_members_are_no_peers(members: int, usable: bool) -> None:
    assert bool(len(kind([[1.0] * members]).days)) is usable


def test_equal_members_still_have_a_least_spread() -> None:
    assert kind([[1.0] * 6]).spreads[0] == pytest.approx(0.015)


def test_a_member_with_many_runs_on_a_day_counts_once() -> None:
    runs = runs_of_days([[0.0] * 4])
    runs += [(4, 0, 9.0)] * 20
    assert kind_from(runs).middles[0] == 0.0


def test_lasting_differences_are_learnt_from_many_members() -> None:
    levels = [0.03 * (-1) ** number for number in range(20)]
    peers = kind([[level + shift for level in levels] for shift in (0.0, -0.4, 0.1)])
    # losses that all share on a night do not count
    assert peers.apart == pytest.approx(0.0463, abs=1e-3)


@pytest.mark.parametrize("members", [5, 12, 19])
def test_the_seen_difference_of_few_members_is_larger_than_the_lasting_one(members: int) -> None:
    """Forms of comparison are chosen by what is seen: two of no difference would be alike."""
    chance = Random(7)
    peers = kind([[chance.gauss(0.1 * n, 0.2) for n in range(members)] for _ in range(5)])
    assert peers.apart < peers.seen_apart


def test_levels_of_few_noisy_days_do_not_count_as_lasting_differences() -> None:
    chance, noise = Random(7), 0.2
    few, many = (
        mean(
            kind([[chance.gauss(0, noise) for _ in range(12)] for _ in range(days)]).apart
            for _ in range(100)
        )
        for days in (5, 30)
    )
    # the error of a median of five days is 0.56 of the noise of one
    assert many < few < 0.28 * noise + 0.025


@pytest.mark.parametrize(
    ("days", "members", "apart"), [(2, 30, 0.025), (3, 19, 0.025), (3, 20, 0.01)]
)
def test_few_members_have_the_default_difference(days: int, members: int, apart: float) -> None:
    assert kind([[0.0] * members] * days).apart == pytest.approx(apart)


def test_without_runs_nothing_is_known() -> None:
    peers = kind_from([])
    assert not len(peers.days)
    assert peers.apart == 0.025


def test_two_runs_of_a_day_count_by_their_median() -> None:
    runs = runs_of_days([[0.0, 0.0, 0.4, 0.4]])
    runs += [(4, 0, 0.0), (4, 0, 0.4)]
    assert kind_from(runs).middles[0] == pytest.approx(0.2)


@pytest.mark.parametrize("count", [5, 6, 25])
def test_the_spread_of_a_day_includes_the_error_of_its_median(
    count: int,
) -> None:
    values = [0.1 * number for number in range(count)]
    middle = (count - 1) / 2
    far = sorted(abs(number - middle) for number in range(count))
    # Croux and Rousseeuw, 1992: deviations of few values are too small
    spread = 1.4826 * 0.1 * (far[count // 2] + far[~(count // 2)]) / 2 * count / (count - 0.8)
    peers = kind([values])
    assert peers.middles[0] == pytest.approx(0.1 * middle)
    assert peers.spreads[0] == pytest.approx(hypot(spread, 1.2533 * spread / sqrt(count)))


@pytest.mark.parametrize(("days", "apart"), [(2, 0.025), (3, 1.4826 * 0.2 * 5 / 4.2)])
def test_a_member_counts_for_lasting_differences_after_three_days(days: int, apart: float) -> None:
    runs = [
        (member, day, 0.2 * member) for member in range(5) for day in range(3 if member else days)
    ]
    # a day of four has no median
    runs += [(5, 2, 0.4)] if days == 2 else []
    assert kind_from(runs).apart == pytest.approx(apart)


def test_the_usual_difference_of_a_member_is_the_median_over_the_days() -> None:
    peers = kind([[0.0, 0.1, 0.2, 0.3, high] for high in (0.4, 0.5, 0.9)])
    assert peers.usual[0] == pytest.approx(-0.2)
    assert peers.usual[4] == pytest.approx(0.3)


def test_a_day_that_is_steady_by_chance_has_the_spread_of_most_days() -> None:
    draw = Random(5)
    days = [[draw.gauss(0, 0.2) for _ in range(6)] for _ in range(20)]
    alone = [kind([day]).spreads[0] for day in days]
    peers = kind(days)
    assert min(alone) < 0.12
    assert min(peers.spreads) == pytest.approx(median(alone), rel=0.1)
    assert max(peers.spreads) == pytest.approx(max(alone))


def test_a_steadier_day_tends_to_the_spread_of_most_days() -> None:
    """The more, the less such days differ beyond chance (empirical Bayes, normal logarithms)."""
    steady, usual = 0.03, 0.1
    days = [[step * place for place in range(5)] for step in (usual, usual, usual, steady, steady)]
    below = log(steady / usual)
    # the variance of the logarithm of a median absolute deviation of five values
    chance = 1 / (2 * 0.37 * 5)
    # half of the days are below the median, so their squares count twice
    between = 2 * 2 * below**2 / 5 - chance
    likely = usual * exp(below * between / (between + chance))
    wider = 1.4826 * 5 / 4.2 * hypot(1, 1.2533 / sqrt(5))
    assert list(kind(days).spreads) == pytest.approx([usual * wider] * 3 + [likely * wider] * 2)


def test_a_steady_day_of_many_members_keeps_its_spread() -> None:
    draw = Random(6)
    spreads = [0.05, 0.2] * 10
    days = [[draw.gauss(0, spread) for _ in range(200)] for spread in spreads]
    assert median(kind(days).spreads[::2]) == pytest.approx(0.05, rel=0.1)


def test_a_day_without_peers_has_the_spread_of_most_days() -> None:
    quiet, busy = [0.0, 0.1, 0.2, 0.3, 0.4], [0.0, 0.2, 0.4, 0.6, 0.8]
    peers = kind([quiet, quiet, busy])
    assert peers.spread == peers.spreads[0]
    assert list(peers.on(np.array([2.0, 7.0]))[1]) == pytest.approx(
        [peers.spreads[2], nan], nan_ok=True
    )


@pytest.mark.parametrize(("at", "day"), [(0.0, 0), (86399.9, 0), (86400.0, 1), (86400.1, 1)])
def test_a_day_begins_at_midnight(at: float, day: int) -> None:
    single = Measurement("", "", (Sample(at, 1.0, None, None, 0, None),), None, Limits(), None)
    assert list(Table([single]).days) == [day]


def test_runs_are_ordered_by_time_after_a_clock_step() -> None:
    stepped = tuple(Sample(at, 1.0, None, None, 0, None) for at in (5.0, 9.0, 7.0))
    assert list(Table([Measurement("", "", stepped, None, Limits(), None)]).at) == [5.0, 7.0, 9.0]


def clipped(members: int, days: int, most: float) -> Kind:
    """Return a kind with a spread of 0.3 in which no value is above ``most``."""
    chance = Random(1)
    return kind([[min(most, chance.gauss(0, 0.3)) for _ in range(members)] for _ in range(days)])


def test_values_that_often_reach_a_limit_are_as_wide_as_their_lower_half() -> None:
    # 0.674 standard deviations are the lower quartile's distance
    assert clipped(100, 20, 9.0).spread == pytest.approx(0.3, rel=0.1)
    # half of the median absolute deviations are below 0.07
    assert 0.2 < clipped(100, 20, 0.05).spread < 0.35
    # of few nobody knows whether it is chance
    assert clipped(5, 3, 0.05).spread < 0.25


@pytest.mark.parametrize(
    "values", [(-0.4, -0.3, 0.0, 0.0, 0.01), (-0.4, -0.3, -0.01, 0.0, 0.0, 0.01)]
)
def test_the_lower_half_is_as_wide_as_the_lower_quartile_less_two_errors(
    values: tuple[float, ...],
) -> None:
    count = len(values)
    # each member has each value on some days, so none differs for good
    days = [[values[(member + day) % count] for member in range(count)] for day in range(2 * count)]
    deviation = float(np.median(np.abs(np.array(values) - np.median(values))))
    quartile = float(np.quantile(values, 0.25)) - float(np.median(values))
    error = 1 / sqrt(0.37 * count * len(days))
    lopsided = -quartile / max(deviation, 0.015) * exp(-2 * error)
    # a steady half has the least spread
    spread = max(1.4826 * deviation * count / (count - 0.8), 0.015)
    wider = hypot(1, 1.2533 / sqrt(count))
    assert kind(days).spread == pytest.approx(spread * lopsided * wider)


@pytest.mark.parametrize("days", [3, 6])
def test_three_days_show_the_spread_of_a_member(days: int) -> None:
    values = (-0.1, 0.0, 0.1)
    peers = kind([[values[(member + day) % 3] for member in range(5)] for day in range(days)])
    # deviations of few values are too small, those of a day and those of a member
    wider = 5 / 4.2 * hypot(1, 1.2533 / sqrt(5))
    assert peers.own_spread == pytest.approx(1.4826 * 0.1 * wider * days / (days - 0.8))


def test_the_spread_of_each_member_is_not_that_of_all() -> None:
    chance = Random(2)
    levels = [chance.gauss(0, 0.4) for _ in range(30)]
    peers = kind([[level + chance.gauss(0, 0.05) for level in levels] for _ in range(10)])
    assert peers.spread == pytest.approx(0.4, rel=0.3)
    assert peers.own_spread == pytest.approx(0.05, rel=0.2)
    assert clipped(30, 10, 9.0).own_spread == pytest.approx(0.3, rel=0.15)
    assert np.isnan(kind([[0.0] * 6] * 2).own_spread)
