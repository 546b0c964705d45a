"""A day's figure is set against peers, and its error knows noise and the number of runs."""

from __future__ import annotations

from math import exp, log
from random import Random
from typing import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model.statistics import Day, Rates, median_without, midmean, one_day

DAY_S = 86400.0
NAMES = tuple("abcdefghijkl")


def compared(given: Iterable[tuple[float, Rates]]) -> dict[str, Day]:
    """Return what runs of one day say about each member."""
    return one_day(100, [rates for _, rates in given])


def runs(count: int, noise: float, slow: float = 1.0) -> list[tuple[float, dict[str, float]]]:
    """Return runs of one day in which ``a`` is ``slow`` times slower; the noise is repeatable."""
    random = Random(7)
    return [
        (
            100 * DAY_S + 3600 * number,
            {name: exp(random.gauss(19, noise)) / (slow if name == "a" else 1.0) for name in NAMES},
        )
        for number in range(count)
    ]


def test_a_loss_is_the_logarithm_of_siblings_over_own() -> None:
    day = compared([(0.0, {"a": 100e6, "b": 200e6, "c": 200e6, "d": 210e6})])
    assert day["a"].loss == pytest.approx(log(2), abs=1e-5)
    assert day["b"].loss == pytest.approx(0, abs=1e-5)
    assert day["a"][4:] == (1, 3)


def test_noise_that_all_siblings_share_is_no_loss() -> None:
    shared = [(number * 60.0, dict.fromkeys("abcd", 100e6 / (1 + number))) for number in range(5)]
    for day in compared(shared).values():
        assert day[1:4] == (0, 0, 0)


def test_more_runs_in_a_day_make_its_figure_more_certain() -> None:
    few, many = (compared(runs(count, noise=0.3, slow=1.19))["a"] for count in (2, 20))
    assert few.noise == 0
    assert 0.04 < many.noise < 0.12
    assert many.spread < few.spread
    assert abs(many.loss - log(1.19)) < 2 * many.noise


def test_a_component_that_is_noisy_by_itself_is_less_certain_than_its_siblings() -> None:
    quiet = runs(20, noise=0.01)
    random = Random(3)
    noisy = [(at, {**rates, "a": rates["a"] * exp(random.gauss(0, 0.5))}) for at, rates in quiet]
    found = compared(noisy)
    assert found["a"].noise > 5 * found["b"].noise


def test_siblings_that_differ_for_a_reason_of_their_own_make_nobody_certain() -> None:
    rates = {name: 200e6 * exp(0.05 * place) for place, name in enumerate(NAMES)}
    found = compared([(60.0 * number, rates) for number in range(20)])
    assert found["a"].spread > 0.1


def test_a_run_of_one_component_says_nothing() -> None:
    assert compared([(0.0, {"a": 1e6}), (DAY_S, {"a": 1e6, "b": 0.0})]) == {}


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=30), st.data())
def test_the_median_of_the_others_is_that_of_a_list_without_one(
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
def test_the_midmean_leaves_both_ends_out(values: list[float], middle: float) -> None:
    assert midmean(values) == middle
