"""A target is measured on a file that lies on it, before and after; doubt gives no number."""

from __future__ import annotations

from itertools import count
from types import MappingProxyType
from typing import Callable, Mapping

import pytest

from plumbline.measure.ost import TargetUnit
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.limits import Baseline, Limits, Reference
from plumbline.model.record import Flag, Operation, Outcome
from tests.package.fakes import HANGING, NO_FILE, REMOVED, Answer, FakeRunner, answer, file_status
from tests.package.measure.units import NONE, SIZE, FakeClock, expectation, fio_report, measured

MOUNTS = "30 1 8:1 / /mnt/a rw - xfs /dev/sda1 rw\n"
OWN = "/mnt/a/.plumbline"
FILE = file_status(SIZE, 2048)
COUNTERS = "cat /sys/dev/block/8:1/stat"
STAT = "stat --format=%s"


def target(changes: Mapping[str, Answer] = MappingProxyType({})) -> FakeRunner:
    """Return a healthy target with its file, whose device moves what the probe moves."""
    sectors = count(1000, 2 * SIZE // 512)
    return FakeRunner(
        {
            "cat /proc/self/mountinfo": MOUNTS,
            "realpath": "/mnt/a\n",
            "stat --file-system": "4096 1000000 900000 900000\n",
            STAT: FILE,
            COUNTERS: lambda argv: answer(f"1 2 3 4 5 6 {next(sectors)} 0"),
            "fio --version": "fio-3.39\n",
            "fio": lambda argv: fio_report(argv, 200.0),
            **changes,
        }
    )


def test_write_and_read_give_a_rate_with_their_conditions() -> None:
    write, read = measured(TargetUnit(expectation("a")), target(), FakeClock())
    assert (write.operation, read.operation) == (Operation.WRITE, Operation.READ)
    assert (write.rate_Bps, write.bytes, len(write.repeats_Bps)) == (200e6, 2 * SIZE, 2)
    assert (write.fill, write.versions, write.coverage) == (0.1, {"filesystem": "xfs"}, 1.0)
    assert write.tool is not None
    assert (write.tool.version, write.tool.argv[0]) == ("3.39", "fio")
    assert write.spec_hash == expectation("a").spec.hash()


def test_the_rate_is_the_median_of_the_repeats() -> None:
    rates = iter((100.0, 300.0, 120.0, 1.0, 1.0, 1.0))
    runner = target({"fio": lambda argv: fio_report(argv, next(rates))})
    spec = expectation("a").spec._replace(repeats=3)
    write, _ = measured(TargetUnit(expectation("a", spec=spec)), runner, FakeClock())
    assert write.rate_Bps == pytest.approx(120e6)
    assert write.repeats_Bps == pytest.approx((100e6, 300e6, 120e6))


USUAL = Reference(
    None, Baseline(200e6, 0.02, 12, "2026-11-01", "2026-11-20", "abc", {}, "ada", "new")
)


@pytest.mark.parametrize(
    ("rates_MBps", "kept_MBps"),
    [
        ((205.0,), (205.0,)),
        ((150.0, 201.0, 199.0), (150.0, 201.0, 199.0)),
        ((230.0, 201.0, 199.0), (230.0, 201.0, 199.0)),
    ],
)
def test_a_first_repeat_is_enough_where_it_is_as_usual(
    rates_MBps: tuple[float, ...], kept_MBps: tuple[float, ...]
) -> None:
    rates = iter(rates_MBps)
    runner = target({"fio": lambda argv: fio_report(argv, next(rates))})
    entry = expectation("a", references={"write/single": USUAL})
    spec = entry.spec._replace(repeats=3)
    (write,) = measured(TargetUnit(entry._replace(spec=spec)), runner, FakeClock())
    assert write.repeats_Bps == pytest.approx(tuple(1e6 * rate for rate in kept_MBps), rel=1e-3)
    assert write.bytes == len(kept_MBps) * SIZE


def test_a_first_repeat_that_was_cut_short_is_not_enough() -> None:
    rate_MBps = 3 * 65536 / 10e6  # three blocks in the ten seconds that it may take
    runner = target({"fio": lambda argv: fio_report(argv, rate_MBps, moved=3 * 65536)})
    assert USUAL.baseline is not None
    usual = USUAL._replace(baseline=USUAL.baseline._replace(median_Bps=rate_MBps * 1e6))
    entry = expectation("a", references={"write/single": usual})
    entry = entry._replace(spec=entry.spec._replace(transfer_bytes=65536))
    (write,) = measured(TargetUnit(entry), runner, FakeClock())
    assert (write.flags, len(write.repeats_Bps)) == ((Flag.SHORT,), 2)


def test_what_others_move_meanwhile_lowers_the_coverage() -> None:
    sectors = count(1000, 4 * 2 * SIZE // 512)
    runner = target({COUNTERS: lambda argv: answer(f"1 2 3 4 5 6 {next(sectors)} 0")})
    write, _ = measured(TargetUnit(expectation("a")), runner, FakeClock())
    assert write.coverage == 0.25


def test_a_file_that_has_moved_after_the_run_voids_the_record() -> None:
    calls = count()

    def moved_at_the_end(argv: tuple[str, ...]) -> Completed:
        return answer(FILE) if next(calls) < 4 else NO_FILE

    runner = target({STAT: moved_at_the_end})
    write, read = measured(TargetUnit(expectation("a")), runner, FakeClock())
    assert (write.outcome, read.outcome) == (Outcome.SKIPPED, Outcome.SKIPPED)
    assert "probe.dat is gone" in write.reason
    assert read.reason.startswith("a read was not tried: no write before it")


def test_what_was_put_in_the_place_of_the_file_between_repeats_is_not_written() -> None:
    answers = [answer(FILE)] * 3 + [answer(file_status(SIZE, 2048, inode=8))]
    runner = target({STAT: answers})
    write, _ = measured(TargetUnit(expectation("a")), runner, FakeClock())
    assert write.outcome is Outcome.SKIPPED
    assert "is another file than the one that was placed" in write.reason
    assert len(runner.called("fio --name")) == 1


def not_installed(argv: tuple[str, ...]) -> Completed:
    raise ToolError("fio is not installed on this host; install the package fio")


@pytest.mark.parametrize(
    ("end", "outcome", "reason"),
    [
        (not_installed, Outcome.FAILED, "fio is not installed"),
        (answer(stderr="boom", exit_code=2), Outcome.FAILED, "boom"),
        (Completed(("fio",), -9, "", "", 70.0), Outcome.FAILED, "killed by signal 9"),
        (
            Completed(("fio",), -9, "", "", 70.0, timed_out=True),
            Outcome.HUNG,
            "did not end in 70 s",
        ),
        (
            Completed(("fio",), None, "", "", 70.0, timed_out=True, hung=True),
            Outcome.HUNG,
            "fio on /mnt/a/.plumbline/a/probe.dat is stuck in the kernel",
        ),
    ],
)
def test_a_tool_that_does_not_do_its_work_gives_the_reason(
    end: Answer, outcome: Outcome, reason: str
) -> None:
    runner = target({"fio": end})
    write, read = measured(TargetUnit(expectation("a")), runner, FakeClock())
    assert write.outcome is outcome
    assert reason in write.reason
    assert read.outcome is Outcome.SKIPPED


def test_what_a_tool_repeats_is_said_once_with_the_cause_before_it() -> None:
    error = (
        "fio: io_u error on file /mnt/a/f: Disk quota exceeded: write offset={0}, buflen=1048576"
    )
    said = "\n".join(error.format(number << 20) for number in range(5))
    runner = target({"fio": answer(stdout=said, exit_code=1)})
    write, _ = measured(TargetUnit(expectation("a")), runner, FakeClock())
    assert write.outcome is Outcome.FAILED
    assert write.reason.startswith(
        "the quota of the measuring user for /mnt/a is used up; raise it for user plumbline (fio "
        "failed with exit code 1: fio: io_u error on file /mnt/a/f: Disk quota exceeded: write "
    )
    assert write.reason.count("io_u error") == 1


def test_a_specification_that_its_tool_cannot_do_fails_that_target_alone() -> None:
    spec = expectation("a").spec._replace(tool="sgp_dd")
    write, _ = measured(TargetUnit(expectation("a", spec=spec)), target(), FakeClock())
    assert (write.outcome, write.reason[:18]) == (Outcome.FAILED, "sgp_dd only reads;")


def test_a_question_that_is_not_answered_twice_says_nothing_about_the_target() -> None:
    runner = target({"stat --file-system": HANGING})
    records = measured(TargetUnit(expectation("a")), runner, FakeClock())
    assert {record.outcome for record in records} == {Outcome.UNANSWERED}
    assert "stuck in the kernel, twice in this run" in records[0].reason
    assert len(runner.called("stat --file-system")) == 2


def test_a_question_that_is_answered_the_second_time_leads_to_a_rate() -> None:
    healthy = answer("4096 1000000 900000 900000\n")
    runner = target({"stat --file-system": [HANGING, healthy]})
    write, read = measured(TargetUnit(expectation("a")), runner, FakeClock())
    assert (write.outcome, read.outcome) == (Outcome.OK, Outcome.OK)


def test_an_operation_that_was_measured_before_is_not_measured_again() -> None:
    looks = count()

    def hangs_before_the_read(argv: tuple[str, ...]) -> Completed:
        return HANGING if next(looks) == 5 else answer(FILE)

    runner = target({STAT: hangs_before_the_read})
    write, read = measured(TargetUnit(expectation("a")), runner, FakeClock())
    assert (write.outcome, read.outcome) == (Outcome.OK, Outcome.OK)
    assert len([call for call in runner.called("fio --name") if "--rw=write" in call]) == 2


def test_what_is_to_be_asked_again_keeps_the_file_that_was_written() -> None:
    looks = count()

    def hangs_before_the_read(argv: tuple[str, ...]) -> Completed:
        return HANGING if next(looks) == 5 else answer(FILE)

    runner = target({STAT: hangs_before_the_read, **REMOVING})
    records = measured(TargetUnit(expectation("a")), runner, FakeClock(), keep_files=False)
    assert [record.outcome for record in records] == [Outcome.OK, Outcome.OK]
    reads = [place for place, call in enumerate(runner.calls) if "--rw=read" in call]
    assert runner.calls.index(REMOVED) > max(reads)


IO_ERROR = answer(
    stderr="fio: io_u error on file probe.dat: Input/output error: write offset=0\n", exit_code=1
)
NO_SPACE = answer(
    stderr="fio: io_u error on file probe.dat: No space left on device: write offset=0\n",
    exit_code=1,
)


def test_an_io_error_that_comes_twice_is_a_broken_target() -> None:
    runner = target({"fio --name": IO_ERROR})
    write, read = measured(TargetUnit(expectation("a")), runner, FakeClock())
    assert (write.outcome, read.outcome) == (Outcome.BROKEN, Outcome.SKIPPED)
    assert "Input/output error" in write.reason
    assert len(runner.called("fio --name")) == 2


def test_an_io_error_whose_cause_is_known_is_no_broken_target() -> None:
    said = f"{IO_ERROR.stderr}fio: io_u error on file probe.dat: Disk quota exceeded\n"
    runner = target({"fio --name": answer(stderr=said, exit_code=1)})
    write, _ = measured(TargetUnit(expectation("a")), runner, FakeClock())
    assert write.outcome is Outcome.FAILED
    assert write.reason.startswith("the quota of the measuring user for /mnt/a is used up")


def test_an_io_error_that_passes_leaves_a_rate() -> None:
    ends = [True]

    def once(argv: tuple[str, ...]) -> Completed:
        return IO_ERROR if ends and ends.pop() else fio_report(argv, 200.0)

    write, read = measured(TargetUnit(expectation("a")), target({"fio --name": once}), FakeClock())
    assert (write.outcome, read.outcome) == (Outcome.OK, Outcome.OK)


def test_no_space_on_a_file_system_that_has_space_is_a_broken_target() -> None:
    runner = target({"fio --name": NO_SPACE})
    write, _ = measured(TargetUnit(expectation("a")), runner, FakeClock())
    assert write.outcome is Outcome.BROKEN
    assert "the file system has space, its storage gives none" in write.reason


def test_no_space_on_a_file_system_that_is_full_is_a_failed_tool() -> None:
    space = [answer("4096 1000000 900000 900000\n")] * 2 + [answer("4096 1000000 0 0\n")]
    runner = target({"fio --name": NO_SPACE, "stat --file-system": space})
    write, _ = measured(TargetUnit(expectation("a")), runner, FakeClock())
    assert write.outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"realpath": answer(stderr="realpath: /mnt/a: Stale file handle\n", exit_code=1)},
            "Stale file handle",
        ),
        (
            {
                STAT: answer(
                    stderr="stat: cannot statx '..': Structure needs cleaning\n", exit_code=1
                )
            },
            "Structure needs cleaning",
        ),
        (
            {"cat /proc/self/mountinfo": MOUNTS.replace("/dev/sda1 rw", "/dev/sda1 ro")},
            "read-only by the kernel",
        ),
    ],
)
def test_a_directory_that_is_its_target_alone_is_broken_where_it_gives_errors(
    changes: Mapping[str, Answer], reason: str
) -> None:
    write, read = measured(TargetUnit(expectation("a")), target(changes), FakeClock())
    assert (write.outcome, read.outcome) == (Outcome.BROKEN, Outcome.BROKEN)
    assert reason in write.reason


def test_what_a_person_has_mounted_read_only_is_not_broken() -> None:
    mounts = MOUNTS.replace("rw", "ro")
    runner = target({"cat /proc/self/mountinfo": mounts})
    write, _ = measured(TargetUnit(expectation("a")), runner, FakeClock())
    assert write.outcome is Outcome.SKIPPED


def test_a_target_that_must_not_be_measured_says_why() -> None:
    unit = TargetUnit(expectation("a", limits=Limits(fill_limit=0.05)))
    write, read = measured(unit, target(), FakeClock())
    assert (write.outcome, read.outcome) == (Outcome.SKIPPED, Outcome.SKIPPED)
    assert "10% full" in write.reason


REMOVING: Mapping[str, Answer] = {"rm -f": "", "rmdir": ""}
NO_ROOM = answer(stderr="truncate: failed to truncate 'probe.dat': File too large\n", exit_code=1)


def test_a_file_that_could_not_be_made_in_full_does_not_stay() -> None:
    stat = [NO_FILE, answer(FILE)]
    changes = {STAT: stat, "touch": "", "truncate": NO_ROOM, **REMOVING}
    runner = target(changes)
    write, _ = measured(TargetUnit(expectation("a")), runner, FakeClock(), keep_files=False)
    assert write.outcome is Outcome.SKIPPED
    assert "File too large" in write.reason
    assert runner.called("rm -f") == [REMOVED]


def test_a_file_that_resists_its_removal_voids_no_record_and_ends_no_run() -> None:
    refused = answer(stderr="rm: cannot remove 'probe.dat': Read-only file system\n", exit_code=1)
    runner = target({**REMOVING, "rm -f": refused})
    records = measured(TargetUnit(expectation("a")), runner, FakeClock(), keep_files=False)
    assert [record.outcome for record in records] == [Outcome.OK, Outcome.OK]


def test_a_target_that_gives_no_answer_is_not_asked_to_remove_its_file() -> None:
    runner = target({"truncate": HANGING, "touch": "", STAT: NO_FILE})
    write, _ = measured(TargetUnit(expectation("a")), runner, FakeClock(), keep_files=False)
    assert write.outcome is Outcome.UNANSWERED
    assert runner.called("rm") == []


def test_nothing_is_read_that_was_not_written_in_this_run() -> None:
    unit = TargetUnit(expectation("a", references={"read/single": NONE}))
    (read,) = measured(unit, target(), FakeClock())
    assert read.outcome is Outcome.SKIPPED


def test_no_more_is_read_than_was_written() -> None:
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


def test_durations_do_not_follow_a_clock_that_is_set_back() -> None:
    clock = FakeClock()
    runner = target({"fio": slow(clock, 10.0)})
    write, _ = measured(TargetUnit(expectation("a")), runner, clock)
    assert write.finished_at - write.started_at == 20.0


def test_a_repeat_that_its_limit_leaves_no_time_for_is_not_begun() -> None:
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
def test_an_expectation_that_makes_no_sense_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(DocumentError):
        TargetUnit(expectation("a", **changes))
