"""Odds stay below their bound, and what it spares changes no alarm."""

from __future__ import annotations

from math import inf, log
from random import Random

import pytest

from plumbline.judge.alarm import Alone, Question, weigh
from plumbline.judge.bound import Bound
from plumbline.judge.chance import log_of_sum
from plumbline.judge.noise import Run, Source

DAY_S = 86400.0
LIMIT = -log(0.9)


def drawn(seed: int, nights: int, loss: float) -> Source:
    """Draw a write and a read each night, of which a third are disturbed together."""
    chance, runs = Random(seed), []
    for night in range(nights):
        lost = chance.expovariate(2) if chance.random() < 0.3 else 0.0
        slow = loss if night >= nights // 2 else 0.0
        runs += [
            Run(night * DAY_S + 120 * number, -lost - slow + chance.gauss(0, 0.05), 0.05, number)
            for number in (0, 1)
        ]
    return Source(tuple(runs), 0.02)


@pytest.mark.parametrize("loss", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(10))
def test_no_odds_are_above_the_sum_of_the_bounds(seed: int, loss: float) -> None:
    claim = Alone(drawn(seed, 20, loss))
    starts = [run.at for run in claim.runs[::2]]
    bound = Bound(claim.runs, claim.surprises(claim.runs, LIMIT))
    for end in (*starts[1:], inf):
        before = [start for start in starts if start < end]
        odds = log_of_sum(claim.factors(before, end, LIMIT))
        assert odds <= max(0.0, log_of_sum(bound.from_starts(before, end)))


def test_the_bound_at_an_end_is_that_of_the_best_start() -> None:
    runs = tuple(Run(night * DAY_S, 0.0, 0.05) for night in range(4))
    bound = Bound(runs, [1.0, -3.0, 2.0, 1.5])
    assert bound.at_ends([0.0, DAY_S, 2 * DAY_S, 3 * DAY_S, inf]) == [0.0, 1.0, 0.0, 2.0, 3.5]


@pytest.mark.parametrize("loss", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_who_asks_for_odds_from_some_on_gets_these_and_no_others(seed: int, loss: float) -> None:
    of = drawn(seed, 16, loss)
    claims = [Alone(of._replace(runs=of.runs[number::2])) for number in (0, 1)]
    every = Question(LIMIT, log(3000), told=-inf)
    exact = weigh(claims, [Alone(of)], every)
    found = weigh(claims, [Alone(of)], every._replace(told=3.0, exactly=False))
    assert found.alarm == exact.alarm
    assert found.odds in (exact.odds, 0.0)
    if exact.alarm or exact.odds >= 3:
        assert found == exact


def test_odds_that_are_at_most_too_low_are_left_out() -> None:
    claim = Alone(Source((Run(0.0, -0.25, 0.1), Run(DAY_S, -0.25, 0.1)), 0.02))
    every = Question(LIMIT, log(3000), told=0.0)
    exact = weigh([claim], [], every)
    assert exact.odds > 0
    assert weigh([claim], [], every._replace(told=exact.odds, exactly=False)) == exact
    assert weigh([claim], [], every._replace(told=exact.odds + 5, exactly=False)).odds == 0
