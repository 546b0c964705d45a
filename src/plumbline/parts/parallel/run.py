"""Parallel runs: start and watch the ranks, and record the targets and the file system.

Results that ranks left in the run's folder count, however the launcher ended.

Files are created and proven before the ranks start, and removed after they have ended.  Each one
is the probe file of a target named ``COMPONENT.fs-N``, so placement and proof are those of the
target, and the next run knows the names of files that a killed run left.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import Generator, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from plumbline.measure.targets import osts_of, target_for
from plumbline.measure.targets.interface import TargetState
from plumbline.measure.targets.probe_file import FileTarget
from plumbline.measure.temporary import temporary_folder
from plumbline.measure.trial import (
    NO_STATE,
    UNCONDITIONED,
    Conditions,
    Failure,
    Task,
    Watch,
    tasks_of,
)
from plumbline.measure.unit_context import UnitContext
from plumbline.model.codec import compact
from plumbline.model.command import CommandRunner, Completed
from plumbline.model.errors import DocumentError, PrivilegeError, SkipTarget, StoreError, ToolError
from plumbline.model.expectation import Expectation
from plumbline.model.profile import Block, pack, unpack
from plumbline.model.ranks import Method, Place, limit_s, spread
from plumbline.model.record import Measurement, Operation, Outcome, Record, Tool
from plumbline.observe.mounts import Traffic
from plumbline.observe.query import SLOW_S, ask
from plumbline.parts.parallel.job import JOB, Fixed, Job, Result, State, result_name
from plumbline.parts.parallel.launch import (
    Launch,
    Launcher,
    assumed,
    command,
    end_ranks,
    find_launcher,
)
from plumbline.parts.parallel.operation import write_whole
from plumbline.parts.parallel.tally import Tally, details, details_of_all, read_results


class Files(str, Enum):
    """Origin of the files of a run, and what happens to them."""

    FRESH = "fresh"
    """Created for the run and removed after it."""
    KEEP = "keep"
    """Created for the run and kept for later runs, until one creates its own."""
    FOUND = "found"
    """Kept by an earlier run, read, and kept again."""


class Share(NamedTuple):
    """Load of a target: ``ranks`` that move ``rank_bytes`` each, to one shared file or several."""

    ranks: int
    rank_bytes: int
    shared: bool

    @property
    def files(self) -> int:
        """Number of files on each target."""
        return 1 if self.shared else self.ranks

    @property
    def file_bytes(self) -> int:
        """Size of each file."""
        return self.rank_bytes * (self.ranks if self.shared else 1)

    @property
    def bytes(self) -> int:
        """Bytes written on one target."""
        return self.rank_bytes * self.ranks


class Member:
    """One target of a parallel run and its files; with a ``failure`` it takes no part."""

    def __init__(
        self, entry: Expectation, server: str, share: Share, runner: CommandRunner
    ) -> None:
        self.entry = entry
        self.state: TargetState = NO_STATE
        self.failure: Optional[Failure] = None
        self.grown: Optional[int] = None
        self.watch = Watch(runner)
        self.share = share
        self._server = server
        self._targets = [self._target(index) for index in range(share.files)]
        self._paths: list[str] = []
        self._moved: Optional[Traffic] = None
        self._device = entry.component

    @property
    def has_files(self) -> bool:
        """True if all files are ready."""
        return len(self._paths) == self.share.files

    @property
    def places(self) -> Iterator[Place]:
        """Places of the ranks on this target."""
        name = self.entry.component
        for rank in range(self.share.ranks):
            if self.share.shared:
                offset = rank * self.share.rank_bytes
                yield Place(name, self._server, self._paths[0], offset)
            else:
                yield Place(name, self._server, self._paths[rank])

    def recheck(self, files: Files) -> None:
        """Check a target again if it gave no answer."""
        if self.failure is not None and self.failure.outcome is Outcome.UNANSWERED:
            self.failure = None
            self.look(files)

    def look(self, files: Files = Files.FRESH) -> None:
        """Check that the target may be measured; remove files of earlier runs."""
        with self._failing():
            if files is not Files.FOUND:
                for target in self._leftovers():
                    target.remove(self.watch)
            self.state = self._targets[0].state(self.watch)
            self._device = self._find_device()

    def make(self, others_bytes: int = 0) -> None:
        """Create and prove the files; ``others_bytes`` of other targets go to the same device."""
        with self._failing():
            self._targets[0].refuse_without_room(self.watch, self.share.bytes + others_bytes)
            for target in self._targets:
                target.state(self.watch)
                self._paths.append(target.place(self.watch, self.share.file_bytes))
            self._moved = self._targets[0].traffic(self.watch)

    def find(self) -> None:
        """Use and prove the files that an earlier run kept."""
        with self._failing():
            for target in self._targets:
                self._paths.append(target.find(self.watch, self.share.file_bytes))
            self._moved = self._targets[0].traffic(self.watch)

    def prove(self) -> None:
        """After the run, check that every file still lies on its target."""
        if self.failure is not None:
            return
        with self._failing():
            traffic = self._targets[0].traffic(self.watch)
            if traffic is not None and self._moved is not None:
                self.grown = traffic.bytes - self._moved.bytes
            for target, path in zip(self._targets, self._paths):
                target.verify(self.watch, path)

    def remove(self) -> None:
        """Remove all files; if the target does not answer, the next run removes them."""
        if not self.watch.stuck:
            for target in self._targets:
                with suppress(SkipTarget, ToolError):
                    target.remove(self.watch)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Turn the first error into the failure of this target.

        Raises:
            PrivilegeError: this user may not measure it, nor any other target.
        """
        try:
            yield
        except PrivilegeError:
            raise
        except (SkipTarget, ToolError) as error:
            self.failure = self.failure or _own_failure(self.watch.failure(error))

    def shares_with(self, other: Member) -> bool:
        """Return True if both lie on one device, or are the same target."""
        return self._device == other._device

    def _find_device(self) -> str:
        """Return the device number of a directory, or the name of any other target."""
        folder = self.entry.target.get("directory")
        if folder is None:
            return self.entry.component
        return ask(self.watch, ["stat", "--format=%d", "--", folder]).strip()

    def _target(self, index: int) -> FileTarget:
        # a striped file is named after its first target, so the next run on that target finds it
        name, *_ = (*osts_of(self.entry.target), self.entry.component)
        return self._named(f"{name}.fs-{index}")

    def _named(self, name: str) -> FileTarget:
        described = dict(self.entry.target)
        if described.get("kind") == "lustre":
            described.setdefault("ost", self.entry.component)
        target = target_for(described, name, self.entry.limits.fill_limit)
        if not isinstance(target, FileTarget):
            raise SkipTarget(f"{self.entry.component} is no target that keeps files")
        return target

    def _leftovers(self) -> Iterator[FileTarget]:
        """Yield the targets of leftover files of earlier runs, which may have had more files."""
        name, parent = self._targets[0].folder
        words = ["find", ".", "-mindepth", "1", "-maxdepth", "1", "-type", "d"]
        listing = self.watch([*words, "-name", f"{name[:-1]}*", "-printf", "%f\\n"], SLOW_S, parent)
        for folder in listing.stdout.splitlines() if listing.ok else ():
            number = folder[len(name) - 1 :]
            if number.isdigit():
                yield self._target(int(number))


def _own_failure(failure: Failure) -> Failure:
    """Return a failure of the target, or a skip for a fault that this layer does not judge."""
    allowed = (Outcome.SKIPPED, Outcome.FAILED, Outcome.UNANSWERED)
    unreachable = failure.outcome is Outcome.UNREACHABLE
    cause = "; the target, its server or the network to it is down" if unreachable else ""
    if failure.outcome in allowed:
        return failure
    return Failure(Outcome.SKIPPED, failure.reason + cause)


_LOOK_S = 0.2
_LAST_S = 5.0


class Course(NamedTuple):
    """Terms of a parallel run.

    ``ranks`` is the number for all targets, dealt to them in turn.  ``servers`` has the server of
    each target, if known.  ``folder`` is for the results of the ranks and must be visible to all
    clients; empty for a temporary folder.  ``calls`` is the profile file with all calls, None for
    no such file.  ``launcher`` is the installed one, None if it is yet to be found.
    """

    test: Method
    ranks: int
    launch: Launch
    servers: Mapping[str, str]
    fixed: Fixed = Fixed.DATA
    folder: str = ""
    calls: Optional[Path] = None
    files: Files = Files.FRESH
    launcher: Optional[Launcher] = None


class Run:
    """One start of the launcher."""

    def __init__(self, system: Expectation, course: Course, context: UnitContext) -> None:
        self._system = system
        self._course = course
        self._context = context
        self._runner = context.runners[system.component]
        self._tool: Optional[Tool] = None
        self._results: tuple[Result, ...] = ()
        self._interrupt: Optional[KeyboardInterrupt] = None
        self._profile_error: Optional[ToolError] = None

    def records(self, crew: Sequence[Member], tasks: Sequence[Task]) -> Iterator[Record]:
        """Yield the records of all tasks; only finished ones if the run is interrupted.

        Raises:
            KeyboardInterrupt: a person interrupted the run; raised after the last record.
            ToolError: the profile cannot be written; raised after the last record.
        """
        ready = [member for member in crew if member.failure is None]
        start = self._context.clock.wall()
        try:
            if not ready:
                raise SkipTarget("no target can be measured; see the reason of each")
            with self._folders() as folders:
                tallies = self._carried_out(folders, ready, tasks)
        except (SkipTarget, ToolError, DocumentError) as error:
            if self._interrupt is not None:
                raise self._interrupt from error
            skipped = isinstance(error, SkipTarget)
            trouble = Failure(Outcome.SKIPPED if skipped else Outcome.FAILED, str(error))
            failures = {member.entry.component: member.failure for member in crew}
            for task in tasks:
                failure = failures.get(task.entry.component) or trouble
                yield self._context.recorder.without(task, failure)
            return
        for member in ready:
            member.prove()
        end = self._context.clock.wall()
        for task in tasks:
            tally = tallies[task.operation]
            if self._interrupt is None or tally.over:
                yield self._record(crew, tally, task, (start, end))
        if self._interrupt is not None:
            raise self._interrupt
        if self._profile_error is not None:
            raise self._profile_error

    def _carried_out(
        self, folders: tuple[Path, Path], ready: Sequence[Member], tasks: Sequence[Task]
    ) -> Mapping[Operation, Tally]:
        """Run the ranks and return their results, which count even if the launcher fails."""
        folder, local = folders
        launcher = self._course.launcher or find_launcher(self._course.launch, self._runner)
        launcher = launcher._replace(folder=str(local))
        job = self._job(folder, [place for member in ready for place in member.places], tasks)
        romio, ranks = job.test.romio, len(job.places) * job.test.processes
        argv = command(self._course.launch, launcher, ranks, str(folder / JOB), romio=romio)
        self._tool = Tool(self._system.spec.tool, f"{launcher.kind.value} {launcher.version}", argv)
        write_whole(folder / JOB, compact(job).encode())
        allowed = limit_s(job.seconds, len(job.operations))
        limit = min(allowed, self._system.limits.hung_after_s)
        completed = self._watched(folder, argv, limit, tasks)
        # NFS may show an old state of a folder until this host changes something in it
        (folder / "over").touch()
        self._results = tuple(read_results(folder))
        if self._course.calls is not None:
            try:
                in_turn = sorted(
                    self._results, key=lambda result: job.operations.index(result.operation)
                )
                _keep_calls(folder, in_turn, self._course.calls, self._about(job))
            except (ToolError, DocumentError) as error:
                self._profile_error = ToolError(f"{error}; what was measured is kept")
        return {
            operation: Tally(
                job,
                operation,
                tuple(result for result in self._results if result.operation is operation),
                completed,
            )
            for operation in job.operations
        }

    def _job(self, folder: Path, places: Sequence[Place], tasks: Sequence[Task]) -> Job:
        spec = self._system.spec
        return Job(
            folder=str(folder),
            test=self._course.test,
            operations=tuple(dict.fromkeys(task.operation for task in tasks)),
            places=tuple(places),
            bytes=spec.bytes // spec.transfer_bytes * spec.transfer_bytes,
            seconds=spec.seconds,
            fixed=self._course.fixed,
            direct=spec.direct,
            keep_calls=self._course.calls is not None,
        )

    def _watched(
        self, folder: Path, argv: tuple[str, ...], limit: float, tasks: Sequence[Task]
    ) -> Completed:
        """Wait for the launcher; no rank of a failed or interrupted one is left."""
        clock, completed = self._context.clock, None
        try:
            completed = self._launched(folder, argv, limit, tasks)
            if not completed.ok:
                # ranks that lost their launcher still write their results
                clock.sleep(_LAST_S)
            return completed
        finally:
            if completed is None or not completed.ok:
                end_ranks(str(folder / JOB), clock.sleep)

    def _launched(
        self, folder: Path, argv: tuple[str, ...], limit: float, tasks: Sequence[Task]
    ) -> Completed:
        """Run the launcher, and report finished operations; an interrupt ends it."""
        waiting = list(tasks)
        running: Optional[Future[Completed]] = None
        with ThreadPoolExecutor(1) as thread:
            try:
                running = thread.submit(self._runner, argv, limit)
                while not running.done():
                    self._context.clock.sleep(_LOOK_S)
                    waiting = self._tell(folder, waiting)
            except KeyboardInterrupt as interrupt:
                self._interrupt = interrupt
                self._context.stop()
            except BaseException:
                self._context.stop()
                raise
        # the launcher has ended, but files must still be proven and removed
        self._context.go_on()
        if running is None:
            # interrupted while its thread was being started
            raise ToolError("the run was interrupted before its launcher was watched")
        for task in waiting if self._interrupt is None else ():
            self._context.step(task.title)
        return running.result()

    def _tell(self, folder: Path, waiting: Sequence[Task]) -> list[Task]:
        tasks = []
        for task in waiting:
            if any(folder.glob(f"{task.operation.value}-*.json")):
                self._context.step(task.title)
            else:
                tasks.append(task)
        return tasks

    def _record(
        self, crew: Sequence[Member], tally: Tally, task: Task, when: tuple[float, float]
    ) -> Record:
        """Return the record of a task; unstarted tasks get ``when``, start and end of the run."""
        recorder, name = self._context.recorder, task.entry.component
        member = next((candidate for candidate in crew if candidate.entry.component == name), None)
        if member is None:
            results = tally.results
            conditions = self._of_slowest(crew) if self._system.further else UNCONDITIONED
            outcome = self._of_all(crew, tally)
            more = details_of_all(tally, outcome)
        else:
            results = tally.on(name)
            conditions = Conditions(member.state, self._coverage(crew, member))
            if member.failure is not None and not member.has_files:
                return recorder.without(task, member.failure, conditions)
            outcome = tally.of_target(name, member.share.ranks)
            if member.failure is not None and not isinstance(outcome, Failure):
                outcome = member.failure
            more = details(results, outcome)
        begin, end = tally.times(results, recorder.host) or when
        times = {"started_at": begin, "finished_at": end}
        measured = outcome if isinstance(outcome, Failure) else [outcome]
        return recorder.record(task, measured, conditions, **times, tool=self._tool, details=more)

    def _coverage(self, crew: Sequence[Member], member: Member) -> Optional[float]:
        """Return the run's share of all bytes that a target's device moved during the run.

        It covers all operations together, which follow too closely to be separated.
        """
        if not member.grown or member.grown <= 0:
            return None
        neighbours = {other.entry.component for other in crew if other.shares_with(member)}
        moved = sum(result.bytes for result in self._results if result.target in neighbours)
        return min(1.0, moved / member.grown) if moved else None

    def _of_slowest(self, crew: Sequence[Member]) -> Conditions:
        """Return flags and coverage of the last target to end, for a run that judges no targets."""
        end_s: dict[str, float] = {}
        for result in self._results:
            end_s[result.target] = max(end_s.get(result.target, 0.0), result.end_s)
        slowest = max(crew, key=lambda member: end_s.get(member.entry.component, 0.0))
        state = NO_STATE._replace(flags=slowest.state.flags)
        return Conditions(state, self._coverage(crew, slowest))

    @staticmethod
    def _of_all(crew: Sequence[Member], tally: Tally) -> Union[Measurement, Failure]:
        outcome = tally.of_all()
        absent = [member for member in crew if member.failure is not None]
        if not absent or isinstance(outcome, Failure):
            return outcome
        names = ", ".join(member.entry.component for member in absent)
        reason = absent[0].failure.reason if absent[0].failure else ""
        return Failure(Outcome.SKIPPED, f"there is no figure of all without {names}: {reason}")

    @contextmanager
    def _folders(self) -> Iterator[tuple[Path, Path]]:
        """Yield a folder for this run, and a local one, which may be the same.

        Folders of killed runs are removed first.
        """
        named = self._course.folder
        try:
            with temporary_folder(named) as folder, ExitStack() as stack:
                yield folder, stack.enter_context(temporary_folder()) if named else folder
        except StoreError as error:
            raise ToolError(f"{error} with --work" if named else str(error)) from error
        except OSError as error:
            raise ToolError(
                f"the run cannot keep its results in {named or tempfile.gettempdir()}: "
                f"{error.strerror}; name a folder with room that all clients see with --work"
            ) from error

    def _about(self, job: Job) -> dict[str, object]:
        return {
            "run_id": self._context.recorder.run_id,
            "test": job.test.name,
            "fixed": job.fixed.value,
            "transfer_bytes": job.test.transfer,
        }


def _keep_calls(
    folder: Path, results: Sequence[Result], profile: Path, about: Mapping[str, object]
) -> None:
    """Write the calls of all ranks to one file, operation by operation; raise ToolError."""
    blocks: list[Block] = []
    for result in results:
        path = folder / f"{result_name(result.operation, result.rank)}.calls"
        if path.exists():
            blocks += unpack(path.read_bytes()).blocks
        elif result.state is State.DONE:
            raise ToolError(
                f"the profile {profile} cannot be written: rank {result.rank} on {result.client} "
                f"had no room in {folder.parent} for its calls of this "
                f"{result.operation.value}; make room there, or name another place with --work"
            )
    try:
        write_whole(profile, pack(about, blocks))
    except OSError as error:
        raise ToolError(
            f"the profile {profile} cannot be written: {error.strerror}; name another file"
        ) from error


class FsUnit:
    """Unit for all targets of one file system; ``members`` are the targets."""

    def __init__(self, system: Expectation, members: Sequence[Expectation], course: Course) -> None:
        """Raise DocumentError for an unknown operation."""
        self._system = system
        self._members = tuple(members)
        self._course = course
        parts = [tasks_of(entry) for entry in (*members, system)]
        # operation by operation, the file system last
        self.tasks = tuple(task for tasks in zip(*parts) for task in tasks)
        spec = system.spec
        rank_bytes = spec.bytes // spec.transfer_bytes * spec.transfer_bytes
        self._shares = tuple(
            Share(ranks, rank_bytes, course.test.shared)
            for ranks in spread(course.ranks, len(members))
        )

    @property
    def planned_bytes(self) -> int:
        """Bytes that the run writes."""
        if self._course.files is Files.FOUND:
            return 0
        return sum(share.bytes for share in self._shares)

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Return the command line of the launcher, whose kind is guessed from its name."""
        launch = self._course.launch
        test = self._course.test
        ranks, romio = self._course.ranks * test.processes, test.romio
        return (command(launch, assumed(launch), ranks, f"FOLDER/{JOB}", romio=romio),)

    def measure(self, context: UnitContext) -> Generator[Record, None, None]:
        """Yield one record for each operation of each target and of the file system.

        An additional test records only the file system: the first test's records of targets stay
        valid.
        """
        crew = [
            Member(entry, self._server(entry), share, context.runners[entry.component])
            for entry, share in zip(self._members, self._shares)
        ]
        files = self._course.files
        keep = files is Files.FOUND
        try:
            _prepare(crew, files)
            for record in Run(self._system, self._course, context).records(crew, self.tasks):
                if not self._system.further or record.component == self._system.component:
                    yield record
            keep = keep or (files is Files.KEEP and all(member.failure is None for member in crew))
        finally:
            for member in crew if not keep else ():
                member.remove()

    def _server(self, entry: Expectation) -> str:
        return self._course.servers.get(entry.component, entry.component)


def _prepare(crew: Sequence[Member], files: Files) -> None:
    """Check all targets and create their files; a target without files has a failure."""
    for member in crew:
        member.look(files)
    for member in crew:
        member.recheck(files)
    ready = [member for member in crew if member.failure is None]
    for member in ready if files is Files.FOUND else ():
        member.find()
    for member in ready if files is not Files.FOUND else ():
        shared_bytes = sum(other.share.bytes for other in ready if member.shares_with(other))
        member.make(shared_bytes - member.share.bytes)
