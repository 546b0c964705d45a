"""Growth of counters over half a day to a day, and the components of devices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plumbline.model.codec import read, write
from plumbline.parts.facts.node import KEPT_S, Counters, EarlierLook, Growth, Past
from tests.package.parts.facts.symptoms_nodes import expectations, make_node
from tests.package.recorded import table


def look(past: Past, now: float, value: float) -> tuple[Past, object]:
    counters = Counters(past)
    growth = counters.growth("errors", value)
    return counters.after(now), growth


def test_the_first_look_has_no_growth() -> None:
    assert look(Past(), 0.0, 1000.0)[1] is None


def test_growth_is_shown_for_a_day() -> None:
    past, _ = look(Past(), 0.0, 1000.0)
    growing = []
    for hour in range(1, 40):
        past, growth = look(past, hour * 3600.0, 1000.0 if hour < 5 else 1010.0)
        growing.append(growth is not None)
    first, last = growing.index(True) + 1, len(growing) - growing[::-1].index(True)
    assert first == 5
    assert 12 <= last - first <= 24


def test_growth_names_its_amount_and_its_first_look() -> None:
    past = Past(EarlierLook(10.0, {"errors": 3.0}), EarlierLook(20.0, {"errors": 5.0}))
    assert Counters(past).growth("errors", 9.0) == Growth(6.0, 10.0)
    assert Counters(past).growth("errors", 3.0) is None
    assert Counters(past).growth("others", 9.0) is None


def test_a_reset_counter_has_grown_by_its_value() -> None:
    past = Past(None, EarlierLook(10.0, {"errors": 50.0}))
    assert Counters(past).growth("errors", 7.0) == Growth(7.0, 10.0)


def test_after_a_clock_was_set_back_counting_starts_again() -> None:
    past = Past(EarlierLook(1e9, {"errors": 1.0}), EarlierLook(1e9 + KEPT_S, {"errors": 1.0}))
    after, _ = look(past, 1000.0, 4.0)
    assert after == Past(None, EarlierLook(1000.0, {"errors": 4.0}), {})


def test_the_highest_speed_is_kept() -> None:
    counters = Counters(Past(highest={"link": 100.0}))
    assert [counters.highest("link", value) for value in (25.0, 200.0, 50.0)] == [100, 200, 200]
    assert counters.after(0.0).highest == {"link": 200.0}


def test_the_past_survives_the_json_round_trip() -> None:
    past = Past(EarlierLook(1.0, {"a": 1.0}), EarlierLook(2.0, {"a": 2.0}), {"link": 3.0})
    for original in (past, Past()):
        assert read(Past, json.loads(json.dumps(write(original)))) == original


# --- Components of devices


@pytest.mark.parametrize("case", table("parts.yml"), ids=lambda case: case["case"])
def test_a_device_belongs_to_a_component(tmp_path: Path, case: dict[str, Any]) -> None:
    more = (case.get(key, {}) for key in ("files", "answers", "links"))
    parts = make_node(tmp_path, *more).parts
    for question, expected in case["parts"].items():
        method, *names = question.split()
        part = getattr(parts, method)(*([names] if method == "of_blocks" else names))
        assert (list(part) if isinstance(part, tuple) else part) == expected


def test_a_node_knows_its_neighbours() -> None:
    assert [tuple(part) for part in expectations("oss1").neighbours] == [("oss1-nic", "nic", 125e6)]
    assert [part.kind for part in expectations("client1").neighbours] == ["switch"]
