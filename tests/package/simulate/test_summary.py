"""Counts become figures for a month, and what was not found stays visible."""

from __future__ import annotations

import json
from typing import Optional

import pytest

from plumbline.model.verdict import Reason
from plumbline.simulate.fleet import Fault
from plumbline.simulate.score import Outcome, Source, Trial
from plumbline.simulate.summary import (
    alarms_a_fault,
    false_alarm_rate,
    false_alarms,
    silent_faults,
    sizes,
    to_json,
    unknown_share,
)

OST = Source("ost", False, Reason.BELOW_LEVEL)
RAW = Source("raw", True, Reason.BELOW_LEVEL)


def trial(loss: float, found: Optional[int], followed: int = 60, slows: float = 0.3) -> Trial:
    by = () if found is None else ("ost a", "a is slow")
    fault, told = Fault("a", loss, 61 - followed), int(found is not None)
    return Trial(fault, "disk", slows, followed, found, by, len(by), told)


def outcome(*trials: Trial, fleets: int = 1) -> Outcome:
    return Outcome(
        fleets,
        60,
        fleets * 60 * 100,
        {OST: 6 * fleets, RAW: 3 * fleets},
        {OST: 60 * fleets},
        {OST: 12 * fleets, RAW: 500},
        trials,
        3 * fleets,
    )


@pytest.mark.parametrize("fleets", [1, 4])
def test_alarms_are_for_one_fleet_in_a_month_and_for_1000_components(fleets: int) -> None:
    ost, raw = false_alarms(outcome(fleets=fleets))
    assert (ost.source, ost.number) == (OST, 6 * fleets)
    assert ost.a_month == pytest.approx(6 / 60 * 30.44)
    assert ost.per_thousand == pytest.approx(6 / 6000 * 30.44 * 1000)
    assert ost.standing == pytest.approx(0.01)
    assert (raw.number, raw.standing) == (3 * fleets, 0)


def test_groups_do_not_count_as_components_without_a_judgement() -> None:
    assert unknown_share(outcome()) == pytest.approx(12 / 6000)


def test_faults_of_one_size_are_told_together() -> None:
    found = list(sizes([trial(0.4, 1), trial(0.4, 3), trial(0.4, None), trial(0.2, 9)]))
    assert [(one.least, one.most, one.faults) for one in found] == [(0.2, 0.2, 1), (0.4, 0.4, 3)]
    assert (found[1].identifiable, found[1].found, found[1].median) == (3, 2, 3)
    assert found[1].within == pytest.approx((1 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3))
    # one in three was not found, so nine in ten were not
    assert found[1].most_days is None


def test_many_sizes_are_put_together_by_tens_of_percent() -> None:
    losses = [0.20, 0.203, 0.25, 0.30, 0.31, 0.35, 0.41, 0.45, 0.5, 0.6, 0.7, 0.9]
    found = [(size.least, size.most, size.faults) for size in sizes([trial(x, 1) for x in losses])]
    assert found == [
        (0.1, 0.2, 1),
        (0.2, 0.3, 3),
        (0.3, 0.4, 2),
        (0.4, 0.5, 3),
        (0.5, 0.6, 1),
        (0.6, 0.7, 1),
        (0.8, 0.9, 1),
    ]


def test_who_was_followed_for_less_says_nothing_about_longer() -> None:
    (one,) = sizes([trial(0.4, None, followed=5), trial(0.4, 2, followed=10)])
    assert one.within == (0.0, 0.5, 1.0, None, None)


def test_what_slows_nothing_is_not_among_what_can_be_found() -> None:
    (one,) = sizes([trial(0.4, None, slows=0.0)])
    assert (one.faults, one.identifiable, one.found) == (1, 0, 0)
    assert (one.within, one.median) == ((None,) * 5, None)


def test_false_alarms_are_set_against_months_and_days_of_all_fleets() -> None:
    found = false_alarm_rate(outcome(fleets=4))
    assert found.number == 36
    assert found.a_month == pytest.approx(9 / 60 * 30.44)
    assert found.days == 12
    assert found.days_share == pytest.approx(3 / 60)


def test_alarms_a_fault_are_those_that_notified() -> None:
    silent = trial(0.4, 1)._replace(notifications=0)
    assert alarms_a_fault(outcome(trial(0.4, None), silent)) is None
    faults = [trial(0.4, 1), trial(0.4, 1)._replace(notifications=2), silent, trial(0.4, None)]
    assert alarms_a_fault(outcome(*faults)) == pytest.approx(1.5)
    assert silent_faults(outcome(*faults)) == 1


def test_chance_has_the_form_of_detection() -> None:
    given = outcome(trial(0.4, 1))._replace(chance=(trial(0.4, None),))
    found = to_json(given, {})
    assert [list(one) for one in found["chance"]] == [list(one) for one in found["detection"]]
    assert (found["detection"][0]["found"], found["chance"][0]["found"]) == (1, 0)


def test_the_document_has_each_figure_and_is_plain_json() -> None:
    found = to_json(outcome(trial(0.4, 1), trial(0.4, None, slows=0.0)), {"site": "lab"})
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert list(found)[:5] == [
        "schema",
        "site",
        "false_alarms_a_month",
        "false_alarm_days_share",
        "alarms_a_fault",
    ]
    assert found["false_alarms_a_month"] == pytest.approx(9 / 60 * 30.44)
    assert found["false_alarm_days_share"] == pytest.approx(3 / 60)
    assert (found["alarms_a_fault"], found["silent_faults"]) == (1, 0)
    assert (found["planned_bytes_a_day"], found["confirmed_bytes_a_day"]) == (0, 0)
    first = found["false_alarms"][0]
    assert (first["layer"], first["reason"]) == ("ost", "below_level")
    assert list(first)[:4] == ["layer", "group", "reason", "number"]
    assert found["false_alarms"][0]["number"] == 6
    assert found["detection"][0]["within"] == dict.fromkeys(("1", "3", "7", "14", "30"), 1.0)
    assert [one["identifiable"] for one in found["faults"]] == [True, False]
    assert found["faults"][0]["found_by"] == "ost a"
