"""By default no two layers measure at the same time; a calendar is as often as it says."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.units import DAY_S
from plumbline.plan.policy import load
from plumbline.plan.schedule import Timer

HOUR_S = 3600
STOP_S = 30
"""Of the units: until what is stopped has ended."""

Span = tuple[float, float]


def hours(layer: str, timer: Timer) -> list[Span]:
    """Return when a layer may be measuring, in seconds since Monday, in a week."""
    found = re.fullmatch(r"(Sun )?\*-\*-\* (\d\d):(\d\d)", timer.calendar)
    assert found, f"{layer}: {timer.calendar} is not understood by this test"
    days = [6] if found.group(1) else range(7)
    lasts = timer.randomized_delay + timer.limit + STOP_S
    starts = [(day * 24 + int(found.group(2))) * HOUR_S + int(found.group(3)) * 60 for day in days]
    return [(start, start + lasts) for start in starts]


def test_the_hours_of_the_layers_do_not_meet() -> None:
    layers = load({}).layers
    slots = layers.net.schedule
    assert slots.slot == HOUR_S
    windows = [(hour * HOUR_S, hour * HOUR_S + slots.window) for hour in range(7 * 24 + 1)]
    spans: dict[str, list[Span]] = {"net": [(start, end + STOP_S) for start, end in windows]}
    for layer in ("ost", "raw", "fs"):
        spans[layer] = hours(layer, getattr(layers, layer).schedule)
    for one, other in combinations(spans, 2):
        meet = [
            (first, second)
            for first in spans[one]
            for second in spans[other]
            if first[0] < second[1] and second[0] < first[1]
        ]
        assert meet == [], f"{one} and {other}"


def schedule(calendar: str, every: str, **more: str) -> Timer:
    document = {"calendar": calendar, "every": every, **more}
    timer = load({"schema": 1, "layers": {"ost": {"schedule": document}}}).layers.ost.schedule
    assert isinstance(timer, Timer)
    return timer


def test_a_layer_may_be_measured_once_in_ten_days() -> None:
    timer = schedule("*-*-01,11,21 02:06", "10 d")
    assert (timer.period_s(), timer.stale_after_s()) == (10 * DAY_S, 15 * DAY_S)


@pytest.mark.parametrize(
    ("calendar", "every", "more", "message"),
    [
        (
            "*-*-* 02:06",
            "10 d",
            {},
            "every is 10 d, but between two times of calendar .* there are 24 h",
        ),
        (
            "Sun *-*-* 02:06",
            "1 d",
            {},
            "every is 24 h, but between two times of calendar .* there are 7 d",
        ),
        ("Sun *-*-* 02:06", "1 d", {"stale_after": "9 d"}, "every is 24 h, but .* there are 7 d"),
        ("Mon..Fri *-*-* 02:06", "1 d", {}, "too old after 36 h, but .* there are 24 h to 3 d"),
    ],
)
def test_a_calendar_that_is_not_as_often_as_said_is_refused(
    calendar: str, every: str, more: dict[str, str], message: str
) -> None:
    with pytest.raises(DocumentError, match=message):
        schedule(calendar, every, **more)


@pytest.mark.parametrize(
    ("calendar", "every", "more"),
    [
        ("Mon..Fri *-*-* 02:06", "1 d", {"stale_after": "4 d"}),
        ("2099-01-01 02:06", "1 d", {}),
        ("monthly", "30 d", {}),
    ],
)
def test_a_calendar_that_is_as_often_as_said_or_is_not_understood_is_taken(
    calendar: str, every: str, more: dict[str, str]
) -> None:
    assert schedule(calendar, every, **more).calendar == calendar
