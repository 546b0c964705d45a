"""Robust statistics: medians, spreads, and each member compared with its peers."""

from __future__ import annotations

from math import exp, log
from random import Random
from statistics import median, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model.statistics import (
    Day,
    compare_day,
    deviation,
    error_of_median,
    median_without,
    midmean,
    summarize,
)


def test_half_and_double_are_equally_far_from_the_median() -> None:
    summary = summarize([100.0, 200.0, 400.0])
    assert summary.median == pytest.approx(200.0)
    assert summary.spread == pytest.approx(1.4826 * log(2))
    assert summary.runs == 3


def test_one_bad_run_in_ten_changes_median_and_spread_little() -> None:
    healthy = [200.0, 201.0, 199.0, 200.5, 199.5, 200.2, 199.8, 200.1, 199.9]
    assert summarize([*healthy, 20.0]).median == pytest.approx(199.95, rel=1e-3)
    assert summarize([*healthy, 20.0]).spread < 0.005


def test_one_run_has_no_spread() -> None:
    summary = summarize([123.0])
    assert summary.median == pytest.approx(123.0)
    assert (summary.spread, summary.runs) == (0.0, 1)


@given(st.lists(st.floats(1e3, 1e12), min_size=1, max_size=20), st.floats(1e-2, 1e2))
def test_the_unit_changes_only_the_median(rates: list[float], factor: float) -> None:
    summary, other = summarize(rates), summarize([rate * factor for rate in rates])
    assert other.median == pytest.approx(summary.median * factor, rel=1e-9)
    assert other.spread == pytest.approx(summary.spread, abs=1e-9)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20))
def test_the_median_lies_within_the_rates(logarithms: list[float]) -> None:
    rates = [exp(value) for value in logarithms]
    middle = summarize(rates).median
    assert min(rates) * (1 - 1e-9) <= middle <= max(rates) * (1 + 1e-9)


MANY = 2001


def test_the_deviation_of_normal_values_is_their_standard_deviation() -> None:
    chance = Random(1)
    values = [chance.gauss(7.0, 2.0) for _ in range(MANY)]
    assert deviation(values) == pytest.approx(2.0, rel=0.05)


def test_a_few_outliers_do_not_change_the_deviation() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert deviation([*values[:4], 1e9]) == deviation(values) == pytest.approx(1.4826)


def test_the_deviation_can_be_taken_from_a_given_median() -> None:
    assert deviation([3.0, 3.0, 3.0], 1.0) == pytest.approx(2 * 1.4826)
    assert deviation([3.0, 3.0, 3.0]) == 0


def test_medians_of_samples_scatter_by_their_error() -> None:
    chance = Random(2)
    medians = [median(chance.gauss(0.0, 1.0) for _ in range(49)) for _ in range(MANY)]
    assert pstdev(medians) == pytest.approx(error_of_median(1.0, 49), rel=0.05)


def test_a_loss_is_the_logarithm_of_the_siblings_rate_over_the_own() -> None:
    day = compare_day([{"a": 100e6, "b": 200e6, "c": 200e6, "d": 210e6}])
    assert day["a"].loss == pytest.approx(log(2), abs=1e-5)
    assert day["b"].loss == pytest.approx(0, abs=1e-5)
    assert day["a"].peers == 3


def test_noise_that_all_siblings_share_is_no_loss() -> None:
    shared = [dict.fromkeys("abcd", 100e6 / (1 + number)) for number in range(5)]
    assert set(compare_day(shared).values()) == {Day(0.0, 3)}


def test_a_run_of_a_single_component_has_no_loss() -> None:
    assert compare_day([{"a": 1e6}, {"a": 1e6, "b": 0.0}]) == {}


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=30), st.data())
def test_the_median_without_a_value_is_that_of_the_list_without_it(
    values: list[float], data: st.DataObject
) -> None:
    from statistics import median

    ordered = sorted(values)
    place = data.draw(st.integers(0, len(ordered) - 1))
    others = ordered[:place] + ordered[place + 1 :]
    assert median_without(ordered, place) == pytest.approx(median(others))


@pytest.mark.parametrize(
    ("values", "middle"),
    [([4.0], 4), ([1, 3], 2), ([1, 2, 90], 2), ([1, 2, 4, 90], 3), ([0, 1, 2, 3, 4, 90], 2.5)],
)
def test_the_midmean_ignores_both_ends(values: list[float], middle: float) -> None:
    assert midmean(values) == middle
