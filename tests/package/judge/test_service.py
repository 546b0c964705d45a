"""A service watches one slow run and alarms on the evidence of several."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.judge.component import rulings_on
from plumbline.judge.service import by_evidence, severity, with_runs
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


def judged(rate: Optional[float], evidence_: Optional[Evidence], **changes: Any) -> Verdict:
    entry = expectation(references=READ)
    return judge_service(entry, (series(rate, **changes),), (), NOW, evidence_)


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
def test_the_severity_follows_the_size_of_the_loss(ratio: Optional[float], state: State) -> None:
    assert severity(ratio, Limits()) is state


@pytest.mark.parametrize("rate", [10e6, 80e6, 150e6])
def test_one_slow_run_is_watched_by_a_service(rate: float) -> None:
    entry = expectation(references=READ)
    assert judge(entry, (series(rate),), (), NOW).state in (State.WARNING, State.CRITICAL)
    verdict = judged(rate, evidence(alarm=False, odds=1.0, moments=1))
    assert (verdict.state, verdict.reason) == (State.OK, Reason.WATCHED)
    assert "watching: read" in verdict.sentence
    assert verdict.sentence.endswith("one run is no evidence yet")


def test_a_watched_run_names_the_job_that_may_have_slowed_it() -> None:
    others = Others("oss1", 0.82, 0.97, Job("4711", 38 * 10**9, 40.0))
    verdict = judged(
        80e6, evidence(alarm=False, odds=1.0, moments=1), details={OTHERS: write(others)}
    )
    assert (verdict.state, verdict.reason) == (State.OK, Reason.WATCHED)
    assert ", job 4711 moved 38.0 GB in the 40 s around it; one run" in verdict.sentence


def test_a_watched_loss_shows_its_odds_and_the_needed_odds() -> None:
    item = evidence(alarm=False, odds=3.0)
    assert "odds 20 to 1 against chance, 8,103 for an alarm" in judged(80e6, item).sentence
    # a run within a tenth of its baseline does not hide them
    fair = judged(190e6, item)
    assert (fair.state, fair.reason) == (State.OK, Reason.WATCHED)
    assert judged(190e6, evidence(alarm=False, odds=2.99)).reason is Reason.FINE


def test_gross_runs_for_a_day_are_a_warning_at_odds_worth_a_report() -> None:
    gross = evidence(alarm=False, odds=3.2, moments=2, gross_since=NOW - 86400)
    verdict = judged(40e6, gross)
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.SLOW)
    assert "beyond the critical level 50: in all runs since 20" in verdict.sentence
    assert "odds 25 to 1 against chance, 8,103 for an alarm" in verdict.sentence
    assert judged(40e6, gross._replace(odds=2.9)).reason is Reason.WATCHED
    write_is = gross._replace(what="write")
    assert judged(40e6, write_is).reason is Reason.WATCHED


@pytest.mark.parametrize(("nights", "note"), [(1, ""), (3, "; slow on 3 of 28 nights")])
def test_a_component_that_was_slow_in_some_nights_is_fine_with_a_note(
    nights: int, note: str
) -> None:
    good = evidence(alarm=False, odds=0.0, slow_nights=nights, nights=28)
    verdict = with_runs(judged(200e6, good), good)
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)
    assert verdict.sentence == judged(200e6, good).sentence + note


def test_enough_evidence_is_an_alarm_with_figures() -> None:
    verdict = judged(80e6, evidence())
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
    verdict = judged(rate, weighed, **changes)
    assert (verdict.state, verdict.reason) == outcome
    assert verdict.sentence.endswith(end)


def test_the_operation_with_the_largest_loss_alarms() -> None:
    entry = expectation()
    runs = (series(150e6, operation=Operation.WRITE), series(80e6))
    verdict = judge_service(entry, runs, (), NOW, evidence())
    assert verdict.state is State.CRITICAL
    assert verdict.sentence.startswith("scratch-OST0003 read 80.0 MB/s")
    # without a figure of that operation today, the other one shows the alarm
    failed = (series(150e6, operation=Operation.WRITE), series(None))
    assert judge_service(entry, failed, (), NOW, evidence()).state is State.CRITICAL


def test_without_a_baseline_its_own_history_is_a_reference() -> None:
    bare = expectation(references={"read/single": Reference(CEILING, None)})
    alone = (series(200e6, None),)
    assert judge_service(bare, alone, (), NOW, None).state is State.UNKNOWN
    item = evidence(alarm=False, odds=0.0, against="its own earlier runs")
    verdict = judge_service(bare, alone, (), NOW, item)
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)


def test_a_host_alarms_on_evidence_and_not_on_one_test() -> None:
    entry = host_expectation("oss1", "oss2")
    runs = (sent("oss1", 24e6), sent("oss2", 24e6))
    watched = judge_service(entry, runs, (), NOW, None)
    assert (watched.state, watched.reason) == (State.OK, Reason.WATCHED)
    verdict = judge_service(entry, runs, (), NOW, evidence(what="send", ratio=0.2))
    assert (verdict.state, verdict.reason) == (State.CRITICAL, Reason.SLOW)
    assert "upper median of 2 partners" in verdict.sentence


def test_an_alarm_of_one_operation_leaves_the_last_run_of_another_watched() -> None:
    """Even a rate above the upper limit of a level."""
    limits = Limits(warning=Range(80, 110))
    entry = expectation(
        references={"write/single": REFERENCE, "read/single": REFERENCE}, limits=limits
    )
    runs = (series(80e6, operation=Operation.WRITE), series(240e6, operation=Operation.READ))
    rulings = rulings_on(entry, runs, NOW)
    assert [ruling.finding.reason for ruling in rulings] == [Reason.BELOW_LEVEL] * 2
    with_evidence = by_evidence(rulings, evidence(what="write"))
    assert [ruling.finding.reason for ruling in with_evidence] == [Reason.SLOW, Reason.WATCHED]
    alone = by_evidence(rulings, evidence(what="write", alarm=False))
    assert [ruling.finding.reason for ruling in alone] == [Reason.WATCHED, Reason.BELOW_LEVEL]
