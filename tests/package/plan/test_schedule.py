"""By default no two layers measure at the same time."""

from __future__ import annotations

import re
from itertools import combinations

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
