"""The odds of a lasting loss follow a stated noise model and keep their error rate.

An alarm begins and ends with at least two moments.
"""

from __future__ import annotations

from math import exp, hypot, inf, log, pi, sqrt
from random import Random
from typing import Optional, Sequence

import pytest

from plumbline.judge.recursion import weigh
from plumbline.judge.runs import (
    FADES,
    LONE_NOISE,
    PEER_NOISE,
    Case,
    Change,
    Claim,
    Noise,
    Question,
    Source,
    Weight,
    merge,
    middle,
    moments_of,
)
from tests.package.judge.rows import Run, rows, runs_of

HOUR_S = 3600.0
DAY_S = 86400.0
LIMIT = -log(0.9)
QUESTION = Question(LIMIT, log(10_000), log(10_000))
NEVER = Question(LIMIT, inf, inf)


def source(
    ratios: Sequence[Optional[float]],
    number: int = 0,
    spread: float = 0.05,
    noise: Noise = PEER_NOISE,
) -> Source:
    """Return a run a night, two minutes after those of the previous source."""
    runs = tuple(
        Run(night * DAY_S + 120.0 * number, log(ratio), spread, number)
        for night, ratio in enumerate(ratios)
        if ratio is not None
    )
    return Source(rows(runs), 0.02, noise)


def weight_of(sources: Sequence[Source], question: Question = QUESTION) -> Weight:
    """Weigh each source as a claim of its own."""
    return weigh([Case([Claim((item,)) for item in sources], [], question)])[0]


def alone(*ratios: Optional[float], question: Question = QUESTION) -> Weight:
    return weight_of([source(ratios)], question)


def both(writes: Sequence[float], reads: Sequence[float], question: Question = QUESTION) -> Weight:
    sources = [source(writes), source(reads, 1)]
    merged = Source(merge([part.runs for part in sources]), 0.02)
    claims = [Claim((part,)) for part in sources]
    return weigh([Case(claims, [Claim((merged,))], question)])[0]


# --- the model in plain Python, run by run and offset by offset

SIZES, HEALTHY, FORGOTTEN = 12, 8, 0.2


class Offset:
    """One offset: a hidden chain of undisturbed, lower and faster runs."""

    def __init__(self, at: float, width: float, prior: float, noise: Noise, lowest: float) -> None:
        self.first = self.at = at
        self.lowest = lowest
        self.width, self.variance = width, width**2 / 12
        self.prior = self.weight = prior
        self.noise = noise
        self.states = [1 - noise.lower - noise.faster, noise.lower, noise.faster]

    def predict(self, run: Run, before: Optional[Run]) -> float:
        """Return the density of the next run, and update the chain."""
        noise, shares = self.noise, [1 - self.noise.lower - self.noise.faster]
        shares += [noise.lower, noise.faster]
        stays = 0.0
        if before:
            stays = noise.again * (1 + (run.at - before.at) / HOUR_S) ** -FADES
            if run.source != before.source and run.at - before.at <= 600:
                stays = 0.9
        ratio = max(self.lowest, run.log_ratio)
        fresh = [self.density(ratio, run.spread, state) for state in range(3)]
        same = list(fresh)
        if before and ratio < self.at:
            spread = hypot(run.spread, before.spread)
            apart = (ratio - max(self.lowest, before.log_ratio)) / spread
            near = exp(-(apart**2) / 2) / (spread * sqrt(2 * pi))
            same[1] = (1 - noise.alike) * fresh[1] + noise.alike * near
        likely = [
            stays * state * again + (1 - stays) * share * new
            for state, share, again, new in zip(self.states, shares, same, fresh)
        ]
        self.states = [value / sum(likely) for value in likely]
        return sum(likely)

    def density(self, ratio: float, spread: float, state: int) -> float:
        apart, wide = ratio - self.at, sqrt(spread**2 + self.variance)
        bell = exp(-((apart / wide) ** 2) / 2) / (wide * sqrt(2 * pi))
        scale = hypot(self.noise.tail, spread)
        tail = 1 / (scale * (1 + abs(apart) / scale) ** 2)
        below = tail if apart < 0 else 0.1 * bell
        above = tail if apart >= 0 else 0.1 * bell
        return (bell, below, above)[state]

    def follow(self, run: Run) -> None:
        """Move towards an undisturbed run, and back to the first offset."""
        gain = self.states[0] * self.variance / (self.variance + run.spread**2)
        moved = self.at + gain * (max(self.lowest, run.log_ratio) - self.at)
        half = self.width / 2
        self.at = min(self.first + half, max(self.first - half, moved))
        self.at += FORGOTTEN * (self.first - self.at)
        self.variance *= 1 - gain
        self.variance += FORGOTTEN * (self.width**2 / 12 - self.variance)


def odds_by_hand(measured: Source, shared: bool = False, limit: float = LIMIT) -> float:
    """Return R of one claim after the last run, each run a moment."""
    step = (max(2.3, 2 * limit) / limit) ** (1 / SIZES)
    losses = [limit * step ** (number + 0.5) for number in range(SIZES)]
    off, own, noise = max(0.01, measured.off), 0.01 if shared else 0.0, measured.noise
    width = 2 * limit / HEALTHY
    places = [((number + 0.5) / HEALTHY * 2 - 1) * limit for number in range(HEALTHY)]
    offsets = [(at, width, 0.1 / HEALTHY) for at in places]
    offsets += [(-loss, loss * (step - 1), 0.0) for loss in losses]
    prior = [
        0.9 * width * exp(-((at / off) ** 2) / 2) / (off * sqrt(2 * pi)) + odd
        for at, width, odd in offsets
    ]
    prior = [(1 - own) * weight / sum(prior) for weight in prior]
    prior[HEALTHY:] = [weight + own / SIZES for weight in prior[HEALTHY:]]
    # runs below the largest loss are weighed as that
    all_offsets = [
        Offset(at, width, weight, noise, -losses[-1])
        for (at, width, _), weight in zip(offsets, prior)
    ]
    slow = all_offsets[HEALTHY:]
    steady, at_times, before = [0.0] * SIZES, [0.0] * SIZES, None
    for run in runs_of(measured):
        predicted = {offset: offset.predict(run, before) for offset in all_offsets}
        chance = sum(offset.weight * value for offset, value in predicted.items())
        ratios = [predicted[size] / chance for size in slow]
        steady = [(value + 1) * ratio for value, ratio in zip(steady, ratios)]
        at_times = [(value + 1) * (0.7 + 0.3 * ratio) for value, ratio in zip(at_times, ratios)]
        for offset, value in predicted.items():
            offset.weight *= (1 - FORGOTTEN) * value / chance
            offset.weight += FORGOTTEN * offset.prior
        for size in slow:
            size.follow(run)
        before = run
    return (0.9 * sum(steady) + 0.1 * sum(at_times)) / SIZES


DRAWN = (
    Run(0.0, -0.02, 0.05),
    Run(HOUR_S, -0.40, 0.03),
    Run(5 * HOUR_S, -0.38, 0.05),
    Run(DAY_S, -0.31, 0.10),
    Run(DAY_S + 1000, 0.25, 0.05),
)


@pytest.mark.parametrize("noise", [PEER_NOISE, LONE_NOISE])
@pytest.mark.parametrize("off", [0.0, 0.01, 0.04])
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_odds_are_those_of_the_model(noise: Noise, off: float, count: int) -> None:
    # no night takes anything from all of its runs
    measured = Source(rows(DRAWN[:count]), off, noise._replace(night=1e-9))
    odds = weight_of([measured], NEVER).odds
    assert exp(odds) == pytest.approx(max(1.0, odds_by_hand(measured)), rel=1e-6)


def test_the_largest_loss_is_at_least_twice_the_limit() -> None:
    measured = source([0.1, 0.03, 0.05], spread=0.3)
    odds = weight_of([measured], NEVER._replace(limit=2.0)).odds
    assert exp(odds) == pytest.approx(odds_by_hand(measured, limit=2.0), rel=1e-6)


@pytest.mark.parametrize(
    "ratios", [(0.5, 0.5), (1.0, 0.6, 0.6), (0.3, 0.8), (0.01, 0.02), (0.18, 0.05)]
)
def test_a_member_of_a_shared_part_is_rarely_slow_alone(ratios: tuple[float]) -> None:
    """So a single device adds at most odds of a hundred to one per moment against the part."""
    measured = source(ratios)
    empty = Source(rows(()), 0.02)
    odds = weigh([Case([Claim((measured, empty))], [], NEVER)])[0].odds
    assert exp(odds) == pytest.approx(odds_by_hand(measured, shared=True), rel=1e-4)


def test_runs_within_ten_minutes_are_disturbed_together() -> None:
    merged = Source(rows((Run(0.0, -0.6, 0.05, 0), Run(600.0, -0.6, 0.05, 1))), 0.02)
    apart = Source(rows((Run(0.0, -0.6, 0.05, 0), Run(601.0, -0.6, 0.05, 1))), 0.02)
    same = Source(rows((Run(0.0, -0.6, 0.05, 0), Run(60.0, -0.6, 0.05, 0))), 0.02)
    odds = [weight_of([item], NEVER).odds for item in (merged, apart, same)]
    assert odds[0] < odds[1]
    assert odds[0] < odds[2]
    # in any order
    turned = Source(rows((Run(0.0, -0.6, 0.05, 1), Run(600.0, -0.6, 0.05, 0))), 0.02)
    assert weight_of([turned], NEVER).odds == odds[0]


def shares_of_nights(noise: Noise, limit: float = LIMIT, alone: float = 1.5) -> list[float]:
    """Return the share of nights that take as much as each size of loss.

    A night takes as much more from one operation ``alone``.
    """
    step = (max(2.3, 2 * limit) / limit) ** (1 / SIZES)
    night = alone * noise.night
    more = [(1 + limit * step**edge / night) ** -noise.seldom for edge in range(SIZES + 1)]
    return [first - second for first, second in zip(more, more[1:])]


def test_a_night_that_takes_a_fifth_is_seldom_among_peers_and_common_without() -> None:
    shares = [(1 - log(0.8) / noise.night) ** -noise.seldom for noise in (PEER_NOISE, LONE_NOISE)]
    assert 1 / shares[0] == pytest.approx(21_700, rel=0.01)
    # 15 % of the days of the year were busy
    assert shares[1] == pytest.approx(0.12, abs=0.005)


@pytest.mark.parametrize("devices", [100, 200])
def test_one_moment_shows_no_more_than_the_seldomness_of_such_a_night(devices: int) -> None:
    """At any number of low devices: all sizes of loss up to theirs explain it."""
    low = tuple(
        Source(rows((Run(float(number), log(0.5), 0.05, number),)), 0.02)
        for number in range(devices)
    )
    alone, together = (
        sum(min(exp(12), 1 / share) for share in shares_of_nights(PEER_NOISE, alone=times)[:9])
        * (0.9 + 0.1 * 0.3)
        / 12
        for times in (1.5, 1.0)
    )
    odds = weigh([Case([Claim(low)], [], NEVER)])[0].odds
    assert odds == pytest.approx(log(alone), abs=0.001)
    joint = weigh([Case([Claim(low)], [Claim(low)], NEVER)])[0].odds
    assert joint == pytest.approx(log((alone + together) / 2), abs=0.001)


@pytest.mark.parametrize("noise", [PEER_NOISE, LONE_NOISE])
def test_the_further_runs_of_a_morning_show_no_more_than_the_seldomness_of_such_a_night(
    noise: Noise,
) -> None:
    def odds(hours: Sequence[float]) -> float:
        runs = [Run(hour * HOUR_S, log(0.75), 0.05) for hour in hours]
        return weight_of([Source(rows(runs), 0.02, noise)], NEVER).odds

    morning = [2.0, *range(5, 12)]
    first, all_of_them = odds([2.0]), odds(morning)
    assert first < all_of_them < log(max(1 / share for share in shares_of_nights(noise)[:5]))
    assert odds([*morning, 12.0, 13.0]) < all_of_them + 1.0
    # a night is half a day from its first run on
    assert odds([*morning, 12.0, 13.0, 14.001]) > odds([*morning, 12.0, 13.0, 14.0]) + 0.7
    assert odds([*morning, *(hour + 24 for hour in morning)]) > all_of_them + 1.5


# --- its error rate


def drawn(chance: Random, count: int, offset: float = 0.0, noise: Noise = PEER_NOISE) -> Source:
    """Draw runs from the model itself: a chain of undisturbed, lower and faster nights."""
    runs, state = [], ""
    for number in range(count):
        stays = noise.again * 25**-FADES if number else 0.0
        if chance.random() >= stays:
            shot = chance.random()
            state = "lower" if shot < noise.lower else ""
            state = "faster" if shot > 1 - noise.faster else state
        value = chance.gauss(0, 0.05)
        if state and chance.random() > 0.1 / 1.1:
            # a share of 1 / (1 + x / tail) is beyond x
            value = noise.tail * (1 / (1 - chance.random()) - 1)
            value = -value if state == "lower" else value
        runs.append(Run(number * DAY_S, offset + value, 0.05))
    return Source(rows(runs), 0.02)


def test_healthy_series_have_no_more_alarms_than_the_threshold_allows() -> None:
    chance, nights = Random(7), 30
    series = [drawn(chance, nights, chance.gauss(0, 0.02)) for _ in range(3000)]
    for odds in (50, 200, 1000):
        question = Question(LIMIT, log(odds), inf)
        weights = weigh([Case([Claim((item,))], [], question) for item in series])
        assert sum(item.alarm for item in weights) <= 1.2 * len(series) * nights / odds


def test_a_permanent_difference_below_the_limit_is_not_slow() -> None:
    # six per cent, below the limit of ten, on each of thirty nights
    chance = Random(3)
    ratios = [0.94 * exp(chance.gauss(0, 0.05)) for _ in range(30)]
    assert alone(*ratios, question=NEVER).odds < log(200)


@pytest.mark.parametrize("loss", [0.15, 0.3, 0.6, 0.9])
def test_each_night_of_a_lasting_loss_raises_the_odds(loss: float) -> None:
    odds = [alone(*[1.0] * 5, *[1 - loss] * count).odds for count in range(1, 11)]
    assert odds == sorted(odds)
    assert odds[-1] > log(1000)


@pytest.mark.parametrize("number", range(12))
def test_losses_between_the_tried_sizes_are_found(number: int) -> None:
    ratio = exp(-0.3 * 1.05**number)
    assert weight_of([source([ratio] * 3, spread=0.015)]).odds > log(300)


@pytest.mark.parametrize("limit", [0.01, LIMIT, 0.7, 4.6])
def test_any_limit_of_a_policy_works(limit: float) -> None:
    question = Question(limit, log(100), log(100))
    # beyond the error of the reference
    for loss, alarm in ((0.0, False), (max(1.5 * limit, 0.08), True)):
        nights = source([exp(-loss)] * 20, spread=limit / 2)
        assert weight_of([nights], question).alarm is alarm


@pytest.mark.parametrize(("off", "alarm"), [(0.02, True), (0.1, False)])
def test_a_loss_that_the_error_of_the_reference_explains_is_no_alarm(
    off: float, alarm: bool
) -> None:
    nights = source([0.85] * 20)
    assert weight_of([nights._replace(off=off)]).alarm is alarm


def test_a_loss_beyond_the_error_of_the_reference_is_an_alarm() -> None:
    assert weight_of([source([0.6] * 4)._replace(off=0.1)]).alarm


# --- moments, alarms, health


@pytest.mark.parametrize("ratio", [0.99, 0.7, 0.3, 0.01])
def test_one_night_is_no_alarm_however_low(ratio: float) -> None:
    assert not alone(1.0, 1.0, ratio).alarm
    assert not alone(ratio, question=Question(LIMIT, -inf, -inf)).alarm


@pytest.mark.parametrize(("ratio", "nights"), [(0.3, 3), (0.6, 4), (0.8, 6)])
def test_a_lasting_loss_is_an_alarm_after_some_nights(ratio: float, nights: int) -> None:
    weights = [alone(*[1.0] * 5, *[ratio] * count) for count in range(1, nights + 1)]
    assert weights[-1].alarm
    assert not weights[0].alarm
    assert weights[-1].since == 5 * DAY_S
    assert weights[-1].moments == nights
    assert list(weights[-1].middles) == pytest.approx([log(ratio)])


def test_write_and_read_together_need_fewer_nights_than_either() -> None:
    ratios = [1.0] * 5 + [0.6] * 2
    assert not alone(*ratios).alarm
    assert both(ratios, ratios).odds > alone(*ratios).odds + 0.5


def test_a_loss_of_reads_is_found_with_healthy_writes() -> None:
    weight = both([1.0] * 10, [1.0] * 5 + [0.5] * 5)
    assert weight.alarm
    assert list(weight.middles) == pytest.approx([0.0, log(0.5)])


def test_an_operation_without_new_runs_does_not_hide_the_other() -> None:
    writes, reads = source([1.0, 1.0]), source([1.0, 1.0, *[0.5] * 6], 1)
    assert weight_of([writes, reads]).alarm


def test_an_alarm_survives_the_first_good_night_and_ends_once() -> None:
    slow = [1.0] * 5 + [0.5] * 5
    question = QUESTION._replace(ends=log(100))
    states = [alone(*slow, *[1.0] * count, question=question).alarm for count in range(8)]
    assert states[:2] == [True, True]
    assert states[-1] is False
    # it does not come back
    assert states == sorted(states, reverse=True)


@pytest.mark.parametrize(("odds", "good"), [(2, 2), (100, 6), (300, 8), (1000, 11)])
def test_an_alarm_ends_after_at_least_two_good_nights_depending_on_the_odds(
    odds: float, good: int
) -> None:
    end = Question(LIMIT, log(20), log(odds))
    nights = [*[1.0] * 5, *[0.5] * 2, *[1.0] * good]
    assert [alone(*nights[:count], question=end).alarm for count in (7, -1, None)] == [
        True,
        True,
        False,
    ]


EASILY = Question(LIMIT, log(20), log(2))


def test_each_return_of_a_loss_doubles_the_good_nights_up_to_three_times() -> None:
    nights: list[float] = []
    for good in (2, 4, 8, 16, 16):
        again = alone(*nights, 0.5, 0.5, question=EASILY)
        assert (again.alarm, again.since) == (True, len(nights) * DAY_S)
        nights += [0.5] * 2 + [1.0] * good
        assert alone(*nights[:-1], question=EASILY).alarm
        assert not alone(*nights, question=EASILY).alarm
        # runs before the end of the alarm no longer count
        assert 1 < alone(*nights, 0.5, question=EASILY).odds < 4


@pytest.mark.parametrize(
    ("between", "good"),
    [([0.5], 6), ([0.5, 0.6], 5), ([0.5, 0.55], 8), ([0.5, 0.4], 8)],
)
def test_low_nights_that_outweigh_the_good_ones_restart_their_count(
    between: list[float], good: int
) -> None:
    """An alarm that came back twice needs eight good nights."""
    nights = [*[0.5] * 2, *[1.0] * 2, *[0.5] * 2, *[1.0] * 4, *[0.5] * 2, 1.0, *between]
    assert alone(*nights, *[1.0] * (good - 1), question=EASILY).alarm
    assert not alone(*nights, *[1.0] * good, question=EASILY).alarm


@pytest.mark.parametrize("after", [0.6, 0.8])
def test_a_half_good_component_is_still_an_alarm(after: float) -> None:
    assert alone(*[1.0] * 5, *[0.4] * 5, *[after] * 5).alarm


def test_an_alarm_stands_while_one_operation_is_still_slow() -> None:
    slow = [1.0] * 5 + [0.5] * 5
    assert both([*slow, *[1.0] * 8], [*slow, *[0.5] * 8]).alarm
    assert not both([*slow, *[1.0] * 8], [*slow, *[1.0] * 8]).alarm


def test_a_second_fault_is_a_second_alarm() -> None:
    weight = alone(*[0.5] * 5, *[1.0] * 8, *[0.5] * 5)
    assert weight.alarm
    assert weight.since == 13 * DAY_S


def test_an_intermittent_loss_is_one_alarm_that_counts_its_low_nights() -> None:
    nights = [1.0] * 5 + [0.5, 0.5, 1.0, 1.0, 1.0, 0.5, 0.5, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 0.5]
    easily = QUESTION._replace(needed=log(100), ends=log(30))
    states = [alone(*nights[:count], question=easily).alarm for count in range(1, len(nights) + 1)]
    # after its return it stays
    assert states.count(True) > 8
    assert sum(after and not before for before, after in zip(states, states[1:])) == 2
    weight = alone(*nights, question=easily)
    assert weight.alarm
    assert weight.low < weight.moments
    assert list(weight.middles) == pytest.approx([log(0.5)])
    assert alone(*nights, question=NEVER).since == 5 * DAY_S


def morning(night: int, ratio: float) -> list[Run]:
    """Return a planned run and, if it is low, seven more of the morning."""
    hours = (2, *range(5, 12)) if ratio < 0.8 else (2,)
    return [Run(night * DAY_S + hour * HOUR_S, log(ratio), 0.05) for hour in hours]


def test_what_comes_and_goes_for_a_night_is_one_alarm_unless_it_stays() -> None:
    def alarm(*ratios: float) -> bool:
        runs = [run for night, ratio in enumerate(ratios) for run in morning(night, ratio)]
        return weight_of([Source(rows(runs), 0.02)]).alarm

    first = [*[1.0] * 5, 0.4]
    again = [*first, *[1.0] * 9, 0.4]
    assert alarm(*first)
    assert not alarm(*again[:-1])
    assert not alarm(*again)
    assert not alarm(*again, *[1.0] * 6, 0.4)
    assert alarm(*again, 0.4)


def test_an_intermittent_operation_next_to_a_slow_one_has_its_median() -> None:
    writes = [0.5, 0.5, 0.9, 0.5, 1.0, 1.0, 0.5, 1.0, 1.0, 0.5]
    weight = both(writes, [0.5] * 2 + [1.0] * 8)
    assert (weight.alarm, weight.moments, weight.low) == (True, 10, 6)
    assert weight.middles[1] == 0.0


def test_a_component_without_runs_is_no_alarm() -> None:
    nothing = Weight(0.0, 0.0, 0, 0, (None,), alarm=False)
    assert weight_of([Source(rows(()), 0.02)]) == nothing
    assert weigh([]) == []


def test_healthy_nights_have_no_odds_and_the_last_is_named() -> None:
    weight = alone(*[1.0, 0.97, 1.04, 0.99] * 5)
    assert (weight.odds, weight.since, weight.moments) == (0.0, 19 * DAY_S, 1)
    assert list(weight.middles) == pytest.approx([log(0.99)])


def test_one_low_night_has_odds_and_names_that_night() -> None:
    weight = alone(1.0, 1.0, 0.3)
    assert weight.odds > 0
    assert (weight.since, weight.moments) == (2 * DAY_S, 1)
    assert list(weight.middles) == pytest.approx([log(0.3)])


@pytest.mark.parametrize(("good", "alarm"), [(1, True), (2, True), (9, False)])
def test_a_loss_on_every_third_night_is_an_alarm_and_on_every_tenth_none(
    good: int, alarm: bool
) -> None:
    nights = [*[1.0] * good, 0.6] * 12
    assert alone(*nights[-30:]).alarm is alarm


def test_a_host_is_slow_with_all_partners_and_not_with_one() -> None:
    def host(*slow: bool) -> Case:
        sources = [
            source([1.0, 1.0, *[0.5 if low else 1.0] * 4], number)
            for number, low in enumerate(slow)
        ]
        return Case([Claim(tuple(sources))], [], QUESTION)

    weights = weigh([host(True, True, True), host(True, False, False)])
    assert [weight.alarm for weight in weights] == [True, False]


def test_a_mild_loss_of_all_devices_behind_a_part_is_evidence_against_it() -> None:
    mild = [source([0.85] * 3, number) for number in range(6)]
    part, device = weigh(
        [
            Case([Claim(tuple(mild))], [], NEVER),
            Case([Claim((mild[0],))], [], NEVER),
        ]
    )
    assert part.odds > device.odds + log(50)


@pytest.mark.parametrize(("more", "alarm"), [(0.0, True), (1e-9, False)])
def test_an_alarm_begins_exactly_at_the_needed_odds(more: float, alarm: bool) -> None:
    nights = [0.5, 0.5]
    needed = alone(*nights, question=NEVER).odds + more
    assert alone(*nights, question=Question(LIMIT, needed, needed)).alarm is alarm


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("late_s", [0.0, -1.0])
def test_a_change_counts_for_the_given_number_of_starts(place: int, late_s: float) -> None:
    nights = [1.0, 0.5, 0.5]
    odds = [
        exp(alone(*nights, question=NEVER._replace(change=change)).odds)
        for change in (
            None,
            *(Change(place * DAY_S + late_s, starts) for starts in (0.0, 10.0, 20.0)),
        )
    ]
    assert odds[0] == pytest.approx(odds[1])
    assert odds[2] > odds[1]
    # each further start counts the same
    assert odds[3] - odds[1] == pytest.approx(2 * (odds[2] - odds[1]))


def test_a_change_after_the_last_night_does_not_count_yet() -> None:
    nights, late = [1.0, 0.5, 0.5], Change(2 * DAY_S + 1.0, 100.0)
    assert alone(*nights, question=NEVER._replace(change=late)) == alone(*nights, question=NEVER)


def test_many_subjects_together_have_exactly_the_weights_of_each_alone() -> None:
    chance = Random(5)
    query = Question(LIMIT, log(20), log(100))
    cases = [
        Case([Claim((item,)) for item in (drawn(chance, chance.randint(1, 40)), good)], [], query)
        if number % 3
        else Case([Claim((good,))], [], query)
        for number in range(1100)
        for good in [source([*[0.5] * 3, *[1.0] * (number % 13)])]
    ]
    together = weigh(cases)
    for place in (*range(40), 499, 500, 1099):
        assert weigh([cases[place]])[0] == together[place]


@pytest.mark.parametrize(("ratio", "spread"), [(0.5, 0.001), (0.5, 0.05), (0.0001, 3.0)])
def test_many_runs_are_weighed_like_a_few(ratio: float, spread: float) -> None:
    low = weight_of([source([ratio] * 900, spread=spread)])
    assert low.alarm
    assert not weight_of([source([1.0] * 900, spread=spread)]).alarm


@pytest.mark.parametrize(("at", "moments"), [(599.0, [0.0]), (600.0, [0.0]), (601.0, [0.0, 601.0])])
def test_runs_within_ten_minutes_belong_to_one_moment(at: float, moments: list[float]) -> None:
    assert moments_of(rows([Run(0.0, 0.0, 0.05, 0), Run(at, 0.0, 0.05, 1)])) == moments
    earlier = [Run(-DAY_S, 0.0, 0.05, 0), Run(0.0, 0.0, 0.05, 0), Run(at, 0.0, 0.05, 1)]
    assert moments_of(rows(earlier)) == [-DAY_S, *moments]


def test_a_second_run_of_a_source_begins_a_new_moment() -> None:
    runs = [Run(0.0, 0.0, 0.05, 0), Run(60.0, 0.0, 0.05, 1), Run(120.0, 0.0, 0.05, 0)]
    assert moments_of(rows(runs)) == [0.0, 120.0]


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [([-0.1, 0.0, 0.0], -0.1), ([-0.3, -0.1, 0.0], -0.1), ([-0.3, -0.2, 0.0, 0.0, 0.0], -0.25)],
    ids=["a loss of the limit is low", "the middle is low", "the middle of the low ones"],
)
def test_the_middle_of_an_intermittent_loss_is_that_of_its_low_runs(
    ratios: Sequence[float], expected: float
) -> None:
    assert middle(ratios, 0.1) == pytest.approx(expected)


def test_the_evidence_does_not_depend_on_the_cases_in_the_same_call() -> None:
    """Cases are weighed in passes of about equal length, and answered in their order."""
    histories = [[0.5] * nights for nights in (2, 40, 3, 300, 1, 30)]
    cases = [Case([Claim((source(history),))], [], QUESTION) for history in histories]
    together = weigh(cases)
    assert [weight.moments for weight in together] == [len(history) for history in histories]
    for weight, case in zip(together, cases):
        (alone,) = weigh([case])
        assert weight.odds == pytest.approx(alone.odds)
        assert weight._replace(odds=0.0) == alone._replace(odds=0.0)


def test_a_claim_that_a_case_lacks_is_never_its_likeliest() -> None:
    """After a change even a good night has odds, though no start explains it well."""
    question = NEVER._replace(change=Change(2 * DAY_S, 100.0))
    single = Case([Claim((source([1.0, 1.0, 1.0]),))], [], question)
    double = Case([Claim((source([1.0, 1.0, 1.0], number),)) for number in range(2)], [], NEVER)
    (alone,) = weigh([single])
    assert (alone.odds > 0, alone.since) == (True, 2 * DAY_S)
    assert weigh([single, double])[0] == alone
