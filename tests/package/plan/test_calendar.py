"""How often a calendar of systemd elapses, where it has one of the usual forms."""

from __future__ import annotations

import pytest

from plumbline.plan.calendar import gaps

HOUR_S = 3600.0
DAY_S = 86400.0


@pytest.mark.parametrize(
    ("calendar", "mean_s", "longest_s"),
    [
        ("*-*-* 02:06", DAY_S, DAY_S),
        ("*-*-* 02:06:30 UTC", DAY_S, DAY_S),
        ("*-*-* 02:06 Europe/Berlin", DAY_S, DAY_S),
        ("02:06", DAY_S, DAY_S),
        ("daily", DAY_S, DAY_S),
        ("hourly", HOUR_S, HOUR_S),
        ("*:0/15", HOUR_S / 4, HOUR_S / 4),
        ("*-*-* 0/6:06", 6 * HOUR_S, 6 * HOUR_S),
        ("*-*-* 05..11:06", DAY_S / 7, 18 * HOUR_S),
        ("*-*-* 01,02:06", DAY_S / 2, 23 * HOUR_S),
        ("Sun *-*-* 04:06", 1461 / 208 * DAY_S, 7 * DAY_S),
        ("Sunday 04:06", 1461 / 208 * DAY_S, 7 * DAY_S),
        ("weekly", 1461 / 209 * DAY_S, 7 * DAY_S),
        ("Mon..Fri *-*-* 02:06", 1461 / 1045 * DAY_S, 3 * DAY_S),
        ("Mon,Thu *-*-* 02:06", 1461 / 418 * DAY_S, 4 * DAY_S),
        ("*-*-01,11,21 02:06", 1461 / 144 * DAY_S, 11 * DAY_S),
        ("*-*-1/10 02:06", 1461 / (144 + 28) * DAY_S, 10 * DAY_S),
        ("*-01,07-01 02:06", 1461 / 8 * DAY_S, 184 * DAY_S),
        ("monthly", 1461 / 48 * DAY_S, 31 * DAY_S),
    ],
)
def test_how_far_apart_the_moments_of_a_calendar_lie_is_known(
    calendar: str, mean_s: float, longest_s: float
) -> None:
    found = gaps(calendar)
    assert found is not None
    assert found.mean_s == pytest.approx(mean_s)
    assert found.longest_s == longest_s


@pytest.mark.parametrize(
    "calendar",
    [
        "2099-01-01 02:06",
        "*-*-~1 02:06",
        "quarterly",
        "*-02-30 02:06",
        "*-*-* 24:06",
        "*-*-32 02:06",
        "Sol *-*-* 02:06",
        "*-*-* 5..3:06",
        "*-*-0 02:06",
    ],
)
def test_of_what_is_not_understood_nothing_is_said(calendar: str) -> None:
    assert gaps(calendar) is None
