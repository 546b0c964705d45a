"""A day of measurements parts where the site rests, whatever the hour of its nights."""

from __future__ import annotations

from random import Random
from typing import Sequence

import pytest

from plumbline.judge.days import days_of
from plumbline.judge.floor import NIGHTS, best_of_nights, best_of_same_nights
from plumbline.judge.measured import measured
from plumbline.judge.references import References, of_group
from plumbline.judge.rules import apply
from plumbline.judge.runs import AT
from plumbline.model.limits import Limits
from plumbline.model.series import Sample
from plumbline.model.units import DAY_S, HOUR_S
from plumbline.model.verdict import Reason
from tests.package.judge.test_references import RATE, measurement
from tests.package.judgements import NOW, REFERENCE, series

TODAY = 20_000
FEW_HOURS = (0.0, 0.4, 1.3, 4.9)
"""A probe and three confirmations, in hours."""


def nights(hour: float, count: int = 5, after: Sequence[float] = FEW_HOURS) -> list[float]:
    """Return the moments of nights whose probe begins at an hour UTC of days 0 to count - 1."""
    return [
        (TODAY + night) * DAY_S + (hour + later) * HOUR_S
        for night in range(count)
        for later in after
    ]


@pytest.mark.parametrize("hour", range(24))
def test_a_probe_and_its_confirmations_are_of_one_day_at_whatever_hour(hour: int) -> None:
    days = days_of(nights(hour + 0.5)).tolist()
    assert [days.count(day) for day in sorted(set(days))] == [4] * 5


@pytest.mark.parametrize(
    ("hour", "day"), [(2, 0), (12, 0), (20, 0), (21, 0), (22, 1), (23, 1), (23.9, 1)]
)
def test_a_night_has_the_date_of_its_middle(hour: float, day: int) -> None:
    assert set(days_of(nights(hour, 1)).tolist()) == {TODAY + day}


@pytest.mark.parametrize(("hour", "later"), [(12, 0), (14.4, 0), (14.6, 1), (20, 1)])
def test_a_run_by_hand_in_the_rest_is_of_the_night_that_is_nearer(hour: float, later: int) -> None:
    moments = nights(2.5, 30, [0, 0.1, 0.2, 0.3])
    *days, by_hand = days_of([*moments, (TODAY + 20) * DAY_S + hour * HOUR_S]).tolist()
    assert days == [TODAY + night for night in range(30) for _ in range(4)]
    assert by_hand == TODAY + 20 + later


def test_hours_in_which_much_is_measured_are_no_rest() -> None:
    # all but those from ten to two at noon
    moments = [TODAY * DAY_S + (hour + 0.5) * HOUR_S for hour in range(14, 14 + 20)]
    later = [at + DAY_S for at in moments]
    assert days_of([*moments, *later]).tolist() == [TODAY + 1] * 20 + [TODAY + 2] * 20


@pytest.mark.parametrize("late", [-2.9, 0.0, 0.9])
def test_of_two_rests_alike_the_one_at_midnight_counts(late: float) -> None:
    days = days_of(nights(7.95, after=[0, 12 + late])).tolist()
    assert days == [TODAY + night for night in range(5) for _ in range(2)]


def test_a_longer_rest_counts_before_the_one_at_midnight() -> None:
    # from 8 to 20 it rests for three hours more than from 22 to 7
    days = days_of(nights(20, after=[0, 1, 11])).tolist()
    assert days == [TODAY + 1 + night for night in range(5) for _ in range(3)]


def test_a_site_that_never_rests_has_days_of_utc() -> None:
    moments = [TODAY * DAY_S + hour * HOUR_S for hour in range(72)]
    assert days_of(moments).tolist() == [TODAY + hour // 24 for hour in range(72)]
    assert days_of([at - 0.5 for at in moments[1:]]).tolist() == days_of(moments[:-1]).tolist()
    assert not days_of([]).size


@pytest.mark.parametrize("hour", [0, 5, 13, 18, 20, 21, 22, 23])
def test_the_hour_of_the_nights_changes_no_reference(hour: int) -> None:
    assert references(hour + 0.5) == references(2.5)


def references(hour: float) -> list[list[list[float]]]:
    """Return the runs of six members as seen from the start of the nights, and of their group."""
    random = Random(5)
    members = []
    for number in range(6):
        # the last two confirmations are those of three members
        runs = [
            Sample(at, RATE * random.uniform(0.8, 1.1), None, None, 0, None)
            for place, at in enumerate(nights(hour, 12))
            if number < 3 or place % 4 < 2
        ]
        members.append(measurement(str(number), samples=tuple(runs[::-1])))
    found = References(members)
    compared = [found.of(member) for member in members] + [of_group(members, 6)]
    runs_of_each = [item.source.runs for item in compared if item is not None]
    assert len(runs_of_each) == 7
    for runs in runs_of_each:
        runs[:, AT] -= hour * HOUR_S
    return [runs.round(9).tolist() for runs in runs_of_each]


def test_a_night_across_midnight_is_one_of_those_that_a_floor_needs() -> None:
    moments = nights(23.5, NIGHTS - 1)
    assert len(best_of_nights((at, 1.0) for at in moments)) == NIGHTS - 1


def test_nights_of_several_part_at_the_same_hour() -> None:
    before, after = nights(23, after=[0]), nights(25, after=[0])
    of_both = best_of_same_nights([[(at, 1.0) for at in before], [(at, 2.0) for at in after]])
    assert [[day for day, _ in own] for own in of_both] == [list(range(TODAY + 1, TODAY + 6))] * 2
    assert [[best for _, best in own] for own in of_both] == [[1.0] * 5, [2.0] * 5]


@pytest.mark.parametrize(("nights_ago", "for_days"), [(1, False), (2, True)])
def test_two_contended_nights_across_midnight_are_not_three_days(
    nights_ago: int, for_days: bool
) -> None:
    latest = NOW - 23 * HOUR_S
    earlier = [
        Sample(at - ago * DAY_S, 80e6, 0.5, 201e6, 5, None)
        for ago in range(nights_ago + 1)
        for at in (latest, latest - 2 * HOUR_S)
    ]
    run = series(80e6, earlier=earlier[1:], coverage=0.5, started_at=latest, finished_at=latest + 9)
    reason = apply(measured(run, REFERENCE, Limits())).reason
    assert reason is (Reason.CONTENDED_FOR_DAYS if for_days else Reason.CONTENDED)
