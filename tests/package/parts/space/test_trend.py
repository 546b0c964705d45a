"""The trend of free space on series made by hand: growth, noise, steps, rhythms, jumps."""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from math import inf
from random import Random
from typing import Callable, Sequence

import pytest

from plumbline.model.space import Amount, Outlook, Trend
from plumbline.model.units import DAY_S
from plumbline.parts.space.trend import MIN_DAYS, daily, outlook, theil_sen

TOTAL = 1_000_000
BEGIN = 20_000 * DAY_S
"""Midnight, UTC."""


def series(
    used: Callable[[float], float], days: float, total: int = TOTAL
) -> list[tuple[float, Amount]]:
    """Return four readings a day of a target, from the begin on."""
    moments = [quarter / 4 for quarter in range(int(4 * days))]
    amounts = [max(0, min(total, round(used(day)))) for day in moments]
    return [
        (BEGIN + day * DAY_S, Amount(amount, total - amount))
        for day, amount in zip(moments, amounts)
    ]


def trend(used: Callable[[float], float], days: float) -> Outlook:
    readings = series(used, days)
    return outlook(readings, readings[-1][0])


def test_steady_growth_is_full_on_the_day_that_arithmetic_gives() -> None:
    filling = trend(lambda day: 600_000 + 10_000 * day, 20)
    # 202,500 are free after 19.75 days, and 10,000 a day are used
    assert (filling.trend, filling.days) == (Trend.FILLING, 20)
    assert filling.daily == pytest.approx(10_000)
    assert filling.near_s == pytest.approx(20.25 * DAY_S)
    assert filling.far_s == pytest.approx(20.25 * DAY_S)


@pytest.mark.parametrize("days", [1, 2, MIN_DAYS - 1])
def test_a_week_of_readings_gives_no_forecast(days: int) -> None:
    filling = trend(lambda day: 600_000 + 30_000 * day, days)
    assert (filling.trend, filling.days, filling.near_s) == (Trend.TOO_SHORT, days, None)


def test_without_readings_nothing_is_known() -> None:
    assert outlook([], BEGIN) == Outlook(Trend.TOO_SHORT)


def test_the_true_slope_lies_in_nine_of_ten_intervals_under_noise() -> None:
    noise, within = Random(1), 0
    for _ in range(300):
        points = [(float(day), noise.gauss(-3.0 * day, 10.0)) for day in range(21)]
        line = theil_sen(points)
        within += line.low <= -3.0 <= line.high
    assert within >= 0.9 * 300


def test_noise_without_growth_gives_no_forecast() -> None:
    noise = Random(2)
    trends = [trend(lambda _: 800_000 + noise.gauss(0, 10_000), 28).trend for _ in range(100)]
    assert trends.count(Trend.UNCLEAR) >= 85


def level_of(levels: Sequence[float], day: float) -> float:
    return levels[int(4 * day)]


def test_a_random_walk_seldom_looks_like_a_trend() -> None:
    noise, filling = Random(3), 0
    for _ in range(100):
        changes = (noise.gauss(0, 5_000) for _ in range(28 * 4))
        levels = [*accumulate(changes, initial=800_000.0)]
        filling += trend(partial(level_of, levels), 28).trend is Trend.FILLING
    assert filling <= 20


def test_days_of_work_and_quiet_days_count_together() -> None:
    def used(day: float) -> float:
        return 400_000 + 20_000 * (5 * (day // 7) + min(5, day % 7))

    filling = trend(used, 21)
    assert filling.trend is Trend.FILLING
    assert filling.near_s is not None
    assert filling.far_s is not None
    # 100,000 a week: 300,000 are free, for three weeks
    assert filling.near_s < 21 * DAY_S < filling.far_s * 1.1


@pytest.mark.parametrize("days", [7, 10, 13, 14, 15, 18, 21, 28, 40, 56])
def test_a_purge_each_week_is_a_rhythm_and_no_forecast(days: int) -> None:
    noise = Random(4)
    result = trend(lambda day: 600_000 + 40_000 * (day % 7) + noise.gauss(0, 2_000), days)
    assert result.trend in (Trend.TOO_SHORT, Trend.UNCLEAR)
    assert result.near_s is None


def test_growth_below_a_weekly_purge_shows_after_weeks() -> None:
    result = trend(lambda day: 300_000 + 30_000 * (day % 7) + 60_000 * (day // 7), 56)
    assert result.trend is Trend.FILLING


@pytest.mark.parametrize(
    ("change", "verb"), [(-300_000, "gained"), (300_000, "lost")], ids=["purged", "restored"]
)
def test_a_step_begins_a_new_trend_and_says_so(change: int, verb: str) -> None:
    def used(day: float) -> float:
        return 400_000 + 5_000 * day + (change if day >= 10.5 else 0)

    soon = trend(used, 14)
    assert soon.trend is Trend.TOO_SHORT
    assert soon.gained == pytest.approx(-change, rel=0.1)
    assert soon.since == pytest.approx(BEGIN + 11.4 * DAY_S, abs=DAY_S)
    later = trend(used, 24)
    assert later.trend is Trend.FILLING
    assert later.daily == pytest.approx(5_000)
    assert (later.gained or 0) * change < 0, verb


def test_another_target_of_the_same_name_begins_a_new_trend() -> None:
    first = series(lambda day: 600_000 + 10_000 * day, 12)
    second = [
        (at + 12 * DAY_S, amount)
        for at, amount in series(lambda day: 10_000 * day, 9, total=2_000_000)
    ]
    result = outlook(first + second, second[-1][0])
    assert (result.trend, result.resized) == (Trend.FILLING, TOTAL)
    assert result.days == 9
    # inodes of ZFS are an estimate: their total alone begins no trend
    free = outlook(first + second, second[-1][0], sized=False)
    assert free.resized is None


def test_a_target_that_empties_has_no_day() -> None:
    result = trend(lambda day: 800_000 - 5_000 * day, 20)
    assert (result.trend, result.near_s) == (Trend.EMPTYING, None)


def test_a_full_target_is_full_at_once() -> None:
    result = trend(lambda day: 900_000 + 10_000 * day, 12)
    assert result.near_s == 0.0


def test_readings_from_a_clock_that_was_ahead_do_not_count() -> None:
    readings = series(lambda day: 600_000 + 10_000 * day, 12)
    ahead = [(at + 400 * DAY_S, Amount(1, TOTAL - 1)) for at, _ in readings]
    now = readings[-1][0]
    assert outlook([*readings, *ahead], now) == outlook(readings, now)


def test_a_day_is_the_median_of_its_readings() -> None:
    amounts = (10, 50, 20, 30)
    readings = [(BEGIN + 3600 * hour, Amount(used, 90)) for hour, used in enumerate(amounts)]
    (day,) = daily(readings)
    assert (day.total, day.free) == (115, 90)
    assert day.at == pytest.approx(20_000 + 1.5 / 24)


def test_two_wrong_days_do_not_move_the_line() -> None:
    points = [(float(day), 100.0 - day) for day in range(10)]
    points[3], points[7] = (3.0, 0.0), (7.0, 500.0)
    line = theil_sen(points)
    assert line.slope == pytest.approx(-1)
    assert line.low <= -1 <= line.high


def test_few_points_have_no_bounds() -> None:
    def line(values: Sequence[float]) -> tuple[float, float]:
        return theil_sen([(float(day), value) for day, value in enumerate(values)])[1:]

    assert line([5, 1, 4, 2, 3]) == (-inf, inf)
