"""A target measured alone is judged by provisional references and their errors."""

from __future__ import annotations

from math import exp, sqrt
from typing import Any, Optional, Sequence

import pytest

from plumbline.judge.component import rule, without_provisional
from plumbline.judge.measured import Provisional, clearing, provisional
from plumbline.model.limits import Baseline, Limits, Reference
from plumbline.model.record import Operation, Scenario
from plumbline.model.series import Sample
from plumbline.model.verdict import Reason, State, Verdict
from tests.package.judgements import BASELINE, CEILING, DAY_S, NOW, expectation, judge, series

FEW_RUNS = BASELINE._replace(median=200e6, runs=3, spread=0.01)


def earlier(
    days: float, rate: float = 200e6, peers_rate: Any = 201e6, coverage: Any = None
) -> Sample:
    peers = 3 if peers_rate else 0
    return Sample(NOW - 310 - days * DAY_S, rate, coverage, peers_rate, peers, None)


def judged(
    rate: float,
    before: Sequence[Sample] = (),
    baseline: Any = None,
    **changes: Any,
) -> Verdict:
    """Return the verdict on a read without peers."""
    entry = expectation(references={"read/single": Reference(CEILING, baseline)})
    return judge(entry, [series(rate, None, before, **changes)], (), NOW)


def test_a_slow_target_is_critical_against_the_peers_of_its_last_runs() -> None:
    slow = judged(10e6, [earlier(0.01, 10e6, 300e6), earlier(1, 10e6, 300e6)])
    assert slow.state is State.CRITICAL
    assert slow.sentence.startswith(
        "scratch-OST0003 read 10.0 MB/s, no baseline yet, 3 % of the median of its 3 peers in its "
        "last 2 runs 300.0 MB/s"
    )


def test_a_healthy_target_is_ok_against_the_peers_of_its_last_runs() -> None:
    assert judged(199e6, [earlier(1)]).state is State.OK


@pytest.mark.parametrize("baseline", [FEW_RUNS, FEW_RUNS._replace(runs=12, spread=0.15)])
def test_a_provisional_baseline_decides_beyond_its_error(baseline: Baseline) -> None:
    assert judged(6e6, baseline=baseline).state is State.CRITICAL
    assert judged(199e6, baseline=baseline).state is State.OK
    # 60 % of a median of three runs may be chance
    between = judged(120e6, baseline=baseline)
    assert (between.state, between.reason) == (State.UNKNOWN, Reason.NO_REFERENCE)
    assert "60 % of its provisional baseline" in between.sentence


def test_own_runs_without_peers_show_a_loss_but_do_not_clear() -> None:
    alone = [earlier(1, 190e6, None), earlier(2, 190e6, None)]
    assert judged(10e6, alone).state is State.WARNING
    assert judged(190e6, alone).state is State.UNKNOWN
    assert judged(199e6, alone).state is State.UNKNOWN
    # beyond no level, even against the ceiling
    assert judged(201e6, alone).state is State.OK


@pytest.mark.parametrize(
    "before",
    [
        [],
        [earlier(8)],
        [earlier(1, coverage=0.3)],
    ],
)
def test_runs_that_are_old_or_contended_are_no_reference(before: list[Sample]) -> None:
    verdict = judged(10e6, before)
    assert verdict.state is State.UNKNOWN
    assert "nothing to compare with" in verdict.sentence


def test_a_contended_run_does_not_accuse() -> None:
    verdict = judged(10e6, [earlier(1)], coverage=0.3)
    assert verdict.state is State.UNKNOWN
    assert "contended: coverage 0.30 (0.9 needed)" in verdict.sentence


def test_a_good_run_clears_in_spite_of_other_traffic() -> None:
    """A repaired target that is measured by name on a busy client."""
    assert judged(199e6, [earlier(1)], coverage=0.3).state is State.OK
    # its own runs may have been slow as well
    as_before = judged(190e6, [earlier(1, 190e6, None)], coverage=0.3)
    assert as_before.state is State.UNKNOWN
    # what others took is no reason for a run that is not low
    assert "contended" not in as_before.sentence


def test_repeats_that_disagree_do_not_accuse() -> None:
    verdict = judged(10e6, [earlier(1)], repeats=(10e6, 10e6, 200e6))
    assert verdict.state is State.UNKNOWN


def test_a_baseline_taken_on_other_terms_is_no_reference() -> None:
    other = FEW_RUNS._replace(spec_hash="another")
    assert judged(10e6, baseline=other).state is State.UNKNOWN


def test_many_earlier_runs_do_not_hide_a_gross_loss() -> None:
    """One run at a twentieth is no part of the trend of half a month."""
    nights = [earlier(day, 200e6, None) for day in range(1, 20)]
    assert judged(10e6, nights).state is State.WARNING
    assert judged(190e6, nights).reason is Reason.NO_REFERENCE


def test_a_parallel_run_has_firm_references_only() -> None:
    entry = expectation(
        layer="fs", references={"read/together": Reference(CEILING, None)}, component="scratch"
    )
    changes = {"layer": "fs", "component": "scratch"}
    run = series(
        10e6, None, [earlier(1)], operation=Operation.READ, scenario=Scenario.TOGETHER, **changes
    )
    assert judge(entry, [run], (), NOW).state is State.UNKNOWN


def reference_of(
    before: Sequence[Sample], weak: Optional[Baseline] = None
) -> Optional[Provisional]:
    return provisional(series(10e6, None, before), weak, Limits())


@pytest.mark.parametrize(("errors", "low"), [(4.49, False), (4.51, True)])
def test_a_rate_four_and_a_half_standard_errors_below_is_certainly_low(
    errors: float, low: bool
) -> None:
    reference = Provisional(200e6, 0.1, "its last run", clears=False)
    assert reference.certainly_low(200e6 * exp(-0.1 * errors)) is low


def test_a_rate_on_the_edge_is_certainly_low() -> None:
    reference = Provisional(100.0, 0.0, "its last run", clears=False)
    assert reference.certainly_low(100.0)
    assert not reference.certainly_low(100.1)


@pytest.mark.parametrize("runs", [1, 2, 5])
def test_runs_differ_by_19_percent_and_their_median_by_less(runs: int) -> None:
    reference = reference_of([earlier(1 + number) for number in range(runs)])
    assert reference
    # the variance of a median is pi / 2 times that of a mean
    assert reference.error == pytest.approx(0.19 * sqrt(1 + 3.1416 / 2 / runs), rel=1e-3)


@pytest.mark.parametrize(
    ("runs", "spread", "error"),
    [
        (3, 0.01, 0.19 * sqrt(1 + 1.5708 / 3)),
        (12, 0.3, 0.3 * sqrt(1 + 1.5708 / 12)),
        (1, 0.01, 0.19 * sqrt(1 + 1.5708)),
        # a document may have a baseline of no runs
        (0, 0.01, 0.19 * sqrt(1 + 1.5708)),
        (1, 0.9, 0.9 * sqrt(1 + 1.5708)),
    ],
)
def test_few_runs_make_a_baseline_less_certain(runs: int, spread: float, error: float) -> None:
    reference = reference_of([], FEW_RUNS._replace(runs=runs, spread=spread))
    assert reference
    assert reference.rate == 200e6
    assert reference.error == pytest.approx(error, rel=1e-3)


@pytest.mark.parametrize(
    ("days", "usable"), [(0.0, True), (6.999, True), (7.0, True), (7.001, False), (-1e-5, False)]
)
def test_runs_of_the_last_seven_days_are_a_reference(days: float, usable: bool) -> None:
    assert bool(reference_of([earlier(days)])) is usable
    assert clearing([earlier(days)], NOW - 310, Limits()) is usable


@pytest.mark.parametrize(("days", "usable"), [(10.0, True), (15.0, True), (15.001, False)])
def test_runs_that_are_not_stale_are_a_reference(days: float, usable: bool) -> None:
    assert clearing([earlier(days)], NOW - 310, Limits(stale_after_s=15 * DAY_S)) is usable


@pytest.mark.parametrize(("coverage", "usable"), [(0.89, False), (0.9, True), (1.0, True)])
def test_runs_that_were_not_contended_are_a_reference(coverage: float, usable: bool) -> None:
    assert bool(reference_of([earlier(1, coverage=coverage)])) is usable


def test_the_reference_is_the_median_of_the_last_five_runs() -> None:
    rates = [200e6, 215e6, 190e6, 240e6, 180e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6]
    reference = reference_of([earlier(1 + 0.1 * n, rate, None) for n, rate in enumerate(rates)])
    assert reference
    assert (reference.rate, reference.words) == (200e6, "the median of its last 5 runs")
    reference = reference_of([earlier(1 + 0.1 * n, rate, None) for n, rate in enumerate(rates[:4])])
    assert reference
    assert (reference.rate, reference.words) == (207.5e6, "the median of its last 4 runs")
    reference = reference_of([earlier(1, 200e6, None)])
    assert reference
    assert (reference.rate, reference.words) == (200e6, "its last run")


@pytest.mark.parametrize(("peers", "clears"), [(1, False), (2, True), (3, True)])
def test_two_peers_can_clear_a_component_and_one_cannot(peers: int, clears: bool) -> None:
    run = earlier(1, 200e6, 201e6)._replace(peers=peers)
    reference = reference_of([run])
    assert reference
    assert reference.clears is clears
    assert clearing([run], NOW, Limits()) is clears


def test_the_number_of_peers_is_that_of_the_newest_run() -> None:
    reference = reference_of([earlier(1), earlier(2)._replace(peers=2)])
    assert reference
    assert reference.words == "the median of its 3 peers in its last 2 runs"


@pytest.mark.parametrize(
    ("peers_rate", "words"),
    [
        (199e6, "its last run"),
        (200e6, "the median of its 3 peers in its last run"),
        (201e6, "the median of its 3 peers in its last run"),
    ],
)
def test_peers_that_are_as_fast_or_faster_are_the_reference(peers_rate: float, words: str) -> None:
    reference = reference_of([earlier(1, 200e6, peers_rate)])
    assert reference
    assert reference.words == words
    assert reference.rate == max(200e6, peers_rate)
    assert reference.clears


def test_without_its_provisional_reference_a_run_has_no_reference() -> None:
    entry = expectation(references={"read/single": Reference(CEILING, FEW_RUNS)})
    place = (Operation.READ, Scenario.SINGLE)
    slow = rule(entry, place, series(10e6, None), NOW)
    assert slow.finding.reason is Reason.PROVISIONAL
    firm = without_provisional(slow)
    assert firm.measured is not None
    assert firm.measured.provisional is None
    assert firm.finding.reason is Reason.NO_REFERENCE
    with_peers = rule(entry, place, series(10e6), NOW)
    assert without_provisional(with_peers) == with_peers
    failed = rule(entry, place, series(None, None), NOW)
    assert without_provisional(failed) == failed
