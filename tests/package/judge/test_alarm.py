"""An alarm rests on odds from two moments on, stands until health is as certain, and goes once."""

from __future__ import annotations

from math import log
from typing import Optional, Sequence

import pytest

from plumbline.judge.alarm import Alone, Question, Shared, Weight, moments_of, weigh
from plumbline.judge.noise import Run, Source

DAY_S = 86400.0
LIMIT = -log(0.9)
ASKED = Question(LIMIT, log(10_000))


def source(ratios: Sequence[Optional[float]], number: int = 0, spread: float = 0.05) -> Source:
    """Return a run a night, two minutes after those of the source before."""
    runs = tuple(
        Run(night * DAY_S + 120.0 * number, log(ratio), spread, number)
        for night, ratio in enumerate(ratios)
        if ratio is not None
    )
    return Source(runs, 0.02)


def alone(*ratios: Optional[float]) -> Weight:
    return weigh([Alone(source(ratios))], [], ASKED)


def both(writes: Sequence[float], reads: Sequence[float]) -> Weight:
    sources = [source(writes), source(reads, 1)]
    merged = Source(tuple(sorted(run for one in sources for run in one.runs)), 0.02)
    return weigh([Alone(one) for one in sources], [Alone(merged)], ASKED)


@pytest.mark.parametrize("ratio", [0.99, 0.7, 0.3, 0.01])
def test_one_night_is_no_alarm_however_low(ratio: float) -> None:
    found = alone(1.0, 1.0, ratio)
    assert not found.alarm
    assert weigh([Alone(source([ratio]))], [], Question(LIMIT, 0.0)).alarm is False


@pytest.mark.parametrize(("ratio", "nights"), [(0.3, 3), (0.6, 4), (0.8, 6)])
def test_a_lasting_loss_is_an_alarm_after_some_nights(ratio: float, nights: int) -> None:
    before = [1.0] * 5
    found = [alone(*before, *[ratio] * count) for count in range(1, nights + 1)]
    assert found[-1].alarm
    assert not found[0].alarm
    assert found[-1].since == 5 * DAY_S
    assert found[-1].moments == nights
    assert list(found[-1].middles) == pytest.approx([log(ratio)])


def test_write_and_read_together_need_fewer_nights_than_each() -> None:
    ratios = [1.0] * 5 + [0.6] * 2
    assert not alone(*ratios).alarm
    assert both(ratios, ratios).odds > alone(*ratios).odds + 1


def test_a_loss_of_reads_alone_is_found_beside_healthy_writes() -> None:
    found = both([1.0] * 10, [1.0] * 5 + [0.5] * 5)
    assert found.alarm
    assert list(found.middles) == pytest.approx([0.0, log(0.5)])


def test_an_alarm_stands_on_the_first_good_night_and_goes_when_health_is_as_certain() -> None:
    slow = [1.0] * 5 + [0.5] * 5
    assert alone(*slow, 1.0).alarm
    states = [alone(*slow, *[1.0] * count).alarm for count in range(1, 8)]
    assert states[-1] is False
    # once gone, it stays away
    assert states == sorted(states, reverse=True)


def test_what_healed_halfway_is_an_alarm_still() -> None:
    assert alone(*[1.0] * 5, *[0.4] * 5, *[0.8] * 5).alarm


def test_a_second_fault_is_a_second_alarm() -> None:
    found = alone(*[0.5] * 5, *[1.0] * 8, *[0.5] * 5)
    assert found.alarm
    assert found.since == 13 * DAY_S


def test_who_never_was_measured_is_no_alarm() -> None:
    assert weigh([Alone(Source((), 0.02))], [], ASKED) == Weight(0.0, 0.0, 0, (None,), alarm=False)


def test_healthy_nights_have_no_odds() -> None:
    assert alone(*[1.0, 0.97, 1.04, 0.99] * 5).odds == 0.0


def test_every_second_night_low_is_no_alarm() -> None:
    assert not alone(*[1.0, 0.6] * 10).alarm


def test_a_host_is_slow_with_all_partners_and_not_with_one() -> None:
    def claim(*slow: bool) -> Shared:
        ratios = [[1.0, 1.0, *[0.5 if one else 1.0] * 4] for one in slow]
        return Shared(tuple(source(found, number) for number, found in enumerate(ratios)))

    assert weigh([claim(True, True, True)], [], ASKED).alarm
    assert not weigh([claim(True, False, False)], [], ASKED).alarm


def test_what_is_measured_in_one_go_is_one_moment() -> None:
    runs = [Run(0.0, 0.0, 0.05, 0), Run(60.0, 0.0, 0.05, 1), Run(120.0, 0.0, 0.05, 0)]
    assert moments_of(runs) == [0.0, 120.0]
    assert moments_of([runs[0], Run(601.0, 0.0, 0.05, 1)]) == [0.0, 601.0]
    assert moments_of([runs[0], Run(600.0, 0.0, 0.05, 1)]) == [0.0]
