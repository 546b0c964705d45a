"""A mild loss counts when it lasts and when the siblings' own differences do not explain it."""

from __future__ import annotations

from math import log
from typing import Any

import pytest

from plumbline.judge.component import judge
from plumbline.judge.siblings import certain_loss, chance_loss, loss_over
from plumbline.model.limits import Limits
from plumbline.model.reason import Reason
from plumbline.model.reference import Reference
from plumbline.model.series import Day
from plumbline.model.state import State
from plumbline.model.verdict import Verdict
from plumbline.siblings import compare_days
from tests.package.judgements import BASELINE, NOW, expectation, series

TODAY = int(NOW // 86400) - 1
MILD = log(1.19)


def days(*losses: float, noise: float = 0.0, spread: float = 0.02, peers: int = 5) -> list[Day]:
    """Return the last days, newest first."""
    return [Day(TODAY - ago, loss, noise, spread, 20, peers) for ago, loss in enumerate(losses)]


def judged(of: list[Day], rate_Bps: float = 168e6, **changes: Any) -> Verdict:
    """Judge a read beside five peers at 200 MB/s, without a baseline unless told."""
    reference = changes.pop("reference", Reference(None, None))
    entry = expectation(references={"read/single": reference})
    one = series(rate_Bps, 200e6, **changes)._replace(days=tuple(of))
    return judge(entry, [one], (), NOW)


def test_a_mild_loss_on_three_days_is_a_warning_that_says_so() -> None:
    verdict = judged(days(MILD, MILD, MILD))
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.FAIL_SLOW)
    assert verdict.sentence.endswith(
        "slower than its 5 siblings on each of the last 3 days, 16 % over 3 days (limit 10 %), "
        "fail-slow"
    )


@pytest.mark.parametrize(
    "of",
    [
        days(MILD, MILD),
        days(MILD, 0.05, MILD, MILD),
        days(0.09, 0.09, 0.09),
        days(MILD, MILD, MILD, spread=0.15),
        days(MILD, MILD, MILD, noise=0.15),
        days(MILD, MILD, MILD, peers=1),
        [day._replace(day=day.day - 5) for day in days(MILD, MILD, MILD)],
    ],
    ids=["two days", "a good day", "within the limit", "unlike", "noisy", "one peer", "long ago"],
)
def test_what_does_not_last_or_is_not_certain_is_no_alarm(of: list[Day]) -> None:
    assert judged(of).state is State.OK


def test_more_days_make_a_noisy_loss_certain() -> None:
    assert certain_loss(days(*[MILD] * 3, noise=0.14), Limits()) is None
    found = certain_loss(days(*[MILD] * 12, noise=0.14), Limits())
    assert found is not None
    assert 3 < found.days <= 12
    assert found.percent == pytest.approx(16, abs=0.1)


def test_what_siblings_always_differ_by_does_not_become_certain_with_time() -> None:
    few, many = (loss_over(days(*[MILD] * count, spread=0.12), count) for count in (3, 14))
    assert many.error > 0.45 * few.error
    assert certain_loss(days(*[MILD] * 14, spread=0.15), Limits()) is None


def test_a_loss_that_a_person_has_accepted_is_none() -> None:
    accepted = Reference(None, BASELINE._replace(median_Bps=170e6))
    assert judged(days(MILD, MILD, MILD), reference=accepted).state is State.OK


def test_one_run_beside_siblings_that_differ_among_themselves_tells_nothing() -> None:
    verdict = judged(days(0.4, spread=0.15), rate_Bps=134e6)
    assert verdict.state is State.OK
    assert "within what its siblings differ by among themselves" in verdict.sentence
    assert judged(days(0.4, spread=0.02), rate_Bps=134e6).state is State.WARNING
    assert judged(days(1.6, spread=0.15), rate_Bps=40e6).state is State.CRITICAL


def test_one_run_may_lose_more_by_chance_than_a_day_of_runs() -> None:
    one_day = days(0.0, noise=0.05, spread=0.05)
    chance = chance_loss(one_day, Limits(), gross=False)
    assert chance > 8 * Limits().certainty * loss_over(one_day, 1).error
    assert chance > 2 * chance_loss(one_day, Limits(), gross=True)


def test_of_three_siblings_one_that_is_less_than_half_as_fast_is_told_at_once() -> None:
    found = compare_days([(NOW - 3610, {"a": 200e6, "b": 190e6, "scratch-OST0003": 80e6})])
    verdict = judged(list(found["scratch-OST0003"]), rate_Bps=80e6)
    assert verdict.state is State.CRITICAL


@pytest.mark.parametrize(("peers_Bps", "state"), [(150e6, State.OK), (200e6, State.WARNING)])
def test_a_busy_day_excuses_what_has_a_baseline_only_while_all_are_low(
    peers_Bps: float, state: State
) -> None:
    entry = expectation(references={"read/single": Reference(None, BASELINE)})
    one = series(120e6, peers_Bps)._replace(days=tuple(days(0.3, spread=0.19)))
    assert judge(entry, [one], (), NOW).state is state
