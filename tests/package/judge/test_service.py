"""A service watches one slow run and alarms by the evidence of several."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.judge.component import rulings_on
from plumbline.judge.pair import judge_pair_service
from plumbline.judge.service import by_evidence, severity
from plumbline.model.codec import write
from plumbline.model.evidence import Evidence
from plumbline.model.limits import Limits, Range, Reference
from plumbline.model.record import Flag, Operation
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.observe.coverage import OTHERS, Job, Others
from tests.package.judgements import (
    CEILING,
    NOW,
    REFERENCE,
    evidence,
    expectation,
    host_expectation,
    judge,
    judge_service,
    sent,
    series,
)

READ = {"read/single": REFERENCE}


def said(rate: Optional[float], known: Optional[Evidence], **changes: Any) -> Verdict:
    one = expectation(references=READ)
    return judge_service(one, (series(rate, **changes),), (), NOW, known)


@pytest.mark.parametrize(
    ("ratio", "state"),
    [
        (0.499, State.CRITICAL),
        (0.5, State.WARNING),
        (0.501, State.WARNING),
        (0.89, State.WARNING),
        (None, State.WARNING),
    ],
)
def test_the_size_of_a_loss_makes_its_severity(ratio: Optional[float], state: State) -> None:
    assert severity(ratio, Limits()) is state


@pytest.mark.parametrize("rate", [10e6, 80e6, 150e6])
def test_one_slow_run_is_watched_though_by_itself_it_is_an_alarm(rate: float) -> None:
    one = expectation(references=READ)
    assert judge(one, (series(rate),), (), NOW).state in (State.WARNING, State.CRITICAL)
    verdict = said(rate, evidence(alarm=False, odds=1.0, moments=1))
    assert (verdict.state, verdict.reason) == (State.OK, Reason.WATCHED)
    assert "watching: read" in verdict.sentence
    assert verdict.sentence.endswith("one run is no evidence yet")


def test_a_watched_run_names_the_job_that_may_have_slowed_it() -> None:
    others = Others("oss1", 0.82, 0.97, Job("4711", 38 * 10**9, 40.0))
    verdict = said(
        80e6, evidence(alarm=False, odds=1.0, moments=1), details={OTHERS: write(others)}
    )
    assert (verdict.state, verdict.reason) == (State.OK, Reason.WATCHED)
    assert ", job 4711 moved 38.0 GB in the 40 s around it; one run" in verdict.sentence


def test_what_is_worth_a_word_says_how_far_it_is() -> None:
    known = evidence(alarm=False, odds=3.0)
    assert "odds 20 to 1 against chance, 8,103 for an alarm" in said(80e6, known).sentence
    # a run that is no slower than a tenth below hides nothing of it
    fair = said(190e6, known)
    assert (fair.state, fair.reason) == (State.OK, Reason.WATCHED)
    assert said(190e6, evidence(alarm=False, odds=2.99)).reason is Reason.FINE


def test_enough_evidence_is_an_alarm_with_its_figures() -> None:
    verdict = said(80e6, evidence())
    assert (verdict.state, verdict.reason) == (State.CRITICAL, Reason.SLOW)
    assert verdict.sentence == (
        "scratch-OST0003 read 80.0 MB/s, 40 % of baseline 202.1 MB/s (12 runs to 2026-11-20), "
        "ceiling 250.0 MB/s by disk oss2-disk1: 40 % of its baseline over 3 runs since "
        "2024-10-02 00:00 UTC, odds 59,874 to 1 against chance"
    )
    assert verdict.ratio_runs == 0.4
    assert verdict.evidence[0].endswith("8,103 for an alarm")


LOST_BY_ITS_GROUP = evidence(alarm=False, shared=True)
LONG_AGO = {"started_at": NOW - 9e6, "finished_at": NOW - 9e6}


@pytest.mark.parametrize(
    ("rate", "weighed", "changes", "outcome", "end"),
    [
        (80e6, None, {}, (State.OK, Reason.WATCHED), "too few runs to tell it from chance"),
        (
            80e6,
            LOST_BY_ITS_GROUP,
            {},
            (State.OK, Reason.WATCHED),
            "its group has lost as much and has the alarm",
        ),
        (200e6, evidence(), {}, (State.CRITICAL, Reason.SLOW), ""),
        (80e6, evidence(), {"flags": (Flag.DEGRADED,)}, (State.WARNING, Reason.KNOWN_STATE), ""),
        (None, evidence(), {}, (State.UNKNOWN, Reason.FAILED), ""),
        (80e6, evidence(), LONG_AGO, (State.UNKNOWN, Reason.STALE), ""),
        (400e6, evidence(), {}, (State.UNKNOWN, Reason.INVALID), ""),
    ],
    ids=[
        "not comparable",
        "lost by its group",
        "a good run",
        "a known state",
        "no rate",
        "stale",
        "invalid",
    ],
)
def test_evidence_alarms_only_on_a_valid_rate_without_another_cause(
    rate: Optional[float],
    weighed: Optional[Evidence],
    changes: dict[str, Any],
    outcome: tuple[State, Reason],
    end: str,
) -> None:
    verdict = said(rate, weighed, **changes)
    assert (verdict.state, verdict.reason) == outcome
    assert verdict.sentence.endswith(end)


def test_of_two_operations_the_one_that_has_lost_most_alarms() -> None:
    one = expectation()
    every = (series(150e6, operation=Operation.WRITE), series(80e6))
    verdict = judge_service(one, every, (), NOW, evidence())
    assert verdict.state is State.CRITICAL
    assert verdict.sentence.startswith("scratch-OST0003 read 80.0 MB/s")
    # where that has no figure today, the other one stands for it
    failed = (series(150e6, operation=Operation.WRITE), series(None))
    assert judge_service(one, failed, (), NOW, evidence()).state is State.CRITICAL


def test_without_a_baseline_its_own_history_is_a_reference() -> None:
    bare = expectation(references={"read/single": Reference(CEILING, None)})
    alone = (series(200e6, None),)
    assert judge_service(bare, alone, (), NOW, None).state is State.UNKNOWN
    known = evidence(alarm=False, odds=0.0, against="its own earlier runs")
    verdict = judge_service(bare, alone, (), NOW, known)
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)


def test_a_host_alarms_by_evidence_and_not_for_one_test() -> None:
    one = host_expectation("oss1", "oss2")
    every = (sent("oss1", 24e6), sent("oss2", 24e6))
    watched = judge_pair_service(one, every, (), NOW, None)
    assert (watched.state, watched.reason) == (State.OK, Reason.WATCHED)
    verdict = judge_pair_service(one, every, (), NOW, evidence(what="send", ratio=0.2))
    assert (verdict.state, verdict.reason) == (State.CRITICAL, Reason.SLOW)
    assert "upper median of 2 partners" in verdict.sentence


def test_beside_an_alarm_the_other_operations_last_run_raises_none() -> None:
    """Also where it is no loss: a level may have an upper end."""
    limits = Limits(warning=Range(80, 110))
    one = expectation(
        references={"write/single": REFERENCE, "read/single": REFERENCE}, limits=limits
    )
    taken = (series(80e6, operation=Operation.WRITE), series(240e6, operation=Operation.READ))
    rulings = rulings_on(one, taken, NOW)
    assert [ruling.finding.reason for ruling in rulings] == [Reason.BELOW_LEVEL] * 2
    found = by_evidence(rulings, evidence(what="write"))
    assert [one.finding.reason for one in found] == [Reason.SLOW, Reason.WATCHED]
    alone = by_evidence(rulings, evidence(what="write", alarm=False))
    assert [one.finding.reason for one in alone] == [Reason.WATCHED, Reason.BELOW_LEVEL]
