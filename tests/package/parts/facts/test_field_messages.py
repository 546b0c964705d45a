"""Each file of tests/data/field has a tool's output below the symptoms expected from it.

A file begins with its reader and one line ``expect: SEVERITY DIRECTION COMPONENT WORDS`` for each
symptom, with WORDS a part of its sentence; no line means no symptom.  Jobs are expected as
``expect: job ID runs`` or ``ended`` with begin, end, name, user and nodes, and ``expect: left out
WORDS``.  After ``---`` follows the text: kernel messages one a line, files of /sys as ``PATH:
CONTENT``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest

from plumbline.parts.facts.darshan_logs import read_job_times
from plumbline.parts.facts.gather import COLLECTORS
from plumbline.parts.facts.jobs import Job, parse_slurm
from plumbline.parts.facts.node import Node
from tests.package.fakes import answer
from tests.package.parts.facts.symptoms_nodes import journal, make_node
from tests.package.recorded import DATA

FILES = sorted((DATA / "field").glob("*.txt"))
COMMANDS = {
    "lustre": ("lctl get_param", 0),
    "smart": ("smartctl", 16),
    "zfs": ("zpool status", 0),
}
ENCLOSURE = "/sys/class/enclosure/0:0:9:0/device/scsi_generic/sg9/dev"


def _tree(folder: Path, text: str) -> Node:
    return make_node(folder, dict(line.split(": ", 1) for line in text.splitlines()))


NODES: dict[str, Callable[[Path, str], Node]] = {
    "enclosure": lambda folder, text: make_node(folder, {ENCLOSURE: "21:9"}, {"sg_ses": text}),
    "kernel": lambda folder, text: make_node(
        folder, answers={"journalctl": journal(text.splitlines())}
    ),
    "md": lambda folder, text: make_node(folder, {"/proc/mdstat": text}),
}


def node(folder: Path, reader: str, text: str) -> Node:
    """Return a node with a tool that prints a text."""
    if reader in COMMANDS:
        command, exit_code = COMMANDS[reader]
        return make_node(folder, answers={command: answer(text, "", exit_code)})
    return NODES.get(reader, _tree)(folder, text)


def _shown(job: Job) -> str:
    ended = "runs" if job.end is None else "ended"
    times = [f"{at:.0f}" for at in (job.begin, job.end) if at is not None]
    return " ".join(["job", job.id, ended, *times, *filter(None, job[3:])])


def results(folder: Path, reader: str, text: str) -> list[str]:
    """Return the symptoms or jobs that a reader finds, as lines."""
    if reader in ("slurm", "times"):
        (folder / "list").write_text(text, encoding="utf-8")
        jobs, left_out = (
            parse_slurm(text, "list") if reader == "slurm" else read_job_times(folder / "list")
        )
        return [
            *map(_shown, jobs),
            *("left out " + sentence.replace(f"{folder}/", "") for sentence in left_out),
        ]
    look = COLLECTORS[reader](node(folder, reader, text))
    assert look.examined
    return [
        f"{symptom.severity.name} {symptom.direction.value} {symptom.component} {symptom.sentence}"
        for symptom in look.symptoms
    ]


def is_expected(line: str, expected: str) -> bool:
    """Return whether a line begins with the expected three words and contains the others."""
    head, words = expected.split(" ", 3)[:3], expected.split(" ", 3)[3:]
    return line.split(" ", 3)[:3] == head and all(part in line for part in words)


def test_there_are_recorded_outputs() -> None:
    assert len(FILES) > 40


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_reader_understands_what_a_tool_prints(tmp_path: Path, file: Path) -> None:
    head, _, text = file.read_text(encoding="utf-8").partition("---\n")
    first, *rest = head.splitlines()
    lines = results(tmp_path, first.removeprefix("reader: "), text)
    expected = [line.removeprefix("expect: ") for line in rest]
    assert len(lines) == len(expected), lines
    assert all(map(is_expected, sorted(lines), sorted(expected))), lines
