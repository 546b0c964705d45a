"""Flows of one node: at the moment, under locks, not beside others' traffic, never writing."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any, Callable, Sequence

import pytest

from plumbline.measure.flows import Surroundings, commands, drive
from plumbline.measure.lock import Locks
from plumbline.model.command import Completed
from plumbline.model.expectation import Expectations
from plumbline.model.record import Outcome, Record
from plumbline.model.shared import Flow, SharedReads, Turn, next_moment, results_in
from plumbline.model.spec import ProbeSpec
from tests.package.fakes import Answer, FakeRunner, answer
from tests.package.measure.targets import healthy
from tests.package.measure.test_raw import device
from tests.package.measure.units import FakeClock, expectation, fio_report, is_free
from tests.package.recorded import data

AT = 1100
READS = SharedReads(
    "ctl",
    (
        Flow("oss1", "raw", "sda", 400e6),
        Flow("oss1", "raw", "sdb", 400e6),
        Flow("oss2", "raw", "sdc", 400e6),
    ),
    bytes=1 << 20,
    seconds=10.0,
    max_load=0.1,
)
NODE = Expectations("oss1", "site", tuple(device(name).to_json() for name in ("sda", "sdb")))
DONE = """time to transfer data was 0.005243 secs, 200.00 MB/sec
2048+0 records in
2048+0 records out
"""


def counter(*sectors: int) -> list[Any]:
    """Return answers with these counters of sectors read by all."""
    return [answer(f"1 2 {number} 4 5 6 0 0") for number in sectors]


def server(**answers: Any) -> FakeRunner:
    return FakeRunner(
        {
            "stat --dereference": "block special file/8/10\n",
            "test -r": "",
            "cat /sys/dev/block/8:16/stat": counter(1000),
            "sgp_dd": answer(stderr="sgp_dd: 5.89 20250912\n"),
            "timeout": answer(stderr=DONE),
            **answers,
        }
    )


def driven(
    folder: Path, runner: FakeRunner, reads: SharedReads = READS, at: int = AT
) -> tuple[Record, FakeClock]:
    clock = FakeClock()
    around = Surroundings(NODE, Locks(folder, clock), clock, lambda *_: runner)
    return drive(around, reads, Turn("ctl", at)), clock


def test_a_node_reads_its_own_flows_at_the_moment(tmp_path: Path) -> None:
    runner = server()
    record, _ = driven(tmp_path, runner)
    assert (record.layer, record.component, record.run_id) == ("flows", "ctl", f"ctl@{AT}")
    assert (record.host, record.outcome, record.started_at) == ("oss1", Outcome.OK, AT)
    assert record.rate == pytest.approx(400e6, rel=1e-3)
    assert [result.component for result in results_in(record)] == ["sda", "sdb"]
    # written is nothing, and each device is read once
    assert all("of=/dev/null" in call for call in runner.called("timeout"))
    assert len(runner.called("timeout")) == 2
    assert Record.from_json(record.to_json()) == record


def test_bytes_and_seconds_are_those_of_the_part(tmp_path: Path) -> None:
    runner = server()
    driven(tmp_path, runner, READS._replace(bytes=4 << 20, seconds=20.0))
    (call, _) = runner.called("timeout")
    assert "--signal=INT 20 sgp_dd" in call
    assert "count=8192" in call


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        (1002, "the moment is too near or was 0 s ago"),
        (940, "the moment is too near or was 60 s ago"),
        (3000, "the moment is still 33 min ahead"),
    ],
)
def test_a_node_whose_clock_is_wrong_stays_out(tmp_path: Path, at: int, reason: str) -> None:
    runner = server()
    record, _ = driven(tmp_path, runner, at=at)
    assert record.outcome is Outcome.SKIPPED
    assert reason in record.reason
    assert "its clock is wrong" in record.reason
    assert runner.calls == []


def test_a_node_stays_out_while_others_read_its_devices(tmp_path: Path) -> None:
    # 2 s with 100 MB/s of others, a quarter of what the flow may take
    busy = server(**{"cat /sys/dev/block/8:16/stat": counter(1000, 1000, 391_625)})
    record, _ = driven(tmp_path, busy)
    assert record.reason == (
        "others move 100.0 MB/s on sda, more than 10 % of what it may take (max_load)"
    )
    assert busy.called("timeout") == []
    allowed = READS._replace(max_load=0.3)
    assert driven(tmp_path, server(), allowed)[0].outcome is Outcome.OK


def test_a_device_of_another_run_is_left_out_and_the_others_are_read(tmp_path: Path) -> None:
    locks = Locks(tmp_path, FakeClock())
    with locks.hold("raw", "sdb"):
        record, _ = driven(tmp_path, server())
    first, second = results_in(record)
    assert (first.component, first.reason) == ("sda", "")
    assert second.rate_Bps is None
    assert "sdb" in second.reason
    assert is_free(locks, "raw", "sda")


def test_a_flow_that_cannot_be_read_has_its_reason(tmp_path: Path) -> None:
    gone = answer(stderr="stat: cannot statx '/dev/sda': No such file or directory", exit_code=1)
    record, _ = driven(
        tmp_path, server(**{"stat --dereference --format=%F/%t/%T -- /dev/sda": gone})
    )
    first = next(result for result in results_in(record) if result.component == "sda")
    assert "the device is gone" in first.reason
    assert record.rate == pytest.approx(200e6, rel=1e-3)


# A target whose server fails over.

OST_READS = READS._replace(flows=(Flow("client1", "ost", "lustre-OST0003", 400e6),), bytes=0)
UP = "lustre/st3_mds_inactive_osc_import.txt"
HEAD = "osc.lustre-OST0003-osc-ffff888120238800.import=\n"


def of_ost(folder: Path, imports: Sequence[str], df: Sequence[str] = ()) -> Record:
    """Return the record of a client that reads an OST, with the answers about it in turn."""
    entry = expectation(
        "lustre-OST0003",
        target={"kind": "lustre", "mount": "/mnt/lustre", "ost": "lustre-OST0003"},
        spec=ProbeSpec("fio", 1 << 30, 10.0, repeats=2),
    )
    clock = FakeClock()

    def read(argv: tuple[str, ...]) -> Completed:
        clock.sleep(3.0)
        return fio_report(argv, 390.0, 1 << 30)

    answers: dict[str, Answer] = {
        **healthy("lustre", imports=[answer(text) for text in imports]),
        "fio --version": "fio-3.39\n",
        "fio": read,
    }
    if df:
        answers["lfs df --ost="] = [answer(text) for text in df]
    node = Expectations("client1", "site", (entry.to_json(),))
    around = Surroundings(node, Locks(folder, clock), clock, lambda *_: FakeRunner(answers))
    return drive(around, OST_READS, Turn("ctl", AT))


ON_ITS_SERVER = HEAD + data(UP)
FAILED_OVER = ON_ITS_SERVER.replace('nids: [ "0@lo" ]', 'nids: [ "1@tcp", "0@lo" ]')
DISCONNECTED = ON_ITS_SERVER.replace("state: FULL", "state: DISCONN", 1)


def test_an_ost_on_its_own_server_is_read(tmp_path: Path) -> None:
    record = of_ost(tmp_path, [ON_ITS_SERVER])
    assert record.rate == pytest.approx(390e6, rel=1e-3)


def test_an_ost_that_is_failed_over_is_not_read(tmp_path: Path) -> None:
    """Its read goes through the partner: four such turns would accuse a healthy controller."""
    record = of_ost(tmp_path, [FAILED_OVER])
    assert record.reason == "it is failed over, so its read takes another way than the drawn one"
    assert results_in(record)[0].seconds == 0


def test_an_ost_that_fails_over_while_it_is_read_has_no_rate(tmp_path: Path) -> None:
    record = of_ost(tmp_path, [ON_ITS_SERVER, FAILED_OVER])
    assert (record.outcome, record.rate) == (Outcome.SKIPPED, None)
    assert record.reason == (
        "while it was read: it is failed over, so its read takes another way than the drawn one"
    )
    # the others of the turn have read beside it
    assert results_in(record)[0].seconds > 1
    lost = of_ost(tmp_path, [ON_ITS_SERVER, DISCONNECTED])
    assert lost.reason == "the import of lustre-OST0003 is DISCONN"


def test_an_ost_that_is_rebuilt_is_not_read(tmp_path: Path) -> None:
    usual = "lustre-OST0003_UUID 3833116 468332 3138688 13% /mnt/lustre[OST:3]"
    record = of_ost(tmp_path, [ON_ITS_SERVER], [f"{usual} D\n"])
    assert record.reason == "it is degraded (rebuilding), so its read asks for less than usual"
    record = of_ost(tmp_path, [ON_ITS_SERVER], [f"{usual}\n", f"{usual} D\n"])
    assert record.reason.startswith("while it was read: it is degraded")


class SecondsPass(FakeClock):
    """A clock whose monotonic time goes on by a second whenever it is read."""

    seconds = 0.0

    def monotonic(self) -> float:
        self.seconds += 1.0
        return self.seconds


Writers = Callable[[float], float]
"""Bytes that others have written so many seconds after the flows began."""


def driven_beside(folder: Path, writers: Writers) -> Record:
    """Drive flows that run until they are ended, or for many looks at the counters."""
    clock, began, enough = SecondsPass(), [0.0], Event()
    stops: list[Event] = []
    counted = [0]

    def count(_argv: tuple[str, ...]) -> Completed:
        counted[0] += bool(began[0])
        if counted[0] > 20:
            enough.set()
        written = writers(clock.seconds - began[0]) if began[0] else 0.0
        # the flows themselves read 400 MB/s
        return answer(f"1 2 {781_250 * int(clock.seconds - began[0])} 4 5 6 {int(written) // 512}")

    def read(_argv: tuple[str, ...]) -> Completed:
        began[0] = began[0] or clock.seconds
        while not enough.wait(0.002):
            if any(stop.is_set() for stop in stops):
                return answer(exit_code=-15)._replace(timed_out=True)
        return answer(stderr=DONE)

    idle = answer("1 2 0 4 5 6 0")
    before = {"cat /sys/dev/block/8:16/stat": lambda argv: count(argv) if began[0] else idle}
    runner = server(**before, timeout=read)

    def of_lock(_locks: Sequence[int], stop: Event) -> FakeRunner:
        stops.append(stop)
        return runner

    around = Surroundings(NODE, Locks(folder, clock), clock, of_lock, look_every_s=0.02)
    return drive(around, READS, Turn("ctl", AT))


@pytest.mark.parametrize("rate", [50e6, 400e6])
def test_flows_end_when_others_begin_to_write(tmp_path: Path, rate: float) -> None:
    record = driven_beside(tmp_path, lambda seconds: rate * seconds)
    assert (record.outcome, record.rate) == (Outcome.SKIPPED, None)
    assert record.reason.startswith("ended after ")
    assert "MB/s on sda, more than 10 % of what it may take (max_load)" in record.reason
    # both are ended: what the others get is not what the part gives to all
    assert [result.reason for result in results_in(record)] == [record.reason] * 2
    assert all(result.seconds > 0 for result in results_in(record))


@pytest.mark.parametrize(
    "writers",
    [
        lambda seconds: 30e6 * seconds,
        # one flush of a journal: 60 MB at once
        lambda seconds: 60e6 if seconds > 2 else 0.0,
        lambda seconds: 1e12 if seconds <= 2 else 0.0,
    ],
    ids=["little", "flush", "a counter that starts again"],
)
def test_little_that_others_write_ends_no_flow(tmp_path: Path, writers: Writers) -> None:
    record = driven_beside(tmp_path, writers)
    assert record.outcome is Outcome.OK
    assert record.rate == pytest.approx(400e6, rel=1e-3)


def test_flows_on_storage_without_counters_run_to_their_end(tmp_path: Path) -> None:
    uncounted = server(**{"cat /sys/dev/block/8:16/stat": answer(exit_code=1)})
    assert driven(tmp_path, uncounted)[0].outcome is Outcome.OK


def test_the_calls_are_shown_before() -> None:
    shown = [" ".join(call) for call in commands(NODE, READS)]
    assert len(shown) == 2
    assert "if=/dev/sda" in shown[0]


# Moments that nobody needs to tell.


def test_parts_take_turns_in_slots_of_the_clock() -> None:
    parts = [READS._replace(turn=turn, turns=3, slot_s=60) for turn in range(3)]
    moments = [next_moment(part, 1000.0) for part in parts]
    assert sorted(moments) == [1020, 1080, 1140]
    assert all(moment // 60 % 3 == part.turn for moment, part in zip(moments, parts))
    # a node that looks a little later agrees
    assert next_moment(parts[0], 1019.0) == next_moment(parts[0], 1000.0)
    assert next_moment(parts[0], moments[0]) == moments[0] + 180
