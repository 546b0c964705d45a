"""Middle and spread of values of which a few are odd."""

from __future__ import annotations

from random import Random
from statistics import median, pstdev

import pytest

from plumbline.model.statistics import deviation, error_of_median

MANY = 2001


def test_the_deviation_of_normal_values_is_their_standard_deviation() -> None:
    chance = Random(1)
    values = [chance.gauss(7.0, 2.0) for _ in range(MANY)]
    assert deviation(values) == pytest.approx(2.0, rel=0.05)


def test_a_few_odd_values_do_not_move_it() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert deviation([*values[:4], 1e9]) == deviation(values) == pytest.approx(1.4826)


def test_it_is_taken_from_a_middle_that_is_given() -> None:
    assert deviation([3.0, 3.0, 3.0], 1.0) == pytest.approx(2 * 1.4826)
    assert deviation([3.0, 3.0, 3.0]) == 0


def test_medians_of_samples_differ_by_their_error() -> None:
    chance = Random(2)
    medians = [median(chance.gauss(0.0, 1.0) for _ in range(49)) for _ in range(MANY)]
    assert pstdev(medians) == pytest.approx(error_of_median(1.0, 49), rel=0.05)
