"""``plumbline publish`` writes the document of check_path; the check prints one line of it."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any, Iterable

import pytest

from plumbline.model.codec import write
from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.record import Outcome, Record
from plumbline.model.verdict import State
from plumbline.observe.symptom import Direction, Look, Report, Symptom
from tests.package.cli.driver import call
from tests.package.cli.test_locate import all_slower, measured, plan
from tests.package.locate.scenes import both
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


def states(path: Path) -> dict[str, str]:
    document = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: service["state"]
        for name, service in document["services"].items()
        if service["state"] != "OK"
    }


def reasons(path: Path) -> dict[str, str]:
    document = json.loads(path.read_text(encoding="utf-8"))
    return {name: service["reason"] for name, service in document["services"].items()}


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
    assert json.loads(capsys.readouterr().out) == json.loads(document.read_text())


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


def test_a_mild_loss_is_a_warning(tmp_path: Path) -> None:
    document = publish(tmp_path, measured({"oss3-nic": both(75e6)}))
    assert states(document)["nic oss3-nic"] == "WARNING"


def test_a_server_with_only_slow_disks_raises_one_alarm(tmp_path: Path) -> None:
    document = publish(tmp_path, measured({f"oss2-disk{number}": both(60e6) for number in (1, 2)}))
    assert states(document) == {"server oss2": "CRITICAL", "file system scratch": "WARNING"}
    _, out = check(document, "--service", "server oss2")
    assert out.startswith(
        "PATH CRITICAL - Suspect: server oss2 (all 2 of its 2 disks are slow alike"
    )


def test_a_loss_shared_by_all_targets_is_shown_by_their_file_system(tmp_path: Path) -> None:
    document = publish(tmp_path, all_slower())
    assert states(document) == {"file system scratch": "WARNING"}
    assert reasons(document)["file system scratch"] == "unexplained"
    service = json.loads(document.read_text(encoding="utf-8"))["services"]["file system scratch"]
    assert service["sentence"].startswith("Shared loss: ost group scratch ")


@pytest.mark.slow
def test_the_file_system_raises_the_alarm_of_a_fault_with_silenced_services(
    tmp_path: Path,
) -> None:
    document = publish(tmp_path, measured({**SLOW_LINK, "oss3-disk2": both(6e6)}))
    assert states(document) == {"nic oss3-nic": "CRITICAL", "file system scratch": "CRITICAL"}
    named = reasons(document)
    assert (named["nic oss3-nic"], named["file system scratch"]) == ("suspect", "silenced")
    _, out = check(document, "--service", "file system scratch")
    assert out.startswith("PATH CRITICAL - silent behind another alarm: Suspect: disk oss3-disk2")


def test_the_file_system_raises_the_alarm_of_a_disk_silenced_through_its_target(
    tmp_path: Path,
) -> None:
    slow_disk = of_layer("raw", measured({"oss3-disk2": both(6e6)}))
    slow_link = (record for record in measured(SLOW_LINK) if record.layer != "raw")
    document = publish(tmp_path, [*slow_link, *slow_disk])
    assert states(document) == {"nic oss3-nic": "CRITICAL", "file system scratch": "CRITICAL"}
    assert reasons(document)["file system scratch"] == "silenced"


def of_layer(layer: str, records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record.layer == layer]


def test_one_of_several_ambiguous_suspects_bears_the_alarm(tmp_path: Path) -> None:
    document = publish(tmp_path, of_layer("ost", measured(SLOW_LINK)))
    assert states(document) == {"server oss3": "CRITICAL", "file system scratch": "WARNING"}
    named = reasons(document)
    assert (named["server oss3"], named["nic oss3-nic"]) == ("suspect", "alarm_elsewhere")
    assert named["file system scratch"] == "suspect"
    _, out = check(document, "--service", "server oss3")
    assert "Suspects, ambiguous: " in out
    assert "nic oss3-nic" in out
    code, out = check(document, "--service", "nic oss3-nic")
    assert code == 0
    assert "nic oss3-nic may be at fault too; the alarm is that of server oss3" in out


def test_a_single_slow_component_raises_its_own_alarm(tmp_path: Path) -> None:
    """Parts on the path of one slow target are suspects, but their services raise no alarm."""
    targets = of_layer("ost", measured(SLOW_LINK))
    document = publish(
        tmp_path, [record for record in targets if record.component != "scratch-OST0004"]
    )
    assert states(document) == {"file system scratch": "WARNING"}
    code, out = check(document, "--service", "server oss3")
    assert code == 0
    assert "server oss3 may be at fault too; the alarm is that of ost scratch-OST0005" in out


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
    raw = json.loads(document.read_text(encoding="utf-8"))
    document.write_text(json.dumps({**raw, **changes}), encoding="utf-8")
    return document


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"written_at": 1e9}, "min ago, which is too old; see journalctl"),
        ({"written_at": 4102444800.0}, "min ahead of now, which is too old"),
        ({"written_at": "now"}, "is damaged"),
        ({"schema": 1}, "has schema 1, this version reads 2; write it on the console with"),
        ({"services": []}, "is damaged"),
        ({"services": {}}, "says nothing about server oss1; deploy the roles nagios and console"),
        ({"services": {"server oss1": {"state": "FINE"}}}, "a verdict is damaged"),
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


def without(outcome: Outcome, targets: set[str], **changes: Any) -> list[Record]:
    """Return a night in which a client could not measure some targets."""
    failure: dict[str, Any] = {"outcome": outcome, "reason": "why", "rate": None}
    return [
        record._replace(**{**failure, "repeats": (), **changes})
        if record.component in targets
        else record
        for record in measured({})
        if record.layer != "fs"
    ]


def test_an_unreachable_server_raises_one_alarm(tmp_path: Path) -> None:
    behind = {"scratch-OST0002", "scratch-OST0003"}
    document = publish(tmp_path, without(Outcome.UNREACHABLE, behind))
    assert states(document) == {"server oss2": "CRITICAL"}
    code, out = check(document, "--service", "server oss2")
    assert code == 2
    assert out.startswith(
        "PATH CRITICAL - server oss2 does not answer client1: "
        "scratch-OST0002, scratch-OST0003 not measured since "
    )


def test_a_server_that_answers_again_has_no_alarm(tmp_path: Path) -> None:
    at = time.time() - 600
    night = without(Outcome.UNREACHABLE, {"scratch-OST0002"}, started_at=at, finished_at=at)
    assert states(publish(tmp_path, night)) == {}


@pytest.mark.slow
def test_a_dead_mount_raises_one_alarm_on_its_client(tmp_path: Path) -> None:
    targets = {f"scratch-OST000{number}" for number in range(6)}
    document = publish(tmp_path, without(Outcome.NO_MOUNT, targets))
    assert states(document)["client client1"] == "CRITICAL"
    assert [name for name, state in states(document).items() if state == "CRITICAL"] == [
        "client client1"
    ]


@pytest.mark.slow
def test_a_damaged_document_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "paths.json").write_text("{", encoding="utf-8")
    document = publish(tmp_path, measured(SLOW_LINK))
    assert states(document)["nic oss3-nic"] == "CRITICAL"
    assert "earlier alarms are not known" in capsys.readouterr().err


@pytest.mark.slow
def test_the_collection_service_shows_the_age_of_the_suspect_search(healthy: Path) -> None:
    document = change(healthy, written_at=time.time())
    code, out = check(document, "--service", "collection")
    assert code == 0
    assert out.startswith("PATH OK - suspects were looked for 0 min ago, for 10 services | 'age'=")
    code, out = check(change(document, written_at=time.time() - 4000), "--service", "collection")
    assert (code, out.startswith("PATH UNKNOWN - suspects were looked for 67 min ago")) == (3, True)
    document.unlink()
    code, out = check(document, "--service", "collection")
    assert (code, "systemctl start plumbline-console.service" in out) == (3, True)
