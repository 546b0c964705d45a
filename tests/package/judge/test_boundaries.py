"""Edges of the rules on one run: a value just inside, on and just outside each limit."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Optional

import pytest

from plumbline.judge.absence import absence, unfinished
from plumbline.judge.measured import measured
from plumbline.judge.rules import RULES, apply
from plumbline.model.errors import DocumentError
from plumbline.model.limits import Baseline, Limits, Range, Reference
from plumbline.model.series import Running, Sample
from plumbline.model.verdict import Reason, State
from tests.package.judgements import BASELINE, CEILING, DAY_S, NOW, expectation, series

BASE = BASELINE._replace(median=200e6)
EVEN = CEILING._replace(even=100e6)


def outcome(
    rate_MB: float,
    *,
    baseline: Optional[Baseline] = BASE,
    ceiling: Any = CEILING,
    limits: Limits = Limits(),
    peers_MB: Optional[float] = 201.0,
    **changes: Any,
) -> tuple[State, Reason]:
    """Return state and reason of one run in MB/s; the baseline is 200, the ceiling 250."""
    recorded = series(1e6 * rate_MB, peers_MB and 1e6 * peers_MB, **changes)
    finding = apply(measured(recorded, Reference(ceiling, baseline), limits))
    return finding.state, finding.reason


@pytest.mark.parametrize(
    ("rate_MB", "reason"),
    [(262.4, Reason.FINE), (262.5, Reason.FINE), (262.6, Reason.INVALID)],
)
def test_above_1_05_times_the_ceiling_is_invalid(rate_MB: float, reason: Reason) -> None:
    assert outcome(rate_MB)[1] is reason


@pytest.mark.parametrize(
    ("rate_MB", "state", "reason"),
    [
        (160.1, State.OK, Reason.FINE),
        (160.0, State.OK, Reason.FINE),
        (159.9, State.WARNING, Reason.BELOW_LEVEL),
        (100.0, State.WARNING, Reason.BELOW_LEVEL),
        (99.9, State.CRITICAL, Reason.BELOW_LEVEL),
    ],
)
def test_below_80_percent_is_a_warning_and_below_50_is_critical(
    rate_MB: float, state: State, reason: Reason
) -> None:
    assert outcome(rate_MB) == (state, reason)


@pytest.mark.parametrize(
    ("rate_MB", "repeat_MB", "state"),
    [
        (150, 159.9, State.WARNING),
        (150, 160.0, State.OK),
        (150, 160.1, State.OK),
        (90, 159.9, State.CRITICAL),
        (90, 160.0, State.WARNING),
        (90, 160.1, State.WARNING),
    ],
)
def test_a_loss_is_confirmed_if_all_repeats_are_below_the_level(
    rate_MB: float, repeat_MB: float, state: State
) -> None:
    repeats = (1e6 * rate_MB, 1e6 * repeat_MB)
    assert outcome(rate_MB, repeats=repeats) == (state, Reason.BELOW_LEVEL)


@pytest.mark.parametrize(
    ("repeat_MB", "reason"),
    [
        (159.9, Reason.PROVISIONAL),
        (160.0, Reason.NO_REFERENCE),
        (160.1, Reason.NO_REFERENCE),
    ],
)
def test_repeats_confirm_a_loss_against_a_provisional_reference(
    repeat_MB: float, reason: Reason
) -> None:
    weak = BASE._replace(runs=3)
    result = outcome(10, baseline=weak, peers_MB=None, repeats=(10e6, 1e6 * repeat_MB))
    assert result[1] is reason


@pytest.mark.parametrize(
    ("critical", "state"), [(4.9, State.WARNING), (5.0, State.WARNING), (5.1, State.CRITICAL)]
)
def test_a_certain_loss_is_critical_below_the_critical_level(critical: float, state: State) -> None:
    weak = BASE._replace(runs=3)
    # 5 % of the reference
    limits = Limits(critical=Range(critical, float("inf")))
    result = outcome(10, baseline=weak, peers_MB=None, limits=limits)
    assert result == (state, Reason.PROVISIONAL)


@pytest.mark.parametrize(
    ("rate_MB", "state"),
    [(199.9, State.OK), (200.0, State.OK), (220.0, State.OK), (220.1, State.WARNING)],
)
def test_a_level_may_have_an_upper_limit(rate_MB: float, state: State) -> None:
    assert outcome(rate_MB, limits=Limits(warning=Range(80, 110)))[0] is state


@pytest.mark.parametrize(
    ("rate_MB", "coverage", "reason"),
    [
        (150.0, 0.89, Reason.CONTENDED),
        (150.0, 0.9, Reason.BELOW_LEVEL),
        (150.0, 0.91, Reason.BELOW_LEVEL),
        (159.9, 0.5, Reason.CONTENDED),
        (160.0, 0.5, Reason.FINE),
        (160.1, 0.5, Reason.FINE),
    ],
)
def test_a_low_rate_with_too_little_coverage_is_contended(
    rate_MB: float, coverage: float, reason: Reason
) -> None:
    assert outcome(rate_MB, coverage=coverage)[1] is reason


@pytest.mark.parametrize("too_fast", [100.1, 120.0])
def test_a_rate_above_its_reference_is_never_low(too_fast: float) -> None:
    """A level with an upper limit alarms, and no excuse for a low rate applies."""
    limits = Limits(warning=Range(80, 100))
    result = outcome(2 * too_fast, limits=limits, coverage=0.5, peers_MB=2 * too_fast)
    assert result == (State.WARNING, Reason.BELOW_LEVEL)
    at_reference = outcome(200.0, limits=limits._replace(warning=Range(80, 99)), coverage=0.5)
    assert at_reference == (State.WARNING, Reason.BELOW_LEVEL)
    below = outcome(199.9, limits=limits._replace(warning=Range(80, 99)), coverage=0.5)
    assert below == (State.OK, Reason.CONTENDED)


@pytest.mark.parametrize(
    ("earlier_MB", "reason"),
    [
        (159.5, Reason.CONTENDED_FOR_DAYS),
        (160.0, Reason.CONTENDED),
        (160.5, Reason.CONTENDED),
    ],
)
def test_a_day_without_loss_ends_the_row_of_contended_days(
    earlier_MB: float, reason: Reason
) -> None:
    earlier = [
        Sample(NOW - 3610 - ago * DAY_S, 1e6 * earlier_MB, 0.5, 200e6, 5, None)
        for ago in range(1, 4)
    ]
    assert outcome(80, coverage=0.5, earlier=earlier)[1] is reason


@pytest.mark.parametrize(
    ("rate_MB", "peers_MB", "reason"),
    [
        (150.0, 159.9, Reason.SHARED_LOSS),
        (150.0, 160.0, Reason.BELOW_LEVEL),
        (150.0, 160.1, Reason.BELOW_LEVEL),
        # at most a tenth slower than the peers
        (90.1, 100.0, Reason.SHARED_LOSS),
        (90.0, 100.0, Reason.SHARED_LOSS),
        (89.9, 100.0, Reason.BELOW_LEVEL),
    ],
)
def test_peers_that_are_as_slow_excuse_a_low_rate(
    rate_MB: float, peers_MB: float, reason: Reason
) -> None:
    assert outcome(rate_MB, peers_MB=peers_MB)[1] is reason


@pytest.mark.parametrize(
    ("rate_MB", "reason"),
    [(89.9, Reason.BELOW_LEVEL), (90.0, Reason.EVEN_SHARE), (90.1, Reason.EVEN_SHARE)],
)
def test_a_rate_up_to_a_tenth_below_the_even_share_is_fine(rate_MB: float, reason: Reason) -> None:
    assert outcome(rate_MB, ceiling=EVEN)[1] is reason


@pytest.mark.parametrize(
    ("runs", "spread", "firm"),
    [(4, 0.01, False), (5, 0.01, True), (5, 0.1, True), (5, 0.101, False)],
)
def test_a_baseline_is_firm_with_five_runs_and_at_most_ten_percent_spread(
    runs: int, spread: float, firm: bool
) -> None:
    baseline = BASE._replace(runs=runs, spread=spread)
    run = measured(series(200e6), Reference(CEILING, baseline), Limits())
    assert (run.baseline is not None) is firm


@pytest.mark.parametrize(("ahead_s", "reason"), [(59.9, None), (60.0, None), (60.1, Reason.AHEAD)])
def test_a_record_more_than_a_minute_ahead_is_refused(
    ahead_s: float, reason: Optional[Reason]
) -> None:
    record = series().latest
    finding = absence(record, Limits(), record.finished_at - ahead_s)
    assert (finding and finding.reason) is reason


@pytest.mark.parametrize(("more_s", "reason"), [(-1, None), (0, None), (1, Reason.STALE)])
def test_a_record_is_stale_beyond_its_age(more_s: float, reason: Optional[Reason]) -> None:
    record, limits = series().latest, Limits(stale_after_s=1000.0)
    finding = absence(record, limits, record.finished_at + 1000.0 + more_s)
    assert (finding and finding.reason) is reason


@pytest.mark.parametrize(("more_s", "hangs"), [(-1, False), (0, False), (1, True)])
def test_a_run_hangs_beyond_its_limit(more_s: float, hangs: bool) -> None:
    entry = expectation(limits=Limits(hung_after_s=900.0))
    run = Running("ost", entry.component, NOW - 900.0 - more_s)
    hang, _ = unfinished([entry], [run], NOW)
    assert (hang is not None) is hangs


_NO_RATE = r"scratch-OST0003 read the \w+ .* which is no rate"


@pytest.mark.parametrize(("rate", "refused"), [(-1.0, True), (0.0, True), (0.5, False)])
def test_a_reference_must_be_a_rate(rate: float, refused: bool) -> None:
    for reference in (
        Reference(CEILING._replace(rate=rate), None),
        Reference(None, BASE._replace(median=rate)),
        Reference(None, None, goal=rate),
        Reference(None, None, goal_part=rate),
    ):
        with pytest.raises(DocumentError, match=_NO_RATE) if refused else nullcontext():
            measured(series(), reference, Limits())


def test_every_rule_is_tested_here_or_in_a_module_of_its_own() -> None:
    elsewhere = {Reason.KNOWN_STATE, Reason.BELOW_GOAL, Reason.BELOW_FLOOR, Reason.PROFILE}
    here = {
        Reason.INVALID,
        Reason.EVEN_SHARE,
        Reason.CONTENDED_FOR_DAYS,
        Reason.CONTENDED,
        Reason.SHARED_LOSS,
        Reason.PROVISIONAL,
        Reason.NO_REFERENCE,
        Reason.BELOW_LEVEL,
        Reason.FINE,
    }
    assert {rule.reason for rule in RULES} == here | elsewhere
