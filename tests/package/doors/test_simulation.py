"""What a simulation came to is said in tables that fit a screen."""

from __future__ import annotations

from plumbline.doors.simulation import Setup, tables
from plumbline.model.verdict import Reason
from plumbline.simulate.fleet import Fault, Longest
from plumbline.simulate.score import Outcome, Source, Trial

ASKED = Setup("lab", 10, "year", 1, 1.0)
SEEN = Trial(Fault("oss1-disk1", 0.4, 3), "disk", 0.4, 58, 2, ("raw oss1-disk1", "slow"))
MISSED = Trial(Fault("oss2-disk1", 0.15, 3), "disk", 0.15, 58)
HIDDEN = Trial(Fault("oss1-nic", 0.3, 3), "nic", 0.0, 58)
LEVEL = Reason.BELOW_LEVEL
ALARMS = {Source("ost", False, LEVEL): 6, Source("ost", True, LEVEL): 2}


def said(*trials: Trial, alarms: bool = True) -> str:
    raised = ALARMS if alarms else {}
    return "\n\n".join(tables(ASKED, Outcome(2, 60, 1200, raised, raised, {}, trials)))


def test_false_alarms_are_told_by_reason_and_added_up() -> None:
    rows = [line.split() for line in said().splitlines()]
    assert next(row[:3] for row in rows if row[:1] == ["ost"]) == ["ost", "below", "level"]
    assert next(row for row in rows if row[:1] == ["all"])[1:3] == ["8", "2.03"]
    assert any(row[:2] == ["ost", "groups"] for row in rows)


def test_a_policy_without_false_alarms_is_told_so() -> None:
    assert said(alarms=False).startswith(
        "0.00 false alarms a month, within the budget of 1: 0 in 3.9 "
    )


def test_how_long_the_longest_run_of_each_layer_takes_is_said_beside_what_was_simulated() -> None:
    longest = (Longest("ost", "login1", 292.0), Longest("raw", "oss3", 20.0))
    text = next(tables(ASKED._replace(longest=longest), Outcome(1, 60, 10, {}, {}, {}, ())))
    assert text.splitlines()[2] == (
        "a run takes at most, while everything is healthy: ost 5 min on login1, raw 20 s on oss3"
    )
    assert len(said().partition("\n\n")[0].splitlines()) == 2


def test_what_is_moved_on_a_day_of_a_fleet_is_said_beside_what_was_simulated() -> None:
    moved = Outcome(2, 60, 10, {}, {}, {}, (), planned_bytes=240 * 10**9, confirmed_bytes=6 * 10**9)
    assert next(tables(ASKED, moved)).splitlines()[2] == (
        "planned runs move 2000.0 MB a day on average, confirmation 50.0 MB"
    )


def test_each_fault_is_told_with_what_found_it() -> None:
    lines = said(SEEN, MISSED).splitlines()
    assert any(
        line.startswith("oss1-disk1") and line.endswith("2 d    0       raw oss1-disk1")
        for line in lines
    )
    assert any(
        line.startswith("oss2-disk1") and line.endswith("-      0       none") for line in lines
    )


def test_a_part_with_slack_is_said_to_be_beyond_any_policy() -> None:
    text = said(SEEN, HIDDEN)
    assert "none possible: the part has slack" in text
    assert "1 of 2 faults slow no measurement" in text


def test_many_faults_are_told_by_size_alone() -> None:
    assert "first alarm" not in said(*[SEEN] * 21)
    assert "first alarm" in said(*[SEEN] * 20)


def test_the_tables_fit_a_screen() -> None:
    assert max(map(len, said(SEEN, MISSED, HIDDEN).splitlines())) <= 120
