"""The rates of days are a mapping in few bytes."""

from __future__ import annotations

from math import isnan, nan

import pytest

from plumbline.model.units import DAY_S
from plumbline.report.site import Days, daily, spanned

SOME = {3: 1.0, 4: 2.0, 7: 5.0}


@pytest.mark.parametrize("rates", [SOME, {}, {5: 1.0}, {20_000 + day: day for day in range(9)}])
def test_days_are_a_mapping_of_the_rates_that_there_are(rates: dict[int, float]) -> None:
    days = Days(rates)
    assert days == rates
    assert list(days.items()) == sorted(rates.items())
    assert (len(days), days.rates()) == (len(rates), [rates[day] for day in sorted(rates)])
    assert days.get(6) == rates.get(6)


def test_the_days_of_a_range_are_those_that_lie_in_it() -> None:
    days = Days(SOME)
    for start in range(10):
        for stop in range(start, 10):
            wanted = [rate for day, rate in SOME.items() if start <= day < stop]
            assert days.among(range(start, stop)) == wanted


def test_over_a_longer_time_there_are_days_without_a_rate() -> None:
    assert [None if isnan(rate) else rate for rate in Days(SOME).over(range(2, 9))] == [
        *(None, 1.0, 2.0, None, None, 5.0, None)
    ]


def test_several_span_the_time_of_all() -> None:
    assert spanned([Days(SOME), Days({1: 1.0}), Days({5: 1.0})]) == range(1, 8)


def test_a_day_has_the_median_of_its_runs() -> None:
    times = [DAY_S + 5, DAY_S + 1, DAY_S, 2 * DAY_S - 1, 3 * DAY_S, 4 * DAY_S]
    assert daily(times, [1.0, nan, 8.0, 3.0, 9.0, 7.0], 4 * DAY_S) == {1: 3.0, 3: 9.0}
