"""``plumbline probe`` as a process, on real directories and with a stand-in for fio."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from plumbline.doors.ranks import comparison
from plumbline.model.expectation import Expectations
from plumbline.model.layers.ost import OST
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Operation
from plumbline.model.spec import ProbeSpec
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.site.measure import Result
from plumbline.store.database import Selection
from plumbline.store.history import History
from plumbline.store.snapshot import load_snapshot
from tests.forks import Fork
from tests.package.cli.driver import finish, start
from tests.package.judgements import BASELINE, DAY_S, checked
from tests.package.measure.units import expectation
from tests.package.records import NIGHTS, every_night, record
from tests.package.waiting import alive, eventually

TOOLS = Path(__file__).parent / "tools"
SPEC = ProbeSpec("fio", 1 << 20, 5.0, repeats=2)
BASELINE_200 = Reference(None, BASELINE._replace(median=200e6, spec_hash=SPEC.hash()))
FIRM = {"write/single": BASELINE_200, "read/single": BASELINE_200}


class Node(NamedTuple):
    """A node with a folder for each component and a state folder."""

    home: Path

    @property
    def state(self) -> Path:
        return self.home / "state"

    def variables(self, behaviour: dict[str, str]) -> dict[str, str]:
        """Return environment variables for the stand-in for fio and its behaviour."""
        fakes = {f"FAKE_{component}": value for component, value in behaviour.items()}
        path = f"{TOOLS}:{os.environ['PATH']}"
        return {**fakes, "FAKE_LOG": str(self.home / "fio.log"), "PATH": path}

    def start(self, *words: str, **behaviour: str) -> Fork:
        return start(self.home, "probe", "ost", *words, **self.variables(behaviour))

    def probe(self, *words: str, **behaviour: str) -> subprocess.CompletedProcess[str]:
        return finish(self.home, "probe", "ost", *words, **self.variables(behaviour))

    def arguments(self) -> list[str]:
        return [
            *("--expectations", str(self.home / "expectations.json")),
            *("--state", str(self.state), "--locks", str(self.home / "locks")),
        ]

    def directories(self) -> list[str]:
        names = ("a", "b", "c")
        words = [word for name in names for word in ("--directory", f"{name}={self.home}/{name}")]
        return [*words, "--bytes", "1MiB"]

    def expect(self, names: str = "abc", **changes: Any) -> None:
        """Write expectations of folders, with the changes that a test needs."""
        # other processes use the disk, and the stand-in moves no bytes
        usual: dict[str, Any] = {"spec": SPEC, "limits": Limits(min_coverage=0.0)}
        entries = tuple(
            expectation(
                name,
                host=f"oss-{name}",
                target={"kind": "directory", "directory": str(self.home / name)},
                **{**usual, **changes},
            ).to_json()
            for name in names
        )
        document = Expectations("client1", "lab", entries).to_json()
        (self.home / "expectations.json").write_text(json.dumps(document))

    def wait_for_fio(self) -> int:
        """Wait for the first fio and return its process id."""
        log = self.home / "fio.log"
        eventually(lambda: log.exists() and log.read_text().endswith("\n"))
        return int(log.read_text().split()[2])

    def records(self) -> list[tuple[str, str, str]]:
        with History(self.state / "history.sqlite") as history:
            return [
                (record.component, record.operation.value, record.outcome.value)
                for record in history.records(Selection())
            ]

    def judge(self, component: str) -> dict[str, Any]:
        """Return this node's verdict on a component."""
        documents = ("--expectations", str(self.home / "expectations.json"))
        snapshot = ("--snapshot", str(self.state / "snapshot.json"))
        words = ("--json", "--component", component, *documents, *snapshot)
        verdict: dict[str, Any] = json.loads(finish(self.home, "judge", *words).stdout)
        return dict(verdict["verdicts"][0])

    def recorded_running(self) -> list[str]:
        """Return the running components in the history."""
        with History(self.state / "history.sqlite") as history:
            return [running.component for running in history.running()]

    def running(self) -> list[tuple[str, bool]]:
        """Return the running components in the snapshot, and whether they were interrupted."""
        snapshot = load_snapshot(str(self.state / "snapshot.json"))
        return [(running.component, running.interrupted) for running in snapshot.running]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    for folder in ("a", "b", "c", "state", "tmp"):
        (tmp_path / folder).mkdir()
    return Node(tmp_path)


@pytest.mark.slow
def test_directories_are_compared_without_an_inventory_and_no_files_remain(node: Node) -> None:
    ended = node.probe(*node.directories(), a="200", b="80", c="204")
    first, header, _, slow, *_ = ended.stdout.splitlines()
    assert first.startswith("a, b, c lie on one device: a difference is noise")
    assert header.split() == ["directory", "write", "of", "peers", "read", "of", "peers", "state"]
    assert slow.split()[:7] == ["b", "80.0", "MB/s", "40%", "80.0", "MB/s", "40%"]
    assert "b write 80.0 MB/s\n" in ended.stderr
    for folder in ("a", "b", "c", "tmp"):
        assert list((node.home / folder).iterdir()) == []


def test_verdicts_of_a_comparison_are_printed_below_its_table() -> None:
    text = "a read 80.0 MB/s, 40 % of its peers"
    verdict = Verdict("ost", "a", State.CRITICAL, Reason.BELOW_LEVEL, text)
    rates = {"a": 80e6, "b": 200e6, "c": 210e6}
    records = tuple(record(component=name, rate=rate) for name, rate in rates.items())
    result = Result("run-1", records, (verdict,), ())
    _, row, sentence = "\n".join(comparison(result, OST.operations)).splitlines()
    assert row.split() == ["a", "none", "80.0", "MB/s", "39%", "CRITICAL"]
    assert sentence == "CRITICAL a read 80.0 MB/s, 40 % of its peers"


@pytest.mark.slow
def test_a_comparison_can_be_printed_as_json(node: Node) -> None:
    ended = node.probe(*node.directories(), "--json", "--quiet")
    document = json.loads(ended.stdout)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(document["records"]) == 6
    assert {verdict["state"] for verdict in document["verdicts"]} == {"OK"}


@pytest.mark.slow
def test_expected_targets_are_measured_recorded_published_and_judged(node: Node) -> None:
    node.expect()
    ended = node.probe(*node.arguments(), a="200", b="190", c="80")
    assert ended.returncode == 2, ended.stderr
    assert "CRITICAL  c write 80.0 MB/s" in ended.stdout
    assert len(node.records()) == 6
    snapshot = load_snapshot(str(node.state / "snapshot.json"))
    assert snapshot.running == ()
    read, _ = snapshot.of("ost", "c")
    assert (read.samples[0].peers_rate, read.samples[0].peers) == (195e6, 2)
    verdicts, expectations = node.state / "verdicts", str(node.home / "expectations.json")
    for name, text in (("c", "write 80.0 MB/s"), ("a", "write 200.0 MB/s")):
        subject = "ost", name, False
        assert text in checked(verdicts, subject, expectations, time.time()).sentence
    assert list((node.home / "locks").iterdir()) == []
    assert (node.home / "a/.plumbline/a/probe.dat").stat().st_size == 1 << 20


def save_nights(node: Node, **rates_MBps: float) -> None:
    """Save records of earlier nights, the oldest first."""
    with History(node.state / "history.sqlite") as history:
        for name, rate in rates_MBps.items():
            for operation in (Operation.WRITE, Operation.READ):
                common: dict[str, Any] = {
                    "component": name,
                    "operation": operation,
                    "rate": 1e6 * rate,
                }
                common |= {"spec_hash": SPEC.hash(), "repeats": (1e6 * rate,) * 2}
                for night in every_night(time.time() - DAY_S, **common):
                    history.save(night)


@pytest.mark.slow
def test_a_probe_shows_its_own_run_and_the_check_the_evidence_of_several(node: Node) -> None:
    node.expect(references=FIRM)
    ended = node.probe(*node.arguments(), a="200", b="200", c="80")
    # the caller sees the result of this run; Nagios raises no alarm for a single run
    assert ended.returncode == 2, ended.stderr
    assert "CRITICAL  c write 80.0 MB/s" in ended.stdout
    watched = node.judge("c")
    assert (watched["state"], watched["reason"]) == ("OK", "watched")
    assert "watching: write 80.0 MB/s" in watched["sentence"]


@pytest.mark.slow
def test_an_alarm_of_several_nights_reaches_the_check_and_survives_later_runs(
    node: Node,
) -> None:
    node.expect(references=FIRM)
    save_nights(node, a=200, b=200, c=80)
    ended = node.probe(*node.arguments(), a="200", b="200", c="80")
    assert ended.returncode == 2, ended.stderr
    over_runs = f"over {NIGHTS + 1} runs since"
    assert over_runs in ended.stdout
    alarm = node.judge("c")
    assert (alarm["state"], alarm["reason"]) == ("CRITICAL", "slow")
    assert over_runs in alarm["sentence"]
    # a new run publishes its start, and is killed before it judges
    (node.home / "fio.log").unlink()
    killed = node.start(*node.arguments(), a="hang")
    tool = node.wait_for_fio()
    assert [name for name, _ in node.running()] == ["a"]
    assert node.judge("c")["sentence"] == alarm["sentence"]
    killed.kill()
    killed.communicate()
    os.kill(tool, signal.SIGKILL)
    assert node.judge("c")["reason"] == "slow"
    # one healthy run does not outweigh several slow nights
    assert node.probe(*node.arguments(), a="200", b="200", c="200").returncode == 0
    assert node.judge("c")["state"] == "CRITICAL"


@pytest.mark.slow
def test_a_single_component_can_be_measured(node: Node) -> None:
    node.expect()
    node.probe(*node.arguments(), "--component", "b")
    assert {component for component, _, _ in node.records()} == {"b"}
    ended = node.probe(*node.arguments(), "--component", "nobody")
    assert ended.returncode == 65
    assert "client1 have no nobody in layer ost" in ended.stderr


def test_a_dry_run_prints_the_commands_and_changes_nothing(node: Node) -> None:
    node.expect()
    ended = node.probe(*node.arguments(), "--dry-run", "--component", "a")
    write, read = ended.stdout.splitlines()
    assert (ended.returncode, write.split()[0], "--rw=read" in read) == (0, "fio", True)
    assert write.endswith(" <> /FILE-ON-a")
    assert list((node.home / "a").iterdir()) == []
    assert not (node.state / "history.sqlite").exists()


@pytest.mark.slow
def test_a_target_with_io_errors_is_broken_not_slow_and_the_run_continues(
    node: Node,
) -> None:
    node.expect()
    ended = node.probe(*node.arguments(), b="fail")
    assert ended.returncode == 2
    assert "Input/output error" in ended.stdout
    # failed targets are tried again at the end
    assert node.records() == [
        ("a", "write", "ok"),
        ("a", "read", "ok"),
        ("c", "write", "ok"),
        ("c", "read", "ok"),
        ("b", "write", "broken"),
        ("b", "read", "skipped"),
    ]


@pytest.mark.slow
def test_a_hung_tool_is_killed_and_recorded_and_the_run_continues(node: Node) -> None:
    node.expect(limits=Limits(hung_after_s=8.0), spec=ProbeSpec("fio", 1 << 20, 1.0, repeats=1))
    ended = node.probe(*node.arguments(), a="hang")
    assert ended.returncode == 2
    assert "a write hung on" in ended.stdout
    assert node.records()[:3] == [
        ("a", "write", "hung"),
        ("a", "read", "skipped"),
        ("b", "write", "ok"),
    ]
    assert not alive(node.wait_for_fio())


@pytest.mark.slow
def test_two_runs_never_measure_a_target_at_the_same_time(node: Node) -> None:
    node.expect()
    first = node.start(*node.arguments(), a="hang")
    try:
        node.wait_for_fio()
        second = node.probe(*node.arguments())
        assert second.returncode == 75
        assert f"ost-a is being measured by process {first.pid} on" in second.stderr
        assert {component for component, _, _ in node.records()} == {"b", "c"}
    finally:
        first.terminate()
        first.communicate(timeout=300)


@pytest.mark.slow
def test_two_comparisons_never_measure_a_directory_at_once_nor_show_unmeasured_ones(
    node: Node,
) -> None:
    first = node.start(*node.directories(), a="hang")
    tool = node.wait_for_fio()
    try:
        second = node.probe(*node.directories(), b="200", c="200")
        assert second.returncode == 75
        assert f"{node.home}/a is being measured by process {first.pid} on" in second.stderr
        assert [line.split()[0] for line in second.stdout.splitlines()[2:4]] == ["b", "c"]
        assert "never recorded" not in second.stdout
    finally:
        first.kill()
        first.communicate()
        os.killpg(tool, signal.SIGKILL)


FIRST_NAMESPACE = "pid:[4026531836]"
"""Elsewhere the kernel hides locks of ended processes (PROC_PID_INIT_INO, proc_ns.h)."""


@pytest.mark.slow
def test_a_killed_run_keeps_its_records_and_the_next_one_cleans_up(node: Node) -> None:
    node.expect()
    killed = node.start(*node.arguments(), b="hang")
    while not (node.home / "fio.log").exists() or "b " not in (node.home / "fio.log").read_text():
        assert killed.poll() is None
        time.sleep(0.05)
    orphan = int((node.home / "fio.log").read_text().splitlines()[-1].split()[2])
    killed.kill()
    killed.communicate()
    assert node.records() == [("a", "write", "ok"), ("a", "read", "ok")]
    # the tool still runs: if the kernel shows its lock, checks see a hung run
    assert node.running() == [("b", os.readlink("/proc/self/ns/pid") != FIRST_NAMESPACE)]

    node.probe(*node.arguments(), "--component", "a")
    assert not alive(orphan)
    assert node.running() == [("b", True)]
    ended = node.probe(*node.arguments())
    assert ended.returncode == 0, ended.stderr
    assert [outcome for _, _, outcome in node.records()[2:]] == ["ok"] * 8
    assert load_snapshot(str(node.state / "snapshot.json")).running == ()
    assert list((node.home / "locks").iterdir()) == []


@pytest.mark.slow
def test_a_run_killed_with_its_tool_is_interrupted_and_not_hung(node: Node) -> None:
    node.expect(limits=Limits(min_coverage=0.0, hung_after_s=60.0))
    assert node.probe(*node.arguments()).returncode == 0
    (node.home / "fio.log").unlink()
    killed = node.start(*node.arguments(), a="hang")
    tool = node.wait_for_fio()
    assert node.running() == [("a", False)]
    killed.kill()
    killed.communicate()
    os.kill(tool, signal.SIGKILL)
    eventually(lambda: node.running() == [("a", True)])
    judged = node.judge("a")
    assert judged["state"] == "OK"
    assert "was interrupted before it ended" in judged["sentence"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_kills_its_tool_and_keeps_its_records(
    node: Node, number: signal.Signals
) -> None:
    node.expect()
    process = node.start(*node.arguments(), a="hang")
    tool = node.wait_for_fio()
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert err.endswith("plumbline: interrupted; what was measured before is kept\n")
    assert not alive(tool)
    assert load_snapshot(str(node.state / "snapshot.json")).running == ()


@pytest.mark.slow
def test_an_interrupted_comparison_removes_its_files(node: Node) -> None:
    process = node.start(*node.directories(), a="hang")
    node.wait_for_fio()
    assert (node.home / "a/.plumbline").exists()
    process.terminate()
    process.communicate(timeout=300)
    assert process.returncode == 130
    for folder in ("a", "b", "tmp"):
        assert list((node.home / folder).iterdir()) == []


@pytest.mark.slow
def test_the_next_comparison_removes_the_files_of_a_killed_one(node: Node) -> None:
    killed = node.start(*node.directories(), a="hang")
    orphan = node.wait_for_fio()
    killed.kill()
    killed.communicate()
    assert list((node.home / "tmp").iterdir()) != []
    os.killpg(orphan, signal.SIGKILL)
    # without the directory that hung
    words = [word for word in node.directories() if word != f"a={node.home}/a"][1:]
    ended = node.probe(*words, b="200", c="200")
    assert ended.returncode == 0, ended.stderr
    assert list((node.home / "tmp").iterdir()) == []


def test_a_missing_state_folder_is_an_error_message(node: Node) -> None:
    node.expect()
    ended = node.probe(*node.arguments(), "--state", str(node.home / "nowhere"))
    assert ended.returncode == 74
    assert "nowhere/history.sqlite: it cannot be opened; see that" in ended.stderr


def test_a_damaged_entry_of_another_layer_is_an_error_message(node: Node) -> None:
    node.expect()
    path = node.home / "expectations.json"
    document = json.loads(path.read_text())
    document["entries"].append({"layer": "raw", "component": "x", "group": ""})
    path.write_text(json.dumps(document))
    ended = node.probe(*node.arguments())
    assert ended.returncode == 65
    assert "damaged" in ended.stderr


@pytest.mark.slow
def test_other_targets_of_a_wave_are_measured_while_one_hangs(node: Node) -> None:
    node.expect(wave=1)
    process = node.start(*node.arguments(), a="hang")
    tool = node.wait_for_fio()
    records = [(name, operation, "ok") for name in "bc" for operation in ("read", "write")]
    eventually(lambda: sorted(node.records()) == records)
    # a hung target does not make finished ones look running or hung
    eventually(lambda: node.recorded_running() == ["a"])
    process.terminate()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert err.endswith("plumbline: interrupted; this is what was measured before\n")
    assert not alive(tool)
    assert sorted(node.records()) == records
    assert load_snapshot(str(node.state / "snapshot.json")).running == ()
    assert list((node.home / "locks").iterdir()) == []


@pytest.mark.slow
def test_the_next_run_kills_the_tools_of_a_wave_that_was_killed(node: Node) -> None:
    node.expect(wave=1)
    killed = node.start(*node.arguments(), a="hang", b="hang")
    log = node.home / "fio.log"
    eventually(lambda: log.exists() and {"a", "b"} <= set(log.read_text().split()))
    eventually(lambda: log.read_text().endswith("\n"))
    tools = [int(line.split()[2]) for line in log.read_text().splitlines() if line[0] in "ab"]
    eventually(lambda: [name for name, _, _ in node.records()] == ["c", "c"])
    killed.kill()
    killed.communicate()
    assert all(map(alive, tools))
    ended = node.probe(*node.arguments())
    assert ended.returncode == 0, ended.stderr
    assert not any(map(alive, tools))
    assert sorted(node.records()[2:]) == sorted(
        (name, operation, "ok") for name in "abc" for operation in ("write", "read")
    )
    assert load_snapshot(str(node.state / "snapshot.json")).running == ()
    assert list((node.home / "locks").iterdir()) == []
