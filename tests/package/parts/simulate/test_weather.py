"""Noise of simulated runs: as wide as the model, and like the measured year."""

from __future__ import annotations

from math import log
from random import Random
from statistics import median, pstdev

import pytest

from plumbline.model.record import Operation, Scenario
from plumbline.parts.simulate.fleet import FADES, LASTS, NONE, OVERNIGHT, QUIET, YEAR, Flow, Noise
from plumbline.parts.simulate.weather import Draw, Weather

DAY_S = 86400.0
HOUR_S = 3600.0


def flow(component: str = "scratch-OST0000") -> Flow:
    return Flow("ost", component, Operation.READ, Scenario.SINGLE)


def drawn(noise: Noise, days: int, seed: str = "1") -> list[Draw]:
    """Return one run a day."""
    weather = Weather(noise, Random(seed))
    draws = []
    for day in range(days):
        weather.next_day()
        draws.append(weather.run(flow(), "oss1", "scratch", day * DAY_S))
    return draws


def test_without_noise_no_run_differs() -> None:
    assert set(drawn(NONE, 20)) == {Draw(0.0, 0.99)}


@pytest.mark.parametrize("part", ["host", "day", "run"])
def test_each_part_of_the_noise_has_its_width(part: str) -> None:
    losses = [draw.loss for draw in drawn(NONE._replace(**{part: 0.1}), 2000)]
    assert pstdev(losses) == pytest.approx(0.1, rel=0.1)


def test_lasting_differences_do_not_change_from_day_to_day() -> None:
    losses = {draw.loss for draw in drawn(NONE._replace(component=0.1), 20)}
    assert len(losses) == 1
    assert losses != {0.0}


def test_components_share_the_day_of_their_file_system_and_the_noise_of_their_host() -> None:
    weather = Weather(NONE._replace(day=0.1, host=0.01), Random("1"))
    weather.next_day()
    first, same_host, other_host, other_system = (
        weather.run(flow(name), host, system, 0.0).loss
        for name, host, system in (
            ("a", "oss1", "scratch"),
            ("b", "oss1", "scratch"),
            ("c", "oss2", "scratch"),
            ("d", "oss1", "home"),
        )
    )
    assert first == same_host
    assert 0 < abs(first - other_host) < 0.06
    assert abs(first - other_system) > 0.0


def test_repeats_differ_and_none_exceeds_the_hardware() -> None:
    weather = Weather(NONE._replace(repeat=0.1), Random("1"))
    rates = weather.repeats(flow(), 95e6, 200, 100e6)
    assert len(set(rates)) > 100
    assert max(rates) == 100e6


def low_in_a_row(noise: Noise, count: int) -> float:
    """Return how often ``count`` runs in a row are below 80 % of their own median."""
    rows = []
    for seed in range(60):
        losses = [draw.loss for draw in drawn(noise, 300, str(seed))]
        limit = median(losses) - log(0.8)
        low = [loss > limit for loss in losses]
        rows += [all(low[at : at + count]) for at in range(len(low) - count + 1)]
    return sum(rows) / len(rows)


def test_as_many_healthy_runs_are_low_as_in_the_year() -> None:
    # in the year's large benchmarks: 13.3 % of the runs, 4.7 % of the pairs in a row
    assert low_in_a_row(YEAR, 1) == pytest.approx(0.133, abs=0.02)
    assert low_in_a_row(YEAR, 2) == pytest.approx(0.047, abs=0.015)


def test_quiet_noise_has_no_low_runs() -> None:
    assert low_in_a_row(QUIET, 1) == 0.0


def test_contended_runs_are_as_frequent_as_in_the_year_and_slower() -> None:
    draws = drawn(YEAR._replace(spell_begins=0.0), 5000)
    contended = [draw for draw in draws if draw.coverage < 0.9]
    assert len(contended) / len(draws) == pytest.approx(0.08, abs=0.015)
    others = [draw for draw in draws if draw.coverage >= 0.9]
    cost = median(draw.loss for draw in contended) - median(draw.loss for draw in others)
    assert 0.08 < cost < 0.25


@pytest.mark.parametrize("hours", [0.0, 1.0, 6.0, 24.0, 72.0])
def test_a_low_moment_lasts_over_hours_and_nights(hours: float) -> None:
    share, count = 0.3, 6000
    noise = NONE._replace(tail_share=share, tail_loss=0.24, goes_on=YEAR.goes_on, alike=YEAR.alike)
    again = []
    for number in range(count):
        weather = Weather(noise, Random(number))
        first = weather.run(flow(), "oss1", "scratch", 0.0)
        weather.next_day()
        second = weather.run(flow(), "oss1", "scratch", hours * HOUR_S)
        if first.loss:
            again.append(second.loss > 0)
    lasts = YEAR.goes_on * (1 + hours) ** -FADES if hours < 18 else OVERNIGHT
    assert sum(again) / len(again) == pytest.approx(lasts + (1 - lasts) * share, abs=0.04)


@pytest.mark.parametrize("part", ["host", "day"])
def test_shared_noise_lasts_over_nights_and_has_heavy_tails(part: str) -> None:
    losses = [draw.loss / 0.1 for draw in drawn(NONE._replace(**{part: 0.1}), 20_000)]
    together = [before * after for before, after in zip(losses, losses[1:])]
    assert sum(together) / len(together) == pytest.approx(LASTS, abs=0.1)
    # a normal distribution has 3 of 100,000 beyond four standard deviations
    assert sum(abs(loss) > 4 for loss in losses) > len(losses) / 1000


def test_further_runs_do_not_change_the_noise_of_planned_ones() -> None:
    draws = []
    for further in (0, 3):
        weather = Weather(YEAR, Random("5"))
        for day in range(20):
            weather.next_day()
            draws.append(weather.run(flow(), "oss1", "scratch", day * DAY_S))
            with weather.further():
                for hour in range(further):
                    weather.run(flow(), "oss1", "scratch", day * DAY_S + hour * HOUR_S)
    assert draws[:20] == draws[20:]
