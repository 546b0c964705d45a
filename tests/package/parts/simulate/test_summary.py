"""Summary: figures per month, and faults that were not found."""

from __future__ import annotations

import json
from collections import Counter
from typing import Optional

import pytest

from plumbline.model.verdict import Reason
from plumbline.parts.simulate.fleet import Fault
from plumbline.parts.simulate.score import Outcome, Source, Trial
from plumbline.parts.simulate.summary import (
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
    fault, notifications = Fault("a", loss, 61 - followed), int(found is not None)
    return Trial(fault, "disk", slows, followed, found, by, len(by), notifications)


def outcome(*trials: Trial, fleets: int = 1) -> Outcome:
    return Outcome(
        fleets,
        60,
        fleets * 60 * 100,
        Counter({OST: 6 * fleets, RAW: 3 * fleets}),
        Counter({OST: 60 * fleets}),
        Counter({OST: 12 * fleets, RAW: 500}),
        trials,
        3 * fleets,
    )


@pytest.mark.parametrize("fleets", [1, 4])
def test_alarms_are_per_month_of_one_fleet_and_per_1000_components(fleets: int) -> None:
    ost, raw = false_alarms(outcome(fleets=fleets))
    assert (ost.source, ost.number) == (OST, 6 * fleets)
    assert ost.a_month == pytest.approx(6 / 60 * 30.44)
    assert ost.per_thousand == pytest.approx(6 / 6000 * 30.44 * 1000)
    assert ost.standing == pytest.approx(0.01)
    assert (raw.number, raw.standing) == (3 * fleets, 0)


def test_groups_do_not_count_as_components_without_a_judgement() -> None:
    assert unknown_share(outcome()) == pytest.approx(12 / 6000)


def test_faults_of_one_size_are_summarized_together() -> None:
    rows = list(sizes([trial(0.4, 1), trial(0.4, 3), trial(0.4, None), trial(0.2, 9)]))
    assert [(row.least, row.most, row.faults) for row in rows] == [(0.2, 0.2, 1), (0.4, 0.4, 3)]
    assert (rows[1].identifiable, rows[1].found, rows[1].median) == (3, 2, 3)
    assert rows[1].within == pytest.approx((1 / 3, 2 / 3, 2 / 3, 2 / 3, 2 / 3))
    # a third was not found, so the ninth decile is unknown
    assert rows[1].most_days is None


def test_many_sizes_are_grouped_by_tens_of_percent() -> None:
    losses = [0.20, 0.203, 0.25, 0.30, 0.31, 0.35, 0.41, 0.45, 0.5, 0.6, 0.7, 0.9]
    rows = [(row.least, row.most, row.faults) for row in sizes([trial(loss, 1) for loss in losses])]
    assert rows == [
        (0.1, 0.2, 1),
        (0.2, 0.3, 3),
        (0.3, 0.4, 2),
        (0.4, 0.5, 3),
        (0.5, 0.6, 1),
        (0.6, 0.7, 1),
        (0.8, 0.9, 1),
    ]


def test_a_short_trial_does_not_count_for_longer_times() -> None:
    (size,) = sizes([trial(0.4, None, followed=5), trial(0.4, 2, followed=10)])
    assert size.within == (0.0, 0.5, 1.0, None, None)


def test_a_fault_that_slows_nothing_is_not_identifiable() -> None:
    (size,) = sizes([trial(0.4, None, slows=0.0)])
    assert (size.faults, size.identifiable, size.found) == (1, 0, 0)
    assert (size.within, size.median) == ((None,) * 5, None)


def test_the_false_alarm_rate_covers_the_months_and_days_of_all_fleets() -> None:
    rate = false_alarm_rate(outcome(fleets=4))
    assert rate.number == 36
    assert rate.a_month == pytest.approx(9 / 60 * 30.44)
    assert rate.days == 12
    assert rate.days_share == pytest.approx(3 / 60)


def test_alarms_per_fault_are_its_notifications() -> None:
    silent = trial(0.4, 1)._replace(notifications=0)
    assert alarms_a_fault(outcome(trial(0.4, None), silent)) is None
    faults = [trial(0.4, 1), trial(0.4, 1)._replace(notifications=2), silent, trial(0.4, None)]
    assert alarms_a_fault(outcome(*faults)) == pytest.approx(1.5)
    assert silent_faults(outcome(*faults)) == 1


def test_chance_and_detection_have_the_same_keys() -> None:
    with_chance = outcome(trial(0.4, 1))._replace(chance=(trial(0.4, None),))
    raw = to_json(with_chance, {})
    assert [list(row) for row in raw["chance"]] == [list(row) for row in raw["detection"]]
    assert (raw["detection"][0]["found"], raw["chance"][0]["found"]) == (1, 0)


def test_the_document_has_all_figures_as_plain_json() -> None:
    raw = to_json(outcome(trial(0.4, 1), trial(0.4, None, slows=0.0)), {"site": "lab"})
    assert json.loads(json.dumps(raw, allow_nan=False)) == raw
    assert list(raw)[:5] == [
        "schema",
        "site",
        "false_alarms_a_month",
        "false_alarm_days_share",
        "alarms_a_fault",
    ]
    assert raw["false_alarms_a_month"] == pytest.approx(9 / 60 * 30.44)
    assert raw["false_alarm_days_share"] == pytest.approx(3 / 60)
    assert (raw["alarms_a_fault"], raw["silent_faults"]) == (1, 0)
    assert (raw["planned_bytes_a_day"], raw["confirmed_bytes_a_day"]) == (0, 0)
    first = raw["false_alarms"][0]
    assert (first["layer"], first["reason"]) == ("ost", "below_level")
    assert list(first)[:4] == ["layer", "group", "reason", "number"]
    assert raw["false_alarms"][0]["number"] == 6
    assert raw["detection"][0]["within"] == dict.fromkeys(("1", "3", "7", "14", "30"), 1.0)
    assert [row["identifiable"] for row in raw["faults"]] == [True, False]
    assert raw["faults"][0]["found_by"] == "ost a"
