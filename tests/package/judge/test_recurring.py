"""A symptom of runs is an alarm when it recurs, within the alarm budget."""

from __future__ import annotations

from math import exp, log
from random import Random
from typing import Sequence

import pytest

from plumbline.judge.recurring import NEVER, in_moments, recurrence
from tests.package.judgements import DAY_S, NOW

ODDS = 20_000.0


def nights(shown: str) -> list[tuple[float, bool]]:
    """Return a run a night, the oldest first; x is a run with the symptom."""
    return [(NOW + number * DAY_S, mark == "x") for number, mark in enumerate(shown)]


@pytest.mark.parametrize(
    ("shown", "alarm"),
    [
        ("x", False),
        ("xx", False),
        ("....x....", False),
        ("x.......x.......x......x", False),
        ("xxxxxxx", True),
        ("....xxxxxxxx", True),
        ("xxxx.xxxxx", True),
        ("xxxxxxxxxxxx.", True),
        ("xxxxxxxxxxxx........", False),
        ("xxxxxxxxxxxx........xx", False),
    ],
)
def test_several_runs_raise_an_alarm_and_several_end_it(shown: str, alarm: bool) -> None:
    assert recurrence(nights(shown), ODDS).alarm is alarm


def test_the_odds_of_a_first_run_are_the_ratio_of_its_two_chances() -> None:
    evidence = recurrence(nights("x"), ODDS)
    assert exp(evidence.odds) == pytest.approx(0.9 / 0.05)
    assert (evidence.shown, evidence.runs, evidence.since) == (1, 1, NOW)
    assert recurrence([], ODDS) == recurrence(nights("...."), ODDS) == NEVER
    assert NEVER == (0.0, False, 0.0, 0, 0)


def test_evidence_starts_again_after_runs_without_the_symptom() -> None:
    assert recurrence(nights("x.x"), ODDS)[2:] == (NOW, 2, 3)
    assert recurrence(nights("x..x"), ODDS)[2:] == (NOW + 3 * DAY_S, 1, 1)
    minutes = [
        (NOW + 60 * number, shown) for number, shown in enumerate([True, False, False, True])
    ]
    assert recurrence(minutes, ODDS)[2:] == (NOW + 180, 1, 1)


def test_the_words_name_the_runs_and_the_odds() -> None:
    assert recurrence(nights("x"), ODDS).words == "one run is no evidence yet"
    assert recurrence(nights("xx"), ODDS).words == (
        "seen in 2 of 2 runs since 2024-10-04, odds 90 to 1 against chance"
    )


def test_a_run_soon_after_another_adds_less_evidence() -> None:
    day, minute = (
        recurrence([(NOW, True), (NOW + after_s, True)], ODDS).odds for after_s in (DAY_S, 60)
    )
    assert exp(day) == pytest.approx(0.9 / (0.5 * 25**-0.3) * (1 + 18))
    assert exp(minute) == pytest.approx(0.9 / 0.5 * (1 + 18), rel=0.01)
    for after_s in (0, -60):
        at_once = recurrence([(NOW, True), (NOW + after_s, True)], ODDS).odds
        assert exp(at_once) == pytest.approx(0.9 / 0.5 * (1 + 18), rel=1e-9)
    long_after = recurrence([(NOW, True), (NOW + 1000 * DAY_S, True)], ODDS).odds
    assert exp(long_after) == pytest.approx(0.9 / 0.05 * (1 + 18))


def test_an_alarm_needs_two_runs_at_any_odds() -> None:
    assert not recurrence(nights("x"), 2.0).alarm
    assert recurrence(nights("xx"), 2.0).alarm


@pytest.mark.parametrize(("more", "alarm"), [(-1e-6, True), (1e-6, False)])
def test_an_alarm_needs_the_odds_of_the_budget(more: float, alarm: bool) -> None:
    reached = recurrence(nights("xxx"), 1e9).odds
    assert recurrence(nights("xxx"), exp(reached + more)).alarm is alarm


@pytest.mark.parametrize(("more", "alarm"), [(-1e-6, False), (1e-6, True)])
def test_an_alarm_stands_until_the_odds_of_health_are_as_high(more: float, alarm: bool) -> None:
    after_one = 0.5 * 25**-0.3
    refuted = log((1 - after_one) / 0.1), log(0.95 / 0.1)
    healthy = refuted[1] + log(1 + exp(refuted[0]))
    assert recurrence(nights("xx.."), exp(healthy + more)).alarm is alarm


def test_healthy_components_alarm_as_seldom_as_the_odds_promise() -> None:
    """A chain of the noise model: one run in twenty, and more often after another one."""
    random = Random(4)
    alarms, count, again = 0, 300_000, 0.5 * 25**-0.3
    runs: list[tuple[float, bool]] = []
    before = False
    for night in range(count):
        before = random.random() < (again if before else 0.05)
        runs.append((night * DAY_S, before))
        if len(runs) == 30:
            alarms += recurrence(runs, 100.0).alarm
            runs = []
    assert 0 < alarms <= count / 100


@pytest.mark.parametrize(
    ("shares", "shown"),
    [
        ([[(0.0, 0.02)]], [True]),
        ([[(0.0, 0.01)]], [False]),
        ([[(0.0, 0.02)], [(5.0, 0.0)]], [False]),
        ([[(0.0, 0.02)], [(5.0, 0.0)], [(9.0, 0.02)]], [True]),
        ([[(0.0, 0.02), (700.0, 0.0)], [(5.0, 0.02)]], [True, False]),
        ([[(0.0, 0.02), (9.0, 0.0)]], [True, False]),
        ([[(0.0, 0.01), (900.0, 0.02)]], [False, True]),
        ([[(0.0, 0.02)], [(600.0, 0.0)]], [False]),
        ([[(0.0, 0.02)], [(600.5, 0.0)]], [True, False]),
        ([[], []], []),
    ],
)
def test_the_majority_of_partners_at_one_moment_decides(
    shares: Sequence[Sequence[tuple[float, float]]], shown: list[bool]
) -> None:
    assert [low for _, low in in_moments(shares, 0.01)] == shown
