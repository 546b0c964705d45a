"""check_symptoms as a process: output, exit code, and damaged documents."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from plumbline.doors.check import valid
from plumbline.doors.published_file import published
from plumbline.judge.symptoms import JudgedLook, judge_kind, judge_looks
from plumbline.model.codec import read_document
from plumbline.model.symptom import Report
from plumbline.model.verdict import Figure
from plumbline.site.published import publish, publish_symptoms
from tests.package.checks.test_checks import age, execute
from tests.package.judgements import expectation, snapshot
from tests.package.judgements import write as write_documents

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
    """Publish a report of oss1, changed by hand, and return the arguments of the check."""
    raw = {"schema": 1, "node": "oss1", "looked_at": time.time() - 30, "looks": LOOKS}
    publish_symptoms(read_document(Report, raw), folder)
    path = folder / "symptom-verdicts.json"
    if changes:
        document = {**json.loads(path.read_text("utf-8")), **changes}
        del document["crc32"]
        path.write_text(json.dumps(document), encoding="utf-8")
    return ["--document", str(path), "--node", "oss1", "--commands", str(folder / "commands.json")]


def test_the_first_line_names_the_worst_symptom_and_the_others_follow(tmp_path: Path) -> None:
    process = execute("check_symptoms", "--kind", "disks", "-v", *write(tmp_path))
    sentence = "oss1-disk2: sdc / says that it ?[31mwill fail é since 2026-11-18 11:06 UTC"
    assert process.stdout == (
        f"SYMPTOMS CRITICAL - oss1 disks: {sentence}"
        " | 'critical'=1;;;0 'warning'=0;;;0 'ok'=0;;;0\n"
        f"CRITICAL {sentence}\nsmart looked at 8\n"
    )
    assert (process.returncode, process.stderr) == (2, "")


def test_a_kind_that_is_not_available_is_unknown(tmp_path: Path) -> None:
    process = execute("check_symptoms", "-k", "arrays", *write(tmp_path))
    assert process.stdout == "SYMPTOMS UNKNOWN - oss1 arrays: not available: zfs: no zpool\n"
    assert process.returncode == 3


def test_the_node_has_its_own_line(tmp_path: Path) -> None:
    arguments = write(tmp_path)
    assert execute("check_symptoms", *arguments).returncode == 0
    process = execute("check_symptoms", "--stale-after", "10", *arguments)
    assert (process.returncode, "is stale" in process.stdout) == (3, True)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"name": "oss2"}, "has the symptoms of oss2, not of oss1; look again"),
        ({"schema": 7}, "has schema 7"),
        ({"parts": 3}, "is damaged"),
        ({"parts": {"disks": {"stages": []}}}, "is damaged"),
        ({"judged_at": "now"}, "is damaged"),
    ],
)
def test_a_foreign_or_damaged_report_is_one_sentence(
    tmp_path: Path, changes: dict[str, Any], part: str
) -> None:
    for kind in ([], ["--kind", "disks"]):
        process = execute("check_symptoms", *kind, *write(tmp_path, **changes))
        assert part in process.stdout
        assert (process.returncode, process.stdout.count("\n"), process.stderr) == (3, 1, "")


@pytest.mark.parametrize(("text", "part"), [("", "is empty"), ("[]", "damaged"), ("{", "damaged")])
def test_an_empty_or_invalid_report_is_one_sentence(tmp_path: Path, text: str, part: str) -> None:
    arguments = write(tmp_path)
    (tmp_path / "symptom-verdicts.json").write_text(text, encoding="utf-8")
    process = execute("check_symptoms", "-k", "disks", *arguments)
    assert (process.returncode, part in process.stdout, process.stdout.count("\n")) == (3, True, 1)


def test_a_world_writable_report_is_refused(tmp_path: Path) -> None:
    arguments = write(tmp_path)
    (tmp_path / "symptom-verdicts.json").chmod(0o666)
    process = execute("check_symptoms", "-k", "disks", *arguments)
    assert (process.returncode, "anybody may write it" in process.stdout) == (3, True)


def test_a_node_waits_for_its_first_look_for_limited_time(tmp_path: Path) -> None:
    arguments = write(tmp_path)
    os.unlink(tmp_path / "symptom-verdicts.json")
    missing = execute("check_symptoms", *arguments)
    assert missing.returncode == 3
    assert "no such file; look with: plumbline symptoms --save" in missing.stdout
    commands = tmp_path / "commands.json"
    commands.write_text("{}", encoding="utf-8")
    process = execute("check_symptoms", *arguments)
    assert process.stdout.startswith("SYMPTOMS OK - oss1 waits for the first look, deployed ")
    assert execute("check_symptoms", "--kind", "disks", *arguments).returncode == 3
    age(str(commands), 7200)
    assert execute("check_symptoms", *arguments).returncode == 3


@pytest.mark.parametrize("age_s", [-7200.0, -61.0, -59.0, 0.0, 1800.0, 3600.0, 3601.0, 90000.0])
@pytest.mark.parametrize("kind", ["", "disks", "arrays", "kernel"])
def test_a_check_and_judging_agree_at_every_time(tmp_path: Path, kind: str, age_s: float) -> None:
    report = read_document(Report, {"schema": 1, "node": "oss1", "looked_at": 1e9, "looks": LOOKS})
    publish_symptoms(report, tmp_path)
    raw = published(str(tmp_path / "symptom-verdicts.json"), ("symptoms",))
    state, sentence, evidence, figures = valid(raw, raw["parts"][kind], 1e9 + age_s, 3600.0)
    look = JudgedLook(report, 1e9 + age_s, 3600.0)
    verdict = judge_kind(look, kind) if kind else judge_looks(look)
    assert (state, sentence, tuple(evidence)) == (
        verdict.state.name,
        verdict.sentence,
        verdict.evidence,
    )
    assert tuple(Figure(*figure) for figure in figures) == verdict.figures


def test_a_look_from_before_an_upgrade_is_published_by_the_deployment(tmp_path: Path) -> None:
    arguments = write(tmp_path)
    raw = {"schema": 1, "node": "oss1", "looked_at": time.time() - 30, "looks": LOOKS}
    os.unlink(tmp_path / "symptom-verdicts.json")
    (tmp_path / "symptoms.json").write_text(json.dumps(raw), encoding="utf-8")
    expectations = write_documents(tmp_path, [expectation()], snapshot())[1]
    publish(expectations, tmp_path)
    assert execute("check_symptoms", "--kind", "disks", *arguments).returncode == 2


def test_help_and_usage_errors_are_unknown() -> None:
    assert execute("check_symptoms", "--help").stdout.startswith("check_symptoms ")
    assert execute("check_symptoms", "--version").returncode == 3
    for words in (["--kind", "moon"], ["--kind", ""], ["--stale-after", "soon"], ["--component"]):
        process = execute("check_symptoms", *words)
        assert (process.returncode, process.stdout[:19]) == (3, "SYMPTOMS UNKNOWN - ")
