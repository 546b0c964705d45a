"""A step down in a component's own runs is told from noise, from contention, and from others'."""

from __future__ import annotations

from typing import Optional, Sequence

import pytest

from plumbline.judge.component import judge
from plumbline.judge.step import step_of
from plumbline.model.limits import Limits
from plumbline.model.reason import Reason
from plumbline.model.reference import Reference
from plumbline.model.series import Sample
from plumbline.model.state import State
from plumbline.model.verdict import Verdict
from tests.package.judgements import BASELINE, DAY_S, NOW, expectation, series

LEVEL = [100e6, 140e6, 90e6, 120e6, 100e6, 95e6, 130e6, 105e6]
LOW = [60e6, 65e6, 55e6, 60e6, 70e6, 62e6]


def samples(
    newest_first: Sequence[Optional[float]],
    coverage: Sequence[Optional[float]] = (),
    peers_Bps: Optional[float] = None,
    every_s: float = DAY_S,
) -> tuple[Sample, ...]:
    known = list(coverage) or [None] * len(newest_first)
    return tuple(
        Sample(NOW - 3610 - every_s * ago, rate, share, peers_Bps, 5 if peers_Bps else 0, None)
        for ago, (rate, share) in enumerate(zip(newest_first, known))
    )


def judged(of: tuple[Sample, ...], reference: Optional[Reference] = None) -> Verdict:
    entry = expectation(references={"read/single": reference or Reference(None, None)})
    one = series(of[0].rate_Bps, None)
    return judge(entry, [one._replace(samples=of)], (), NOW)


def test_six_runs_below_the_eight_before_are_a_step_down() -> None:
    verdict = judged(samples(LOW + LEVEL))
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.STEP_DOWN)
    assert "stepped down on" in verdict.sentence
    assert "to 60 % of the 8 runs before" in verdict.sentence
    assert verdict.ratio_before == pytest.approx(61 / 102.5)


@pytest.mark.parametrize(
    "of",
    [
        samples(LOW[:5] + LEVEL + LEVEL[:1]),
        samples([*LOW[:3], 96e6, *LOW[3:], *LEVEL]),
        samples([85e6] * 6 + LEVEL),
        samples(LOW + LEVEL, [0.2] * 6 + [0.9] * 8),
    ],
    ids=["five", "one good run between", "mild", "coverage fell with it"],
)
def test_what_does_not_last_or_has_another_reason_is_no_step(of: tuple[Sample, ...]) -> None:
    assert judged(of).state is State.OK


def test_a_bad_hour_is_not_a_lasting_step() -> None:
    assert step_of(samples(LOW + LEVEL, every_s=600), Limits()) is None


def test_contention_that_was_there_before_explains_no_step() -> None:
    assert judged(samples(LOW + LEVEL, [0.2] * 14)).state is State.WARNING


def test_a_step_that_siblings_share_is_not_the_component_s_own() -> None:
    both = [sample._replace(peers_Bps=sample.rate_Bps, peers=5) for sample in samples(LOW + LEVEL)]
    assert judged(tuple(both)).state is State.OK


def test_a_level_that_a_person_has_accepted_is_no_step() -> None:
    accepted = Reference(None, BASELINE._replace(median_Bps=61e6))
    assert judged(samples(LOW + LEVEL), accepted).state is State.OK


def test_runs_without_a_rate_are_passed_over() -> None:
    gaps: list[Optional[float]] = [*LOW[:2], None, *LOW[2:], None, *LEVEL]
    assert judged(samples(gaps)).state is State.WARNING


def test_without_any_reference_enough_own_runs_are_one() -> None:
    assert judged(samples(LEVEL[:6] + LEVEL)).state is State.OK
    short = judged(samples(LEVEL))
    assert (short.state, short.reason) == (State.UNKNOWN, Reason.NO_REFERENCE)
    assert step_of(samples(LEVEL), Limits()) is None
