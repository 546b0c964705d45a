"""Counters count by their growth, over half a day to a day."""

from __future__ import annotations

import json

from plumbline.model.codec import read, write
from plumbline.observe.node import KEPT_S, Counters, Growth, Past, Seen


def look(past: Past, now: float, value: float) -> tuple[Past, object]:
    counters = Counters(past)
    grown = counters.growth("errors", value)
    return counters.after(now), grown


def test_the_first_look_has_nothing_to_compare() -> None:
    assert look(Past(), 0.0, 1000.0)[1] is None


def test_growth_is_told_until_a_day_has_passed() -> None:
    past, _ = look(Past(), 0.0, 1000.0)
    told = []
    for hour in range(1, 40):
        past, grown = look(past, hour * 3600.0, 1000.0 if hour < 5 else 1010.0)
        told.append(grown is not None)
    first, last = told.index(True) + 1, len(told) - told[::-1].index(True)
    assert first == 5
    assert 12 <= last - first <= 24


def test_growth_names_its_amount_and_the_look_it_is_counted_from() -> None:
    past = Past(Seen(10.0, {"errors": 3.0}), Seen(20.0, {"errors": 5.0}))
    assert Counters(past).growth("errors", 9.0) == Growth(6.0, 10.0)
    assert Counters(past).growth("errors", 3.0) is None
    assert Counters(past).growth("others", 9.0) is None


def test_a_counter_that_began_again_has_grown_by_what_it_shows() -> None:
    past = Past(None, Seen(10.0, {"errors": 50.0}))
    assert Counters(past).growth("errors", 7.0) == Growth(7.0, 10.0)


def test_a_clock_that_was_set_back_begins_anew() -> None:
    past = Past(Seen(1e9, {"errors": 1.0}), Seen(1e9 + KEPT_S, {"errors": 1.0}))
    after, _ = look(past, 1000.0, 4.0)
    assert after == Past(None, Seen(1000.0, {"errors": 4.0}), {})


def test_the_highest_speed_stays() -> None:
    counters = Counters(Past(highest={"link": 100.0}))
    assert [counters.highest("link", value) for value in (25.0, 200.0, 50.0)] == [100, 200, 200]
    assert counters.after(0.0).highest == {"link": 200.0}


def test_the_past_survives_its_document() -> None:
    past = Past(Seen(1.0, {"a": 1.0}), Seen(2.0, {"a": 2.0}), {"link": 3.0})
    for one in (past, Past()):
        assert read(Past, json.loads(json.dumps(write(one)))) == one
