"""Verdict on a group: the median of its members, and alarms by evidence."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import pytest

from plumbline.judge.judging import Basis, Judging
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits, Range, Reference
from plumbline.model.record import Flag, Operation, Outcome
from plumbline.model.series import Series
from plumbline.model.verdict import Reason, State, Verdict
from tests.package.judgements import (
    BASELINE,
    CEILING,
    NOW,
    REFERENCE,
    evidence,
    expectation,
    host_expectation,
    judge_group,
    sent,
    series,
    snapshot,
)

REFERENCES = {"read/single": REFERENCE}


NO_BASELINE = Reference(CEILING, None)


def judged(
    *rates: Optional[float],
    limits: Optional[Limits] = None,
    weighed: Optional[Evidence] = None,
    **changes: Any,
) -> Verdict:
    names = [f"OST{number}" for number in range(len(rates))]
    members = [
        expectation(component=name, references=REFERENCES, limits=limits or Limits())
        for name in names
    ]
    runs = [series(rate, component=name, **changes) for name, rate in zip(names, rates)]
    return verdict_on(members, *runs, weighed=weighed)


def verdict_on(
    members: Sequence[Expectation], *runs: Series, weighed: Optional[Evidence] = None
) -> Verdict:
    memory = snapshot(*runs, known={("ost", "scratch", True): weighed} if weighed else {})
    return judge_group(members, memory, NOW, memory)


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


def test_a_single_low_night_of_all_members_is_watched() -> None:
    verdict = judged(80e6, 80e6, 80e6, peers_rate=80e6)
    assert (verdict.state, verdict.reason) == (State.OK, Reason.WATCHED)
    assert verdict.sentence == (
        "group scratch watching: read 40 % of baseline, upper median of 3; too few runs to tell it "
        "from chance"
    )


@pytest.mark.parametrize(
    ("ratio", "state"),
    [(0.51, State.WARNING), (0.5, State.WARNING), (0.49, State.CRITICAL), (0.85, State.WARNING)],
)
def test_a_shared_loss_alarms_by_evidence_and_by_its_size(ratio: float, state: State) -> None:
    weighed = evidence(ratio=ratio)
    verdict = judged(140e6, 140e6, 140e6, peers_rate=140e6, weighed=weighed)
    assert (verdict.state, verdict.reason) == (state, Reason.SLOW)
    assert verdict.sentence == (
        f"group scratch read {100 * ratio:.0f} % of its baseline over 3 runs since 2024-10-02 "
        "00:00 UTC, odds 59,874 to 1 against chance"
    )
    assert verdict.ratio_baseline == ratio
    assert verdict.evidence[0].endswith("8,103 for an alarm")
    assert any("what changed: plumbline changes" in line for line in verdict.evidence)


def test_a_group_whose_alarm_is_that_of_another_is_ok_and_names_it() -> None:
    verdict = judged(120e6, 120e6, 120e6, weighed=evidence(ratio=0.6, borne_by="group home"))
    assert (verdict.state, verdict.reason) == (State.OK, Reason.ALARM_ELSEWHERE)
    assert verdict.ratio_baseline == 0.6
    assert "read 60 % of its baseline over 3 runs" in verdict.sentence
    assert verdict.sentence.endswith("against chance; its alarm is that of group home")


def test_a_group_names_the_others_whose_alarm_is_its_own() -> None:
    verdict = judged(120e6, 120e6, 120e6, weighed=evidence(ratio=0.6, bears=("home", "work")))
    assert verdict.reason is Reason.SLOW
    assert verdict.sentence.endswith("against chance; likewise home, work")


def test_the_operation_whose_alarm_is_that_of_another_group_comes_first() -> None:
    names = ["OST0", "OST1"]
    both = {"write/single": REFERENCE, "read/single": REFERENCE}
    members = [expectation(component=name, references=both) for name in names]
    rates = {Operation.WRITE: 200e6, Operation.READ: 120e6}
    runs = [
        series(rate, component=name, operation=operation)
        for name in names
        for operation, rate in rates.items()
    ]
    verdict = verdict_on(members, *runs, weighed=evidence(ratio=0.6, borne_by="group home"))
    assert (verdict.state, verdict.reason) == (State.OK, Reason.ALARM_ELSEWHERE)


def test_a_healthy_group_has_no_remedy() -> None:
    assert not any("plumbline changes" in line for line in judged(200e6, 200e6).evidence)


def test_another_direction_with_a_loss_is_named() -> None:
    weighed = evidence(also=(("write", 0.55),))
    verdict = judged(140e6, 140e6, 140e6, peers_rate=140e6, weighed=weighed)
    assert verdict.sentence.endswith(" to 1 against chance; write 55 %")


def test_an_alarm_stands_through_a_good_night() -> None:
    assert judged(200e6, 200e6, 200e6, weighed=evidence()).state is State.CRITICAL


def test_an_alarm_of_another_operation_is_not_shown() -> None:
    assert judged(200e6, 200e6, 200e6, weighed=evidence(what="write")).state is State.OK


def test_a_group_after_a_change_is_compared_with_the_earlier_baseline() -> None:
    earlier = REFERENCE._replace(baseline=BASELINE._replace(versions={"lustre": "2.15"}))
    members = [expectation(component="OST0", references={"read/single": earlier})]
    fine = evidence(alarm=False, odds=0.0, against="the baseline from before lustre 2.15 -> 2.16")
    verdict = verdict_on(members, series(component="OST0"), weighed=fine)
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)
    assert "compared with the baseline from before lustre 2.15 -> 2.16" in verdict.sentence


def test_contended_members_count_and_their_number_is_shown() -> None:
    verdict = judged(80e6, 81e6, 82e6, coverage=0.3)
    assert "read 40 % of baseline, upper median of 3, 3 of them contended" in verdict.sentence


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


@pytest.mark.parametrize(
    ("low", "words"),
    [
        ({"OST0": 11.8e6}, "CRITICAL OST0: read 11.8 MB/s"),
        ({"OST0": 11.8e6, "OST1": 11.9e6}, "CRITICAL OST0, OST1, first OST0: read 11.8 MB/s"),
    ],
)
def test_a_group_without_figures_names_its_critical_members_with_the_reason(
    low: dict[str, float], words: str
) -> None:
    rates = {**{f"OST{number}": 60e6 + number * 1e6 for number in range(6)}, **low}
    members = [
        expectation(component=name, references={"read/single": NO_BASELINE}) for name in rates
    ]
    runs = [series(rate, component=name, peers_rate=62e6) for name, rate in rates.items()]
    memory = snapshot(*runs)
    assert verdict_on(members, *runs).state is State.UNKNOWN
    verdict = Judging(memory, memory, NOW, basis=Basis.LAST_RUN).group(members)
    assert verdict.state is State.WARNING
    assert verdict.sentence.startswith(f"group scratch {words}")
    assert "read: 6 of 6 have no figure to compare" in verdict.sentence


@pytest.mark.parametrize("members", [1, 2])
def test_a_single_member_is_no_group(members: int) -> None:
    entries = [expectation(component=f"OST{number}") for number in range(members)]
    memory = snapshot(*(series(60e6, component=entry.component) for entry in entries))
    assert len(list(Judging(memory, memory, NOW).groups(entries))) == members - 1


def test_a_host_is_judged_by_all_its_runs_or_by_its_last_one() -> None:
    memory = snapshot(sent("oss1", 24e6), sent("oss2", 24.2e6))
    host = host_expectation("oss1", "oss2")
    states = [Judging(memory, memory, NOW, basis=basis).component(host).state for basis in Basis]
    assert states == [State.OK, State.CRITICAL, State.CRITICAL]


def test_a_group_without_figures_names_its_hung_member() -> None:
    members = [
        expectation(component=name, references={"read/single": NO_BASELINE}) for name in "ab"
    ]
    dead = series(None, component="a", outcome=Outcome.HUNG, reason="lfs df is stuck")
    verdict = verdict_on(members, dead, series(60e6, component="b"))
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.HUNG)
    assert verdict.sentence.startswith("group scratch broken or hung: a; read: 2 of 2 have no fig")


def test_a_group_is_judged_by_its_own_levels() -> None:
    strict = Limits(warning=Range(100, float("inf")))
    assert judged(200e6, limits=strict).reason is Reason.WATCHED
    gross = Limits(critical=Range(90, float("inf")))
    assert judged(200e6, limits=gross, weighed=evidence(ratio=0.85)).state is State.CRITICAL


def test_a_group_that_only_lacks_baselines_does_not_count() -> None:
    bare = expectation(references={"read/single": Reference(CEILING, None)})
    verdict = verdict_on([bare], series())
    assert (verdict.state, verdict.counts) == (State.UNKNOWN, False)
    assert verdict.sentence.endswith("first scratch-OST0003: no baseline yet")
    slow = verdict_on([bare], series(80e6))
    assert (slow.state, slow.counts) == (State.UNKNOWN, True)
    never = verdict_on([bare])
    assert (never.state, never.counts) == (State.UNKNOWN, True)
    assert "read was never recorded" in never.sentence


def test_an_ost_missing_in_the_topology_is_a_remark_only() -> None:
    verdict = judged(200e6, 200e6, details={"unnamed": ["scratch-OST0010"]})
    assert verdict.state is State.OK
    assert verdict.sentence.endswith("; active but not in the topology: scratch-OST0010")


def test_a_remark_of_an_earlier_run_is_not_repeated() -> None:
    names = ("OST0", "OST1")
    members = [expectation(component=name, references=REFERENCES) for name in names]
    old = series(component="OST0", run_id="before", details={"unnamed": ["scratch-OST0010"]})
    new = series(component="OST1", run_id="now", started_at=NOW - 100, finished_at=NOW - 90)
    assert "not in the topology" not in verdict_on(members, old, new).sentence


def on_servers(*nids: str, away: bool = False) -> str:
    """Return the sentence on targets, two behind each server, by the addresses in their records."""
    versions = [{**BASELINE.versions, "nid": nid} for nid in nids]
    names = [f"OST{place}" for place in range(len(nids))]
    members = [
        expectation(
            component=name,
            host=f"oss{place // 2 + 1}",
            references={"read/single": Reference(CEILING, BASELINE._replace(versions=seen))},
        )
        for place, (name, seen) in enumerate(zip(names, versions))
    ]
    flags = (Flag.FAILED_OVER,) if away else ()
    runs = [
        series(200e6, component=name, versions=seen, flags=flags)
        for name, seen in zip(names, versions)
    ]
    verdict = verdict_on(members, *runs)
    assert away or verdict.state is State.OK
    return verdict.sentence


def test_targets_drawn_behind_another_server_than_lustre_has_are_a_remark_only() -> None:
    """Their own verdicts are right, but suspects would be a healthy server."""
    assert on_servers("a@tcp", "b@tcp", "a@tcp", "b@tcp").endswith(
        "; one server in Lustre, several in the topology: OST0, OST2, OST1 and 1 more; see "
        "plumbline topology check --live"
    )
    # a server may have several addresses
    assert "topology" not in on_servers("a@tcp", "b@tcp", "c@tcp", "c@tcp")
    # the first server of those that took over need not be their own
    assert "topology" not in on_servers("a@tcp", "a@tcp", "a@tcp", "a@tcp", away=True)


def with_outcomes(**outcomes: Outcome) -> Verdict:
    """Return the verdict on six targets of three servers, some without a rate."""
    names = [f"OST{number}" for number in range(6)]
    members = [
        expectation(component=name, host=f"oss{place // 2 + 1}", references=REFERENCES)
        for place, name in enumerate(names)
    ]
    runs = [
        series(None, component=name, outcome=outcomes[name], reason=f"why {name}")
        if name in outcomes
        else series(200e6, component=name)
        for name in names
    ]
    return verdict_on(members, *runs)


def test_a_broken_member_has_its_own_alarm_and_the_group_a_warning() -> None:
    verdict = with_outcomes(OST2=Outcome.BROKEN)
    assert verdict.state is State.WARNING
    assert verdict.sentence == "group scratch broken or hung: OST2"
    assert with_outcomes(OST2=Outcome.HUNG).state is State.WARNING


def test_an_unreachable_server_is_one_alarm_for_all_its_targets() -> None:
    verdict = with_outcomes(OST2=Outcome.UNREACHABLE, OST3=Outcome.UNREACHABLE)
    assert (verdict.state, verdict.reason) == (State.CRITICAL, Reason.UNREACHABLE)
    assert verdict.sentence == (
        "group scratch server oss2 does not answer: no figure of OST2, OST3"
    )


def test_a_dead_mount_is_one_alarm_without_any_figures() -> None:
    outcomes = {f"OST{number}": Outcome.NO_MOUNT for number in range(6)}
    verdict = with_outcomes(**outcomes)
    assert verdict.state is State.CRITICAL
    assert verdict.sentence.startswith("group scratch why OST0: no figure of OST0")


def test_unanswered_members_raise_no_alarm() -> None:
    assert with_outcomes(OST2=Outcome.UNANSWERED).state is State.OK
    outcomes = {f"OST{number}": Outcome.UNANSWERED for number in range(6)}
    assert with_outcomes(**outcomes).state is State.UNKNOWN


def test_an_old_outage_is_no_alarm_today() -> None:
    old: dict[str, Any] = {
        "finished_at": NOW - 9 * 86400.0,
        "outcome": Outcome.UNREACHABLE,
        "reason": "why",
    }
    member = expectation(component="OST0", references=REFERENCES)
    verdict = verdict_on([member], series(None, component="OST0", **old))
    assert verdict.state is State.UNKNOWN


@pytest.mark.parametrize(
    ("shares", "percent"),
    [
        ((0.9,), 90),
        ((0.9, 1.0), 100),
        ((0.8, 0.9, 1.0), 90),
        ((0.8, 0.85, 0.9, 1.0), 90),
        ((0.8, 0.85, 0.9, 0.95, 1.0), 90),
    ],
)
def test_a_group_is_shown_by_its_upper_median(shares: tuple[float, ...], percent: float) -> None:
    verdict = judged(*(202.1e6 * share for share in shares))
    assert verdict.figures[0].value == pytest.approx(percent)
    assert verdict.ratio_baseline == pytest.approx(percent / 100)
    assert f"    OST0 {100 * shares[0]:.0f} % of baseline" in verdict.evidence


@pytest.mark.parametrize(
    ("rates", "state"),
    [
        ((200e6, None), State.OK),
        ((200e6, 200e6, None, None), State.OK),
        ((200e6, 200e6, None, None, None), State.UNKNOWN),
        ((None, None), State.UNKNOWN),
    ],
)
def test_half_of_a_group_is_enough_for_a_figure(
    rates: tuple[Optional[float], ...], state: State
) -> None:
    assert judged(*rates).state is state


def test_the_first_member_without_a_figure_is_explained() -> None:
    members = [
        expectation(component="OST0", references={"read/single": Reference(CEILING, None)}),
        expectation(component="OST1", references=REFERENCES),
    ]
    both = series(component="OST0"), series(None, component="OST1")
    sentence = verdict_on(members, *both).sentence
    assert "(OST0, OST1), first OST0: no baseline yet" in sentence
    assert "first OST1: read failed: fio: no" in verdict_on(members[::-1], *both).sentence


def test_the_limits_of_a_group_are_those_of_its_first_member() -> None:
    members = [
        expectation(
            component=f"OST{number}",
            references=REFERENCES,
            limits=Limits(warning=Range(80 - number, float("inf"))),
        )
        for number in range(3)
    ]
    runs = [series(component=f"OST{number}") for number in range(3)]
    assert verdict_on(members, *runs).figures[0].warning == "80:"
    assert verdict_on(members[::-1], *runs).figures[0].warning == "78:"


@pytest.mark.parametrize(
    ("writes", "reads", "reason"), [(80e6, 200e6, Reason.WATCHED), (200e6, 80e6, Reason.FINE)]
)
def test_the_first_operation_of_the_worst_state_gives_the_reason(
    writes: float, reads: float, reason: Reason
) -> None:
    both = {"write/single": REFERENCE, "read/single": REFERENCE}
    members = [expectation(component=f"OST{number}", references=both) for number in range(2)]
    runs = [
        series(rate, rate, component=member.component, operation=operation)
        for member in members
        for operation, rate in ((Operation.WRITE, writes), (Operation.READ, reads))
    ]
    verdict = verdict_on(members, *runs)
    assert (verdict.state, verdict.reason) == (State.OK, reason)
    assert "watching: " in verdict.sentence
