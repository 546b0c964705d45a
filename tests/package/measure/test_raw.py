"""Devices are only read, each alone and then all together."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from plumbline.measure.raw import DeviceUnit, units
from plumbline.measure.trial import tasks_of
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError, PrivilegeError
from plumbline.model.expectation import Expectation
from plumbline.model.record import Outcome, Record, Scenario
from plumbline.model.spec import ProbeSpec
from tests.package.fakes import FakeRunner, answer
from tests.package.measure.units import NONE, USUAL, FakeClock, expectation, measured
from tests.package.recorded import data

READ = """time to transfer data was 0.005243 secs, 200.00 MB/sec
2048+0 records in
2048+0 records out
"""


def device(name: str, **changes: Any) -> Expectation:
    values: dict[str, Any] = {
        "layer": "raw",
        "target": {"kind": "device", "device": f"/dev/{name}"},
        "spec": ProbeSpec("sgp_dd", 1 << 20, 10.0, repeats=2),
        "references": {"read/single": NONE, "read/together": NONE},
    }
    return expectation(name, **{**values, **changes})


def server(**answers: Any) -> FakeRunner:
    return FakeRunner(
        {
            "stat --dereference": "block special file/8/10\n",
            "test -r": "",
            "cat /sys/dev/block/8:16/stat": "1 2 1000 4 5 6 0 0",
            "sgp_dd": answer(stderr="sgp_dd: 5.89 20250912\n"),
            "timeout": answer(stderr=READ),
            **answers,
        }
    )


def test_devices_are_read_one_by_one_and_then_together() -> None:
    names = [
        [(task.entry.component, task.scenario) for task in unit.tasks]
        for unit in units([device("sda"), device("sdb")])
    ]
    assert names == [
        [("sda", Scenario.SINGLE)],
        [("sdb", Scenario.SINGLE)],
        [("sda", Scenario.TOGETHER), ("sdb", Scenario.TOGETHER)],
    ]


def test_a_device_gives_a_rate() -> None:
    unit = DeviceUnit(tasks_of(device("sda"))[:1])
    (record,) = measured(unit, server(), FakeClock())
    assert record.outcome is Outcome.OK, record.reason
    assert record.rate == pytest.approx(200e6, rel=0.01)


def test_repeats_of_devices_read_together_overlap() -> None:
    both = threading.Barrier(2, timeout=300)

    def read(argv: tuple[str, ...]) -> Completed:
        both.wait()  # passes only if both reads overlap
        return answer(stderr=READ)

    *_, together = units([device("sda"), device("sdb")])
    records = measured(together, server(timeout=read), FakeClock())
    assert [record.scenario for record in records] == [Scenario.TOGETHER] * 2
    assert {record.outcome for record in records} == {Outcome.OK}


@pytest.mark.parametrize(("slow", "repeats"), [([], 1), (["sda"], 2)])
def test_devices_read_together_all_continue_if_one_has_to(slow: list[str], repeats: int) -> None:
    def read(argv: tuple[str, ...]) -> Completed:
        is_slow = any(f"if=/dev/{name}" in argv for name in slow)
        return answer(stderr=READ.replace("0.005243", "0.010486") if is_slow else READ)

    references = {"read/together": USUAL}
    (together,) = units([device(name, references=references) for name in ("sda", "sdb")])
    records = measured(together, server(timeout=read), FakeClock())
    assert [len(record.repeats) for record in records] == [repeats] * 2


def test_a_missing_device_blames_no_other() -> None:
    def look(argv: tuple[str, ...]) -> Completed:
        if argv[-1] == "/dev/sdb":
            return answer(stderr="stat: No such file or directory", exit_code=1)
        return answer("block special file/8/10\n")

    *_, together = units([device("sda"), device("sdb")])
    (missing,) = measured(together, server(**{"stat --dereference": look}), FakeClock())
    assert (missing.component, missing.outcome) == ("sdb", Outcome.BROKEN)
    assert "No such file" in missing.reason


ERROR = answer(
    stderr="error in normal read, Input/output error\n>>>> Some error occurred,\n", exit_code=99
)


def test_a_device_with_two_io_errors_is_broken() -> None:
    single, *_ = units([device("sda")])
    (record,) = measured(single, server(timeout=ERROR), FakeClock())
    assert record.outcome is Outcome.BROKEN
    assert "Input/output error" in record.reason


def test_a_device_whose_error_disappears_has_a_rate() -> None:
    single, *_ = units([device("sda")])
    (record,) = measured(single, server(timeout=[ERROR, answer(stderr=READ)]), FakeClock())
    assert record.outcome is Outcome.OK


def test_an_error_only_when_read_together_is_a_failure_of_the_tool() -> None:
    calls = []

    def read(argv: tuple[str, ...]) -> Completed:
        first = "if=/dev/sda" in argv and argv not in calls
        calls.append(argv)
        return ERROR if first else answer(stderr=READ)

    *_, together = units([device("sda"), device("sdb")])
    bad, good = measured(together, server(timeout=read), FakeClock())
    assert (bad.outcome, good.outcome) == (Outcome.FAILED, Outcome.OK)
    assert "read alone it gave no error" in bad.reason


@pytest.mark.parametrize(
    "changes",
    [
        {"references": {"write/single": NONE}},
        {"target": {"kind": "device", "device": "/home/sda"}},
        {"target": {"kind": "device", "device": "/dev/../home/sda"}},
        {"target": {"kind": "directory", "directory": "/mnt/a"}},
    ],
)
def test_harmful_expectations_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DocumentError):
        list(units([device("sda", **changes)]))


def test_the_commands_read_into_dev_null() -> None:
    (argv,) = DeviceUnit(tasks_of(device("sda"))[:1]).commands()
    assert {"if=/dev/sda", "of=/dev/null"} <= set(argv)


def test_a_device_that_only_the_unit_may_read_is_named() -> None:
    def may(argv: tuple[str, ...]) -> Completed:
        return answer(exit_code=1 if argv[-1] == "/dev/sdb" else 0)

    *_, together = units([device("sda"), device("sdb")])
    with pytest.raises(PrivilegeError, match="may not read /dev/sdb") as caught:
        measured(together, server(**{"test -r": may}), FakeClock())
    assert caught.value.component == "sdb"


FLASH = {"randread/single": NONE, "randread32/single": NONE}
FIO = {"fio --version": "fio-3.33\n", "fio": answer(data("fio/randread-3.33.json"))}


def of_flash(**answers: Any) -> list[Record]:
    units_of_device = units([device("sda", references=FLASH)])
    runner = server(**{"cat /sys/dev/block/8:16/queue": "0\n", **FIO, **answers})
    return [record for unit in units_of_device for record in measured(unit, runner, FakeClock())]


def test_flash_has_small_reads_with_their_times_and_terms() -> None:
    one, deep = of_flash()
    assert (one.operation, one.outcome) == ("randread", Outcome.OK), one.reason
    assert one.rate == pytest.approx(7211, rel=0.001)
    assert one.quantities["p99.9"] == pytest.approx(4.145e-3, rel=0.001)
    assert one.spec_hash != deep.spec_hash
    assert [(record.spec or {})["queue_depth"] for record in (one, deep)] == [1, 32]
    tails = one.quantity_records(["randread p99.9/single"])
    assert [(tail.operation, round(1 / (tail.rate or 0), 6)) for tail in tails] == [
        ("randread p99.9", 0.004145)
    ]


@pytest.mark.parametrize(
    ("queue", "says"),
    [
        ("1\n", "the kernel calls /dev/sda a rotating disk, the topology calls it flash"),
        (answer(stderr="cat: No such file", exit_code=1), "the kernel does not tell whether"),
    ],
)
def test_small_reads_never_reach_a_rotating_disk(queue: Any, says: str) -> None:
    def refused(argv: tuple[str, ...]) -> Completed:
        raise AssertionError(f"{argv} would make a disk seek")

    records = of_flash(**{"cat /sys/dev/block/8:16/queue": queue, "fio": refused})
    assert [record.outcome for record in records] == [Outcome.SKIPPED] * 2
    assert says in records[0].reason


@pytest.mark.parametrize(
    ("case", "outcome", "says"),
    [
        ("small-device", Outcome.FAILED, "smaller than one read of 4096 bytes"),
        ("device-no-direct", Outcome.FAILED, "logical block size"),
        ("device-gone", Outcome.FAILED, "/dev/sda is gone, or empty"),
        ("device-io-error", Outcome.BROKEN, "Input/output error"),
    ],
)
def test_small_reads_that_fail_are_one_sentence(case: str, outcome: Outcome, says: str) -> None:
    stdout, stderr = (data(f"fio/{case}-3.33.{kind}") for kind in ("json", "txt"))
    records = of_flash(fio=answer(stdout, stderr=stderr, exit_code=1))
    assert {record.outcome for record in records} == {outcome}
    assert says in records[0].reason
    assert "\n" not in records[0].reason
