"""What a site's nodes have said of themselves holds for an hour, and none of it is required."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.verdict import State
from plumbline.observe.symptom import (
    HOLDS_S,
    Direction,
    Look,
    Report,
    SiteSymptoms,
    Symptom,
    site_symptoms,
)
from plumbline.plan.policy import SymptomsPolicy

NOW = 1_795_140_780.0
REBUILD = Symptom("md", "disk1", "recovery", State.WARNING, Direction.LOWERS, "recovery runs")


def report(looked_at: float = NOW, sentence: str = REBUILD.sentence) -> dict[str, Any]:
    found = REBUILD._replace(sentence=sentence)
    return Report("oss1", looked_at, (Look("md", 1, (found,)),)).to_json()


@pytest.mark.parametrize("looked_at", [NOW, NOW - HOLDS_S, NOW + 60])
def test_what_was_seen_within_the_hour_holds(looked_at: float) -> None:
    assert site_symptoms({"oss1": report(looked_at)}, {"oss1": NOW}) == SiteSymptoms((REBUILD,))


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        (report(NOW - 21 * 86400), "oss1 (its last look is 21 d old)"),
        (report(NOW - HOLDS_S - 1), "oss1 (its last look is 60 min old)"),
        ({"trouble": "too many \ud800"}, "oss1 (too many ?)"),
        ({"trouble": None}, "oss1 (None)"),
        ({**report(), "schema": 2}, "oss1 (the report of symptoms has schema 2"),
        ({"schema": 1}, "oss1 (the report of symptoms is damaged"),
        ({**report(), "looks": [{}]}, "oss1 (the report of symptoms is damaged"),
        (report(sentence="\ud800"), "oss1 (the report of symptoms is damaged"),
        ([], "oss1 (the report of symptoms is damaged"),
        (None, "oss1 (the report of symptoms is damaged"),
    ],
)
def test_what_does_not_hold_is_left_out_and_takes_nothing_else_away(what: Any, reason: str) -> None:
    found = site_symptoms({"oss1": what, "oss2": report()}, {"oss1": NOW, "oss2": NOW})
    assert found.symptoms == (REBUILD,)
    (left_out,) = found.left_out
    assert left_out.startswith(reason)
    left_out.encode()


def test_a_node_that_the_plan_has_no_longer_says_nothing() -> None:
    assert site_symptoms({"oss9": report()}, {"oss1": NOW}) == SiteSymptoms(
        (), ("oss9 (it is no node of the plan)",)
    )


def test_a_look_is_as_old_as_the_clock_of_its_node_says() -> None:
    behind = NOW - 9000
    assert site_symptoms({"oss1": report(behind)}, {"oss1": behind}).symptoms == (REBUILD,)


def test_a_look_holds_for_six_periods_of_its_timer() -> None:
    assert SymptomsPolicy().every == HOLDS_S / 6
