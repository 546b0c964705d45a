"""The fast path for runs without a loss gives the result of the full weighing."""

from __future__ import annotations

from math import log
from random import Random
from typing import Optional

import pytest

from plumbline.judge.alarm import Alone, Change, Claim, Question, Shared, quiet, weigh
from plumbline.judge.chance import IN_ONE_GO_S, Run, Source

DAY_S = 86400.0
ASKED = Question(-log(0.9), log(10_000), log(10_000))


def source(random: Random, number: int, last: int, spread: float = 0.03) -> Source:
    """Return some of the nights of a healthy measurement, at times some minutes apart."""
    nights = sorted(random.sample(range(last), random.randint(1, last)))
    runs = [
        Run(
            night * DAY_S + random.choice([0.0, 30.0, 300.0, 590.0, 700.0]) + 120.0 * number,
            random.uniform(-0.03, 0.1),
            spread,
            number,
        )
        for night in nights
    ]
    twice = [run._replace(at=run.at + 200.0) for run in runs if random.random() < 0.3]
    return Source(tuple(sorted([*runs, *twice])), 0.02)


def claim(random: Random, number: int) -> Claim:
    """Return what is measured of one operation, of a host with some partners."""
    sources = tuple(source(random, number, 9) for _ in range(random.randint(1, 3)))
    return Alone(sources[0]) if len(sources) == 1 else Shared(sources)


@pytest.mark.parametrize("change", [None, Change(3 * DAY_S, 100.0)])
@pytest.mark.parametrize("seed", range(60))
def test_what_is_quiet_has_the_weight_that_weighing_finds(
    seed: int, change: Optional[Change]
) -> None:
    random = Random(seed)
    claims = [claim(random, number) for number in range(random.randint(1, 3))]
    merged = Alone(Source(tuple(sorted({run for member in claims for run in member.runs})), 0.02))
    asked = ASKED._replace(change=change)
    found = quiet(claims, asked)
    assert found is not None
    assert found == weigh(claims, [merged], asked)


def test_runs_need_not_be_told_apart() -> None:
    claims = [claim(Random(0), number) for number in range(2)]
    alike = [
        Alone(Source(tuple(run._replace(source=0) for run in member.runs), 0.02))
        for member in claims
    ]
    assert quiet(alike, ASKED) == weigh(claims, [], ASKED)


@pytest.mark.parametrize("apart", [0.0, IN_ONE_GO_S - 1, IN_ONE_GO_S, IN_ONE_GO_S + 1])
@pytest.mark.parametrize("before", [(), (Run(-DAY_S, 0.0, 0.03),)])
def test_the_last_moment_begins_with_the_first_run_of_one_go(
    apart: float, before: tuple[Run, ...]
) -> None:
    claims = [
        Alone(Source((*before, Run(apart * number, 0.0, 0.03, number)), 0.02))
        for number in range(2)
    ]
    evidence = quiet(claims, ASKED)
    assert evidence == weigh(claims, [], ASKED)
    assert evidence.since == (apart if apart > IN_ONE_GO_S else 0.0)


def healthy(*ratios: float) -> Alone:
    runs = tuple(Run(night * DAY_S, log(ratio), 0.03) for night, ratio in enumerate(ratios))
    return Alone(Source(runs, 0.02))


def test_a_single_low_run_is_weighed() -> None:
    assert quiet([healthy(1.0, 1.0), healthy(1.0, 1.0)], ASKED)
    assert quiet([healthy(1.0, 1.0), healthy(0.8, 1.0)], ASKED) is None
    assert quiet([healthy(1.0, 1.0), healthy(1.0, 0.8)], ASKED) is None


def test_what_nobody_has_measured_is_weighed() -> None:
    assert quiet([Alone(Source((), 0.02))], ASKED) is None


def test_where_the_number_of_starts_makes_an_alarm_it_is_weighed() -> None:
    three = [healthy(1.0, 1.0, 1.0)]
    assert quiet(three, ASKED._replace(needed=log(3.1)))
    assert quiet(three, ASKED._replace(needed=log(3))) is None
    change = Change(DAY_S, 100.0)
    assert quiet(three, ASKED._replace(needed=log(103.1), change=change))
    assert quiet(three, ASKED._replace(needed=log(103), change=change)) is None


def test_who_asks_for_all_odds_gets_them() -> None:
    assert quiet([healthy(1.0)], ASKED._replace(min_odds=0.0)) is None
