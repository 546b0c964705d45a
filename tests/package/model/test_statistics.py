"""Median and spread of rates, in logarithms."""

from __future__ import annotations

from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model.statistics import summarize


def test_half_and_double_lie_equally_far_from_the_median() -> None:
    summary = summarize([100.0, 200.0, 400.0])
    assert summary.median_Bps == pytest.approx(200.0)
    assert summary.spread == pytest.approx(1.4826 * log(2))
    assert summary.runs == 3


def test_one_bad_run_in_ten_moves_nothing_much() -> None:
    healthy = [200.0, 201.0, 199.0, 200.5, 199.5, 200.2, 199.8, 200.1, 199.9]
    assert summarize([*healthy, 20.0]).median_Bps == pytest.approx(199.95, rel=1e-3)
    assert summarize([*healthy, 20.0]).spread < 0.005


def test_one_run_has_no_spread() -> None:
    summary = summarize([123.0])
    assert summary.median_Bps == pytest.approx(123.0)
    assert (summary.spread, summary.runs) == (0.0, 1)


@given(st.lists(st.floats(1e3, 1e12), min_size=1, max_size=20), st.floats(1e-2, 1e2))
def test_the_unit_changes_the_median_alone(rates: list[float], factor: float) -> None:
    one, other = summarize(rates), summarize([rate * factor for rate in rates])
    assert other.median_Bps == pytest.approx(one.median_Bps * factor, rel=1e-9)
    assert other.spread == pytest.approx(one.spread, abs=1e-9)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20))
def test_the_median_lies_within_the_rates(logarithms: list[float]) -> None:
    rates = [exp(value) for value in logarithms]
    middle = summarize(rates).median_Bps
    assert min(rates) * (1 - 1e-9) <= middle <= max(rates) * (1 + 1e-9)
