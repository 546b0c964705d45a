"""Valid symptoms of a site, and their weight in verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.codec import write
from plumbline.model.symptom import (
    VALID_S,
    Direction,
    Look,
    Report,
    SiteSymptoms,
    Suspicion,
    Symptom,
    about,
    phrase,
    site_symptoms,
    suspicion,
)
from plumbline.model.verdict import State
from plumbline.plan.looks import SymptomsPolicy

NOW = 1_795_140_780.0
RUNNING = Symptom("md", "disk1", "recovery", State.WARNING, Direction.LOWERS, "recovery runs")


def report(
    looked_at: float = NOW, sentence: str = RUNNING.sentence, node: str = "oss1"
) -> dict[str, Any]:
    running = RUNNING._replace(sentence=sentence)
    document: dict[str, Any] = write(Report(node, looked_at, (Look("md", 1, (running,)),)))
    return document


@pytest.mark.parametrize("looked_at", [NOW, NOW - VALID_S, NOW + 60])
def test_a_symptom_seen_within_the_hour_is_valid(looked_at: float) -> None:
    assert site_symptoms({"oss1": report(looked_at)}, {"oss1": NOW}) == SiteSymptoms((RUNNING,))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (report(NOW - 21 * 86400), "oss1 (its last look is 21 d old)"),
        (report(NOW - VALID_S - 1), "oss1 (its last look is 60 min old)"),
        ({"trouble": "too many \ud800"}, "oss1 (too many ?)"),
        ({"trouble": None}, "oss1 (None)"),
        ({**report(), "schema": 2}, "oss1 (the report of symptoms has schema 2"),
        (report(node="oss3"), "oss1 (they are those of oss3)"),
        ({"schema": 1}, "oss1 (the report of symptoms is damaged"),
        ({**report(), "looks": [{}]}, "oss1 (the report of symptoms is damaged"),
        (report(sentence="\ud800"), "oss1 (the report of symptoms is damaged"),
        ([], "oss1 (the report of symptoms is damaged"),
        (None, "oss1 (the report of symptoms is damaged"),
    ],
)
def test_an_outdated_symptom_is_left_out_and_the_others_stay(raw: Any, reason: str) -> None:
    result = site_symptoms({"oss1": raw, "oss2": report(node="oss2")}, {"oss1": NOW, "oss2": NOW})
    assert result.symptoms == (RUNNING,)
    (left_out,) = result.left_out
    assert left_out.startswith(reason)
    left_out.encode()


def test_a_node_no_longer_in_the_plan_has_no_symptoms() -> None:
    assert site_symptoms({"oss9": report()}, {"oss1": NOW}) == SiteSymptoms(
        (), ("oss9 (it is no node of the plan)",)
    )


def test_the_age_of_a_look_follows_the_clock_of_its_node() -> None:
    behind = NOW - 9000
    assert site_symptoms({"oss1": report(behind)}, {"oss1": behind}).symptoms == (RUNNING,)


def test_a_look_is_valid_for_six_periods_of_its_timer() -> None:
    assert SymptomsPolicy().every == VALID_S / 6


# --- Symptoms in a verdict


def symptom(sentence: str, severity: State, direction: Direction, since: float = 0.0) -> Symptom:
    return Symptom("kernel", "disk1", "kind", severity, direction, sentence, since or None)


FAULT = symptom("14 I/O errors of sdb", State.CRITICAL, Direction.RAISES, 1_795_140_780.0)
CABLE = symptom("sdb has 3 more checksum errors on the cable", State.WARNING, Direction.RAISES)
REBUILD = symptom("recovery of array md0 runs", State.WARNING, Direction.LOWERS)
SCRUB = symptom("check of array md0 runs", State.OK, Direction.LOWERS)
OTHER_DISK = FAULT._replace(component="disk2", sentence="sdc has failed")
ALL = [SCRUB, REBUILD, OTHER_DISK, CABLE, FAULT, FAULT]


def test_faults_come_first_and_the_most_severe_before_all() -> None:
    assert about("disk1", ALL) == (FAULT, CABLE, REBUILD, SCRUB)


def test_the_phrase_quotes_the_most_severe_symptom_and_counts_the_rest() -> None:
    first = "; 14 I/O errors of sdb since 2026-11-20 02:13 UTC"
    assert phrase("disk1", [FAULT]) == first
    assert phrase("disk1", [FAULT, CABLE, REBUILD]) == (
        f"{first}, sdb has 3 more checksum errors on the cable and 1 more symptom"
    )
    assert phrase("disk1", ALL).endswith("cable and 2 more symptoms")
    assert phrase("disk3", ALL) == ""


def test_a_fault_outweighs_a_reason_to_be_slow() -> None:
    assert suspicion("disk1", ALL) is Suspicion.RAISED
    assert suspicion("disk1", [REBUILD, SCRUB]) is Suspicion.LOWERED
    assert suspicion("disk3", ALL) is Suspicion.NONE
