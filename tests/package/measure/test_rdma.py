"""An adapter measures its partner of the slot; a port or partner at fault is one sentence."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Mapping

import pytest

from plumbline.measure.net import ANSWER_LIMIT_S
from plumbline.measure.port import Port, increases
from plumbline.measure.rdma import COUNTERS, AdapterUnit
from plumbline.measure.receiver import Receiver, Server, failures, servers_of
from plumbline.model.command import MAX_FILE_BYTES
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.layers.rdma import LATENCY, RDMA
from plumbline.model.limits import Ceiling
from plumbline.model.record import Flag, Operation, Outcome
from plumbline.observe.command import LocalSystem, SystemClock, SystemRunner
from tests.package.fakes import FakeRunner, answer
from tests.package.measure.units import NONE, FakeClock, expectation, measured
from tests.package.recorded import DATA, data

PORT = "/sys/class/infiniband/mlx5_0/ports/1"
ACTIVE = {
    f"{PORT}/state": "4: ACTIVE",
    f"{PORT}/phys_state": "5: LinkUp",
    f"{PORT}/rate": "200 Gb/sec (4X HDR)",
    f"{PORT}/counters/symbol_error": "7",
    f"{PORT}/counters/port_xmit_wait": "1000",
}


LIMIT = "timeout --signal=KILL 30"


class FakeFiles:
    """Files of a node in memory; ``later`` replaces some after the first look at the counters."""

    def __init__(self, files: Mapping[str, str], later: Mapping[str, str] = {}) -> None:
        self._files = dict(files)
        self._later = later
        self._asked: set[str] = set()

    def read(self, path: str, most_bytes: int = MAX_FILE_BYTES) -> str:
        text = self._files.get(path, "")[:most_bytes]
        self._files[path] = self._later.get(path, text)
        return text

    def names(self, folder: str) -> tuple[str, ...]:
        names = (path[len(folder) + 1 :].partition("/")[0] for path in self._files)
        return tuple(sorted({name for name in names if name and folder in PORT}))


def adapter(**changes: Any) -> Expectation:
    target = {
        "kind": "pair",
        "address": "10.0.0.1",
        "hosts": ["oss1-ib0", "oss2-ib0"],
        "slot_s": 3600.0,
        "window_s": 180.0,
        "port": 18515,
        "adapter": "mlx5_0/1",
        "negotiated": "4X HDR",
        "rails": 1,
        **changes,
    }
    path = ("oss1", "oss1-ib0", "leaf", "oss2-ib0", "oss2")
    return expectation(
        "oss1-ib0",
        layer="rdma",
        target=target,
        path=path[:3],
        spec=RDMA.spec,
        references={"write/single": NONE, "read/single": NONE, "latency/single": NONE},
        partners=(Partner("oss2-ib0", "10.0.0.2", path, Ceiling(24.8e9, ("oss1-ib0",))),),
    )


def perftest(**answers: Any) -> FakeRunner:
    reports = {
        "ib_write_bw": data("perftest/write-6.24.txt"),
        "ib_read_bw": data("perftest/read-6.24.txt"),
        "ib_read_lat": data("perftest/latency-6.24.txt"),
    }
    return FakeRunner(
        {
            "ib_write_bw --version": "Version: 6.24\n",
            **{f"{LIMIT} {program}": text for program, text in {**reports, **answers}.items()},
        }
    )


def unit(files: FakeFiles, **changes: Any) -> AdapterUnit:
    return AdapterUnit(adapter(**changes), "oss2-ib0", files)


def test_writes_reads_and_times_of_messages_are_measured() -> None:
    write, read, latency = measured(unit(FakeFiles(ACTIVE)), perftest(), FakeClock())
    assert [write.operation, read.operation, latency.operation] == list(RDMA.operations)
    assert write.rate == pytest.approx(38.75e6)
    assert latency.rate == pytest.approx(1 / 69.26e-6)
    assert latency.quantities["p99"] == pytest.approx(8.03935e-3)
    assert (write.partner, write.path[-1], write.flags, write.details) == (
        "oss2-ib0",
        "oss2",
        (),
        None,
    )


def test_counters_that_rise_are_recorded_and_those_of_faults_are_a_flag() -> None:
    errors = {f"{PORT}/counters/symbol_error": "9"}
    write, read, _ = measured(unit(FakeFiles(ACTIVE, errors)), perftest(), FakeClock())
    assert (write.details, write.flags) == ({COUNTERS: {"symbol_error": 2}}, (Flag.LINK_ERRORS,))
    assert (read.details, read.flags) == (None, ())
    waits = {f"{PORT}/counters/port_xmit_wait": "5000"}
    write, _, _ = measured(unit(FakeFiles(ACTIVE, waits)), perftest(), FakeClock())
    assert (write.details, write.flags) == ({COUNTERS: {"port_xmit_wait": 4000}}, ())


def test_a_counter_that_was_reset_says_nothing() -> None:
    before, after = {"symbol_error": 9, "port_xmit_wait": 5}, {"symbol_error": 1}
    assert increases(before, after) == {}


FAULTS = [
    (
        {f"{PORT}/state": "1: DOWN", f"{PORT}/phys_state": "3: Disabled"},
        {},
        "oss1-ib0: port mlx5_0/1 is DOWN (physical state Disabled); look at the cable",
    ),
    ({}, {"adapter": "mlx5_4/1"}, "has no RDMA device mlx5_4 (it has mlx5_0); was it renamed?"),
    ({}, {"adapter": "mlx5_0/2"}, "mlx5_0 has no port 2: correct rdma"),
    (
        {f"{PORT}/rate": "100 Gb/sec (2X HDR)"},
        {},
        "runs at 100 Gb/s (2X HDR), and plumbline_topology has 4X HDR; reseat",
    ),
    (
        {f"{PORT}/rate": "25 Gb/sec (1X EDR)"},
        {"negotiated": "100 Gb/sec"},
        "runs at 25 Gb/s (1X EDR), and plumbline_topology has 100 Gb/sec",
    ),
    ({f"{PORT}/rate": "fast"}, {}, "has the rate 'fast', which is not understood"),
]


@pytest.mark.parametrize(("files", "target", "says"), FAULTS)
def test_a_port_at_fault_is_one_sentence_and_nothing_is_started(
    files: dict[str, str], target: dict[str, Any], says: str
) -> None:
    runner = perftest()
    records = measured(unit(FakeFiles({**ACTIVE, **files}), **target), runner, FakeClock())
    assert {record.outcome for record in records} == {Outcome.FAILED}
    assert all(says in record.reason for record in records), records[0].reason
    assert runner.calls == []


@pytest.mark.parametrize("negotiated", ["4X HDR", "200 Gb/sec", ""])
def test_a_port_as_in_the_topology_is_fine(negotiated: str) -> None:
    assert Port(FakeFiles(ACTIVE), "mlx5_0/1").fault(negotiated) == ""


REFUSED = answer(stderr=data("perftest/no-server-6.24.err"), exit_code=1)
CUT = answer(stderr=data("perftest/killed-server-6.24.err"), exit_code=1)
ZERO = answer(data("perftest/zeros-6.24.txt"))
GOOD = answer(data("perftest/write-6.24.txt"))


def test_a_receiving_end_that_is_late_is_waited_for() -> None:
    clock = FakeClock()
    runner = perftest(ib_write_bw=[REFUSED, REFUSED, GOOD])
    write, *_ = measured(unit(FakeFiles(ACTIVE)), runner, clock)
    assert (write.outcome, clock.now) == (Outcome.OK, 1002.0)


def test_a_partner_without_a_receiving_end_is_named_after_a_while() -> None:
    clock = FakeClock()
    runner = perftest(ib_write_bw=REFUSED)
    records = measured(unit(FakeFiles(ACTIVE)), runner, clock)
    assert {record.outcome for record in records} == {Outcome.FAILED}
    (reason,) = {record.reason for record in records}
    assert "on mlx5_0/1 to 10.0.0.2 did not answer (Couldn't connect to" in reason
    assert clock.now == 1000.0 + ANSWER_LIMIT_S
    assert runner.called(f"{LIMIT} ib_read_bw") == []


@pytest.mark.parametrize(
    "ended", [answer(exit_code=137), answer(exit_code=-9)._replace(seconds=30.1)]
)
def test_a_silent_partner_is_not_asked_again(ended: Any) -> None:
    runner = perftest(ib_write_bw=ended)
    records = measured(unit(FakeFiles(ACTIVE)), runner, FakeClock())
    assert {record.outcome for record in records} == {Outcome.FAILED}
    assert all("its partner died, or the link" in record.reason for record in records)
    assert len(runner.called(LIMIT)) == 1


@pytest.mark.parametrize(
    ("ended", "says"), [(CUT, "was cut off"), (ZERO, "exit code 0 and a bandwidth of 0")]
)
def test_a_run_that_is_cut_off_or_has_no_sample_is_tried_once_more(ended: Any, says: str) -> None:
    runner = perftest(ib_write_bw=[ended, GOOD])
    write, *_ = measured(unit(FakeFiles(ACTIVE)), runner, FakeClock())
    assert write.outcome is Outcome.OK
    runner = perftest(ib_write_bw=ended)
    write, *_ = measured(unit(FakeFiles(ACTIVE)), runner, FakeClock())
    assert (write.outcome, write.rate) == (Outcome.FAILED, None)
    assert says in write.reason
    assert len(runner.called(f"{LIMIT} ib_write_bw")) == 2


def test_each_operation_has_a_receiving_end_with_the_terms_of_the_other_side() -> None:
    servers = servers_of([adapter()])
    assert [server.title for server in servers] == [
        "oss1-ib0 write",
        "oss1-ib0 read",
        "oss1-ib0 latency",
    ]
    runner = perftest()
    measured(unit(FakeFiles(ACTIVE)), runner, FakeClock())
    clients = runner.called(f"{LIMIT} ib_write_bw") + runner.called(f"{LIMIT} ib_read_bw")
    clients += runner.called(f"{LIMIT} ib_read_lat")
    assert clients == [" ".join((LIMIT, *server.argv, "10.0.0.2")) for server in servers]
    with pytest.raises(DocumentError, match="has no receiving end"):
        servers_of([adapter()._replace(spec=RDMA.spec._replace(tool="netperf"))])


# Two ends on this machine: a perftest that meets its partner by TCP, as the real one does, and
# then prints a report of the real one.


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in ("ib_write_bw", "ib_read_bw", "ib_read_lat"):
        script = folder / program
        source = Path(__file__).with_name("fake_perftest.py").read_text()
        script.write_text(f"#!{sys.executable}\n{source}")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_PERFTEST", str(DATA / "perftest"))
    return folder


def free_ports() -> int:
    """Return the first of three free ports."""
    for first in range(20000 + os.getpid() % 20000, 60000, 3):
        try:
            for port in range(first, first + 3):
                socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return first
    raise AssertionError("no free ports")


def here(**changes: Any) -> Expectation:
    entry = adapter(address="127.0.0.1", port=free_ports(), **changes)
    (partner,) = entry.partners
    return entry._replace(partners=(partner._replace(address="127.0.0.1"),))


def servers_alive(first: int) -> list[str]:
    """Return the command lines of waiting servers of these ports."""
    lines = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, text=True, check=True)
    return [line for line in lines.stdout.splitlines() if f"-p {first}" in line and "ib_" in line]


def eventually(said: Any, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if said():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.slow
@pytest.mark.usefixtures("tools")
def test_two_ends_meet_in_the_window_and_nothing_is_left_after_it() -> None:
    entry = here()
    receiver = Receiver(SystemClock(), lambda stop: SystemRunner(stop=stop))
    thread = threading.Thread(target=receiver.serve, args=(servers_of([entry]), 8.0))
    thread.start()
    try:
        pair = AdapterUnit(entry, "oss2-ib0", FakeFiles(ACTIVE))
        for _ in range(2):  # each end is opened again
            records = measured(pair, SystemRunner(), SystemClock())
            assert [record.outcome for record in records] == [Outcome.OK] * 3, records
    finally:
        thread.join()
    assert servers_alive(entry.target["port"]) == []
    assert (receiver.served, failures(receiver, servers_of([entry]))) == (6, [])


@pytest.mark.slow
@pytest.mark.usefixtures("tools")
def test_a_receiver_that_was_closed_or_a_client_that_was_killed_leaves_nothing() -> None:
    entry = here()
    first = entry.target["port"]
    receiver = Receiver(SystemClock(), lambda stop: SystemRunner(stop=stop, grace_s=0.5))
    thread = threading.Thread(target=receiver.serve, args=(servers_of([entry]), 60.0))
    thread.start()
    try:
        assert eventually(lambda: servers_alive(first))
        argv = [*servers_of([entry])[0].argv, "127.0.0.1"]
        assert eventually(lambda: _hangs(argv))
        # the next client is served
        assert eventually(lambda: SystemRunner()(argv, 10.0).ok)
    finally:
        receiver.close()
        thread.join()
    assert servers_alive(first) == []


def _hangs(argv: list[str]) -> bool:
    """Begin a measurement that hangs, kill it, and return whether it had begun."""
    client = subprocess.Popen(argv, env={**os.environ, "FAKE_HANGS": "1"}, stderr=subprocess.PIPE)
    assert client.stderr is not None
    begun = client.stderr.readline() == b"connected\n"
    client.send_signal(signal.SIGKILL)
    client.wait()
    client.stderr.close()
    return begun


@pytest.mark.slow
@pytest.mark.usefixtures("tools")
def test_a_killed_receiver_leaves_no_server_after_the_window() -> None:
    entry = here()
    first = entry.target["port"]
    program = (
        "import sys, threading\n"
        "from plumbline.measure.receiver import Receiver, Server\n"
        "from plumbline.observe.command import SystemClock, SystemRunner\n"
        "servers = [Server('a', tuple(sys.argv[1:]))]\n"
        "Receiver(SystemClock(), lambda stop: SystemRunner(stop=stop)).serve(servers, 4.0)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, *servers_of([entry])[0].argv])
    assert eventually(lambda: servers_alive(first))
    process.kill()
    process.wait()
    assert eventually(lambda: not servers_alive(first))


@pytest.mark.slow
@pytest.mark.usefixtures("tools")
def test_a_partner_that_dies_in_a_flow_is_one_sentence() -> None:
    entry = here()
    unit = AdapterUnit(entry, "oss2-ib0", FakeFiles(ACTIVE))
    server = servers_of([entry])[0]
    # it takes one client, and ends in the middle
    dying = Server(server.title, ("env", "FAKE_DIES=1", *server.argv))
    receiver = Receiver(SystemClock(), lambda stop: SystemRunner(stop=stop))
    thread = threading.Thread(target=receiver.serve, args=([dying], 60.0))
    thread.start()
    try:
        trial = unit._measured(unit.tasks[0], _context(entry))
    finally:
        receiver.close()
        thread.join()
    assert trial.failure is not None
    assert trial.failure.reason.startswith("ib_write_bw on mlx5_0/1 to 127.0.0.1 was cut off (")
    assert servers_alive(entry.target["port"]) == []


def _context(entry: Expectation) -> Any:
    from plumbline.measure.trial import Recorder
    from plumbline.measure.unit_context import UnitContext

    recorder = Recorder("run-1", "oss1", SystemClock())
    runners = {entry.component: SystemRunner()}
    return UnitContext(
        recorder, SystemClock(), runners, lambda title: None, lambda: None, lambda: None
    )


@pytest.mark.slow
@pytest.mark.usefixtures("tools")
def test_an_end_that_cannot_wait_is_named_with_what_perftest_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAKE_DOWN", "1")
    servers = servers_of([here()])[:1]
    receiver = Receiver(SystemClock(), lambda stop: SystemRunner(stop=stop))
    receiver.serve(servers, 5.0)
    with pytest.raises(ToolError, match="oss1-ib0 write: the receiving end did not wait: Port num"):
        failures(receiver, servers)


def test_files_of_this_machine_are_read() -> None:
    port = Port(LocalSystem(SystemRunner()), "nosuch/1")
    assert "no RDMA device nosuch" in port.fault("")
    assert port.counters() == {}


def test_operations_are_those_of_the_layer() -> None:
    assert RDMA.operations == (Operation.WRITE, Operation.READ, LATENCY)
