"""A group is judged by the median of its members, excused or not."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.judge.group import judge_group
from plumbline.model.limits import Limits
from plumbline.model.reason import Reason
from plumbline.model.record import Outcome
from plumbline.model.reference import Reference
from plumbline.model.state import State
from plumbline.model.threshold import Range
from plumbline.model.verdict import Verdict
from tests.package.judgements import CEILING, NOW, REFERENCE, expectation, series, snapshot

REFERENCES = {"read/single": REFERENCE}


def judged(*rates_Bps: Optional[float], limits: Optional[Limits] = None, **changes: Any) -> Verdict:
    names = [f"OST{number}" for number in range(len(rates_Bps))]
    members = [
        expectation(component=name, references=REFERENCES, limits=limits or Limits())
        for name in names
    ]
    every = [series(rate, component=name, **changes) for name, rate in zip(names, rates_Bps)]
    return judge_group(members, snapshot(*every), NOW)


def test_a_healthy_group_is_ok() -> None:
    verdict = judged(200e6, 200e6, 202.1e6)
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)
    assert verdict.component == "scratch"
    assert verdict.sentence == "group scratch read 99 % of baseline, upper median of 3"
    label, value, *rest = verdict.figures[0]
    assert (label, rest) == ("read_median", ["%", "80:", "50:", None])
    assert value == pytest.approx(100 * 200 / 202.1)


def test_one_slow_member_does_not_make_a_slow_group() -> None:
    assert judged(80e6, 200e6, 200e6).state is State.OK
    assert judged(80e6, 200e6).state is State.OK


@pytest.mark.parametrize(("rate_Bps", "state"), [(140e6, State.WARNING), (80e6, State.CRITICAL)])
def test_a_loss_that_all_share_is_seen_although_each_is_excused(
    rate_Bps: float, state: State
) -> None:
    verdict = judged(rate_Bps, rate_Bps, rate_Bps, peers_Bps=rate_Bps)
    assert (verdict.state, verdict.reason) == (state, Reason.BELOW_LEVEL)


def test_contended_members_count_and_are_counted() -> None:
    verdict = judged(80e6, 81e6, 82e6, coverage=0.3)
    assert verdict.state is State.CRITICAL
    assert verdict.sentence == (
        "group scratch read 40 % of baseline, upper median of 3, 3 of them contended"
    )


def test_members_without_a_figure_are_named() -> None:
    verdict = judged(200e6, None, 201e6)
    assert verdict.state is State.OK
    assert verdict.sentence == "group scratch read 99 % of baseline, upper median of 2 of 3"
    assert "  no figure: OST1: read failed: fio: no" in verdict.evidence


def test_a_group_with_more_gaps_than_figures_is_unknown() -> None:
    verdict = judged(200e6, None, None)
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.TOO_FEW_MEMBERS)
    assert verdict.sentence == (
        "group scratch read: 2 of 3 have no figure to compare (OST1, OST2), "
        "first OST1: read failed: fio: no"
    )
    assert judged(200e6, None).state is State.OK


def test_a_group_without_baselines_is_unknown() -> None:
    bare = expectation(references={"read/single": Reference(CEILING, None)})
    verdict = judge_group([bare], snapshot(series()), NOW)
    assert verdict.state is State.UNKNOWN
    assert verdict.sentence.endswith("first scratch-OST0003: no baseline yet")


def test_a_group_that_was_never_measured_is_unknown() -> None:
    verdict = judge_group([expectation()], snapshot(), NOW)
    assert verdict.state is State.UNKNOWN
    assert "write was never recorded" in verdict.sentence


def test_a_group_is_judged_by_its_levels() -> None:
    strict = Limits(warning=Range(100, float("inf")))
    assert judged(200e6, limits=strict).state is State.WARNING


def test_a_group_of_which_only_the_baselines_are_missing_does_not_count() -> None:
    bare = expectation(references={"read/single": Reference(CEILING, None)})
    verdict = judge_group([bare], snapshot(series()), NOW)
    assert (verdict.state, verdict.counts) == (State.UNKNOWN, False)
    slow = judge_group([bare], snapshot(series(80e6)), NOW)
    assert (slow.state, slow.counts) == (State.UNKNOWN, True)
    never = judge_group([bare], snapshot(), NOW)
    assert (never.state, never.counts) == (State.UNKNOWN, True)


def test_an_ost_that_the_topology_does_not_name_is_a_remark_and_no_state() -> None:
    verdict = judged(200e6, 200e6, details={"unnamed": ["scratch-OST0010"]})
    assert verdict.state is State.OK
    assert verdict.sentence.endswith("; active but not in the topology: scratch-OST0010")


def test_a_remark_of_an_earlier_run_is_not_repeated() -> None:
    names = ("OST0", "OST1")
    members = [expectation(component=name, references=REFERENCES) for name in names]
    old = series(component="OST0", run_id="before", details={"unnamed": ["scratch-OST0010"]})
    new = series(component="OST1", run_id="now", started_at=NOW - 100, finished_at=NOW - 90)
    assert "not in the topology" not in judge_group(members, snapshot(old, new), NOW).sentence


def with_outcomes(**outcomes: Outcome) -> Verdict:
    """Return the verdict on six targets of three servers, of which some ended without a rate."""
    names = [f"OST{number}" for number in range(6)]
    members = [
        expectation(component=name, host=f"oss{place // 2 + 1}", references=REFERENCES)
        for place, name in enumerate(names)
    ]
    every = [
        series(None, component=name, outcome=outcomes[name], reason=f"why {name}")
        if name in outcomes
        else series(200e6, component=name)
        for name in names
    ]
    return judge_group(members, snapshot(*every), NOW)


def test_a_member_that_is_broken_has_an_alarm_of_its_own_and_the_group_is_not_ok() -> None:
    verdict = with_outcomes(OST2=Outcome.BROKEN)
    assert verdict.state is State.WARNING
    assert verdict.sentence == "group scratch broken or hung: OST2"
    assert with_outcomes(OST2=Outcome.HUNG).state is State.WARNING


def test_a_server_that_does_not_answer_is_one_alarm_for_all_its_targets() -> None:
    verdict = with_outcomes(OST2=Outcome.UNREACHABLE, OST3=Outcome.UNREACHABLE)
    assert (verdict.state, verdict.reason) == (State.CRITICAL, Reason.UNREACHABLE)
    assert verdict.sentence == (
        "group scratch server oss2 does not answer: no figure of OST2, OST3"
    )


def test_a_mount_that_is_dead_is_one_alarm_although_no_member_has_a_figure() -> None:
    every = {f"OST{number}": Outcome.NO_MOUNT for number in range(6)}
    verdict = with_outcomes(**every)
    assert verdict.state is State.CRITICAL
    assert verdict.sentence.startswith("group scratch why OST0: no figure of OST0")


def test_questions_that_nobody_answered_accuse_nobody() -> None:
    assert with_outcomes(OST2=Outcome.UNANSWERED).state is State.OK
    every = {f"OST{number}": Outcome.UNANSWERED for number in range(6)}
    assert with_outcomes(**every).state is State.UNKNOWN


def test_what_was_broken_long_ago_is_no_alarm_of_today() -> None:
    old: dict[str, Any] = {
        "finished_at": NOW - 9 * 86400.0,
        "outcome": Outcome.UNREACHABLE,
        "reason": "why",
    }
    member = expectation(component="OST0", references=REFERENCES)
    verdict = judge_group([member], snapshot(series(None, component="OST0", **old)), NOW)
    assert verdict.state is State.UNKNOWN
