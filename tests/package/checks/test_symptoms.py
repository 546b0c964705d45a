"""check_symptoms as a process: the line, the exit code, and each way its document is damaged."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.package.checks.test_checks import age, execute

LOOKS = [
    {
        "collector": "smart",
        "kind": "disks",
        "examined": 8,
        "notes": [],
        "unavailable": "",
        "symptoms": [
            {
                "collector": "smart",
                "component": "oss1-disk2",
                "kind": "failing",
                "severity": "CRITICAL",
                "direction": "raises",
                "sentence": "sdc | says\nthat it \x1b[31mwill fail é",
                "since": 1_795_000_000.0,
            }
        ],
    },
    {
        "collector": "zfs",
        "examined": 0,
        "notes": [],
        "unavailable": "no zpool",
        "symptoms": [],
        "kind": "arrays",
    },
]


def write(folder: Path, **changes: Any) -> list[str]:
    """Write a report of oss1 and return the arguments of a check that reads it."""
    path = folder / "symptoms.json"
    raw = {"schema": 1, "node": "oss1", "looked_at": time.time() - 30, "looks": LOOKS, **changes}
    path.write_text(json.dumps(raw), encoding="utf-8")
    return ["--document", str(path), "--node", "oss1", "--commands", str(folder / "commands.json")]


def test_one_line_names_the_worst_and_each_symptom_follows(tmp_path: Path) -> None:
    done = execute("check_symptoms", "--kind", "disks", "-v", *write(tmp_path))
    said = "oss1-disk2: sdc / says that it ?[31mwill fail é since 2026-11-18 11:06 UTC"
    assert done.stdout == (
        f"SYMPTOMS CRITICAL - oss1 disks: {said}"
        " | 'critical'=1;;;0 'warning'=0;;;0 'ok'=0;;;0\n"
        f"CRITICAL {said}\nsmart looked at 8\n"
    )
    assert (done.returncode, done.stderr) == (2, "")


def test_a_kind_that_is_not_available_is_unknown(tmp_path: Path) -> None:
    done = execute("check_symptoms", "-k", "arrays", *write(tmp_path))
    assert done.stdout == "SYMPTOMS UNKNOWN - oss1 arrays: not available: zfs: no zpool\n"
    assert done.returncode == 3


def test_the_node_has_a_line_of_its_own(tmp_path: Path) -> None:
    arguments = write(tmp_path)
    assert execute("check_symptoms", *arguments).returncode == 0
    done = execute("check_symptoms", "--stale-after", "10", *arguments)
    assert (done.returncode, "is stale" in done.stdout) == (3, True)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"node": "oss2"}, "has the symptoms of oss2, not of oss1; look again"),
        ({"schema": 7}, "has schema 7"),
        ({"looks": 3}, "is damaged"),
        ({"looks": [{"collector": []}]}, "is damaged"),
        ({"looked_at": "now"}, "is damaged"),
    ],
)
def test_a_foreign_or_damaged_report_is_one_sentence(
    tmp_path: Path, changes: dict[str, Any], part: str
) -> None:
    for kind in ([], ["--kind", "disks"]):
        done = execute("check_symptoms", *kind, *write(tmp_path, **changes))
        assert part in done.stdout
        assert (done.returncode, done.stdout.count("\n"), done.stderr) == (3, 1, "")


@pytest.mark.parametrize(("text", "part"), [("", "is empty"), ("[]", "damaged"), ("{", "damaged")])
def test_what_is_no_report_is_one_sentence(tmp_path: Path, text: str, part: str) -> None:
    arguments = write(tmp_path)
    (tmp_path / "symptoms.json").write_text(text, encoding="utf-8")
    done = execute("check_symptoms", "-k", "disks", *arguments)
    assert (done.returncode, part in done.stdout, done.stdout.count("\n")) == (3, True, 1)


def test_a_file_of_anybody_is_not_believed(tmp_path: Path) -> None:
    arguments = write(tmp_path)
    (tmp_path / "symptoms.json").chmod(0o666)
    done = execute("check_symptoms", "-k", "disks", *arguments)
    assert (done.returncode, "anybody may write it" in done.stdout) == (3, True)


def test_a_node_waits_for_its_first_look_and_not_for_ever(tmp_path: Path) -> None:
    arguments = write(tmp_path)
    os.unlink(tmp_path / "symptoms.json")
    missing = execute("check_symptoms", *arguments)
    assert missing.returncode == 3
    assert "no such file; look again with: plumbline symptoms --save" in missing.stdout
    commands = tmp_path / "commands.json"
    commands.write_text("{}", encoding="utf-8")
    done = execute("check_symptoms", *arguments)
    assert done.stdout.startswith("SYMPTOMS OK - oss1 waits for the first look, deployed ")
    assert execute("check_symptoms", "--kind", "disks", *arguments).returncode == 3
    age(str(commands), 7200)
    assert execute("check_symptoms", *arguments).returncode == 3


def test_what_is_not_understood_is_unknown() -> None:
    assert execute("check_symptoms", "--help").stdout.startswith("check_symptoms ")
    assert execute("check_symptoms", "--version").returncode == 3
    for words in (["--kind", "moon"], ["--kind", ""], ["--stale-after", "soon"], ["--component"]):
        done = execute("check_symptoms", *words)
        assert (done.returncode, done.stdout[:19]) == (3, "SYMPTOMS UNKNOWN - ")
