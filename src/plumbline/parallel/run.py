"""Parallel runs: start the ranks, watch them, and keep the records of targets and whole.

What a rank has left in the run's folder counts, however the launcher ended.

Files are made and proven before the ranks start and removed when they have ended.  Each is one of a
target of its own name, ``COMPONENT.fs-N``, so that the target's ways to pin and to prove hold for
it, and a run that was killed leaves nothing that the next one cannot name.
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
from plumbline.model.command import CommandRunner, Completed
from plumbline.model.errors import DocumentError, PrivilegeError, SkipTarget, StoreError, ToolError
from plumbline.model.expectation import Expectation
from plumbline.model.record import Measurement, Operation, Outcome, Record, Tool
from plumbline.observe.query import SLOW_S, ask
from plumbline.parallel.job import JOB, Fixed, Job, Result, State, encoded, result_name, write_whole
from plumbline.parallel.launch import Launch, assumed, command, end_ranks, find_launcher
from plumbline.parallel.profile import Block, pack, unpack
from plumbline.parallel.tally import Tally, details, details_of_all, read_results
from plumbline.parallel.terms import Method, Place, limit_s, spread


class Files(str, Enum):
    """Origin of the files of a run, and their fate."""

    FRESH = "fresh"
    """Made for the run and removed after it."""
    KEEP = "keep"
    """Made for the run and kept for later ones, until the next that makes its own."""
    FOUND = "found"
    """Kept by an earlier run, read, and left where they are."""


class Share(NamedTuple):
    """Load of each target: ``ranks`` that move ``rank_bytes`` each, into one file or several."""

    ranks: int
    rank_bytes: int
    shared: bool

    @property
    def files(self) -> int:
        """Files on each target."""
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
    """One target of a parallel run and its files; ``failure`` says why it takes no part."""

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
        self._moved: Optional[int] = None
        self._device = entry.component

    @property
    def made(self) -> bool:
        """True if all files were made."""
        return len(self._paths) == self.share.files

    @property
    def places(self) -> Iterator[Place]:
        """Places of the ranks of this target."""
        name = self.entry.component
        for rank in range(self.share.ranks):
            if self.share.shared:
                offset = rank * self.share.rank_bytes
                yield Place(name, self._server, self._paths[0], offset)
            else:
                yield Place(name, self._server, self._paths[rank])

    def look_again(self, files: Files) -> None:
        """Look a second time at a target that gave no answer."""
        if self.failure is not None and self.failure.outcome is Outcome.UNANSWERED:
            self.failure = None
            self.look(files)

    def look(self, files: Files = Files.FRESH) -> None:
        """Check that the target may be measured, and remove the files of earlier runs."""
        with self._failing():
            if files is not Files.FOUND:
                for target in self._leftovers():
                    target.remove(self.watch)
            self.state = self._targets[0].state(self.watch)
            self._device = self._find_device()

    def make(self, others_bytes: int = 0) -> None:
        """Make and prove the files; ``others_bytes`` go to the same device for other targets."""
        with self._failing():
            self._targets[0].refuse_without_room(self.watch, self.share.bytes + others_bytes)
            for target in self._targets:
                target.state(self.watch)
                self._paths.append(target.place(self.watch, self.share.file_bytes))
            self._moved = self._targets[0].traffic(self.watch)

    def find(self) -> None:
        """Take and prove the files that an earlier run has kept."""
        with self._failing():
            for target in self._targets:
                self._paths.append(target.find(self.watch, self.share.file_bytes))
            self._moved = self._targets[0].traffic(self.watch)

    def prove(self) -> None:
        """Check after the run that every file still lies on its target."""
        if self.failure is not None:
            return
        with self._failing():
            after = self._targets[0].traffic(self.watch)
            if after is not None and self._moved is not None:
                self.grown = after - self._moved
            for target, path in zip(self._targets, self._paths):
                target.verify(self.watch, path)

    def remove(self) -> None:
        """Remove all files; a target that gives no answer keeps its own until the next run."""
        if not self.watch.stuck:
            for target in self._targets:
                with suppress(SkipTarget, ToolError):
                    target.remove(self.watch)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Keep the first error as the reason why this target takes no part.

        Raises:
            PrivilegeError: this user may not measure it, and so none of them.
        """
        try:
            yield
        except PrivilegeError:
            raise
        except (SkipTarget, ToolError) as error:
            self.failure = self.failure or _of_this_run(self.watch.failure(error))

    def shares_with(self, other: Member) -> bool:
        """Return True if both lie on one device, or are the same."""
        return self._device == other._device

    def _find_device(self) -> str:
        """Return the device number of a directory; other targets have their own device."""
        folder = self.entry.target.get("directory")
        if folder is None:
            return self.entry.component
        return ask(self.watch, ["stat", "--format=%d", "--", folder]).strip()

    def _target(self, index: int) -> FileTarget:
        # a file over several targets is named after the first, whose next run finds what is left
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
        """Yield the targets of files that an earlier run with more files has left."""
        name, own = self._targets[0].folder
        words = ["find", ".", "-mindepth", "1", "-maxdepth", "1", "-type", "d"]
        listing = self.watch([*words, "-name", f"{name[:-1]}*", "-printf", "%f\\n"], SLOW_S, own)
        for folder in listing.stdout.splitlines() if listing.ok else ():
            number = folder[len(name) - 1 :]
            if number.isdigit():
                yield self._target(int(number))


def _of_this_run(failure: Failure) -> Failure:
    """Return a target's failure; a fault that is not its own becomes a skip."""
    own_outcomes = (Outcome.SKIPPED, Outcome.FAILED, Outcome.UNANSWERED)
    unreachable = failure.outcome is Outcome.UNREACHABLE
    cause = "; the target, its server or the network to it is down" if unreachable else ""
    if failure.outcome in own_outcomes:
        return failure
    return Failure(Outcome.SKIPPED, failure.reason + cause)


_LOOK_S = 0.2
_LAST_S = 5.0


class Course(NamedTuple):
    """Terms of a parallel run.

    ``ranks`` are those of all targets, dealt to them in turn.  ``servers`` names the known server
    of each target.  ``folder`` takes the results of the ranks, empty for a temporary folder: all
    clients must see it.  ``calls`` is the file of all calls, None for no such file.
    """

    test: Method
    ranks: int
    launch: Launch
    servers: Mapping[str, str]
    fixed: Fixed = Fixed.DATA
    folder: str = ""
    calls: Optional[Path] = None
    instrument: bool = True
    files: Files = Files.FRESH


class Run:
    """One start of the launcher."""

    def __init__(self, whole: Expectation, course: Course, context: UnitContext) -> None:
        self._whole = whole
        self._course = course
        self._context = context
        self._runner = context.runners[whole.component]
        self._tool: Optional[Tool] = None
        self._results: tuple[Result, ...] = ()
        self._interrupt: Optional[KeyboardInterrupt] = None
        self._unkept: Optional[ToolError] = None

    def records(self, crew: Sequence[Member], tasks: Sequence[Task]) -> Iterator[Record]:
        """Yield the records of all tasks, of an interrupted run those that were over.

        Raises:
            KeyboardInterrupt: a person has ended the run; the records have been given before.
            ToolError: the calls cannot be kept; the records have been given before.
        """
        ready = [member for member in crew if member.failure is None]
        began = self._context.clock.wall()
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
            own = {member.entry.component: member.failure for member in crew}
            for task in tasks:
                failure = own.get(task.entry.component) or trouble
                yield self._context.recorder.without(task, failure)
            return
        for member in ready:
            member.prove()
        ended = self._context.clock.wall()
        for task in tasks:
            tally = tallies[task.operation]
            if self._interrupt is None or tally.over:
                yield self._record(crew, tally, task, (began, ended))
        if self._interrupt is not None:
            raise self._interrupt
        if self._unkept is not None:
            raise self._unkept

    def _carried_out(
        self, folders: tuple[Path, Path], ready: Sequence[Member], tasks: Sequence[Task]
    ) -> Mapping[Operation, Tally]:
        """Run the ranks and return what they left; what they left is there in any case."""
        folder, local = folders
        launcher = find_launcher(self._course.launch, self._runner)._replace(folder=str(local))
        job = self._job(folder, [place for member in ready for place in member.places], tasks)
        romio, ranks = job.test.romio, len(job.places) * job.test.processes
        argv = command(self._course.launch, launcher, ranks, str(folder / JOB), romio=romio)
        self._tool = Tool(self._whole.spec.tool, f"{launcher.kind.value} {launcher.version}", argv)
        write_whole(folder / JOB, encoded(job))
        allowed = limit_s(job.seconds, len(job.operations))
        limit = min(allowed, self._whole.limits.hung_after_s)
        completed = self._watched(folder, argv, limit, tasks)
        # NFS shows a folder as it was some seconds ago, until its own host changes something there
        (folder / "over").touch()
        self._results = tuple(read_results(folder))
        if self._course.calls is not None:
            try:
                in_turn = sorted(
                    self._results, key=lambda result: job.operations.index(result.operation)
                )
                _keep_calls(folder, in_turn, self._course.calls, self._about(job))
            except (ToolError, DocumentError) as error:
                self._unkept = ToolError(f"{error}; what was measured is kept")
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
        spec = self._whole.spec
        return Job(
            folder=str(folder),
            test=self._course.test,
            operations=tuple(dict.fromkeys(task.operation for task in tasks)),
            places=tuple(places),
            bytes=spec.bytes // spec.transfer_bytes * spec.transfer_bytes,
            seconds=spec.seconds,
            fixed=self._course.fixed,
            direct=spec.direct,
            instrument=self._course.instrument,
            keep_calls=self._course.calls is not None,
        )

    def _watched(
        self, folder: Path, argv: tuple[str, ...], limit: float, tasks: Sequence[Task]
    ) -> Completed:
        """Wait for the launcher, and tell meanwhile which operations are over."""
        waiting = list(tasks)
        with ThreadPoolExecutor(1) as thread:
            running: Future[Completed] = thread.submit(self._runner, argv, limit)
            try:
                while not running.done():
                    self._context.clock.sleep(_LOOK_S)
                    waiting = self._tell(folder, waiting)
            except KeyboardInterrupt as interrupt:
                self._interrupt = interrupt
                self._context.stop()
            except BaseException:
                self._context.stop()
                raise
        # the thread is over: what was made is still to be proven and removed
        self._context.go_on()
        for task in waiting if self._interrupt is None else ():
            self._context.step(task.title)
        completed = running.result()
        if not completed.ok:
            # ranks that have lost their launcher still write down what they know
            self._context.clock.sleep(_LAST_S)
            end_ranks(str(folder / JOB))
        return completed

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
        """Return a task's record; ``when`` is the run's time, for tasks that never began."""
        recorder, name = self._context.recorder, task.entry.component
        member = next((candidate for candidate in crew if candidate.entry.component == name), None)
        if member is None:
            results = tally.results
            conditions = self._of_slowest(crew) if self._whole.further else UNCONDITIONED
            outcome = self._of_all(crew, tally)
            more = details_of_all(tally, outcome)
        else:
            results = tally.on(name)
            conditions = Conditions(member.state, self._coverage(crew, member))
            if member.failure is not None and not member.made:
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
        """Return the run's share of all bytes that a target's device moved meanwhile.

        It covers all operations, which follow one another too closely to tell them apart.
        """
        if not member.grown or member.grown <= 0:
            return None
        neighbours = {other.entry.component for other in crew if other.shares_with(member)}
        moved = sum(result.bytes for result in self._results if result.target in neighbours)
        return min(1.0, moved / member.grown) if moved else None

    def _of_slowest(self, crew: Sequence[Member]) -> Conditions:
        """Return what may excuse a run that judges no target: that of the last target to end."""
        last: dict[str, float] = {}
        for result in self._results:
            last[result.target] = max(last.get(result.target, 0.0), result.end_s)
        slowest = max(crew, key=lambda member: last.get(member.entry.component, 0.0))
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
        """Yield a folder for this run alone, and one on this host, which may be the same.

        Leftovers of a killed run are removed first.
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
    """Write the calls of all ranks into one file, operation by operation; raise ToolError."""
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
    """All targets of one file system: ``whole`` is the file system, ``members`` its targets."""

    def __init__(self, whole: Expectation, members: Sequence[Expectation], course: Course) -> None:
        """Raise DocumentError when an operation is not known."""
        self._whole = whole
        self._members = tuple(members)
        self._course = course
        parts = [tasks_of(entry) for entry in (*members, whole)]
        # operation by operation, the whole last
        self.tasks = tuple(task for tasks in zip(*parts) for task in tasks)
        self._operations = tuple(task.operation for task in tasks_of(whole))
        spec = whole.spec
        rank_bytes = spec.bytes // spec.transfer_bytes * spec.transfer_bytes
        self._shares = tuple(
            Share(ranks, rank_bytes, course.test.shared)
            for ranks in spread(course.ranks, len(members))
        )

    @property
    def planned_bytes(self) -> int:
        """All bytes that the run writes."""
        if self._course.files is Files.FOUND:
            return 0
        return sum(share.bytes for share in self._shares)

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Return the call of the launcher, as it is by its name."""
        launch = self._course.launch
        test = self._course.test
        ranks, romio = self._course.ranks * test.processes, test.romio
        return (command(launch, assumed(launch), ranks, f"FOLDER/{JOB}", romio=romio),)

    def measure(self, context: UnitContext) -> Generator[Record, None, None]:
        """Yield one record for each operation of each target and of the whole.

        A further test has the whole alone, so that those of the first test stand.
        """
        crew = [
            Member(entry, self._server(entry), share, context.runners[entry.component])
            for entry, share in zip(self._members, self._shares)
        ]
        files = self._course.files
        keep = files is Files.FOUND
        try:
            _muster(crew, files)
            for record in Run(self._whole, self._course, context).records(crew, self.tasks):
                if not self._whole.further or record.component == self._whole.component:
                    yield record
            keep = keep or (files is Files.KEEP and all(member.failure is None for member in crew))
        finally:
            for member in crew if not keep else ():
                member.remove()

    def _server(self, entry: Expectation) -> str:
        return self._course.servers.get(entry.component, entry.component)


def _muster(crew: Sequence[Member], files: Files) -> None:
    """Look at all targets and make their files; a target that takes no part has a failure."""
    for member in crew:
        member.look(files)
    for member in crew:
        member.look_again(files)
    ready = [member for member in crew if member.failure is None]
    for member in ready if files is Files.FOUND else ():
        member.find()
    for member in ready if files is not Files.FOUND else ():
        beside = sum(other.share.bytes for other in ready if member.shares_with(other))
        member.make(beside - member.share.bytes)
