"""Two moments at least raise an alarm, and two end it."""

from __future__ import annotations

from math import exp, inf, log
from typing import Optional, Sequence

import pytest

from plumbline.judge.alarm import (
    Alone,
    Change,
    Moments,
    Question,
    Shared,
    Weight,
    moments_of,
    weigh,
)
from plumbline.judge.chance import ALONE, BESIDE_PEERS, Noise, Run, Source, factors, surprise

DAY_S = 86400.0
LIMIT = -log(0.9)
ASKED = Question(LIMIT, log(10_000), log(10_000))


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
    assert weigh([Alone(source([ratio]))], [], Question(LIMIT, 0.0, 0.0)).alarm is False


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


def test_an_alarm_stands_on_the_first_good_night_and_ends_once() -> None:
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


def odds_of(ratios: Sequence[float], change: Optional[Change] = None) -> float:
    """Return the odds of some nights, whether anybody is to be told of them or not."""
    asked = Question(LIMIT, inf, inf, change, min_odds=-inf)
    return weigh([Alone(source(ratios))], [], asked).odds


def states(ratios: Sequence[float], needed: float) -> list[bool]:
    """Return on which nights an alarm stood."""
    return [
        weigh([Alone(source(ratios[:count]))], [], Question(LIMIT, needed, needed)).alarm
        for count in range(1, len(ratios) + 1)
    ]


@pytest.mark.parametrize(("more", "alarm"), [(-1e-9, True), (0.0, True), (1e-9, False)])
def test_the_odds_that_are_asked_for_are_enough(more: float, alarm: bool) -> None:
    nights = [0.5, 0.5]
    assert states(nights, odds_of(nights) + more) == [False, alarm]


@pytest.mark.parametrize("nights", [[0.5, 0.5], [1.0, 0.5, 0.5], [1.0, 0.6, 0.6, 0.6]])
def test_what_was_found_of_a_night_is_enough_as_it_was(nights: list[float]) -> None:
    past, asked = Moments(), Question(LIMIT, odds_of(nights), odds_of(nights))
    found = [weigh([Alone(source(nights))], [], asked, past).alarm for _ in range(2)]
    assert found == [True, True]


HEALTH = log(sum(exp(-factor) for factor in factors(source([1.0, 1.0]), LIMIT)) / 2)
"""The odds for health of two good nights: the mean over those on which it may be well again."""


@pytest.mark.parametrize(("more", "stands"), [(-1e-9, False), (0.0, False), (1e-9, True)])
def test_the_odds_for_health_end_an_alarm_where_they_are_enough(more: float, stands: bool) -> None:
    # health is weighed from the night after the alarm on: what was slow before speaks no more
    nights = [Alone(source([0.5, 0.5, 1.0, 1.0]))]
    asked = Question(LIMIT, odds_of([0.5, 0.5]), HEALTH + more)
    assert weigh(nights, [], asked).alarm is stands


def test_a_single_good_night_ends_no_alarm() -> None:
    asked = Question(LIMIT, odds_of([0.5, 0.5]), 0.0)
    assert weigh([Alone(source([0.5, 0.5, 1.0]))], [], asked).alarm
    assert not weigh([Alone(source([0.5, 0.5, 1.0, 1.0]))], [], asked).alarm


def test_a_good_night_after_a_low_one_ends_no_alarm() -> None:
    asked = Question(LIMIT, odds_of([0.5, 0.5]), 0.0)
    assert weigh([Alone(source([0.5, 0.5, 0.5, 1.0]))], [], asked).alarm


def test_odds_of_health_that_were_too_low_are_enough_when_less_is_asked_for() -> None:
    past, needed = Moments(), odds_of([0.5, 0.5])
    nights = [Alone(source([0.5, 0.5, 1.0, 1.0]))]
    assert weigh(nights, [], Question(LIMIT, needed, HEALTH + 1e-9), past).alarm
    assert not weigh(nights, [], Question(LIMIT, needed, HEALTH), past).alarm


def test_the_odds_are_the_sum_over_all_nights_on_which_it_may_have_begun() -> None:
    nights = [1.0, 0.5, 0.5]
    wanted = sum(map(exp, factors(source(nights), LIMIT)))
    assert exp(odds_of(nights)) == pytest.approx(wanted)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_change_counts_for_as_many_nights_as_it_is_said_to(place: int) -> None:
    nights = [1.0, 0.5, 0.5]
    each = [exp(one) for one in factors(source(nights), LIMIT)]
    for late_s in (0.0, -1.0):
        for starts in (1.0, 100.0):
            found = odds_of(nights, Change(place * DAY_S + late_s, starts))
            assert exp(found) == pytest.approx(sum(each) + (starts - 1) * each[place])


def test_a_change_after_the_last_night_counts_for_nothing_yet() -> None:
    nights = [1.0, 0.5, 0.5]
    assert odds_of(nights, Change(2 * DAY_S + 1.0, 100.0)) == odds_of(nights)


def test_a_change_brings_the_alarm_that_only_its_nights_allow() -> None:
    nights = [1.0, 0.5, 0.5]
    without, change = odds_of(nights), Change(DAY_S, 100.0)
    needed = odds_of(nights, change)
    assert needed > without + 1
    assert weigh([Alone(source(nights))], [], Question(LIMIT, needed, needed, change)).alarm
    assert not weigh([Alone(source(nights))], [], Question(LIMIT, needed, needed)).alarm


def test_what_speaks_for_health_is_no_odds_at_all() -> None:
    assert odds_of([1.0] * 5) == 0.0


def test_one_low_night_has_odds_and_names_that_night() -> None:
    found = weigh([Alone(source([1.0, 1.0, 0.3]))], [], ASKED._replace(min_odds=0.0))
    assert found.odds > 0
    assert (found.since, found.moments) == (2 * DAY_S, 1)
    assert list(found.middles) == pytest.approx([log(0.3)])


def test_of_healthy_nights_the_last_one_is_named() -> None:
    found = alone(1.0, 1.0, 1.0)
    assert (found.since, found.moments) == (2 * DAY_S, 1)
    assert list(found.middles) == pytest.approx([0.0])


@pytest.mark.parametrize("nights", [[0.3], [1.0, 0.3], [0.3, *[1.0] * 6, 0.3]])
@pytest.mark.parametrize(("more", "told"), [(-1e-9, True), (0.0, True), (1e-9, False)])
def test_nobody_is_told_of_odds_that_cannot_reach_what_is_worth_a_word(
    nights: list[float], more: float, told: bool
) -> None:
    low = source(nights)
    bound = surprise(low.runs[-1], low.noise, LIMIT)
    found = weigh([Alone(low)], [], ASKED._replace(min_odds=bound + more))
    assert (found.odds > 0) is told


def test_a_claim_that_was_not_measured_since_says_nothing() -> None:
    low = source([0.5, 0.5])
    found = Alone(low).factors([0.0, DAY_S, 2 * DAY_S], inf, LIMIT)
    assert found == [*factors(low, LIMIT), 0.0]


def test_one_operation_that_was_not_measured_since_does_not_hide_the_other() -> None:
    """The mean of both factors, of which the one without runs is 1."""
    reads = source([1.0, 1.0, 0.5, 0.5], 1)
    writes = source([1.0, 1.0])
    asked = Question(LIMIT, inf, inf, min_odds=-inf)
    found = weigh([Alone(writes), Alone(reads)], [], asked).odds
    one = Alone(writes).factors([night * DAY_S for night in range(4)], inf, LIMIT)
    other = Alone(reads).factors([night * DAY_S for night in range(4)], inf, LIMIT)
    # the first moment of a night is that of its write
    wanted = sum((exp(a) + exp(b)) / 2 for a, b in zip(one, other))
    assert exp(found) == pytest.approx(wanted)


@pytest.mark.parametrize("noise", [BESIDE_PEERS, ALONE])
def test_the_bound_of_what_is_shared_is_that_of_its_runs(noise: Noise) -> None:
    shared = Shared((source([0.5])._replace(noise=noise),))
    assert shared.surprise(shared.runs[0], LIMIT) == surprise(shared.runs[0], noise, LIMIT)


@pytest.mark.parametrize(("at", "moments"), [(599.0, [0.0]), (600.0, [0.0]), (601.0, [0.0, 601.0])])
def test_what_begins_within_ten_minutes_of_a_moment_belongs_to_it(
    at: float, moments: list[float]
) -> None:
    assert moments_of([Run(0.0, 0.0, 0.05, 0), Run(at, 0.0, 0.05, 1)]) == moments
    earlier = [Run(-DAY_S, 0.0, 0.05, 0), Run(0.0, 0.0, 0.05, 0), Run(at, 0.0, 0.05, 1)]
    assert moments_of(earlier) == [-DAY_S, *moments]


@pytest.mark.parametrize(("more", "alarm"), [(-1e-9, True), (0.0, True), (1e-9, False)])
def test_nights_to_come_are_no_nights_on_which_it_may_have_begun(more: float, alarm: bool) -> None:
    assert states([0.5, 0.5, 1.0], odds_of([0.5, 0.5]) + more)[-1] is alarm


@pytest.mark.parametrize(("more", "stands"), [(0.0, False), (1e-9, True)])
def test_nights_to_come_do_not_speak_for_health(more: float, stands: bool) -> None:
    nights = [Alone(source([0.5, 0.5, 1.0, 1.0, 0.85]))]
    asked = Question(LIMIT, odds_of([0.5, 0.5]), HEALTH + more)
    assert weigh(nights, [], asked).alarm is stands
