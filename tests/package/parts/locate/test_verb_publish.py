"""``plumbline publish`` writes the document of check_path; the check prints one line of it."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping

import pytest

from plumbline.model.codec import write
from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.record import Outcome, Record
from plumbline.model.symptom import Direction, Look, Report, Symptom
from plumbline.model.verdict import State
from tests.package.cli.driver import call
from tests.package.parts.locate.scenes import LaneRates, both
from tests.package.parts.locate.test_verb_locate import all_slower, measured, plan
from tests.package.recorded import table
from tests.package.records import NIGHTS, night_after_night, save
from tests.processes import bare_python
from tests.project.repository import ROOT

SLOW_LINK = {"oss3-nic": both(25e6)}


def publish(
    folder: Path,
    records: Iterable[Record],
    *options: str,
    document: Any = None,
    nights: int = NIGHTS,
) -> Path:
    """Publish the result of these nights in the lab; return the path of the document."""
    path, history, to = folder / "plan.json", folder / "history.sqlite", folder / "paths.json"
    path.write_text(json.dumps(document or plan()), encoding="utf-8")
    save(history, night_after_night(records, nights))
    words = ["--plan", str(path), "--history", str(history), "--to", str(to), *options]
    assert call("publish", *words) == 0
    return to


def stages(path: Path) -> dict[str, list[Any]]:
    """Return the verdict of each service: begin, state, reason, sentence."""
    parts = json.loads(path.read_text(encoding="utf-8"))["parts"]
    assert {len(part["stages"]) for part in parts.values()} == {1}
    return {name: part["stages"][0] for name, part in parts.items() if name != "collection"}


def states(path: Path) -> dict[str, str]:
    return {name: stage[1] for name, stage in stages(path).items() if stage[1] != "OK"}


def reasons(path: Path) -> dict[str, str]:
    return {name: stage[2] for name, stage in stages(path).items()}


def check(document: Path, *arguments: str) -> tuple[int, str]:
    """Run the check as Nagios does; return its exit code and output."""
    process = bare_python(ROOT / "checks" / "check_path", "--document", document, *arguments)
    assert process.stderr == ""
    return process.returncode, process.stdout


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publish(tmp_path_factory.mktemp("healthy"), measured({}))


@pytest.fixture
def healthy(published: Path, tmp_path: Path) -> Path:
    """Return a copy of the document of a healthy site."""
    return Path(shutil.copy(published, tmp_path))


@pytest.mark.slow
def test_a_healthy_site_is_all_ok(healthy: Path) -> None:
    assert states(healthy) == {}
    assert set(reasons(healthy).values()) == {"fine"}
    code, out = check(healthy, "--service", "server oss3")
    assert code == 0
    assert out.startswith("PATH OK - server oss3 is no suspect: ")
    assert " good measurements cross it | 'slow'=0;;;0 'good'=" in out


@pytest.mark.slow
def test_a_slow_shared_part_is_one_alarm_and_the_file_system_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = publish(tmp_path, measured(SLOW_LINK))
    printed = capsys.readouterr().out
    assert "CRITICAL  nic oss3-nic" in printed
    assert printed.endswith("10 services, 2 of them not OK\n")
    assert states(document) == {"nic oss3-nic": "CRITICAL", "file system scratch": "WARNING"}
    code, out = check(document, "--service", "nic oss3-nic")
    assert code == 2
    assert out.startswith("PATH CRITICAL - Suspect: nic oss3-nic (2 of 2 slow targets cross it")
    code, out = check(document, "--service", "file system scratch", "-v")
    assert code == 1
    assert out.startswith("PATH WARNING - Suspect: nic oss3-nic")
    assert "\nost scratch-OST0004 read: " in out
    code, out = check(document, "--service", "server oss3")
    assert (code, "slow ones have another cause" in out) == (0, True)
    document = publish(tmp_path, [], "--json")
    (_, checksum), *rest = json.loads(document.read_text()).items()
    assert (json.loads(capsys.readouterr().out), len(checksum)) == (dict(rest), 8)


def keep_symptoms(folder: Path, **texts: str) -> None:
    (folder / "symptoms").mkdir()
    for node, text in texts.items():
        (folder / "symptoms" / f"{node}.json").write_text(text, encoding="utf-8")


def test_symptoms_of_a_suspect_are_quoted(tmp_path: Path) -> None:
    errors = Symptom(
        "ethernet", "oss3-nic", "errors", State.WARNING, Direction.RAISES, "4711 CRC errors"
    )
    report = Report("oss3", time.time() - 60, (Look("ethernet", 1, (errors,)),))
    keep_symptoms(tmp_path, oss3=json.dumps(write(report)))
    document = publish(tmp_path, measured(SLOW_LINK))
    _, out = check(document, "--service", "nic oss3-nic")
    assert "Symptoms of nic oss3-nic: " in out
    assert "4711 CRC errors." in out


UNUSABLE = {
    "client1": ("{cut", "plumbline collect brings it again)"),
    "oss1": ('{"trouble": "too many of them"}', "oss1 (too many of them)"),
    "oss2": ('{"schema": 7}', "oss2 (the report of symptoms has schema 7"),
    "oss3": (json.dumps(write(Report("oss3", 100.0, ()))), "oss3 (its last look is "),
}


@pytest.mark.slow
def test_unusable_symptoms_are_reported_and_clear_no_suspect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_symptoms(tmp_path, **{node: text for node, (text, _) in UNUSABLE.items()})
    document = publish(tmp_path, measured(SLOW_LINK))
    assert states(document) == {"nic oss3-nic": "CRITICAL", "file system scratch": "WARNING"}
    (remark,) = capsys.readouterr().err.splitlines()
    assert remark.startswith("plumbline: Left out are the symptoms of ")
    assert [reason for _, reason in UNUSABLE.values() if reason not in remark] == []


@pytest.mark.slow
def test_a_part_keeps_its_alarm_if_another_part_becomes_equally_suspect(
    tmp_path: Path,
) -> None:
    first, later = tmp_path / "first", tmp_path / "later"
    first.mkdir()
    later.mkdir()
    document = publish(first, measured(SLOW_LINK))
    assert states(document)["nic oss3-nic"] == "CRITICAL"
    (later / "paths.json").write_text(document.read_text(encoding="utf-8"), encoding="utf-8")
    # without network tests the server is as suspect as its adapter
    document = publish(later, of_layer("ost", measured(SLOW_LINK)))
    assert states(document) == {"nic oss3-nic": "CRITICAL", "file system scratch": "WARNING"}
    assert reasons(document)["server oss3"] == "alarm_elsewhere"


def of_layer(layer: str, records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record.layer == layer]


def night(case: Mapping[str, Any]) -> Iterator[Record]:
    """Yield the records of a case."""
    records = all_slower() if "halved" in case else measured(slower(case.get("faults", {})))
    if "raw" in case:
        records = [record for record in records if record.layer != "raw"]
        records += of_layer("raw", measured(slower(case["raw"])))
    for record in records:
        if record.component in case.get("targets", ()) and record.layer != "fs":
            changes: dict[str, Any] = {"outcome": Outcome(case["outcome"]), "reason": "why"}
            at = record.started_at - case.get("ago_s", 0)
            changes |= {"rate": None, "repeats": (), "started_at": at, "finished_at": at}
            yield record._replace(**changes)
        elif (
            case.get("layer", record.layer) == record.layer
            and record.component != case.get("left_out")
            and not ("outcome" in case and record.layer == "fs")
        ):
            yield record


def slower(faults: Mapping[str, float]) -> LaneRates:
    return {part: both(left_MBps * 1e6) for part, left_MBps in faults.items()}


@pytest.mark.parametrize("case", table("published.yml")["cases"], ids=lambda case: case["case"])
def test_a_fault_has_its_alarms(tmp_path: Path, case: Mapping[str, Any]) -> None:
    document = publish(tmp_path, night(case))
    assert states(document) == case["states"]
    assert reasons(document).items() >= case.get("reasons", {}).items()
    for service, (code, text) in case.get("shown", {}).items():
        ended, out = check(document, "--service", service)
        assert (ended, text in out) == (code, True), out


def submitted(folder: Path) -> list[str]:
    """Submit the history; return the lines on targets and disks for Nagios."""
    batch = folder / "batch"
    words = ["--plan", str(folder / "plan.json"), "--history", str(folder / "history.sqlite")]
    assert call("submit", *words, "--batch", str(batch)) == 0
    keys = (";OST scratch-OST", ";RAW oss")
    return [line for line in batch.read_text().splitlines() if any(key in line for key in keys)]


@pytest.mark.slow
def test_a_component_slow_behind_a_shared_part_names_it_in_nagios(tmp_path: Path) -> None:
    publish(tmp_path, measured({**SLOW_LINK, "oss1-disk1": both(60e6)}))
    lines = submitted(tmp_path)
    noted = [line.split(";")[2] for line in lines if "explained by nic oss3-nic" in line]
    assert noted == [f"OST scratch-OST000{number} write read" for number in (4, 5)]
    states = {line.split(";")[2].split()[1]: line.split(";")[3] for line in lines}
    assert [states[f"scratch-OST000{number}"] for number in (4, 5)] == ["2", "2"]
    (disk,) = (line for line in lines if ";RAW oss1-disk1 " in line)
    assert ";2;RAW CRITICAL - oss1-disk1 read 60.0 MB/s" in disk


def test_a_part_without_measurements_is_unknown(tmp_path: Path) -> None:
    document = publish(tmp_path, [])
    assert set(states(document).values()) == {"UNKNOWN"}
    assert set(reasons(document).values()) == {"not_judged"}
    code, out = check(document, "-s", "switch switch1")
    assert code == 3
    assert "no measurement that crosses switch switch1 could be judged" in out
    assert (
        "no measurement of file system scratch could be judged"
        in check(document, "-s", "file system scratch")[1]
    )


def change(document: Path, **changes: Any) -> Path:
    text = document.read_text(encoding="utf-8")
    if "at" in changes:
        # its texts have the moment of writing, too
        text = text.replace(
            json.dumps(json.loads(text)["judged_at"]), json.dumps(changes.pop("at"))
        )
    raw = {**json.loads(text), **changes}
    raw.pop("crc32", None)
    document.write_text(json.dumps(raw), encoding="utf-8")
    return document


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"at": 1e9}, "min ago, which is too old; see journalctl"),
        ({"at": 4102444800.0}, "min ahead of now, which is too old"),
        ({"judged_at": "now"}, "is damaged"),
        ({"schema": 1}, "has schema 1, this version reads 2; write it on the console with"),
        ({"parts": []}, "is damaged"),
        ({"parts": {}}, "says nothing about server oss1; deploy the roles nagios and console"),
        ({"parts": {"server oss1": {"stages": [[0, "FINE"]]}}}, "is damaged"),
    ],
)
def test_an_old_or_damaged_document_is_unknown(
    healthy: Path, changes: dict[str, Any], text: str
) -> None:
    code, out = check(change(healthy, **changes), "--service", "server oss1")
    assert (code, out.count("\n")) == (3, 1)
    assert out.startswith("PATH UNKNOWN - ")
    assert text in out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "name a service with --service; see check_path --help"),
        (["--sevice", "x"], "argument '--sevice' is not understood"),
        (["--service"], "--service needs a value"),
        (["-s", "x", "-t", "soon"], "--timeout 'soon' is no number of seconds"),
        (["-s", "x"], "no such file; write it on the console with"),
        (["--version"], "check_path 0."),
        (["--help"], "usage: check_path --service NAME"),
    ],
)
def test_usage_errors_and_help_are_unknown(tmp_path: Path, words: list[str], text: str) -> None:
    code, out = check(tmp_path / "none.json", *words)
    assert code == 3
    assert text in out


@pytest.mark.slow
def test_a_world_writable_document_is_refused(healthy: Path) -> None:
    healthy.chmod(0o666)
    assert "anybody may write it" in check(healthy, "-s", "server oss1")[1]


@pytest.mark.slow
def test_an_error_is_a_message_and_keeps_the_old_document(tmp_path: Path, healthy: Path) -> None:
    before = healthy.read_bytes()
    with pytest.raises(DocumentError, match="names no services of check_path; write it again"):
        publish(tmp_path, [], document={**plan(), "paths": []})
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        publish(tmp_path, [], "--to", os.path.join(str(tmp_path), "none", "paths.json"))
    assert healthy.read_bytes() == before


@pytest.mark.slow
def test_a_damaged_document_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "paths.json").write_text("{", encoding="utf-8")
    document = publish(tmp_path, measured(SLOW_LINK))
    assert states(document)["nic oss3-nic"] == "CRITICAL"
    assert "earlier alarms are not known" in capsys.readouterr().err


@pytest.mark.slow
def test_the_collection_service_shows_the_age_of_the_suspect_search(healthy: Path) -> None:
    document = change(healthy, at=time.time())
    code, out = check(document, "--service", "collection")
    assert code == 0
    assert out.startswith("PATH OK - suspects were looked for 0 min ago, for 10 services | 'age'=")
    code, out = check(change(document, at=time.time() - 4000), "--service", "collection")
    assert (code, out.startswith("PATH UNKNOWN - suspects were looked for 67 min ago")) == (3, True)
    document.unlink()
    code, out = check(document, "--service", "collection")
    assert (code, "systemctl start plumbline-console.service" in out) == (3, True)
