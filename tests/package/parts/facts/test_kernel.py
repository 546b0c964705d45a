"""Kernel messages: their meaning, and routine work that explains them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Iterable, Iterator

import pytest

from plumbline.model.symptom import Direction
from plumbline.parts.facts import kernel
from plumbline.parts.facts.kernel import LogEntry, faults
from plumbline.parts.facts.kernel_matching import parse_fault
from plumbline.parts.facts.kernel_messages import MESSAGES
from tests.package.fakes import Answer
from tests.package.parts.facts.symptoms_nodes import journal, make_node
from tests.package.recorded import data, table

CASES = table("messages/kernel.yml")
RECORDED = [line.split("\t") for line in data("messages/kernel.tsv").splitlines()]


@pytest.mark.parametrize(("kind", "name", "text"), RECORDED)
def test_a_message_is_understood(kind: str, name: str, text: str) -> None:
    fault, about = parse_fault(text)
    assert fault is not None
    assert (fault.kind, about) == (kind, name)


PATTERNS = [(message.kind, text) for message in MESSAGES for text in message.texts]


@pytest.mark.parametrize(("kind", "pattern"), PATTERNS)
def test_each_pattern_has_a_recorded_message(kind: str, pattern: str) -> None:
    assert [text for other, _, text in RECORDED if other == kind and re.match(pattern, text)]


def test_a_captured_outage_of_a_target_gives_symptoms_and_its_noise_does_not() -> None:
    lines = data("messages/lustre-ost-down.txt").splitlines()
    parsed = [parse_fault(line.partition("] ")[2]) for line in lines]
    assert len(lines) > 40
    assert [(fault.kind, name) for fault, name in parsed if fault] == [
        ("connection_lost", "lustre-OST0003"),
        ("evicted", "lustre-OST0003"),
        ("connection_lost", "lustre-OST0003"),
        ("evicted", "lustre-OST0003"),
        ("failover", "lustre-OST0003"),
        ("connection_lost", "lustre-OST0003"),
    ]


@pytest.mark.parametrize("text", CASES["harmless"])
def test_other_messages_are_ignored(text: str) -> None:
    assert parse_fault(text) == (None, "")


def test_a_message_with_another_end_of_line_hides_no_other_message(tmp_path: Path) -> None:
    """A process names itself, and journalctl escapes none of these in JSON."""
    texts = ["traps: a\u2028b\x85c[815] general protection", RECORDED[4][2]]
    lines = [
        json.dumps(json.loads(line), ensure_ascii=False) for line in journal(texts).split("\n")
    ]
    look = kernel.look(make_node(tmp_path, answers={"journalctl": "\n".join(lines) + "\n"}))
    assert [symptom.kind for symptom in look.symptoms] == ["medium_error"]


def test_a_message_cannot_forge_another_by_an_end_of_line_in_dmesg(tmp_path: Path) -> None:
    at = "2026-11-21T06:00:00,000000+00:00"
    forged = f"{at} {RECORDED[4][2]}"
    for text, kinds in (
        (f"{at} traps: a\x85{forged}\n", []),
        (f"{at} traps: a\n{forged}\n", ["medium_error"]),
    ):
        node = make_node(tmp_path, answers={"journalctl": "", "dmesg": text})
        assert [symptom.kind for symptom in kernel.look(node).symptoms] == kinds


# --- A clean boot, mount, umount, failback or shutdown raises no suspicion; faults do


COURSE = ("boot", "mount", "failback", "umount", "shutdown", "boot", "mount")
LOST, RESTORED, UP = (CASES["messages"][name] for name in ("lost", "restored", "up"))
DEVICE = "scratch-OST0003-osc-ffff888120238800"
IMPORT = f"osc.{DEVICE}.import=\nimport:\n    name: {DEVICE}\n    state: {{}}\n"


def recorded(name: str) -> list[str]:
    return [line.partition("] ")[2] for line in data(f"messages/routine/{name}.txt").splitlines()]


def raised(folder: Path, texts: Iterable[str], **answers: Answer) -> list[tuple[str, str]]:
    look = kernel.look(make_node(folder, answers={"journalctl": journal(texts), **answers}))
    return [(s.kind, s.component) for s in look.symptoms if s.direction is Direction.RAISES]


@pytest.mark.parametrize("name", sorted(set(COURSE)))
def test_a_clean_boot_mount_failback_umount_or_shutdown_raises_nothing(
    tmp_path: Path, name: str
) -> None:
    assert len(recorded(name)) > 9
    assert raised(tmp_path, recorded(name)) == []


def test_all_clean_sequences_in_a_row_raise_nothing(tmp_path: Path) -> None:
    assert raised(tmp_path, [text for name in COURSE for text in recorded(name)]) == []


def test_messages_of_systemd_in_the_journal_lack_its_name(tmp_path: Path) -> None:
    texts = [text.partition("systemd-shutdown[1]: ")[2] or text for text in recorded("shutdown")]
    assert raised(tmp_path, texts) == []


def test_a_target_that_was_unmounted_lowers_the_suspicion_until_it_is_back(tmp_path: Path) -> None:
    node = make_node(tmp_path, answers={"journalctl": journal(recorded("umount"))})
    unmounts = kernel.look(node).symptoms
    assert {(symptom.kind, symptom.direction) for symptom in unmounts} == {
        ("failover", Direction.LOWERS)
    }
    assert [symptom.component for symptom in unmounts] == [
        *(f"lustre-OST000{n}" for n in range(4)),
        "lustre-MDT0000",
    ]
    (first, *_) = unmounts
    assert first.sentence == "kernel: unmounts of lustre-OST0000, for a failover or by hand"
    back = [*recorded("umount"), *recorded("boot"), *recorded("mount")]
    remaining = kernel.look(make_node(tmp_path, answers={"journalctl": journal(back)})).symptoms
    # for targets mounted together Lustre prints the line of only one
    assert {symptom.component for symptom in remaining} <= {"lustre-OST0001"}


def lines(names: Iterable[str]) -> Iterator[str]:
    """Yield messages by their names; ``other N`` are N meaningless ones."""
    for name in names:
        word, _, number = name.partition(" ")
        yield from ["x"] * int(number) if number else [CASES["messages"][word]]


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["case"])
def test_a_fault_raises_the_suspicion_and_routine_work_does_not(
    tmp_path: Path, case: dict[str, Any]
) -> None:
    assert sorted({kind for kind, _ in raised(tmp_path, lines(case["lines"]))}) == case["raises"]


@pytest.mark.parametrize(
    ("state", "kinds"), [("FULL", []), ("IDLE", []), ("DISCONN", ["connection_lost"])]
)
def test_lustre_is_queried_if_the_log_lacks_a_reconnect(
    tmp_path: Path, state: str, kinds: list[str]
) -> None:
    symptoms = raised(tmp_path, [LOST], lctl=IMPORT.format(state))
    assert [kind for kind, _ in symptoms] == kinds


def test_lustre_is_not_queried_if_the_log_is_complete() -> None:
    def query() -> tuple[str, ...]:
        raise AssertionError("the log says that the connection came back")

    messages = [LogEntry(float(at), text) for at, text in enumerate([LOST, RESTORED, UP])]
    assert list(faults(messages, query)) == []
