"""Results of earlier moments save work and change no answer."""

from __future__ import annotations

from math import inf, log
from random import Random
from typing import Optional, Sequence

import pytest

from plumbline.judge.alarm import Alone, Change, Moments, Question, Shared, Weight, weigh
from plumbline.judge.chance import Run, Source

DAY_S = 86400.0
LIMIT = -log(0.9)
WINDOW = 12


class Counting:
    """A claim that counts how often its factors are asked for."""

    def __init__(self, claim: Alone) -> None:
        self._claim = claim
        self.asked = 0
        self.runs, self.offs, self.surprise = claim.runs, claim.offs, claim.surprise

    def factors(self, starts: Sequence[float], end: float, limit: float) -> list[float]:
        self.asked += 1
        return self._claim.factors(starts, end, limit)


def drawn(seed: int, days: int, losses: Sequence[tuple[int, int]]) -> tuple[Run, ...]:
    """Draw noisy days, of which those of some spans are slow by a third."""
    chance, runs = Random(seed), []
    for day in range(days):
        busy = -chance.expovariate(3) if chance.random() < 0.15 else 0.0
        slow = -0.4 if any(first <= day < last for first, last in losses) else 0.0
        runs.append(Run(day * DAY_S, busy + slow + chance.gauss(0, 0.06), 0.06))
    return tuple(runs)


def window(runs: Sequence[Run], day: int) -> tuple[Run, ...]:
    return tuple(runs[max(0, day - WINDOW) : day])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("change", [None, Change(20 * DAY_S, 100.0)])
def test_a_window_that_slides_gives_the_same_answers(seed: int, change: Optional[Change]) -> None:
    chance, past = Random(seed), Moments()
    write, read = drawn(seed, 35, [(14, 22)]), drawn(seed + 100, 35, [(18, 30)])
    question = Question(LIMIT, log(300), log(300), change)

    def asked(day: int, off: float, known: Optional[Moments]) -> Weight:
        one, other = Source(window(write, day), off), Source(window(read, day), off)
        return weigh([Alone(one), Alone(other)], [Shared((one, other))], question, known)

    found = []
    for day in range(1, 36):
        off = 0.02 + chance.gauss(0, 0.002)
        found.append(asked(day, off, None))
        assert asked(day, off, past) == found[-1]
    # of what is compared there is something
    assert {one.alarm for one in found} == {True, False}


def test_a_day_more_takes_no_look_at_the_days_before() -> None:
    runs = drawn(3, 40, [(8, 10), (16, 18), (24, 26)])
    past, question, counts = Moments(), Question(LIMIT, log(1000), log(1000)), []
    for day, known in ((31, past), (32, past), (32, None)):
        claim = Counting(Alone(Source(window(runs, day), 0.02)))
        weigh([claim], [], question, known)
        counts.append(claim.asked)
    assert counts == [2, 0, 2]


@pytest.mark.parametrize("off", [0.02, 0.0201, 0.0199])
def test_a_reference_that_moves_by_little_takes_no_look_at_the_days_before(
    off: float,
) -> None:
    runs = drawn(3, 40, [(8, 10), (16, 18), (24, 26)])
    past, question = Moments(), Question(LIMIT, log(1000), log(1000))
    weigh([Alone(Source(window(runs, 31), 0.02))], [], question, past)
    claim = Counting(Alone(Source(window(runs, 31), off)))
    weigh([claim], [], question, past)
    assert claim.asked == 0


def test_other_runs_are_weighed_from_the_beginning() -> None:
    past, question = Moments(), Question(LIMIT, log(300), log(300))
    healthy = Source(drawn(1, 20, []), 0.02)
    slow = Source(tuple(run._replace(log_ratio=-0.5) for run in healthy.runs), 0.02)
    weigh([Alone(healthy)], [], question, past)
    assert weigh([Alone(slow)], [], question, past).alarm


def test_a_run_that_joins_the_last_moment_is_weighed_with_it() -> None:
    """The write was weighed before the read of the same night came, which is far lower."""
    past, question = Moments(), Question(LIMIT, log(300), log(300))
    write = Source(drawn(1, 20, [(18, 20)]), 0.02)
    late = Run(19 * DAY_S + 300, -2.0, 0.06)
    reads = tuple(run._replace(at=run.at + 300, log_ratio=-0.5) for run in write.runs[:19])
    before, after = ([Alone(write), Alone(Source(runs, 0.02))] for runs in (reads, (*reads, late)))
    assert weigh(before, [], question, past) == weigh(before, [], question)
    assert weigh(after, [], question, past) == weigh(after, [], question)


@pytest.mark.parametrize("seed", range(3))
def test_runs_that_change_or_go_in_the_middle_give_the_same_answers(seed: int) -> None:
    chance, past, question = Random(seed), Moments(), Question(LIMIT, log(300), log(300))
    write, read = (list(drawn(seed + more, 30, [(16, 24)])) for more in (0, 100))
    for day in range(1, 31):
        for runs in (write, read):
            other = chance.randrange(day)
            runs[other] = runs[other]._replace(log_ratio=runs[other].log_ratio - 0.1)
        least = chance.choice([0, 1, 5])
        sources = Source(tuple(write[:day]), 0.02), Source(tuple(read[least:day]), 0.02)
        claims = [Alone(source) for source in sources]
        assert weigh(claims, [], question, past) == weigh(claims, [], question)


def test_a_reference_that_is_known_better_may_turn_the_answer() -> None:
    """A loss just above the limit is none while the reference may be off by as much."""
    runs = tuple(Run(day * DAY_S, -0.115, 0.02) for day in range(8))
    past, question = Moments(), Question(LIMIT, log(100), log(100))
    claims = [[Alone(Source(runs, off))] for off in (0.2, 0.02, 0.2)]
    answers = [weigh(claim, [], question, past) for claim in claims]
    assert answers == [weigh(claim, [], question) for claim in claims]
    assert [answer.alarm for answer in answers] == [False, True, False]


def test_who_asks_for_alarms_alone_is_told_no_odds_but_theirs() -> None:
    runs = drawn(1, 20, [(14, 20)])
    few, many = (Alone(Source(runs[:count], 0.02)) for count in (15, 20))
    asked = Question(LIMIT, log(10_000), log(10_000), min_odds=inf)
    assert weigh([few], [], asked._replace(min_odds=0.0)).odds > 0
    assert weigh([few], [], asked).odds == 0
    assert weigh([many], [], asked) == weigh([many], [], asked._replace(min_odds=0.0))
    assert weigh([many], [], asked).alarm


def test_other_runs_with_a_new_one_are_weighed_from_the_beginning() -> None:
    past, question = Moments(), Question(LIMIT, log(300), log(300))
    healthy = Source(drawn(1, 20, []), 0.02)
    slow = Source(tuple(run._replace(log_ratio=-0.5) for run in drawn(1, 21, [])), 0.02)
    weigh([Alone(healthy)], [], question, past)
    assert weigh([Alone(slow)], [], question, past).alarm


def test_who_asks_the_same_again_takes_no_look_at_most_days() -> None:
    """An alarm that stands has been looked at on each of its days."""
    runs = drawn(3, 24, [(14, 22)])
    past, question, counts = Moments(), Question(LIMIT, log(1000), log(1000)), []
    for _ in range(2):
        claim = Counting(Alone(Source(runs, 0.02)))
        assert weigh([claim], [], question, past).alarm
        counts.append(claim.asked)
    first, again = counts
    # the moment of the alarm, and what is said of it today
    assert again == 2
    assert first > again
