"""A target is measured on a file that lies on it before and after; doubt gives no rate."""

from __future__ import annotations

import sys
from typing import Any, Callable, Mapping

import pytest

from plumbline.measure import probes
from plumbline.measure.ost import TargetUnit
from plumbline.measure.probes.interface import Job
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.limits import Limits
from plumbline.model.quantity import OPERATIONS_PER_S
from plumbline.model.record import Flag, Measurement, Operation, Outcome
from tests.package.fakes import Answer, FakeRunner
from tests.package.measure.units import (
    NONE,
    SIZE,
    USUAL,
    FakeClock,
    expectation,
    fio_report,
    measured,
)
from tests.package.recorded import reply, table

FILE = table("units.yml")


def target(changes: Mapping[str, Answer] = {}) -> FakeRunner:
    """Return a healthy target with its file, on a device with the probe's traffic only."""
    healthy = {start: reply(raw) for start, raw in FILE["answers"].items()}
    return FakeRunner({**healthy, **changes})


@pytest.mark.parametrize("case", FILE["cases"], ids=lambda case: case["case"])
def test_a_measurement_has_an_outcome_and_a_reason(case: dict[str, Any]) -> None:
    runner = target({start: reply(raw) for start, raw in case.get("answers", {}).items()})
    entry = expectation("a", limits=Limits(fill_limit=case.get("fill_limit", 0.9)))
    spec = entry.spec._replace(repeats=case.get("repeats", 2), tool=case.get("tool", "fio"))
    references = dict.fromkeys(case.get("operations", entry.references), NONE)
    unit = TargetUnit(entry._replace(spec=spec, references=references))
    records = measured(unit, runner, FakeClock(), keep_files=case.get("keep_files", True))
    assert [record.outcome.value for record in records] == case["outcomes"]
    for record, reason in zip(records, case.get("reasons", ())):
        assert reason in record.reason
    for name, values in case.get("records", {}).items():
        shown = [record.to_json()[name] for record in records]
        assert [
            pytest.approx(value) if type(value) is float else value for value in values
        ] == shown
    for start, number in case.get("number", {}).items():
        assert len(runner.called(start)) == number
    for start, calls in case.get("calls", {}).items():
        assert runner.called(start) == calls
    ends = case.get("ends", [])
    last_calls = zip(runner.calls[len(runner.calls) - len(ends) :], ends)
    assert all(call.startswith(start) for call, start in last_calls)


def test_a_missing_tool_is_named_and_a_record_keeps_its_command() -> None:
    write, read = measured(TargetUnit(expectation("a")), target(), FakeClock())
    assert write.tool is not None
    assert (write.tool.version, write.tool.argv[0]) == ("3.39", "fio")
    assert write.spec_hash == expectation("a").spec.hash()
    missing = target({"fio": not_installed})
    write, read = measured(TargetUnit(expectation("a")), missing, FakeClock())
    assert (write.outcome, read.outcome) == (Outcome.FAILED, Outcome.SKIPPED)
    assert "fio is not installed" in write.reason


@pytest.mark.parametrize(
    ("rates_MBps", "kept_MBps"),
    [
        ((205.0,), (205.0,)),
        ((150.0, 201.0, 199.0), (150.0, 201.0, 199.0)),
        ((230.0, 201.0, 199.0), (230.0, 201.0, 199.0)),
    ],
)
def test_one_repeat_is_enough_if_it_is_as_usual(
    rates_MBps: tuple[float, ...], kept_MBps: tuple[float, ...]
) -> None:
    rates = iter(rates_MBps)
    runner = target({"fio": lambda argv: fio_report(argv, next(rates))})
    entry = expectation("a", references={"write/single": USUAL})
    spec = entry.spec._replace(repeats=3)
    (write,) = measured(TargetUnit(entry._replace(spec=spec)), runner, FakeClock())
    assert write.repeats == pytest.approx(tuple(1e6 * rate for rate in kept_MBps), rel=1e-3)
    assert write.bytes == len(kept_MBps) * SIZE


def test_a_short_first_repeat_is_not_enough() -> None:
    rate_MBps = 3 * 65536 / 10e6  # three blocks in the ten seconds of its limit
    runner = target({"fio": lambda argv: fio_report(argv, rate_MBps, moved=3 * 65536)})
    assert USUAL.baseline is not None
    usual = USUAL._replace(baseline=USUAL.baseline._replace(median=rate_MBps * 1e6))
    entry = expectation("a", references={"write/single": usual})
    entry = entry._replace(spec=entry.spec._replace(transfer_bytes=65536))
    (write,) = measured(TargetUnit(entry), runner, FakeClock())
    assert (write.flags, len(write.repeats)) == ((Flag.SHORT,), 2)


class Metadata:
    """A probe that creates files and moves no bytes."""

    LAYERS = ()
    VERSION_COMMAND = ("fio", "--version")
    SPARE_S = 0.0

    def command(self, job: Job) -> tuple[str, ...]:
        return ("fio", "--name", job.subject)

    def parse(self, job: Job, completed: Completed) -> Measurement:
        return Measurement(bytes=0, seconds=1.0, rate=850.0)


@pytest.mark.parametrize(
    ("operation", "outcome", "reason"),
    [
        (Operation.define("create", OPERATIONS_PER_S), Outcome.OK, ""),
        (Operation.WRITE, Outcome.FAILED, "metadata moved 0 bytes"),
    ],
)
def test_only_operations_in_bytes_per_second_must_move_bytes(
    operation: Operation, outcome: Outcome, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "TOOLS", (*probes.TOOLS, "metadata"))
    monkeypatch.setitem(sys.modules, f"{probes.__name__}.metadata", Metadata())
    spec = expectation("a").spec._replace(tool="metadata")
    entry = expectation("a", spec=spec, references={f"{operation.value}/single": NONE})
    (record,) = measured(TargetUnit(entry), target(), FakeClock())
    assert (record.outcome, reason in record.reason) == (outcome, True)
    assert record.rate == (850.0 if outcome is Outcome.OK else None)
    assert record.coverage is None


def test_small_reads_stay_within_what_was_written() -> None:
    calls: list[tuple[str, ...]] = []

    def fio(argv: tuple[str, ...]) -> Completed:
        calls.append(argv)
        return fio_report(argv, 0.0196613, moved=196_613)

    entry = expectation(
        "a",
        spec=expectation("a").spec._replace(transfer_bytes=64 << 10),
        references={"write/single": NONE, "randread/single": NONE},
    )
    write, small = measured(TargetUnit(entry), target({"fio": fio}), FakeClock())
    assert (write.flags, small.outcome) == ((Flag.SHORT,), Outcome.OK), small.reason
    assert {"--size=196608", "--rw=randread", "--bs=4096"} <= set(calls[-1])


def test_without_a_write_there_are_no_small_reads() -> None:
    entry = expectation("a", references={"randread/single": NONE})
    (record,) = measured(TargetUnit(entry), target(), FakeClock())
    assert record.outcome is Outcome.SKIPPED
    assert "no write before it" in record.reason


def not_installed(argv: tuple[str, ...]) -> Completed:
    raise ToolError("fio is not installed on this host; install the package fio")


def test_a_read_stops_at_the_end_of_the_written_data() -> None:
    block = 64 << 10
    runner = target({"fio": lambda argv: fio_report(argv, 0.0196613, moved=3 * block + 5)})
    spec = expectation("a").spec._replace(transfer_bytes=block)
    write, read = measured(TargetUnit(expectation("a", spec=spec)), runner, FakeClock())
    assert write.flags == (Flag.SHORT,)
    assert read.tool is not None
    assert f"--size={3 * block}" in read.tool.argv
    assert read.spec_hash == write.spec_hash


def slow(clock: FakeClock, seconds: float) -> Callable[[tuple[str, ...]], Completed]:
    def run(argv: tuple[str, ...]) -> Completed:
        clock.sleep(seconds)
        clock.stepped_back += 3600.0
        return fio_report(argv, 200.0)

    return run


def test_durations_ignore_a_clock_set_back() -> None:
    clock = FakeClock()
    runner = target({"fio": slow(clock, 10.0)})
    write, _ = measured(TargetUnit(expectation("a")), runner, clock)
    assert write.finished_at - write.started_at == 20.0


def test_a_repeat_without_time_before_the_limit_is_not_begun() -> None:
    clock = FakeClock()
    runner = target({"fio": slow(clock, 25.0)})
    unit = TargetUnit(expectation("a", limits=Limits(hung_after_s=30.0)))
    write, _ = measured(unit, runner, clock)
    assert write.outcome is Outcome.SKIPPED
    assert "leave no time for repeat 2" in write.reason


@pytest.mark.parametrize(
    "changes",
    [{"references": {"fly/single": NONE}}, {"references": {"read": NONE}}, {"target": {}}],
)
def test_an_invalid_expectation_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(DocumentError):
        TargetUnit(expectation("a", **changes))
