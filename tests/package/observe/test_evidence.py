"""What symptoms add to a verdict."""

from __future__ import annotations

from plumbline.model.verdict import State
from plumbline.observe.symptom import Direction, Suspicion, Symptom, about, phrase, suspicion


def symptom(sentence: str, severity: State, direction: Direction, since: float = 0.0) -> Symptom:
    return Symptom("kernel", "disk1", "kind", severity, direction, sentence, since or None)


FAULT = symptom("14 I/O errors of sdb", State.CRITICAL, Direction.RAISES, 1_795_140_780.0)
CABLE = symptom("sdb has 3 more checksum errors on the cable", State.WARNING, Direction.RAISES)
REBUILD = symptom("recovery of array md0 runs", State.WARNING, Direction.LOWERS)
SCRUB = symptom("check of array md0 runs", State.OK, Direction.LOWERS)
OTHERS = FAULT._replace(component="disk2", sentence="sdc has failed")
ALL = [SCRUB, REBUILD, OTHERS, CABLE, FAULT, FAULT]


def test_faults_come_first_the_gravest_of_them_before_all() -> None:
    assert about("disk1", ALL) == (FAULT, CABLE, REBUILD, SCRUB)


def test_the_phrase_quotes_the_gravest_and_counts_the_rest() -> None:
    first = "; 14 I/O errors of sdb since 2026-11-20 02:13 UTC"
    assert phrase("disk1", [FAULT]) == first
    assert phrase("disk1", [FAULT, CABLE, REBUILD]) == (
        f"{first}, sdb has 3 more checksum errors on the cable and 1 more symptom"
    )
    assert phrase("disk1", ALL, most=1) == f"{first} and 3 more symptoms"
    assert phrase("disk3", ALL) == ""


def test_a_fault_outweighs_a_reason_to_be_slow() -> None:
    assert suspicion("disk1", ALL) is Suspicion.RAISED
    assert suspicion("disk1", [REBUILD, SCRUB]) is Suspicion.LOWERED
    assert suspicion("disk3", ALL) is Suspicion.NONE
