"""Schedules: non-overlapping defaults, and calendars of systemd."""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import combinations

import pytest

from plumbline.model.units import DAY_S
from plumbline.plan.policy import load
from plumbline.plan.schedule import Slots, Timer, collisions, gaps
from plumbline.topology.strict import parse
from tests.package.recorded import table

NEEDS_SYSTEMD = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="this machine has no systemd"
)

HOUR_S = 3600
STOP_S = 30
"""Time that a stopped unit has to end."""

Span = tuple[float, float]


def hours(layer: str, timer: Timer) -> list[Span]:
    """Return the times in a week when a layer may be measuring, in seconds since Monday."""
    match = re.fullmatch(r"(Sun )?\*-\*-\* (\d\d):(\d\d)", timer.calendar)
    assert match, f"{layer}: {timer.calendar} is not understood by this test"
    days = [6] if match.group(1) else range(7)
    lasts = timer.randomized_delay + timer.limit + STOP_S
    starts = [(day * 24 + int(match.group(2))) * HOUR_S + int(match.group(3)) * 60 for day in days]
    return [(start, start + lasts) for start in starts]


def test_the_default_times_of_the_layers_do_not_overlap() -> None:
    layers = load({}).layers
    slots = layers.net.schedule
    assert slots.slot == HOUR_S
    windows = [(hour * HOUR_S, hour * HOUR_S + slots.window) for hour in range(7 * 24 + 1)]
    spans: dict[str, list[Span]] = {"net": [(start, end + STOP_S) for start, end in windows]}
    for layer in ("ost", "raw", "fs"):
        spans[layer] = hours(layer, getattr(layers, layer).schedule)
    for layer_a, layer_b in combinations(spans, 2):
        overlaps = [
            (first, second)
            for first in spans[layer_a]
            for second in spans[layer_b]
            if first[0] < second[1] and second[0] < first[1]
        ]
        assert overlaps == [], f"{layer_a} and {layer_b}"


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
def test_a_calendar_that_fits_its_period_or_cannot_be_checked_is_accepted(
    calendar: str, every: str, more: dict[str, str]
) -> None:
    assert schedule(calendar, every, **more).calendar == calendar


CALENDARS = table("calendars.yml")


@pytest.mark.parametrize(("text", "shortest", "longest"), CALENDARS["comes"])
def test_the_gaps_between_the_times_of_a_calendar_are_computed(
    text: str, shortest: float, longest: float
) -> None:
    assert gaps(text) == pytest.approx((shortest * DAY_S, longest * DAY_S))


@pytest.mark.parametrize(("text", "part"), CALENDARS["refused"])
def test_an_invalid_calendar_is_refused_with_the_invalid_part(text: str, part: str) -> None:
    with pytest.raises(ValueError, match="is not a calendar of systemd") as caught:
        gaps(text)
    assert f"does not understand {part};" in str(caught.value)


@pytest.mark.parametrize("text", ["*-02-30 01:06", "2030-02-30 01:06", "Mon 2029-12-25"])
def test_a_date_that_never_comes_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="never comes"):
        gaps(text)


def test_a_calendar_that_ends_has_no_gaps() -> None:
    assert gaps("2099-01-01 02:06") == (None, None)


@NEEDS_SYSTEMD
@pytest.mark.parametrize("slot", ["1 min", "15 min", "1 h", "4 h", "12 h", "24 h"])
def test_systemd_understands_the_calendar_of_slots(slot: str) -> None:
    text = parse(Slots, {"slot": slot, "window": "30 s"}, "slots").calendar()
    assert _by_systemd(text)
    assert gaps(text)[1] == parse(Slots, {"slot": slot, "window": "30 s"}, "slots").slot


@NEEDS_SYSTEMD
@pytest.mark.parametrize(
    ("calendar", "delay_s", "slot", "collides"),
    [
        ("*-*-* 01:00", 0, "1 h", True),
        ("hourly", 0, "1 h", True),
        ("*-*-* 01:06", 0, "1 h", False),
        ("*-*-* 01:32", 0, "30 min", True),
        ("*-*-* 01:36", 0, "30 min", False),
        ("Sun 05:04:59", 0, "4 h", True),
        # a timer that is late by its own spread
        ("*-*-* 01:55", 600, "1 h", True),
        ("*-*-* 01:50", 600, "1 h", False),
        ("*-*-* 01:06", 3600, "1 h", True),
    ],
)
def test_a_calendar_inside_of_a_network_slot_is_noted(
    calendar: str, delay_s: float, slot: str, *, collides: bool
) -> None:
    slots = parse(Slots, {"slot": slot, "window": "5 min"}, "slots")
    net = {"calendar": slots.calendar(), "window_s": 300}
    timer = {"calendar": calendar, "randomized_delay_s": delay_s}
    notes = list(collisions({"net": net, "ost": timer}))
    late = f" or up to {delay_s / 60:.0f} min later" if delay_s else ""
    assert [note.partition(",")[0] for note in notes] == [
        f"ost starts at {calendar}{late}"
    ] * collides
    assert not list(collisions({"ost": timer}))


@NEEDS_SYSTEMD
def test_systemd_accepts_and_refuses_the_same_calendars() -> None:
    wrongly_refused = [text for text, *_ in CALENDARS["comes"] if not _by_systemd(text)]
    wrongly_accepted = [text for text, _ in CALENDARS["refused"] if _by_systemd(text)]
    assert (wrongly_refused, wrongly_accepted) == ([], [])


def _by_systemd(text: str) -> bool:
    done = subprocess.run(["systemd-analyze", "calendar", text], check=False, capture_output=True)
    return done.returncode == 0
