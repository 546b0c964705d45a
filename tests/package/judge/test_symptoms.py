"""Symptoms services show the worst that raises a suspicion; without a look they are UNKNOWN."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.judge.symptoms import JudgedLook, judge_kind, judge_looks
from plumbline.model.symptom import KIND_OF, Direction, Look, Report, Symptom
from plumbline.model.verdict import Reason, State

NOW = 1_795_243_788.0
RAISES, LOWERS = Direction.RAISES, Direction.LOWERS


def symptom(
    severity: State = State.WARNING,
    direction: Direction = RAISES,
    kind: str = "fault",
    component: str = "oss1-disk1",
) -> Symptom:
    return Symptom("md", component, kind, severity, direction, f"{kind} of {component}")


def judged(*looks: Look, age_s: float = 60.0) -> JudgedLook:
    return JudgedLook(Report("oss1", NOW - age_s, looks), NOW, 3600.0)


def look(*symptoms: Symptom, collector: str = "md", **more: Any) -> Look:
    return Look(collector, 4, symptoms, kind=KIND_OF.get(collector, "arrays"), **more)


NO_ZFS = look(collector="zfs", unavailable="zpool is not installed")


@pytest.mark.parametrize(
    ("symptoms", "state", "reason"),
    [
        ([], State.OK, Reason.FINE),
        ([symptom(State.OK)], State.OK, Reason.FINE),
        ([symptom(State.WARNING)], State.WARNING, Reason.SYMPTOM),
        ([symptom(State.WARNING), symptom(State.CRITICAL)], State.CRITICAL, Reason.SYMPTOM),
        # a passing condition is no alarm at any severity
        ([symptom(State.WARNING, LOWERS, "recovery")], State.OK, Reason.FINE),
        ([symptom(State.CRITICAL, LOWERS, "failover")], State.OK, Reason.FINE),
        # but the next failure destroys an array that is being rebuilt
        ([symptom(State.WARNING, LOWERS, "degraded")], State.WARNING, Reason.SYMPTOM),
        ([symptom(State.WARNING, LOWERS, "pool")], State.WARNING, Reason.SYMPTOM),
        ([symptom(State.WARNING, RAISES, "degraded")], State.WARNING, Reason.SYMPTOM),
    ],
)
def test_the_state_is_that_of_the_worst_symptom_that_raises_a_suspicion(
    symptoms: list[Symptom], state: State, reason: Reason
) -> None:
    verdict = judge_kind(judged(look(*symptoms), NO_ZFS), "arrays")
    assert (verdict.state, verdict.reason) == (state, reason)
    assert (verdict.layer, verdict.component) == ("symptoms", "oss1 arrays")


def test_the_first_line_names_the_worst_and_counts_the_others() -> None:
    passing = symptom(State.CRITICAL, LOWERS, "failover", "oss1-disk3")
    mild, gross = symptom(State.WARNING), symptom(State.CRITICAL, component="oss1-disk2")
    verdict = judge_kind(judged(look(passing, mild, gross)), "arrays")
    assert verdict.sentence == (
        "oss1 arrays: oss1-disk2: fault of oss1-disk2; 2 more symptoms, 1 of them a problem"
    )
    assert verdict.evidence == (
        "CRITICAL oss1-disk2: fault of oss1-disk2",
        "WARNING oss1-disk1: fault of oss1-disk1",
        "CRITICAL oss1-disk3: failover of oss1-disk3 (lowers the suspicion)",
        "md looked at 4",
    )
    counted = {figure.label: figure.value for figure in verdict.figures}
    assert counted == {"critical": 2, "warning": 1, "ok": 0}


def test_disks_that_cannot_tell_their_health_are_fine_and_named() -> None:
    """Volumes of a RAID controller tell nothing on any day: UNKNOWN would never end."""
    note = "no disk tells its health: sdb has no SMART data"
    verdict = judge_kind(judged(Look("smart", 0, notes=(note,), kind="disks")), "disks")
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)
    assert verdict.sentence == f"oss1 disks: no symptoms; looked at: smart 0 ({note})"


def test_a_rebuild_that_lost_redundancy_comes_before_its_progress() -> None:
    rebuild = look(
        symptom(State.WARNING, LOWERS, "a_recovery"), symptom(State.WARNING, LOWERS, "degraded")
    )
    verdict = judge_kind(judged(rebuild), "arrays")
    assert verdict.sentence.startswith("oss1 arrays: oss1-disk1: degraded of oss1-disk1; 1 more")


def test_without_symptoms_the_sentence_lists_what_was_looked_at() -> None:
    verdict = judge_kind(judged(look(), NO_ZFS), "arrays")
    assert verdict.sentence == "oss1 arrays: no symptoms; looked at: md 4; not available: zfs"


def test_a_kind_without_any_look_is_unknown() -> None:
    verdict = judge_kind(judged(NO_ZFS), "arrays")
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.NOT_JUDGED)
    assert "zfs: zpool is not installed" in verdict.sentence
    assert judge_kind(judged(NO_ZFS), "disks").state is State.UNKNOWN


@pytest.mark.parametrize(
    ("age_s", "state", "reason"),
    [
        (3600.0, State.WARNING, Reason.SYMPTOM),
        (3600.5, State.UNKNOWN, Reason.STALE),
        (-60.0, State.WARNING, Reason.SYMPTOM),
        (-60.5, State.UNKNOWN, Reason.AHEAD),
    ],
)
def test_a_look_is_valid_for_its_time(age_s: float, state: State, reason: Reason) -> None:
    verdict = judge_kind(judged(look(symptom()), age_s=age_s), "arrays")
    assert (verdict.state, verdict.reason) == (state, reason)
    looks = judge_looks(judged(look(symptom()), age_s=age_s))
    assert looks.state is (State.UNKNOWN if state is State.UNKNOWN else State.OK)


def test_a_failed_site_command_is_unknown_and_hides_no_alarm() -> None:
    failed = look(collector="megaraid", unavailable="storcli gave no answer in 60 s")
    fine = judge_kind(judged(look(), failed), "arrays")
    assert (fine.state, fine.reason) == (State.UNKNOWN, Reason.NOT_JUDGED)
    assert "storcli gave no answer in 60 s" in fine.sentence
    assert judge_kind(judged(look(symptom()), failed), "arrays").state is State.WARNING
    node = judge_looks(judged(look(), failed))
    assert (node.state, node.sentence) == (
        State.UNKNOWN,
        "oss1: megaraid: storcli gave no answer in 60 s",
    )


def test_a_node_is_ok_if_any_collector_looked() -> None:
    assert judge_looks(judged(look(symptom(State.CRITICAL)), NO_ZFS)).state is State.OK
    assert judge_looks(judged(NO_ZFS)).state is State.UNKNOWN
    assert judge_looks(judged()).state is State.UNKNOWN


def test_a_single_further_symptom_is_singular() -> None:
    two = look(symptom(), symptom(component="oss1-disk2"))
    assert "; 1 more symptom, 1 of them a problem" in judge_kind(judged(two), "arrays").sentence


@pytest.mark.parametrize(("age_s", "shown"), [(-30.0, 0), (0.0, 0), (0.6, 1)])
def test_a_look_from_the_future_has_age_zero(age_s: float, shown: int) -> None:
    figures = {
        figure.label: figure.value for figure in judge_looks(judged(look(), age_s=age_s)).figures
    }
    assert figures["age"] == shown
