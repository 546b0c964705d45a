"""Schedules: defaults apart from one another, calendars of systemd."""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import combinations

import pytest
import yaml

from plumbline.model.units import DAY_S
from plumbline.plan.policy import load
from plumbline.plan.schedule import Slots, Timer, gaps
from plumbline.topology.strict import parse
from tests.package.recorded import data

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
    ("calendar", "every", "more"),
    [
        ("Mon..Fri *-*-* 02:06", "1 d", {"stale_after": "4 d"}),
        ("2099-01-01 02:06", "1 d", {}),
        ("monthly", "30 d", {}),
        ("*-*-01 01:06", "30 d", {}),
        ("*-*-* 01,13:06", "12 h", {}),
    ],
)
def test_a_calendar_that_is_as_often_as_said_or_is_not_understood_is_taken(
    calendar: str, every: str, more: dict[str, str]
) -> None:
    assert schedule(calendar, every, **more).calendar == calendar


CALENDARS = yaml.safe_load(data("calendars.yml"))


@pytest.mark.parametrize(("text", "shortest", "longest"), CALENDARS["comes"])
def test_it_is_known_how_far_apart_the_times_of_a_calendar_are(
    text: str, shortest: float, longest: float
) -> None:
    assert gaps(text) == pytest.approx((shortest * DAY_S, longest * DAY_S))


@pytest.mark.parametrize(("text", "part"), CALENDARS["refused"])
def test_what_systemd_does_not_understand_is_refused_with_the_part(text: str, part: str) -> None:
    with pytest.raises(ValueError, match="is not a calendar of systemd") as caught:
        gaps(text)
    assert f"does not understand {part};" in str(caught.value)


@pytest.mark.parametrize("text", ["*-02-30 01:06", "2030-02-30 01:06", "Mon 2029-12-25"])
def test_a_day_that_no_year_has_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="never comes"):
        gaps(text)


def test_of_a_calendar_that_ends_nothing_is_known() -> None:
    assert gaps("2099-01-01 02:06") == (None, None)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="this machine has no systemd")
@pytest.mark.parametrize("slot", ["1 min", "15 min", "1 h", "4 h", "12 h", "24 h"])
def test_systemd_understands_the_calendar_of_slots(slot: str) -> None:
    text = parse(Slots, {"slot": slot, "window": "30 s"}, "slots").calendar()
    assert _by_systemd(text)
    assert gaps(text)[1] == parse(Slots, {"slot": slot, "window": "30 s"}, "slots").slot


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="this machine has no systemd")
def test_systemd_understands_the_same() -> None:
    understood = [text for text, *_ in CALENDARS["comes"] if not _by_systemd(text)]
    refused = [text for text, _ in CALENDARS["refused"] if _by_systemd(text)]
    assert (understood, refused) == ([], [])


def _by_systemd(text: str) -> bool:
    found = subprocess.run(["systemd-analyze", "calendar", text], check=False, capture_output=True)
    return found.returncode == 0
