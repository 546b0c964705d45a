"""Parallel runs of real ranks on folders, undisturbed and disturbed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, Collection, Iterator, NamedTuple, Optional, Sequence

import pytest

from plumbline.measure.trial import Recorder
from plumbline.measure.unit_context import UnitContext
from plumbline.model.command import CommandRunner, Completed, Within
from plumbline.model.errors import ToolError
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits
from plumbline.model.profile import unpack
from plumbline.model.ranks import TESTS, Aggregation, Method
from plumbline.model.record import Flag, Operation, Outcome, Record
from plumbline.model.spec import ProbeSpec
from plumbline.observe.command import SystemClock, SystemRunner
from plumbline.parts.parallel import launch as launch_command
from plumbline.parts.parallel.job import Fixed
from plumbline.parts.parallel.launch import Launch
from plumbline.parts.parallel.run import Course, Files, FsUnit
from tests.package.measure.units import NONE, expectation
from tests.package.waiting import alive, eventually
from tests.processes import can_mount

PYTHON = "/usr/bin/python3"
SMALL = 10 * 65536
SIMPLE = Method("simple", 65536)
ENDLESS = Method("endless", 1, aggregation=Aggregation(1, 4096))


def missing() -> str:
    """Return the package that a parallel run needs and this machine lacks, else empty."""
    if shutil.which("mpirun") is None:
        return "mpirun is not installed: openmpi-bin"
    completed = subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True, check=False)
    return "" if completed.returncode == 0 else "mpi4py is not installed: python3-mpi4py"


pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() != "", reason=missing() or "nothing is missing"),
]


class Site:
    """Folders as targets."""

    def __init__(self, home: Path, names: str = "ab") -> None:
        self.home = home
        self.names = names
        for name in (*names, "work"):
            (home / name).mkdir(exist_ok=True)

    def entry(self, name: str, test: Method, **changes: Any) -> Expectation:
        values: dict[str, Any] = {
            "layer": "fs",
            "target": {"kind": "directory", "directory": str(self.home / name)},
            "spec": ProbeSpec(
                "mpi", SMALL, 20.0, test.transfer, queue_depth=1, repeats=1, direct=False
            ),
            "references": dict.fromkeys(("write/together", "read/together"), NONE),
            "limits": Limits(fill_limit=1.0),
        }
        return expectation(name, **{**values, **changes})

    def unit(self, test: Method = SIMPLE, ranks: int = 1, **changes: Any) -> FsUnit:
        launch = Launch(python=changes.pop("python", PYTHON))
        course = {key: changes.pop(key) for key in ("fixed", "calls", "files") if key in changes}
        entries = [self.entry(name, test, **changes) for name in self.names]
        whole = self.entry("whole", test, **{**changes, "target": {"kind": "parallel"}})
        return FsUnit(
            whole,
            entries,
            Course(
                test, ranks * len(entries), launch, {}, folder=str(self.home / "work"), **course
            ),
        )

    def python(self, first: str) -> str:
        """Return a Python for ranks that runs some code first."""
        (self.home / "sitecustomize.py").write_text(first)
        python = self.home / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{self.home}:$PYTHONPATH" exec {PYTHON} "$@"\n')
        python.chmod(0o755)
        return str(python)

    def remaining_files(self) -> list[Path]:
        return [path for name in (*self.names, "work") for path in (self.home / name).iterdir()]

    def files(self, name: str) -> list[Path]:
        return list((self.home / name).glob(".plumbline/*/probe.dat"))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def measured(unit: FsUnit, runner: Optional[CommandRunner] = None) -> list[Record]:
    """Return the records of a real run of a unit."""
    return list(unit.measure(context_for(unit, runner or SystemRunner())))


def context_for(
    unit: FsUnit,
    runner: CommandRunner,
    stop: Optional[threading.Event] = None,
    step: Callable[[str], None] = lambda title: None,
) -> UnitContext:
    runners = {task.entry.component: runner for task in unit.tasks}
    clock, stop = SystemClock(), stop or threading.Event()
    recorder = Recorder("run-1", "client1", clock)
    return UnitContext(recorder, clock, runners, step, stop=stop.set, go_on=stop.clear)


def until_error(records: Iterator[Record], error: type[BaseException]) -> list[Record]:
    """Return the records before an error, which must come."""
    kept: list[Record] = []
    with pytest.raises(error):
        kept.extend(records)
    return kept


def of(records: Sequence[Record], component: str, operation: Operation) -> Record:
    (record,) = (r for r in records if (r.component, r.operation) == (component, operation))
    return record


def processes(words: str) -> dict[int, str]:
    """Return the living processes with these words in their command line, and that line."""
    lines = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        pid = int(folder.name)
        if words in line and pid != os.getpid() and alive(pid):
            lines[pid] = line
    return lines


@contextmanager
def disturbed(action: Callable[[], None]) -> Iterator[None]:
    """Do something during a run."""
    thread = threading.Thread(target=action)
    thread.start()
    yield
    thread.join()


def of_run(site: Site) -> dict[int, str]:
    """Return the ranks of a site's run and their launcher, which has their command line."""
    return processes(f"-m plumbline.parts.parallel.rank {site.home}")


def ranks_of(site: Site) -> list[int]:
    return [pid for pid, line in of_run(site).items() if " -np " not in line]


def launchers_of(site: Site) -> list[int]:
    return [pid for pid, line in of_run(site).items() if " -np " in line]


class OpenFile(NamedTuple):
    """An open file of a process, by proc(5): its blocks on disk and its position."""

    blocks: int
    position: int
    writes: bool


def writer_on(site: Site, name: str) -> list[int]:
    """Return the rank that is writing to a target."""
    return ranks_with(site, name, lambda opened: opened.writes and opened.blocks > 0)


def reader_on(site: Site, name: str) -> list[int]:
    """Return the rank that has read from a target."""
    return ranks_with(site, name, lambda opened: not opened.writes and opened.position > 0)


def ranks_with(site: Site, name: str, test: Callable[[OpenFile], bool]) -> list[int]:
    """Return the ranks with an open file of a target that passes a test."""
    files = site.files(name)
    return [pid for pid in ranks_of(site) if any(map(test, opened_by(pid, files)))]


def opened_by(pid: int, files: Collection[Path]) -> Iterator[OpenFile]:
    # a process may close a file or end meanwhile
    with suppress(FileNotFoundError, ProcessLookupError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            if link.resolve() in files:
                lines = Path(f"/proc/{pid}/fdinfo/{link.name}").read_text().splitlines()
                fields = dict(line.split(":", 1) for line in lines[:2])
                writes = int(fields["flags"], 8) & os.O_ACCMODE != os.O_RDONLY
                yield OpenFile(link.stat().st_blocks, int(fields["pos"]), writes)


def test_targets_are_measured_together_and_each_alone(site: Site) -> None:
    calls = site.home / "calls"
    records = measured(site.unit(ranks=2, calls=calls))
    assert [(r.component, r.operation.value) for r in records] == [
        *(("a", "write"), ("b", "write"), ("whole", "write")),
        *(("a", "read"), ("b", "read"), ("whole", "read")),
    ]
    assert {record.outcome for record in records} == {Outcome.OK}
    for operation in (Operation.WRITE, Operation.READ):
        parts = [of(records, name, operation) for name in ("a", "b")]
        whole = of(records, "whole", operation)
        assert [part.bytes for part in parts] == [2 * SMALL, 2 * SMALL]
        assert whole.bytes == 4 * SMALL
        assert whole.seconds == max(part.seconds for part in parts)
        assert whole.rate == whole.bytes / whole.seconds
    ranks = [
        rank for name in "ab" for rank in (of(records, name, Operation.READ).details or {})["ranks"]
    ]
    assert sorted(rank["rank"] for rank in ranks) == [0, 1, 2, 3]
    assert {sum(rank["curve"]) for rank in ranks} == {SMALL}
    assert site.remaining_files() == []
    kept = unpack(calls.read_bytes())
    assert sorted(block.rank for block in kept.blocks) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert sum(block.calls.bytes for block in kept.blocks) == 8 * SMALL


def test_each_operation_is_timed_from_its_own_start(site: Site) -> None:
    before = time.time()
    records = measured(site.unit())
    written, read = (
        {of(records, name, operation).started_at for name in (*"ab", "whole")}
        for operation in (Operation.WRITE, Operation.READ)
    )
    (wrote_at,), (read_at,) = written, read
    whole = of(records, "whole", Operation.WRITE)
    assert before < wrote_at < whole.finished_at <= read_at < time.time()
    assert whole.finished_at - wrote_at == pytest.approx(whole.seconds, abs=1e-3)


@pytest.mark.parametrize("name", ["mpiio-shared-10k", "mpiio-shared-1m1"])
def test_ranks_share_a_file_through_mpi(site: Site, name: str) -> None:
    spec = site.entry("a", TESTS[name]).spec._replace(bytes=2_000_000)
    records = measured(site.unit(TESTS[name], ranks=2, spec=spec))
    assert {record.outcome for record in records} == {Outcome.OK}, records[0].reason
    assert of(records, "whole", Operation.READ).bytes == 8_000_000
    assert site.remaining_files() == []


def test_a_run_of_fixed_time_ends_on_time_and_is_not_short(site: Site) -> None:
    spec = site.entry("a", ENDLESS).spec._replace(bytes=10**9, seconds=2.0)
    records = measured(site.unit(ENDLESS, spec=spec, fixed=Fixed.TIME))
    write, read = of(records, "a", Operation.WRITE), of(records, "a", Operation.READ)
    assert write.outcome is Outcome.OK, write.reason
    assert (write.flags, read.flags) == ((), ())
    assert write.seconds >= 2
    assert write.bytes < spec.bytes
    # unwritten parts are not read either, as holes are fast
    assert 0 < read.bytes <= of(records, "b", Operation.WRITE).bytes + write.bytes


@pytest.mark.parametrize("test", [ENDLESS, ENDLESS._replace(api="mpiio", shared=True)])
def test_a_killed_rank_ends_the_run_and_the_other_results_are_kept(
    site: Site, test: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    # on a busy machine the other rank needs longer to sync its writes
    monkeypatch.setattr(launch_command, "_KILL_S", 5)
    spec = site.entry("a", test).spec._replace(bytes=10**9, seconds=60.0)

    def kill() -> None:
        (pid,) = eventually(lambda: writer_on(site, "b"))
        eventually(lambda: writer_on(site, "a"))
        os.kill(pid, signal.SIGKILL)

    with disturbed(kill):
        records = measured(site.unit(test, spec=spec))
    dead, other = of(records, "b", Operation.WRITE), of(records, "a", Operation.WRITE)
    assert dead.outcome is Outcome.FAILED
    assert "left no result: mpirun ended with" in dead.reason
    assert (other.outcome, other.flags) == (Outcome.OK, (Flag.SHORT,))
    assert other.bytes > 0
    assert of(records, "whole", Operation.WRITE).outcome is Outcome.FAILED
    assert of(records, "a", Operation.READ).outcome is Outcome.FAILED
    assert site.remaining_files() == []
    eventually(lambda: not ranks_of(site))


def test_an_interrupt_keeps_finished_operations_and_leaves_no_file(site: Site) -> None:
    """Even if removing files is slow."""
    spec = site.entry("a", ENDLESS).spec._replace(bytes=10**9, seconds=3.0)
    stop = threading.Event()

    def slowly(argv: Sequence[str], timeout_s: float, within: Optional[Within] = None) -> Completed:
        words = ("sh", "-c", 'sleep 0.5; exec "$@"', "sh", *argv) if argv[0] == "rm" else argv
        return SystemRunner(stop=stop)(words, timeout_s, within)

    def interrupt(title: str) -> None:
        eventually(lambda: len(list(site.home.glob("work/plumbline-*/write-*.json"))) == 4)
        # no rank finishes its read, however slowly the launcher ends them
        for pid in ranks_of(site):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        raise KeyboardInterrupt

    unit = site.unit(ENDLESS, ranks=2, spec=spec, fixed=Fixed.TIME)
    context = context_for(unit, slowly, stop, interrupt)
    records = until_error(unit.measure(context), KeyboardInterrupt)
    assert [(r.component, r.operation, r.outcome) for r in records] == [
        (name, Operation.WRITE, Outcome.OK) for name in ("a", "b", "whole")
    ]
    assert site.remaining_files() == []
    eventually(lambda: not ranks_of(site))


def test_a_file_that_cannot_be_removed_does_not_protect_the_others(site: Site) -> None:
    first = site.home / "a/.plumbline/a.fs-0/probe.dat"

    def run(argv: Sequence[str], timeout_s: float, within: Optional[Within] = None) -> Completed:
        completed = SystemRunner()(argv, timeout_s, within)
        if "-np" in argv:
            first.unlink()
            first.mkdir()
        return completed

    measured(site.unit(ranks=2), run)
    assert list(site.home.rglob("probe.dat")) == [first]


def test_an_unwritable_call_profile_costs_no_figure(site: Site) -> None:
    unit = site.unit(calls=site.home / "gone/calls")
    records = until_error(unit.measure(context_for(unit, SystemRunner())), ToolError)
    assert {record.outcome for record in records} == {Outcome.OK}
    assert len(records) == 6
    assert site.remaining_files() == []


LOST = """
import os
whole = os.open
def lost(path, flags, *more, **named):
    if path == 'probe.dat' and flags & os.O_ACCMODE == os.O_RDONLY:
        if os.readlink(f'/proc/self/fd/{named["dir_fd"]}').endswith('/b.fs-0'):
            raise OSError(116, 'Stale file handle')
    return whole(path, flags, *more, **named)
if os.environ.get('OMPI_COMM_WORLD_RANK') == '1':
    os.open = lost
"""


def test_a_rank_that_cannot_open_a_shared_file_does_not_block_the_others(site: Site) -> None:
    """As if a client had lost its mount after the write."""
    test = Method("shared", 65536, api="mpiio", shared=True, collective=True)
    began = time.monotonic()
    records = measured(site.unit(test, ranks=2, python=site.python(LOST)))
    assert time.monotonic() - began < 120
    lost = of(records, "b", Operation.READ)
    assert lost.outcome is Outcome.FAILED
    assert "cannot be opened: Stale file handle; see that this client" in lost.reason
    assert "cannot be opened by another rank" in lost.reason
    assert of(records, "b", Operation.WRITE).outcome is Outcome.OK
    assert of(records, "a", Operation.READ).outcome is Outcome.OK


def killed_launcher(
    site: Site, at_work: Callable[[str], object], test: Method = ENDLESS, **terms: Any
) -> list[Record]:
    """Return the records of a run whose launcher is killed once all ranks are at work."""

    def kill() -> None:
        eventually(lambda: all(at_work(name) for name in site.names))
        for pid in launchers_of(site):
            os.kill(pid, signal.SIGKILL)

    with disturbed(kill):
        records = measured(site.unit(test, **terms))
    eventually(lambda: not ranks_of(site))
    return records


def test_a_killed_launcher_leaves_neither_ranks_nor_files(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor files of its own, even if the folder of the run is shared by all clients."""
    own = site.home / "own"
    own.mkdir()
    monkeypatch.setenv("TMPDIR", str(own))
    monkeypatch.setattr(tempfile, "tempdir", None)
    spec = site.entry("a", ENDLESS).spec._replace(bytes=10**9, seconds=60.0)
    records = killed_launcher(site, lambda name: writer_on(site, name), spec=spec)
    write = of(records, "a", Operation.WRITE)
    assert (write.outcome, write.flags) == (Outcome.OK, (Flag.SHORT,)), write.reason
    assert of(records, "a", Operation.READ).outcome is Outcome.FAILED
    assert site.remaining_files() == []
    assert list(own.iterdir()) == []


STUCK = """
import os, signal, time
whole, reads = os.readv, []
def stuck(*arguments):
    reads.append(1)
    if len(reads) > 100:
        # like a call that waits for a target: the signal has no effect before it returns
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        time.sleep(60)
    return whole(*arguments)
os.readv = stuck
"""
SLOW = """
import os, time
whole = os.readv
def slowly(*arguments):
    time.sleep(0.001)
    return whole(*arguments)
os.readv = slowly
"""


@pytest.mark.parametrize("reading", [SLOW, STUCK], ids=["slow", "stuck"])
def test_a_read_cut_by_the_kill_of_its_launcher_is_short(site: Site, reading: str) -> None:
    requested, test = 10**6, Method("bytes", 1)
    spec = site.entry("a", test).spec._replace(bytes=requested, seconds=60.0)
    terms = {"spec": spec, "python": site.python(reading)}
    records = killed_launcher(site, lambda name: reader_on(site, name), test, **terms)
    for name in site.names:
        write, read = of(records, name, Operation.WRITE), of(records, name, Operation.READ)
        assert (write.outcome, write.flags) == (Outcome.OK, ()), write.reason
        assert (read.outcome, read.flags) == (Outcome.OK, (Flag.SHORT,)), read.reason
        assert read.bytes == 100 if reading is STUCK else 0 < (read.bytes or 0) < requested


def test_a_hung_rank_is_ended_at_the_limit_and_the_other_results_are_kept(site: Site) -> None:
    spec = site.entry("a", ENDLESS).spec._replace(bytes=10**9, seconds=1.0)
    limit = threading.Event()

    def stop() -> None:
        (pid,) = eventually(lambda: writer_on(site, "b"))
        os.kill(pid, signal.SIGSTOP)
        # the other rank has written
        eventually(lambda: list(site.home.glob("work/plumbline-*/write-*.json")))
        limit.set()
        # repeatedly, as a launcher sends SIGCONT before it ends its ranks
        with suppress(ProcessLookupError):
            while True:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.001)

    with disturbed(stop):
        unit = site.unit(ENDLESS, spec=spec, fixed=Fixed.TIME)
        records = list(unit.measure(context_for(unit, SystemRunner(stop=limit), limit)))
    assert of(records, "a", Operation.WRITE).outcome is Outcome.OK
    assert of(records, "a", Operation.READ).outcome is Outcome.HUNG
    eventually(lambda: not ranks_of(site))
    assert site.remaining_files() == []


def test_without_one_target_the_others_are_measured_but_not_their_sum(site: Site) -> None:
    (site.home / "b").rmdir()
    records = measured(site.unit())
    assert of(records, "a", Operation.WRITE).outcome is Outcome.OK
    assert of(records, "b", Operation.WRITE).outcome is Outcome.SKIPPED
    whole = of(records, "whole", Operation.WRITE)
    assert whole.outcome is Outcome.SKIPPED
    assert "there is no figure of all without b: " in whole.reason


def test_kept_files_are_reread_until_the_next_run_makes_its_own(site: Site) -> None:
    assert {record.outcome for record in measured(site.unit(files=Files.KEEP))} == {Outcome.OK}
    before = [path.stat() for name in "ab" for path in site.files(name)]
    assert [kept.st_size for kept in before] == [SMALL, SMALL]
    reread = dict.fromkeys(("reread/together",), NONE)
    unit = site.unit(files=Files.FOUND, references=reread)
    assert unit.planned_bytes == 0
    records = measured(unit)
    assert [(r.component, r.operation, r.outcome, r.bytes) for r in records] == [
        ("a", Operation.REREAD, Outcome.OK, SMALL),
        ("b", Operation.REREAD, Outcome.OK, SMALL),
        ("whole", Operation.REREAD, Outcome.OK, 2 * SMALL),
    ]
    # nothing was written, and nothing removed
    after = [path.stat() for name in "ab" for path in site.files(name)]
    assert [(s.st_ino, s.st_mtime_ns) for s in after] == [(s.st_ino, s.st_mtime_ns) for s in before]
    measured(site.unit())
    assert site.remaining_files() == []


def test_incomplete_kept_files_are_not_read(site: Site) -> None:
    for name, size in (("a", SMALL), ("b", 10)):
        folder = site.home / f"{name}/.plumbline/{name}.fs-0"
        folder.mkdir(parents=True)
        with (folder / "probe.dat").open("wb") as file:
            file.truncate(size)
    reread = dict.fromkeys(("reread/together",), NONE)
    records = measured(site.unit(files=Files.FOUND, references=reread))
    assert {record.outcome for record in records} == {Outcome.SKIPPED}
    assert "has holes: the run that wrote it was cut short" in records[0].reason
    assert f"has 10 bytes, {SMALL} bytes are to be read" in records[1].reason


def test_a_run_that_does_not_fit_is_not_begun(site: Site) -> None:
    """Each file alone fits but both do not, which shows before the first byte."""
    space = os.statvfs(site.home)
    size = int(space.f_bavail * space.f_frsize * 0.7) // 65536 * 65536
    spec = site.entry("a", SIMPLE).spec._replace(bytes=size)
    records = measured(site.unit(spec=spec))
    assert {record.outcome for record in records} == {Outcome.SKIPPED}
    assert "free space there, or measure fewer bytes" in records[0].reason
    assert site.remaining_files() == []


@pytest.mark.skipif(not can_mount(), reason="mounting needs CAP_SYS_ADMIN")
def test_a_target_that_fills_up_during_the_run_fails_and_the_others_are_kept(site: Site) -> None:
    small = site.home / "b"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2M", "plumbline-test", str(small)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr.decode()}")

    def run(argv: Sequence[str], timeout_s: float, within: Optional[Within] = None) -> Completed:
        if argv[0] == "mpirun" and "-np" in argv:
            (small / "other").write_bytes(bytes(1_700_000))
        return SystemRunner()(argv, timeout_s, within)

    try:
        records = measured(site.unit(), run)
        (small / "other").unlink()
        assert of(records, "a", Operation.WRITE).outcome is Outcome.OK
        full = of(records, "b", Operation.WRITE)
        assert full.outcome is Outcome.FAILED
        assert "No space left on device" in full.reason
        assert "has written nothing here" in of(records, "b", Operation.READ).reason
        assert site.remaining_files() == []
    finally:
        subprocess.run(["umount", str(small)], check=True)
