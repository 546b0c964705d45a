"""Profiles: a rate whose course differs from the baseline's runs, at the same mean."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.limits import Limits, Reference
from plumbline.model.profile import form
from plumbline.model.series import Sample
from plumbline.model.verdict import Reason, State, Verdict
from tests.package.judgements import (
    BASELINE,
    CEILING,
    DAY_S,
    NOW,
    expectation,
    judge,
    judge_service,
    series,
)
from tests.package.model.curves import declining, flat

FLAT = form(flat(120))
STEEP = form(declining(120))


def percents(profile: Sequence[float]) -> list[int]:
    return [round(100 * point) for point in profile]


def judged(
    own: Any, expected: Sequence[float] = FLAT, limits: Optional[Limits] = None, **changes: Any
) -> Verdict:
    reference = Reference(CEILING, BASELINE._replace(profile=tuple(expected)))
    entry = expectation(references={"read/single": reference}, limits=limits or Limits())
    details = None if own is None else {"form": own}
    return judge(entry, [series(details=details, **changes)], (), NOW)


def test_a_declining_read_warns_even_at_the_mean_of_the_baseline() -> None:
    verdict = judged(percents(STEEP))
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.PROFILE)
    assert verdict.sentence.startswith(
        "scratch-OST0003 read 200.0 MB/s, 99 % of baseline 202.1 MB/s (12 runs to 2026-11-20): "
    )
    assert "% of the time, " in verdict.sentence
    assert verdict.sentence.endswith("% apart (limit 10 %)")
    assert any("  profile 1" in line and "limit 10 %" in line for line in verdict.evidence)


@pytest.mark.parametrize(
    ("own", "expected", "changes"),
    [
        (percents(FLAT), FLAT, {}),
        (percents(STEEP), STEEP, {}),
        (percents(STEEP), (), {}),
        (None, FLAT, {}),
        (percents(STEEP), FLAT, {"coverage": 0.5}),
        (percents(STEEP), FLAT, {"limits": Limits(profile_distance=0.2)}),
        ([10, 190, 190, 10, 190, 10], FLAT, {}),
    ],
    ids=["as flat", "as steep", "none kept", "too short", "contended", "allowed", "by chance"],
)
def test_such_a_profile_is_fine(own: Any, expected: Sequence[float], changes: Any) -> None:
    verdict = judged(own, expected, **changes)
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)


@pytest.mark.parametrize(
    ("apart", "state", "reason", "text"),
    [
        ([0.0, 0.0, 0.3], State.OK, Reason.WATCHED, "watching: read 200.0 MB/s"),
        (
            [0.0, *[0.3] * 8],
            State.WARNING,
            Reason.PROFILE,
            "; seen in 8 of 8 runs since 2024-09-26",
        ),
        (
            [*[0.3] * 9, 0.0],
            State.WARNING,
            Reason.PROFILE,
            "; seen in 9 of 10 runs since 2024-09-24",
        ),
        ([*[0.3] * 9, *[0.1] * 8], State.OK, Reason.FINE, "99 % of baseline"),
    ],
    ids=["once", "night after night", "not today", "mended"],
)
def test_a_service_alarms_about_a_profile_when_it_recurs(
    apart: Sequence[float], state: State, reason: Reason, text: str
) -> None:
    reference = Reference(CEILING, BASELINE._replace(profile=tuple(FLAT)))
    entry = expectation(references={"read/single": reference})
    last = STEEP if apart[-1] > 0.1 else FLAT
    samples = [
        Sample(NOW - 3610 - age * DAY_S, 200e6, None, 201e6, 5, None, apart=share)
        for age, share in enumerate(reversed(apart))
    ]
    run = series(details={"form": percents(last)})._replace(samples=tuple(samples))
    verdict = judge_service(entry, [run], (), NOW, None)
    assert (verdict.state, verdict.reason) == (state, reason)
    assert text in verdict.sentence


def test_a_run_from_before_its_baseline_had_a_profile_is_watched() -> None:
    """The distance from the profile was not known when the run was recorded."""
    reference = Reference(CEILING, BASELINE._replace(profile=tuple(FLAT)))
    entry = expectation(references={"read/single": reference})
    verdict = judge_service(entry, [series(details={"form": percents(STEEP)})], (), NOW, None)
    assert (verdict.state, verdict.reason) == (State.OK, Reason.WATCHED)


def test_contended_runs_do_not_count_for_the_profile() -> None:
    reference = Reference(CEILING, BASELINE._replace(profile=tuple(FLAT)))
    entry = expectation(references={"read/single": reference})
    samples = [
        Sample(NOW - 3610 - age * DAY_S, 200e6, 0.5 if age else None, 201e6, 5, None, apart=0.3)
        for age in range(9)
    ]
    run = series(details={"form": percents(STEEP)})._replace(samples=tuple(samples))
    assert judge_service(entry, [run], (), NOW, None).reason is Reason.WATCHED


def test_a_slow_rate_is_reported_as_slow_at_any_course() -> None:
    assert judged(percents(STEEP), rate=80e6).reason is Reason.BELOW_LEVEL


def test_a_profile_taken_under_other_conditions_is_not_compared() -> None:
    assert "profile" not in " ".join(judged(percents(STEEP), spec_hash="other").evidence)


@pytest.mark.parametrize("damaged", [[], ["fast"], [0, 0, 0], [-0.1, 1, 1, 1], 7, [float("nan")]])
def test_a_damaged_profile_is_refused(damaged: Any) -> None:
    with pytest.raises(DocumentError, match="profile of scratch-OST0003 read is damaged"):
        judged(damaged)


def test_the_distance_the_limit_and_the_scatter_are_shown_in_percent() -> None:
    """Each twentieth of the time has 0.6 of the one before: 92 % in the first quarter, not 25."""
    curve = [round(10_000 * 0.6**point) + 1 for point in range(20)]
    verdict = judged(curve, (1.0,) * 20)
    assert verdict.reason is Reason.PROFILE
    assert verdict.sentence.endswith(", 67 % apart (limit 10 %)")
    assert (
        "  profile 67.2 % from the baseline's, limit 10 %, its scatter makes up to 23.6 %"
        in verdict.evidence
    )
    limits = Limits(profile_distance=0.125)
    assert judged(curve, (1.0,) * 20, limits).sentence.endswith("apart (limit 12.5 %)")


def test_a_profile_may_begin_without_a_rate() -> None:
    assert judged([0.0, 0.1, 0.1, 0.1]).evidence
