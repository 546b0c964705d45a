"""An answer that is judged at a watched moment holds until the time that the watch has found."""

from __future__ import annotations

from math import inf
from typing import Any, Callable

import pytest

from plumbline.model.ages import age
from plumbline.model.watched import Watch

NOW = 1000.0
SOON_S = 1e-3

Answer = Callable[[float], Any]

TURNING: list[tuple[Answer, float]] = [
    (lambda now: now - 900 > 200, 1100),
    (lambda now: now - 900 > 200, 1100),
    (lambda now: now - 900 <= 200, 1100),
    (lambda now: 1030 - now <= 10, 1020),
    (lambda now: now < 1600, 1600),
    (lambda now: now + 60 <= 1600, 1540),
    (lambda now: 60 + now <= 1600, 1540),
    (lambda now: (now - 100) / 86400 < 1, 86500),
    (lambda now: max(0.0, now - 990) > 60, 1050),
    (lambda now: max(0.0, 1200 - now) > 60, 1140),
    (lambda now: (now - 900 > 200, now - 950 > 60), 1010),
]
"""Answers, and the time at which each turns out otherwise."""


@pytest.mark.parametrize(("answer", "until"), TURNING)
def test_an_answer_holds_until_its_first_comparison_turns(answer: Answer, until: float) -> None:
    watch = Watch(NOW)
    first = answer(watch.moment)
    assert watch.until == pytest.approx(until)
    assert answer(until - SOON_S) == first
    assert answer(until + SOON_S) != first


LASTING: list[Answer] = [
    lambda now: now - 900 >= 50,
    lambda now: min(now - 900, now - 950) == now - 950,
    lambda now: now - 900 == 50,
    lambda now: now == None,  # noqa: E711 (as the comparison of two tuples does)
    lambda now: age(950, now),
]


@pytest.mark.parametrize("answer", LASTING)
def test_a_comparison_of_the_past_and_an_open_age_hold(answer: Answer) -> None:
    watch = Watch(NOW)
    answer(watch.moment)
    assert watch.until == inf


PASSING: list[Answer] = [
    lambda now: f"{now - 900:.0f}",
    lambda now: str(now - 900),
    lambda now: round(now - 900),
    lambda now: int(now) + 1,
    lambda now: (now - 900) * 2 > 300,
    lambda now: 300 / (now - 900),
    lambda now: {now: 1},
    lambda now: abs(now - 900),
    lambda now: now - 900 > 1100 - now,
    lambda now: (now - 900) - (1100 - now),
    lambda now: now / now,
    lambda now: now - 900 > 100,
]


@pytest.mark.parametrize("answer", PASSING)
def test_any_other_use_of_the_time_holds_for_this_moment_only(answer: Answer) -> None:
    watch = Watch(NOW)
    answer(watch.moment)
    assert watch.until == NOW
