"""One target that is measured alone is judged by what is known, within the error that this has."""

from __future__ import annotations

from typing import Any, Sequence

import pytest

from plumbline.judge.component import judge
from plumbline.model.reason import Reason
from plumbline.model.record import Operation, Scenario
from plumbline.model.reference import Baseline, Reference
from plumbline.model.series import Sample
from plumbline.model.state import State
from plumbline.model.verdict import Verdict
from tests.package.judgements import BASELINE, CEILING, DAY_S, NOW, expectation, series

FEW_RUNS = BASELINE._replace(median_Bps=200e6, runs=3, spread=0.01)


def earlier(
    days: float, rate_Bps: float = 200e6, peers_Bps: Any = 201e6, coverage: Any = None
) -> Sample:
    peers = 3 if peers_Bps else 0
    return Sample(NOW - 3610 - days * DAY_S, rate_Bps, coverage, peers_Bps, peers, None)


def judged(
    rate_Bps: float,
    before: Sequence[Sample] = (),
    baseline: Any = None,
    **changes: Any,
) -> Verdict:
    """Return the verdict on a read without peers."""
    asked = expectation(references={"read/single": Reference(CEILING, baseline)})
    return judge(asked, [series(rate_Bps, None, before, **changes)], (), NOW)


def test_a_slow_target_is_critical_beside_the_peers_of_its_last_runs() -> None:
    slow = judged(10e6, [earlier(0.01, 10e6, 300e6), earlier(1, 10e6, 300e6)])
    assert slow.state is State.CRITICAL
    assert slow.sentence.startswith(
        "scratch-OST0003 read 10.0 MB/s, no baseline yet, 3 % of the median of its 3 peers in its "
        "last 2 runs 300.0 MB/s"
    )


def test_a_healthy_target_is_ok_beside_the_peers_of_its_last_runs() -> None:
    assert judged(199e6, [earlier(1)]).state is State.OK


@pytest.mark.parametrize("baseline", [FEW_RUNS, FEW_RUNS._replace(runs=12, spread=0.15)])
def test_a_provisional_baseline_decides_what_is_beyond_its_error(baseline: Baseline) -> None:
    assert judged(6e6, baseline=baseline).state is State.CRITICAL
    assert judged(199e6, baseline=baseline).state is State.OK
    # 60 % of what three runs gave may be chance
    between = judged(120e6, baseline=baseline)
    assert (between.state, between.reason) == (State.UNKNOWN, Reason.NO_REFERENCE)
    assert "60 % of its provisional baseline" in between.sentence


def test_own_runs_without_peers_show_a_loss_and_clear_nobody() -> None:
    alone = [earlier(1, 200e6, None), earlier(2, 200e6, None)]
    assert judged(10e6, alone).state is State.WARNING
    assert judged(200e6, alone).state is State.UNKNOWN


@pytest.mark.parametrize(
    "before",
    [
        [],
        [earlier(8)],
        [earlier(1, coverage=0.3)],
    ],
)
def test_runs_that_are_old_or_contended_are_no_reference(before: list[Sample]) -> None:
    found = judged(10e6, before)
    assert found.state is State.UNKNOWN
    assert "nothing to compare with" in found.sentence


def test_a_contended_run_does_not_accuse() -> None:
    assert judged(10e6, [earlier(1)], coverage=0.3).state is State.UNKNOWN


def test_repeats_that_disagree_do_not_accuse() -> None:
    found = judged(10e6, [earlier(1)], repeats_Bps=(10e6, 10e6, 200e6))
    assert found.state is State.UNKNOWN


def test_a_baseline_of_other_terms_is_no_reference() -> None:
    other = FEW_RUNS._replace(spec_hash="another")
    assert judged(10e6, baseline=other).state is State.UNKNOWN


def test_many_runs_before_do_not_hide_a_gross_loss() -> None:
    """Half a month of healthy runs makes a trend; one run at a twentieth is no part of it."""
    nights = [earlier(day, 200e6, None) for day in range(1, 20)]
    assert judged(10e6, nights).state is State.WARNING
    assert judged(200e6, nights).reason is Reason.NO_REFERENCE


def test_a_parallel_run_keeps_to_firm_references() -> None:
    asked = expectation(
        layer="fs", references={"read/together": Reference(CEILING, None)}, component="scratch"
    )
    changes = {"layer": "fs", "component": "scratch"}
    one = series(
        10e6, None, [earlier(1)], operation=Operation.READ, scenario=Scenario.TOGETHER, **changes
    )
    assert judge(asked, [one], (), NOW).state is State.UNKNOWN
