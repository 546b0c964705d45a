"""Each check as a process: its exact first line and its exit code."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from errno import EACCES
from pathlib import Path
from types import MappingProxyType
from typing import Any, Mapping, Optional, Sequence

import pytest

from plumbline.measure.process import this_process
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits, Range
from plumbline.model.record import Operation, Scenario
from plumbline.model.series import Process, Running, Series
from plumbline.model.verdict import State
from plumbline.site.checks import Verdicts
from plumbline.site.published import publish
from plumbline.store.files import refuse
from plumbline.store.snapshot import load_snapshot
from tests.package.judgements import (
    REFERENCE,
    evidence,
    expectation,
    host_expectation,
    published,
    sent,
    series,
    snapshot,
    write,
)
from tests.package.parallel_runs import expected, ran
from tests.processes import may_act_for_others

ROOT = Path(__file__).parents[3]
COMPONENTS = {"ost": "scratch-OST0003", "raw": "oss2-disk1", "net": "oss3"}
LEVELS = ";161680000:;101050000:;0;250000000"
DISK = "ceiling 250.0 MB/s by disk oss2-disk1"
LINK = "ceiling 118.0 MB/s by nic oss3-link"
SINCE = 1_786_406_400.0
OVER_RUNS = (
    "40 % of its baseline over 3 runs since 2026-08-11 00:00 UTC, odds 59,874 to 1 against chance"
)
NOT_YET = (
    "40 % of its baseline over 3 runs since 2026-08-11 00:00 UTC, odds 55 to 1 against chance, "
    "8,103 for an alarm"
)


def execute(
    check: str, *arguments: str, folder: Path = ROOT / "checks", **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a check without installed packages, and test the rules for all checks."""
    process = subprocess.run(
        [sys.executable, "-I", "-S", str(folder / check), *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        **options,
    )
    assert process.stderr == ""
    assert process.returncode in (0, 1, 2, 3)
    assert process.stdout.endswith("\n")
    return process


def fresh(**changes: Any) -> dict[str, Any]:
    now = time.time()
    return {"started_at": now - 70, "finished_at": now - 60, **changes}


def ost(write_Bps: Optional[float], read_Bps: Optional[float], **changes: Any) -> list[Series]:
    return [
        series(write_Bps, **fresh(operation=Operation.WRITE, **changes)),
        series(read_Bps, **fresh(**changes)),
    ]


def raw(single_Bps: float, together_Bps: float) -> list[Series]:
    component = {"layer": "raw", "component": "oss2-disk1"}
    return [
        series(single_Bps, **fresh(**component)),
        series(together_Bps, **fresh(scenario=Scenario.TOGETHER, **component)),
    ]


def net(first_Bps: float, second_Bps: float) -> list[Series]:
    return [sent("oss1", first_Bps, **fresh()), sent("oss2", second_Bps, **fresh())]


EXPECTED: list[Expectation] = [
    expectation(),
    expectation(component="scratch-OST0004"),
    expectation(
        layer="raw",
        component="oss2-disk1",
        references={"read/single": REFERENCE, "read/together": REFERENCE},
    ),
    host_expectation("oss1", "oss2"),
]


COLLECTED = time.time()


def recent(series: Series) -> Series:
    """Return a series of the time of test collection, moved to the present."""
    delay, latest = time.time() - COLLECTED, series.latest
    samples = (sample._replace(started_at=sample.started_at + delay) for sample in series.samples)
    start, end = latest.started_at + delay, latest.finished_at + delay
    latest = latest._replace(started_at=start, finished_at=end)
    return series._replace(latest=latest, samples=tuple(samples))


Evidences = Mapping[Subject, Evidence]
NO_EVIDENCE: Evidences = MappingProxyType({})


def slow(what: str, **changes: Any) -> Evidence:
    """Return an alarm for 40 % of the baseline over three runs."""
    return evidence(**{"what": what, "since": SINCE, **changes})


def suspicious(what: str) -> Evidence:
    """Return the same loss with odds too low for an alarm."""
    return slow(what, alarm=False, odds=4.0)


def of_target(evidence: Evidence) -> Evidences:
    return {("ost", "scratch-OST0003", False): evidence}


def deploy(
    folder: Path,
    measured: Sequence[Series],
    running: Sequence[Running] = (),
    known: Evidences = NO_EVIDENCE,
) -> list[str]:
    measurements = snapshot(*measured, running=running, now=time.time(), known=known)
    return published(folder, EXPECTED, measurements)


@pytest.mark.parametrize(
    ("check", "measured", "known", "line"),
    [
        (
            "check_ost",
            ost(195e6, 200e6),
            NO_EVIDENCE,
            "OST OK - scratch-OST0003 write 195.0 MB/s, read 200.0 MB/s, "
            "96 % and 99 % of baseline | "
            f"'write_Bps'=195000000{LEVELS} 'read_Bps'=200000000{LEVELS}",
        ),
        (
            "check_ost",
            ost(150e6, 200e6),
            of_target(slow("write", ratio=0.74)),
            "OST WARNING - scratch-OST0003 write 150.0 MB/s, 74 % of baseline 202.1 MB/s "
            f"(12 runs to 2026-11-20), {DISK}: {OVER_RUNS.replace('40 %', '74 %')} | "
            f"'write_Bps'=150000000{LEVELS} 'read_Bps'=200000000{LEVELS}",
        ),
        (
            "check_ost",
            ost(195e6, 80.3e6),
            of_target(suspicious("read")),
            "OST OK - scratch-OST0003 watching: read 80.3 MB/s, 40 % of baseline 202.1 MB/s "
            f"(12 runs to 2026-11-20), {DISK}; {NOT_YET} | "
            f"'write_Bps'=195000000{LEVELS} 'read_Bps'=80300000{LEVELS}",
        ),
        (
            "check_ost",
            ost(195e6, 80.3e6),
            of_target(slow("read")),
            "OST CRITICAL - scratch-OST0003 read 80.3 MB/s, 40 % of baseline 202.1 MB/s "
            f"(12 runs to 2026-11-20), {DISK}: {OVER_RUNS} | "
            f"'write_Bps'=195000000{LEVELS} 'read_Bps'=80300000{LEVELS}",
        ),
        (
            "check_ost",
            ost(195e6, None, reason="fio: No space | left\non device"),
            NO_EVIDENCE,
            "OST UNKNOWN - scratch-OST0003 read failed: fio: No space / left on device | "
            f"'write_Bps'=195000000{LEVELS} 'read_Bps'=U;;;0",
        ),
        (
            "check_ost",
            ost(195e6, None),
            of_target(slow("read")),
            "OST CRITICAL - scratch-OST0003 write 195.0 MB/s, 96 % of baseline 202.1 MB/s "
            f"(12 runs to 2026-11-20), {DISK}: read {OVER_RUNS} | "
            f"'write_Bps'=195000000{LEVELS} 'read_Bps'=U;;;0",
        ),
        (
            "check_raw",
            raw(200e6, 80.3e6),
            {("raw", "oss2-disk1", False): slow("read together")},
            "RAW CRITICAL - oss2-disk1 read together 80.3 MB/s, 40 % of baseline 202.1 MB/s "
            f"(12 runs to 2026-11-20), {DISK}: {OVER_RUNS} | "
            f"'read_Bps'=200000000{LEVELS} 'read_together_Bps'=80300000{LEVELS}",
        ),
        (
            "check_net",
            net(116e6, 24e6),
            NO_EVIDENCE,
            "NET OK - oss3 send 116.0 MB/s, 99 % of baseline; send with partner oss2 24.0 MB/s | "
            "'send_Bps'=116000000;93600000:;58500000:;0;118000000 'send_retransmits'=U;0.5;;0",
        ),
        (
            "check_net",
            net(24e6, 24e6),
            {("net", "oss3", False): slow("send", ratio=0.21)},
            "NET CRITICAL - oss3 send 24.0 MB/s, 21 % of baseline 117.0 MB/s "
            f"(12 runs to 2026-11-20), {LINK}: {OVER_RUNS.replace('40 %', '21 %')}; "
            "upper median of 2 partners "
            "| 'send_Bps'=24000000;93600000:;58500000:;0;118000000 'send_retransmits'=U;0.5;;0",
        ),
    ],
)
def test_a_check_prints_one_line(
    tmp_path: Path, check: str, measured: list[Series], known: Evidences, line: str
) -> None:
    component = COMPONENTS[check.rpartition("_")[2]]
    measured = list(map(recent, measured))
    process = execute(check, "--component", component, *deploy(tmp_path, measured, known=known))
    code = State[line.split()[1]]
    assert (process.stdout, process.returncode) == (f"{line}\n", int(code))


@pytest.mark.parametrize(
    ("known", "code", "text"),
    [
        (
            # evidence of a member is not evidence of the group
            of_target(slow("write")),
            0,
            "OST OK - group scratch watching: write 40 % of baseline, upper median of 2; too few "
            "runs to tell it from chance; read 99 % of baseline, upper median of 2",
        ),
        (
            {("ost", "scratch", True): suspicious("write")},
            0,
            "OST OK - group scratch watching: write 40 % of baseline, upper median of 2; "
            f"{NOT_YET}; read 99 % of baseline, upper median of 2",
        ),
        (
            {("ost", "scratch", True): slow("write")},
            2,
            f"OST CRITICAL - group scratch write {OVER_RUNS}",
        ),
        (
            {("ost", "scratch", True): slow("write", ratio=0.74)},
            1,
            f"OST WARNING - group scratch write {OVER_RUNS.replace('40 %', '74 %')}",
        ),
    ],
)
def test_a_group_is_judged_by_its_shared_loss(
    tmp_path: Path, known: Evidences, code: int, text: str
) -> None:
    measured = ost(80e6, 200e6, peers_rate=80e6)
    measured += ost(80e6, 200e6, peers_rate=80e6, component="scratch-OST0004")
    process = execute("check_ost", "--group", "scratch", *deploy(tmp_path, measured, known=known))
    assert process.stdout == (
        f"{text} | 'write_median'=39.5844%;80:;50:;0 'read_median'=98.9609%;80:;50:;0\n"
    )
    assert process.returncode == code


def parallel_run(folder: Path, known: Evidences) -> list[str]:
    """Write the documents of a parallel run with OST2 at 40 %; return the arguments."""
    measured = ran([200e6, 201e6, 80e6, 200e6], time.time() - 60)
    return published(folder, expected(), snapshot(*measured, now=time.time(), known=known))


AT_ONCE = (
    " | 'write_together_Bps'=320000000;646720000:;404200000:;0;900000000 "
    "'read_together_Bps'=320000000;646720000:;404200000:;0;900000000 "
    "'write_together_slowest'=40%;80:;50:;0 'read_together_slowest'=40%;80:;50:;0\n"
)


def test_a_parallel_run_is_one_line_that_names_the_slow_target(
    tmp_path: Path,
) -> None:
    evidence = slow("write together")
    known = {("fs", "OST2", False): evidence, ("fs", "scratch", False): evidence}
    documents = parallel_run(tmp_path, known)
    process = execute("check_fs", "--group", "scratch", *documents)
    assert process.stdout == (
        "FS CRITICAL - file system scratch - OST2 write together 80.0 MB/s, 40 % of baseline "
        f"202.1 MB/s (12 runs to 2026-11-20), ceiling 250.0 MB/s by disk disk: {OVER_RUNS}; as a "
        "whole write together 320.0 MB/s, 40 % of baseline 808.4 MB/s (12 runs to 2026-11-20), "
        f"ceiling 900.0 MB/s by nic client1-nic: {OVER_RUNS}{AT_ONCE}"
    )
    assert process.returncode == 2
    slowest = execute("check_fs", "--component", "OST2", *documents)
    assert slowest.stdout.startswith("FS CRITICAL - OST2 write together 80.0 MB/s")
    assert slowest.returncode == 2
    good = execute("check_fs", "--component", "OST1", *documents)
    assert good.stdout.startswith("FS OK - OST1 write together 201.0 MB/s")
    unknown = execute("check_fs", "--group", "work", *documents)
    assert unknown.stdout.startswith("FS UNKNOWN - expectations have no file system work in layer")
    assert unknown.returncode == 3


def test_more_verbosity_gives_more_evidence(tmp_path: Path) -> None:
    now = time.time()
    ago = {"started_at": now - 3 * 3600 - 10, "finished_at": now - 3 * 3600}
    known = of_target(slow("write", ratio=0.74))
    documents = deploy(tmp_path, ost(150e6, 200e6, **ago), known=known)
    arguments = ("check_ost", "--component", "scratch-OST0003", *documents)
    plain, once, twice = (
        execute(*arguments, *("-v",) * count).stdout.splitlines() for count in range(3)
    )
    assert (len(plain), len(once)) == (1, 4)
    assert once[1] == f"write {OVER_RUNS.replace('40 %', '74 %')}, 8,103 for an alarm"
    assert once[2].startswith("write 150.0 MB/s 3 h ago, repeats 150.0 MB/s")
    assert once[3].startswith("read 200.0 MB/s 3 h ago, repeats 200.0 MB/s")
    assert "  ceiling 250.0 MB/s by disk oss2-disk1, reached to 80 %" in twice


def test_a_hung_run_is_critical(tmp_path: Path) -> None:
    running = [Running("ost", "scratch-OST0003", time.time() - 3600)]
    documents = deploy(tmp_path, ost(195e6, 200e6), running)
    process = execute("check_ost", "--component", "scratch-OST0003", *documents)
    assert process.stdout.startswith(
        "OST CRITICAL - scratch-OST0003 hangs: a run has not ended since"
    )
    assert process.returncode == 2


WRITE_AGAIN = "write it again with: plumbline judge --publish"
FIRST_WRITE = "write it with: plumbline judge --publish"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "ost-scratch-OST0003.json: no such file; write it with: plumbline judge --publish"),
        (lambda old: "", f"ost-scratch-OST0003.json: the file is empty; {WRITE_AGAIN}"),
        (lambda old: old[: len(old) // 2], "is damaged (its checksum does not match); write it"),
        (lambda old: old.replace("195.0 MB/s", "195.1 MB/s"), "its checksum does not match"),
        (lambda old: "not JSON", "ost-scratch-OST0003.json is damaged (Expecting value"),
        (lambda old: "{}", f"is damaged (KeyError('schema')); {WRITE_AGAIN}"),
        (lambda old: " " * (17 << 20), "are more than plumbline writes (16 MiB at most); write"),
        (lambda old: unsealed(old, schema=9), "has schema 9, this version reads 2; write it"),
        (lambda old: unsealed(old, stages=[]), "is damaged (IndexError("),
        (lambda old: unsealed(old, stages=[[0, "FINE", "fine", [], [], []]]), "KeyError('FINE')"),
        (lambda old: unsealed(old, stages=[[0, "OK", "fine", [-1], [], []]]), "is no time"),
        (lambda old: unsealed(old, stages=[[0, "OK", "fine", [""], [99], []]]), "IndexError("),
        (lambda old: unsealed(old, lines=["one"]), "text is 'one', which is no list"),
        (lambda old: unsealed(old, running=7), "running is no list"),
        (lambda old: unsealed(old, running=[["ost"]]), "ost-scratch-OST0003.json is damaged"),
        (lambda old: unsealed(old, name="other"), f"is of ost other; {WRITE_AGAIN}"),
        (lambda old: unsealed(old, judged_at=-1), "judged_at is -1, which is no time"),
        (lambda old: unsealed(old, stamp="1:2:3"), "was judged by other expectations than /"),
    ],
)
def test_a_damaged_verdict_is_unknown_and_named(tmp_path: Path, content: Any, text: str) -> None:
    documents = deploy(tmp_path, ost(195e6, 200e6))
    path = tmp_path / "verdicts" / "ost-scratch-OST0003.json"
    old = path.read_text()
    path.unlink()
    if content:
        path.write_text(content(old))
    process = execute("check_ost", "--component", "scratch-OST0003", *documents)
    assert process.stdout.startswith("OST UNKNOWN - ")
    assert text in process.stdout.splitlines()[0]
    assert process.returncode == 3


def unsealed(text: str, **changes: Any) -> str:
    """Return a verdict edited by hand, without its checksum."""
    raw = json.loads(text)
    (part,) = raw["parts"].values()
    for key, value in changes.items():
        (part if key in part else raw)[key] = value
    return json.dumps({key: value for key, value in raw.items() if key != "crc32"})


def test_an_unexpected_component_is_reported(tmp_path: Path) -> None:
    documents = deploy(tmp_path, ost(195e6, 200e6))
    for arguments in (("--component", "nothing"), ("--group", "nothing")):
        process = execute("check_ost", *arguments, *documents)
        assert "nothing in layer ost; add it to the topology and deploy" in process.stdout
    os.unlink(documents[1])
    process = execute("check_ost", "--component", "scratch-OST0003", *documents)
    assert "expectations.json: no such file; deploy the role agent" in process.stdout
    assert process.returncode == 3


def test_a_verdict_by_other_expectations_than_those_deployed_is_not_shown(tmp_path: Path) -> None:
    documents = deploy(tmp_path, ost(195e6, 200e6))
    measurements = load_snapshot(str(tmp_path / "snapshot.json"))
    write(tmp_path, [expectation(limits=Limits(warning=Range.parse("99:")))], measurements)
    process = execute("check_ost", "--component", "scratch-OST0003", *documents)
    assert process.returncode == 3
    assert f"judged by other expectations than {documents[1]}; {WRITE_AGAIN}" in process.stdout
    Verdicts(documents[1], Path(documents[3]))(measurements)
    process = execute("check_ost", "--component", "scratch-OST0003", *documents)
    assert "watching: write 195.0 MB/s" in process.stdout
    # a component that is no longer expected has no verdict
    removed = execute("check_ost", "--component", "scratch-OST0004", *documents)
    assert "have no scratch-OST0004 in layer ost; add it to the topology" in removed.stdout


def test_a_verdict_from_the_future_is_unknown(tmp_path: Path) -> None:
    ahead = snapshot(*ost(195e6, 200e6), now=time.time() + 7300)
    documents = published(tmp_path, EXPECTED, ahead)
    process = execute("check_ost", "--component", "scratch-OST0003", *documents)
    assert "2 h ahead of the clock; set the clock of this node" in process.stdout
    assert process.returncode == 3


def test_a_link_instead_of_the_verdict_is_refused(tmp_path: Path) -> None:
    documents = deploy(tmp_path, ost(195e6, 200e6))
    path = tmp_path / "verdicts" / "ost-scratch-OST0003.json"
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to("../elsewhere.json")
    process = execute("check_ost", "--component", "scratch-OST0003", *documents)
    assert "a symbolic link is not followed" in process.stdout
    assert process.returncode == 3


@pytest.mark.parametrize(
    ("mode", "remedy"),
    [
        (0o644, "as its permissions allow; label it for SELinux"),
        (0o400, "add it to the group plumbline-checks"),
    ],
)
def test_missing_permissions_and_selinux_denials_are_distinguished(
    tmp_path: Path, mode: int, remedy: str
) -> None:
    path = tmp_path / "verdict.json"
    path.touch()
    path.chmod(mode)
    with pytest.raises(DocumentError, match=remedy):
        refuse(PermissionError(EACCES, "Permission denied"), str(path), "verdict", "probe again")


@pytest.mark.slow
@pytest.mark.skipif(not may_act_for_others(), reason="only root can become another user")
def test_the_nrpe_user_reads_verdicts_through_its_group(open_path: Path) -> None:
    folder = open_path / "plumbline"
    folder.mkdir()
    documents = deploy(folder, ost(195e6, 200e6))
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 64001, 64002)
        path.chmod(0o750 if path.is_dir() else 0o640)
    package = open_path / "library"
    shutil.copytree(ROOT / "src" / "plumbline", package / "plumbline")
    shutil.copytree(ROOT / "checks", package / "checks")
    python: dict[str, Any] = {"folder": package / "checks", "user": 64003}
    arguments = ("check_ost", "--component", "scratch-OST0003", *documents)
    assert execute(*arguments, **python, group=64002, extra_groups=[]).returncode == 0
    process = execute(*arguments, **python, group=64003, extra_groups=[])
    assert "not readable by user id 64003; add it to the group plumbline" in process.stdout
    assert process.returncode == 3


def test_a_check_without_its_package_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    for check in (
        *("check_ost", "check_raw", "check_net", "check_fs"),
        "check_node",
        "check_symptoms",
    ):
        shutil.copy(ROOT / "checks" / check, tmp_path / "checks")
        process = execute(check, "--component", "a", folder=tmp_path / "checks")
        service = check.rpartition("_")[2].upper()
        assert process.stdout.startswith(f"{service} UNKNOWN - No module named 'plumbline'")
        assert process.stdout.endswith("deploy the role agent again\n")
        assert process.returncode == 3


def test_a_check_may_be_called_through_a_link(tmp_path: Path) -> None:
    documents = deploy(tmp_path, ost(195e6, 200e6))
    (tmp_path / "check_ost").symlink_to(ROOT / "checks" / "check_ost")
    process = execute("check_ost", "--component", "scratch-OST0003", *documents, folder=tmp_path)
    assert process.stdout.startswith("OST OK - scratch-OST0003")


@pytest.mark.parametrize("end", [">&-", "> /dev/full"])
def test_a_check_without_usable_output_is_not_ok(tmp_path: Path, end: str) -> None:
    documents = deploy(tmp_path, ost(195e6, 200e6))
    command = [sys.executable, "-I", str(ROOT / "checks" / "check_ost")]
    command += ["--component", "scratch-OST0003", *documents]
    line = f"exec {shlex.join(command)} {end}"
    process = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (3, "")


def test_an_interrupted_run_is_not_hung(tmp_path: Path) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    for ended in (Process(1, 1, boot, "00:00:0"), Process(1, 1, "another boot", "00:00:0")):
        running = [Running("ost", "scratch-OST0003", time.time() - 3600, ended)]
        documents = deploy(tmp_path, ost(195e6, 200e6), running)
        process = execute("check_ost", "--component", "scratch-OST0003", *documents)
        assert process.returncode == 0, process.stdout
        assert "was interrupted before it ended" in process.stdout


def test_a_run_with_a_live_process_is_hung(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        living = Process(*this_process(lock.fileno()))
    running = [Running("ost", "scratch-OST0003", time.time() - 3600, living)]
    documents = deploy(tmp_path, ost(195e6, 200e6), running)
    assert execute("check_ost", "--component", "scratch-OST0003", *documents).returncode == 2


def age(path: str, seconds: float) -> None:
    """Set the modification time of a file this many seconds back."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_check_node_is_one_line_on_the_probes_of_a_node(tmp_path: Path) -> None:
    measured = snapshot(*ost(200e6, 200e6), now=time.time())
    arguments = published(tmp_path, [expectation()], measured)
    process = execute("check_node", *arguments)
    assert process.returncode == 0
    assert re.fullmatch(
        r"NODE OK - client1: ost 1 of 1 measured, last 6\d s ago "
        r"\| 'ost_measured'=1;;;0;1 'ost_age'=6\ds;;;0\n",
        process.stdout,
    )
    process = execute("check_node", "-vv", *arguments)
    assert process.stdout.splitlines()[1].startswith("ost 1 of 1 measured")


def test_probes_without_results_are_unknown(tmp_path: Path) -> None:
    failed = ost(None, None, reason="fio: command not found")
    arguments = published(tmp_path, [expectation()], snapshot(*failed, now=time.time()))
    process = execute("check_node", *arguments)
    assert process.returncode == 3
    assert process.stdout.startswith(
        "NODE UNKNOWN - client1: ost is silent, none of 1 measured: scratch-OST0003 read failed: "
        "fio: command not found | 'ost_measured'=0;;;0;1"
    )


def test_a_node_without_a_run_waits_for_its_first_run_for_limited_time(tmp_path: Path) -> None:
    expectations = write(tmp_path, [expectation()], snapshot())[1]
    os.unlink(tmp_path / "snapshot.json")
    publish(expectations, tmp_path)
    arguments = ["--expectations", expectations, "--verdicts", str(tmp_path / "verdicts")]
    process = execute("check_node", *arguments)
    assert process.returncode == 0
    assert "waits for its first run" in process.stdout
    age(expectations, 2 * 86400)
    publish(expectations, tmp_path)
    process = execute("check_node", *arguments)
    assert process.returncode == 3
    assert process.stdout.startswith(
        "NODE UNKNOWN - client1: ost is silent, none of 1 measured: scratch-OST0003 write was never"
        " recorded on client1; run systemctl start plumbline-ost.service there"
    )
    # a missing or unreadable verdict does not count as waiting
    age(expectations, 0)
    process = execute("check_node", *arguments)
    assert (process.returncode, "by other expectations than" in process.stdout) == (3, True)
    verdict = tmp_path / "verdicts" / "node-probes.json"
    verdict.write_text("{", encoding="utf-8")
    assert execute("check_node", *arguments).returncode == 3
    os.unlink(verdict)
    process = execute("check_node", *arguments)
    assert (process.returncode, f"no such file; {FIRST_WRITE}" in process.stdout) == (3, True)
    publish(expectations, tmp_path)
    os.unlink(expectations)
    process = execute("check_node", *arguments)
    assert (process.returncode, "no such file; deploy the role" in process.stdout) == (3, True)


def test_a_run_that_hangs_has_the_alarm_of_its_component_and_not_of_the_node(
    tmp_path: Path,
) -> None:
    with (tmp_path / "lock").open("w") as lock:
        living = Process(*this_process(lock.fileno()))
    running = [Running("ost", "scratch-OST0003", time.time() - 3600, living)]
    measured = snapshot(*ost(200e6, 200e6), running=running, now=time.time())
    process = execute("check_node", *published(tmp_path, [expectation()], measured))
    assert process.returncode == 0
    assert process.stdout.startswith("NODE OK - client1: ost hangs: a run has not ended since ")


def test_a_verdict_on_probes_from_the_future_is_unknown(tmp_path: Path) -> None:
    ahead = snapshot(*ost(195e6, 200e6), now=time.time() + 7300)
    process = execute("check_node", *published(tmp_path, EXPECTED, ahead))
    assert "client1 was judged " in process.stdout
    assert "2 h ahead of the clock; set the clock of this node" in process.stdout
    assert process.returncode == 3


def test_probes_with_a_damaged_record_are_unknown_and_named(tmp_path: Path) -> None:
    measured = snapshot(*ost(200e6, 200e6), now=time.time())
    measured.series["ost/scratch-OST0003"]["operations"][0]["latest"]["rate"] = "fast"
    process = execute("check_node", *published(tmp_path, [expectation()], measured))
    assert process.stdout.startswith("NODE UNKNOWN - client1: probes cannot be judged: record ")
    assert process.returncode == 3


def test_a_python_whose_json_has_other_parts_still_reads_verdicts(tmp_path: Path) -> None:
    arguments = deploy(tmp_path, ost(195e6, 200e6))
    program = (
        "import sys; sys.modules['_json'] = None; "
        f"sys.path.insert(0, {str(ROOT / 'src')!r}); "
        "from plumbline.doors.check import main; main('ost')"
    )
    words = [sys.executable, "-I", "-c", program, "--component", "scratch-OST0003", *arguments]
    process = subprocess.run(words, capture_output=True, text=True, check=False)
    assert process.stdout.startswith("OST OK - scratch-OST0003 write 195.0 MB/s")
    assert (process.returncode, process.stderr) == (0, "")


def test_check_node_takes_no_component() -> None:
    assert execute("check_node", "--help").stdout.startswith("check_node ")
    assert execute("check_node", "--version").returncode == 3
    process = execute("check_node", "--component", "x")
    assert process.stdout.startswith("NODE UNKNOWN - argument '--component' is not understood")
