"""Probes of a node: silence is one alarm, alarms of other services are not repeated."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import pytest

from plumbline.judge.node import JudgedNode, judge_node, turns
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits
from plumbline.model.record import Operation, Outcome
from plumbline.model.series import Running, Sample, Series
from plumbline.model.verdict import Reason, State, Verdict
from tests.package.judgements import (
    DAY_S,
    NOW,
    REFERENCE,
    expectation,
    host_expectation,
    sent,
    series,
    snapshot,
)

STALE_S = 129600.0
READ = {"read/single": REFERENCE}
LONG_AGO = NOW - 30 * DAY_S
YESTERDAY = Sample(NOW - DAY_S, 200e6, None, 201e6, 5, None)
LAST_WEEK = Sample(NOW - 7 * DAY_S, 200e6, None, 201e6, 5, None)


def target(name: str, **changes: Any) -> Expectation:
    return expectation(component=name, references=READ, **changes)


def ran(name: str, rate: Optional[float] = 200e6, **changes: Any) -> Series:
    return series(rate, component=name, **changes)


def ended(name: str, outcome: Outcome, reason: str = "why", **changes: Any) -> Series:
    return ran(name, None, outcome=outcome, reason=reason, **changes)


def old(name: str, age_s: float = 2 * DAY_S) -> Series:
    return ran(name, started_at=NOW - age_s - 10, finished_at=NOW - age_s)


def judge(
    entries: Sequence[Expectation],
    *series_: Series,
    since: float = LONG_AGO,
    running: Sequence[Running] = (),
) -> Verdict:
    node = JudgedNode("client1", entries, since, NOW)
    return judge_node(node, snapshot(*series_, running=running))


TWO = (target("OST0"), target("OST1"))


def test_a_node_whose_probes_run_is_ok() -> None:
    verdict = judge(TWO, ran("OST0"), ran("OST1"))
    assert (verdict.layer, verdict.component) == ("node", "client1")
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)
    assert verdict.sentence == "client1: ost 2 of 2 measured, last 5 min ago"
    figures = {
        figure.label: (figure.value, figure.maximum, figure.unit) for figure in verdict.figures
    }
    assert figures == {"ost_measured": (2, 2, ""), "ost_age": (300, None, "s")}


@pytest.mark.parametrize(
    ("age_s", "state"),
    [(STALE_S - 1, State.OK), (STALE_S, State.OK), (STALE_S + 1, State.UNKNOWN)],
)
def test_a_probe_that_did_not_run_raises_one_alarm(age_s: float, state: State) -> None:
    verdict = judge(TWO, old("OST0", age_s), old("OST1", age_s + 100 if state else age_s))
    assert verdict.state is state
    if state is State.UNKNOWN:
        assert verdict.reason is Reason.STALE
        assert "client1: ost is silent, none of 2 measured: OST0 read is stale" in verdict.sentence


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome.FAILED, Reason.FAILED),
        (Outcome.SKIPPED, Reason.SKIPPED),
        (Outcome.UNANSWERED, Reason.UNANSWERED),
    ],
)
def test_a_layer_that_gave_no_rate_tonight_is_silent(outcome: Outcome, reason: Reason) -> None:
    verdict = judge(TWO, ended("OST0", outcome), ended("OST1", outcome))
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, reason)


def test_a_silent_layer_is_not_hidden_by_the_others() -> None:
    disk = target("disk1", layer="raw", group="client1")
    never = judge((*TWO, disk), ran("OST0"), ran("OST1"))
    assert (never.state, never.reason) == (State.UNKNOWN, Reason.NEVER_MEASURED)
    verdict = judge((*TWO, disk), ran("OST0"), ran("OST1"), old_raw())
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.STALE)
    assert verdict.sentence.startswith("client1: raw is silent, none of 1 measured: disk1")


def old_raw() -> Series:
    return ran("disk1", layer="raw", started_at=NOW - 9 * DAY_S, finished_at=NOW - 9 * DAY_S)


@pytest.mark.parametrize(
    ("age_s", "state"),
    [(60.0, State.OK), (STALE_S, State.OK), (STALE_S + 1, State.UNKNOWN)],
)
def test_a_new_deployment_waits_for_its_first_run(age_s: float, state: State) -> None:
    verdict = judge(TWO, since=NOW - age_s)
    assert (verdict.state, verdict.reason) == (state, Reason.NEVER_MEASURED)
    assert ("waits for its first run" in verdict.sentence) is (state is State.OK)


@pytest.mark.parametrize(
    ("own", "since", "state"),
    [
        # one failure tonight
        (ended("OST1", Outcome.FAILED)._replace(samples=(YESTERDAY,)), LONG_AGO, State.OK),
        (ended("OST1", Outcome.FAILED)._replace(samples=(LAST_WEEK,)), LONG_AGO, State.WARNING),
        # a deployment of today does not excuse an older failure
        (ended("OST1", Outcome.FAILED)._replace(samples=(LAST_WEEK,)), NOW - 60, State.WARNING),
        (old("OST1"), LONG_AGO, State.WARNING),
        # a new target
        (None, NOW - STALE_S, State.OK),
        (None, NOW - STALE_S - 1, State.WARNING),
    ],
)
def test_a_target_without_a_rate_for_too_long_is_a_warning(
    own: Optional[Series], since: float, state: State
) -> None:
    verdict = judge(TWO, ran("OST0"), *([own] if own else []), since=since)
    assert verdict.state is state
    assert verdict.sentence.startswith("client1: ost 1 of 2 measured, last 5 min ago")
    assert ("without a rate for too long: OST1, first OST1 read" in verdict.sentence) is (
        state is State.WARNING
    )


@pytest.mark.parametrize("outcome", [Outcome.UNREACHABLE, Outcome.NO_MOUNT])
def test_an_alarm_of_server_or_mount_is_not_repeated(outcome: Outcome) -> None:
    verdict = judge(TWO, ended("OST0", outcome), ended("OST1", outcome))
    assert verdict.state is State.OK
    assert verdict.sentence.endswith("0 of 2 measured, last 5 min ago, 2 with an alarm elsewhere")
    alone = judge(TWO[:1], ended("OST0", outcome))
    assert alone.state is State.UNKNOWN


@pytest.mark.parametrize("outcome", [Outcome.BROKEN, Outcome.HUNG])
def test_a_broken_target_has_its_own_alarm(outcome: Outcome) -> None:
    assert judge(TWO[:1], ended("OST0", outcome)).state is State.OK
    # and a first failure of another target may wait
    both = ended("OST0", outcome), ended("OST1", Outcome.FAILED)._replace(samples=(YESTERDAY,))
    assert judge(TWO, *both).state is State.OK


def test_a_hung_run_has_its_own_alarm() -> None:
    running = [Running("ost", "OST0", NOW - 3 * DAY_S)]
    verdict = judge(TWO, old("OST0"), old("OST1"), running=running)
    assert (verdict.state, verdict.reason) == (State.OK, Reason.HANGS)


def test_skipped_writes_of_a_full_target_are_no_alarm() -> None:
    both = {"write/single": REFERENCE, **READ}
    full = expectation(component="OST0", references=both)
    write = ended("OST0", Outcome.SKIPPED, "93 % full", operation=Operation.WRITE)
    assert judge((full,), write, ran("OST0")).state is State.OK
    # a write that fails for long is one
    failed = ended("OST0", Outcome.FAILED, "quota", operation=Operation.WRITE)
    verdict = judge((full,), failed._replace(samples=(LAST_WEEK,)), ran("OST0"))
    assert verdict.state is State.WARNING


def test_one_answering_partner_is_enough_for_a_host() -> None:
    host = host_expectation("oss1", "oss2")
    assert judge((host,), sent("oss1", None), sent("oss2", 117e6)).state is State.OK
    assert judge((host,), sent("oss1", None), sent("oss2", None)).state is State.UNKNOWN


def test_a_damaged_document_is_unknown_and_named() -> None:
    memory = snapshot(ran("OST0"))
    memory.series["ost/OST0"]["operations"][0]["latest"]["rate"] = "fast"
    verdict = judge_node(JudgedNode("client1", TWO[:1], LONG_AGO, NOW), memory)
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.DAMAGED)
    assert verdict.sentence.startswith("client1: probes cannot be judged: record ")


def test_a_node_without_expectations_is_unknown() -> None:
    assert judge(()).state is State.UNKNOWN


def figures(verdict: Verdict) -> dict[str, Optional[float]]:
    return {figure.label: figure.value for figure in verdict.figures}


def test_a_target_that_was_never_measured_has_no_age() -> None:
    verdict = judge(TWO)
    assert figures(verdict) == {"ost_measured": 0, "ost_age": None}
    # nor does a component without any operation
    idle = judge((target("OST0")._replace(references={}),))
    assert figures(idle) == {"ost_measured": 0, "ost_age": None}


@pytest.mark.parametrize("references", [READ, {}])
@pytest.mark.parametrize(("age_s", "state"), [(STALE_S, State.OK), (STALE_S + 1, State.WARNING)])
def test_a_target_that_never_gave_a_rate_has_time_from_its_deployment(
    references: Any, age_s: float, state: State
) -> None:
    new = target("OST1")._replace(references=references)
    failed = [ended("OST1", Outcome.FAILED)._replace(samples=())] if references else []
    verdict = judge((TWO[0], new), ran("OST0"), *failed, since=NOW - age_s)
    assert verdict.state is state


@pytest.mark.parametrize(("ahead_s", "age_s"), [(-1.0, 1), (0.0, 0), (5.0, 0)])
def test_the_age_of_the_last_run_is_never_negative(ahead_s: float, age_s: int) -> None:
    verdict = judge(TWO[:1], ran("OST0", started_at=NOW - 60, finished_at=NOW + ahead_s))
    assert verdict.sentence == f"client1: ost 1 of 1 measured, last {age_s} s ago"
    assert figures(verdict)["ost_age"] == age_s


def test_of_several_targets_without_a_rate_the_first_is_explained() -> None:
    failed = ended("OST2", Outcome.FAILED)._replace(samples=(LAST_WEEK,))
    three = (*TWO, target("OST2"))
    verdict = judge(three, ran("OST0"), old("OST1"), failed)
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.STALE)
    assert "without a rate for too long: OST1, OST2, first OST1 read is stale" in verdict.sentence
    again = judge((three[2], *TWO), ran("OST0"), old("OST1"), failed)
    assert (again.state, again.reason) == (State.WARNING, Reason.FAILED)


def test_the_verdict_turns_when_a_stale_target_has_had_the_time_of_its_layer() -> None:
    """Another target of the layer is measured more rarely, so a stale one may wait for longer."""
    rare = target("OST1", limits=Limits(stale_after_s=15 * DAY_S))
    memory = snapshot(ran("OST0", started_at=NOW - 3610, finished_at=NOW - 3600), ran("OST1"))
    first, *_ = memory.of("ost", "OST0")
    late = first.samples[0].started_at + 15 * DAY_S

    def node(now: float) -> JudgedNode:
        return JudgedNode("client1", (TWO[0], rare), LONG_AGO, now)

    assert late in turns("ost", node(NOW), memory)
    states = [judge_node(node(late + more_s), memory).state for more_s in (0.0, 1.0)]
    assert states == [State.OK, State.WARNING]


@pytest.mark.parametrize("order", [1, -1])
def test_the_last_test_of_a_host_gives_the_reason(order: int) -> None:
    host = host_expectation("oss1", "oss2")
    tests = [
        sent("oss1", None, outcome=Outcome.FAILED, started_at=NOW - 70, finished_at=NOW - 60),
        sent("oss2", None, outcome=Outcome.SKIPPED, started_at=NOW - 40, finished_at=NOW - 30),
    ]
    verdict = judge((host,), *tests[::order])
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.SKIPPED)
    assert figures(verdict)["net_age"] == 30
