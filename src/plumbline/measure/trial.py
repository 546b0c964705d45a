"""Trials: one operation of one component, watched, repeated and turned into a record.

A trial is asked for its repeats one by one, so that several trials can be kept in step.

After a first failure the run goes on with other targets and comes back. After the second, the
state of the target and of its server decides whose fault it is: an error in the midst of a write
may be a server that has just gone down.
"""

from __future__ import annotations

from contextlib import contextmanager
from statistics import median, median_low
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence, Union
from uuid import uuid4

from plumbline.measure.probes import probe_for
from plumbline.measure.probes.interface import Job, parse_version
from plumbline.measure.targets.interface import Target, TargetState
from plumbline.measure.targets.whereabouts import unnamed
from plumbline.model.command import CommandRunner, Completed, Within
from plumbline.model.errors import (
    BrokenTarget,
    DisturbedTarget,
    DocumentError,
    LostTarget,
    NoMount,
    NoSpaceError,
    PrivilegeError,
    SkipTarget,
    StorageError,
    ToolError,
)
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.quantity import BYTES_PER_S
from plumbline.model.record import Measurement, Operation, Outcome, Record, Scenario, Tool
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import format_duration
from plumbline.observe.command import Clock

NO_STATE = TargetState(fill=None, flags=(), versions={})
"""State of a target without a file system, or without an answer."""


class Conditions(NamedTuple):
    """Conditions of a trial; ``coverage`` is a fraction, None if unknown."""

    state: TargetState = NO_STATE
    coverage: Optional[float] = None


UNCONDITIONED = Conditions()


class Recorder:
    """Factory of the records of one run on one host."""

    def __init__(
        self, run_id: str, host: str, clock: Clock, topology_names: Optional[frozenset[str]] = None
    ) -> None:
        """Take the topology's names of targets, None if unknown."""
        self._topology_names = topology_names
        self.run_id = run_id
        self.host = host
        self._clock = clock

    def record(
        self,
        task: Task,
        outcome: Union[Failure, Sequence[Measurement]],
        conditions: Conditions = UNCONDITIONED,
        **values: Any,
    ) -> Record:
        """Return the record of a task: the median of its repeats, or its failure.

        ``values`` are its times in seconds since the epoch, its tool and its details.
        """
        if isinstance(outcome, Failure):
            values.update(outcome._asdict())
        else:
            values.update(_result(outcome, conditions))
        return Record(**{**self._values(task, conditions), **values})

    def without(
        self, task: Task, failure: Failure, conditions: Conditions = UNCONDITIONED
    ) -> Record:
        """Return the record of a task that did not begin."""
        now = self._clock.wall()
        return self.record(task, failure, conditions, started_at=now, finished_at=now)

    def _values(self, task: Task, conditions: Conditions) -> dict[str, Any]:
        entry, partner = task.entry, task.partner
        return {
            "id": uuid4().hex,
            "run_id": self.run_id,
            "layer": entry.layer,
            "component": entry.component,
            "operation": task.operation,
            "scenario": task.scenario,
            "host": self.host,
            "path": partner.path if partner else entry.path,
            "partner": partner.name if partner else None,
            "spec": entry.spec.to_json(),
            "spec_hash": entry.spec.hash(),
            "fill": conditions.state.fill,
            "versions": dict(conditions.state.versions),
            "flags": tuple(conditions.state.flags),
            "details": self._details(conditions.state),
        }

    def _details(self, state: TargetState) -> Optional[dict[str, Any]]:
        """Return the targets in use that the topology does not name, None if there are none."""
        names = [] if self._topology_names is None else unnamed(state.active, self._topology_names)
        return {"unnamed": list(names)} if names else None


def _result(measurements: Sequence[Measurement], conditions: Conditions) -> dict[str, Any]:
    """Return the sums of bytes and seconds, the median rate, and the detail of its repeat."""
    rates = tuple(measurement.rate for measurement in measurements)
    middle = measurements[rates.index(median_low(rates))]
    flags = [flag for measurement in measurements for flag in measurement.flags]
    retransmitted = [m.retransmits for m in measurements if m.retransmits is not None]
    return {
        "outcome": Outcome.OK,
        "bytes": sum(measurement.bytes for measurement in measurements),
        "seconds": sum(measurement.seconds for measurement in measurements),
        "rate": median(rates),
        "repeats": rates,
        "profile": tuple(middle.profile),
        "latency": middle.latency,
        "retransmits": sum(retransmitted) if retransmitted else None,
        "coverage": conditions.coverage,
        "flags": tuple(dict.fromkeys([*conditions.state.flags, *flags])),
    }


_VERSION_LIMIT_S = 10.0


class Task(NamedTuple):
    """One operation that needs a record: the expectation it belongs to and the other host."""

    entry: Expectation
    operation: Operation
    scenario: Scenario
    partner: Optional[Partner] = None

    @property
    def title(self) -> str:
        """Name for people, e.g. ``scratch-OST0003 write``."""
        words = [self.entry.component, self.operation.value]
        if self.scenario is Scenario.TOGETHER:
            words.append(self.scenario.value)
        return " ".join(words + (["with", self.partner.name] if self.partner else []))


def tasks_of(entry: Expectation, partner: Optional[Partner] = None) -> tuple[Task, ...]:
    """Return the tasks of an expectation in measuring order.

    Raises:
        DocumentError: an operation or a scenario is unknown.
    """
    try:
        steps = [key.split("/") for key in entry.references]
        return tuple(
            Task(entry, Operation(operation), Scenario(scenario), partner)
            for operation, scenario in steps
        )
    except ValueError as error:
        raise DocumentError(
            f"expectations: {entry.layer} {entry.component} cannot be measured: {error}; "
            "deploy the role agent again"
        ) from error


def command_of(job: Job) -> tuple[str, ...]:
    """Return the call of a job's tool."""
    return probe_for(job.spec.tool).command(job)


class Failure(NamedTuple):
    """Reason for a missing rate."""

    outcome: Outcome
    reason: str


class Silence(Failure):
    """A question about a target that got no answer in time."""


class Trial:
    """The repeats of one task; after a failure no further repeat is tried."""

    def __init__(self, task: Task, job: Job, runner: CommandRunner, clock: Clock) -> None:
        """Begin a trial, which ends at the latest when its expectation calls it hung."""
        self.task = task
        self.started_at = clock.wall()
        self.measurements: list[Measurement] = []
        self.failure: Optional[Failure] = None
        self.lacks_space = False
        self.tool: Optional[Tool] = None
        self._job = job
        self._runner = runner
        self._clock = clock
        self._begun = clock.monotonic()
        self._probe = probe_for(job.spec.tool)

    @property
    def finished_at(self) -> float:
        """The wall clock's start and the monotonic clock's duration, in seconds."""
        return self.started_at + self._clock.monotonic() - self._begun

    @property
    def over(self) -> bool:
        """Return whether a further repeat would add nothing."""
        return self._ended or (len(self.measurements) == 1 and self._usual(self.measurements[0]))

    @property
    def _ended(self) -> bool:
        return self.failure is not None or len(self.measurements) >= self._job.spec.repeats

    def _usual(self, first: Measurement) -> bool:
        task = self.task
        return not first.flags and task.entry.usual(task.operation, task.scenario, first.rate)

    def carry_out(self, step: Callable[[str], None]) -> None:
        """Measure as often as it tells more; ``step`` gets the title at each repeat's turn."""
        self.begin()
        for _ in range(self.task.entry.spec.repeats):
            if not self.over:
                self.repeat()
            step(self.task.title)
        self.end()

    def begin(self) -> None:
        """Prepare the repeats."""

    def end(self) -> None:
        """Look at what the repeats have left."""

    def record(self, recorder: Recorder) -> Record:
        """Return the record of the trial."""
        times = {"started_at": self.started_at, "finished_at": self.finished_at}
        outcome = self.failure or self.measurements
        return recorder.record(self.task, outcome, self._conditions(), **times, tool=self.tool)

    def _conditions(self) -> Conditions:
        return UNCONDITIONED

    def repeat(self) -> None:
        """Measure once more; keep an error as the trial's failure."""
        if self._ended:
            return
        try:
            self._measure()
        except StorageError as error:
            self.fail(Failure(Outcome.BROKEN, str(error)))
        except (ToolError, DocumentError) as error:
            self.lacks_space = isinstance(error, NoSpaceError)
            self.fail(Failure(Outcome.FAILED, str(error)))
        except SkipTarget as error:
            self.fail(Failure(Outcome.SKIPPED, str(error)))

    def fail(self, failure: Failure) -> None:
        """Void the trial; the first failure stays."""
        self.failure = self.failure or failure

    def _measure(self) -> None:
        argv = self._probe.command(self._job)
        if self.tool is None:
            self.tool = Tool(self._job.spec.tool, self._version(), argv)
        completed = self._runner(argv, self._limit_s(), self._job.within)
        if completed.hung or completed.timed_out:
            self.fail(Failure(Outcome.HUNG, _hung(self._job, completed)))
            return
        measurement = self._probe.parse(self._job, completed)
        if not measurement.bytes and self._job.operation.quantity == BYTES_PER_S:
            raise ToolError(
                f"{self._job.spec.tool} moved 0 bytes; run the tool by hand to see what it prints"
            )
        self.measurements.append(measurement)

    def _version(self) -> str:
        completed = self._runner(self._probe.VERSION_COMMAND, _VERSION_LIMIT_S)
        return parse_version(self._job.spec.tool, completed)

    def _limit_s(self) -> float:
        """Return the seconds for the next repeat; raise SkipTarget if too few remain."""
        allowed_s = self.task.entry.limits.hung_after_s
        left_s = allowed_s - (self._clock.monotonic() - self._begun)
        if left_s < self._job.spec.seconds:
            raise SkipTarget(
                f"the {format_duration(allowed_s)} that {self.task.title} may take leave no time "
                f"for repeat {len(self.measurements) + 1}; ask for fewer bytes, or raise hung_after"
            )
        return min(self._probe.limit_s(self._job), left_s)


def _hung(job: Job, completed: Completed) -> str:
    limit = format_duration(completed.seconds)
    if completed.hung:
        return (
            f"{job.spec.tool} on {job.subject} is stuck in the kernel: it was still there "
            f"after {limit} and a kill; look at the target's server and at the kernel log here"
        )
    return f"{job.spec.tool} on {job.subject} did not end in {limit} and was ended"


_OUTCOMES = (
    (BrokenTarget, Outcome.BROKEN),
    (DisturbedTarget, Outcome.UNANSWERED),
    (LostTarget, Outcome.UNREACHABLE),
    (NoMount, Outcome.NO_MOUNT),
    (SkipTarget, Outcome.SKIPPED),
)


class Watch:
    """Command runner that remembers a late or stuck command."""

    def __init__(self, runner: CommandRunner) -> None:
        self._runner = runner
        self._late = False
        self.stuck = False

    def __call__(
        self, argv: Sequence[str], timeout_s: float, within: Optional[Within] = None
    ) -> Completed:
        """Run a command as the runner does."""
        completed = self._runner(argv, timeout_s, within)
        self.stuck = self.stuck or completed.hung
        self._late = completed.hung or completed.timed_out
        return completed

    def failure(self, error: Exception) -> Failure:
        """Return the failure of an error.

        A question without an answer is no hang of the target: it may wait for another target, like
        a folder that lies on all of them.
        """
        if self._late:
            return Silence(Outcome.UNANSWERED, str(error))
        outcomes = (outcome for kind, outcome in _OUTCOMES if isinstance(error, kind))
        return Failure(next(outcomes, Outcome.FAILED), str(error))


class Reached(NamedTuple):
    """A target that may be measured: its state, and the path of the file or device on it."""

    target: Target
    state: TargetState
    path: str
    watch: Watch


def reach(target: Target, runner: CommandRunner, size_bytes: int) -> Union[Reached, Failure]:
    """Ask a target for its state and place ``size_bytes`` on it; else return the failure.

    Raises:
        PrivilegeError: this user may not measure it.
    """
    watch = Watch(runner)
    try:
        state = target.state(watch)
        return Reached(target, state, target.place(watch, size_bytes), watch)
    except PrivilegeError:
        raise
    except (SkipTarget, ToolError) as error:
        return watch.failure(error)


def explanation(
    target: Target, runner: CommandRunner, failure: Failure, since: float
) -> Optional[Failure]:
    """Return a failure with its cause in front if the target knows it, else None.

    ``since`` is the start of the failed command, in seconds since the epoch.
    """
    try:
        cause = target.cause(runner, failure.reason, since)
    except (SkipTarget, ToolError):
        return None
    return Failure(Outcome.FAILED, f"{cause} ({failure.reason})") if cause else None


class WatchedTrial(Trial):
    """A trial on one target, whose placement is proven before, between and after the repeats."""

    def __init__(self, task: Task, spec: ProbeSpec, reached: Reached, clock: Clock) -> None:
        self._reached = reached
        self._before: Optional[int] = None
        self._growth: Optional[int] = None
        block_size = task.entry.target.get("block_size", 512)
        within = reached.target.within()
        job = Job(task.operation, spec, reached.path, block_size, within=within)
        super().__init__(task, job, reached.watch, clock)

    @property
    def measured_bytes(self) -> Optional[int]:
        """Fewest bytes of a repeat, None after a failure."""
        if self.failure is not None:
            return None
        return min(measurement.bytes for measurement in self.measurements)

    def begin(self) -> None:
        """Prove the placement, and read the target's byte counter."""
        with self._voiding():
            self._reached.target.verify(self._reached.watch, self._reached.path)
            self._before = self._reached.target.traffic(self._reached.watch)

    def repeat(self) -> None:
        """Measure once more; an error voids the trial and is never raised.

        The placement is proven again: another user may have replaced the file by a link.
        """
        if self.measurements:
            with self._voiding():
                self._reached.target.verify(self._reached.watch, self._reached.path)
        before = self.failure
        super().repeat()
        if self.failure is not before:
            self._explain()

    def end(self) -> None:
        """Read the target's byte counter again, and prove the placement again."""
        if self.failure is not None:
            return
        with self._voiding():
            after = self._reached.target.traffic(self._reached.watch)
            if after is not None and self._before is not None:
                self._growth = after - self._before
            self._reached.target.verify(self._reached.watch, self._reached.path)

    def _explain(self) -> None:
        """Put the cause that the target knows before the words of the failed tool.

        A failure with a cause does not accuse the storage: an evicted client gets I/O errors too.
        """
        failure = self.failure
        if failure is None or failure.outcome not in (Outcome.FAILED, Outcome.BROKEN):
            return
        questioned = self._reached.target, self._reached.watch
        explained = explanation(*questioned, failure, self.started_at)
        if explained is not None:
            self.failure = explained
        elif self.lacks_space:
            self._look_for_space()

    def _conditions(self) -> Conditions:
        return Conditions(self._reached.state, self._coverage())

    def _coverage(self) -> Optional[float]:
        """Return the probe's share of all bytes that the target moved, None if unknown."""
        moved = sum(measurement.bytes for measurement in self.measurements)
        if self._growth is None or self._growth <= 0 or not moved:
            return None
        return min(1.0, moved / self._growth)

    def _look_for_space(self) -> None:
        """Check for space; if there is some, the storage below cannot take the data.

        Devices that allocate late, and disks that fail under a file system, report no space.
        """
        failure = self.failure
        try:
            self._reached.target.refuse_without_room(self._reached.watch, 0)
        except (SkipTarget, ToolError):
            return
        if failure is not None:
            text = f"{failure.reason}; but the file system has space, its storage gives none"
            self.failure = Failure(Outcome.BROKEN, text)

    @contextmanager
    def _voiding(self) -> Iterator[None]:
        try:
            yield
        except (SkipTarget, ToolError) as error:
            self.fail(self._reached.watch.failure(error))


UNSURE = (Outcome.BROKEN, Outcome.UNREACHABLE, Outcome.NO_MOUNT, Outcome.UNANSWERED)
"""Outcomes that may pass, or may be another component's fault, and are tried twice."""


class Suspicion(NamedTuple):
    """Questions about a failed target; ``last`` is True in the second try.

    ``since`` is the start of the trial, in seconds since the epoch; ``others_answer`` is True if
    all other targets of the run have answered.
    """

    entry: Expectation
    target: Target
    runner: CommandRunner
    since: float
    last: bool
    others_answer: bool = False

    def waits(self, failure: Failure) -> bool:
        """Return True if a failure is retried after the other targets."""
        return not self.last and failure.outcome in UNSURE

    def concluded(self, failure: Failure) -> Failure:
        """Return a failure with its final outcome."""
        closer = failure
        if failure.outcome is Outcome.BROKEN:
            explained = explanation(self.target, self.runner, failure, self.since)
            if explained is not None:
                return explained
        if failure.outcome in (Outcome.BROKEN, Outcome.HUNG):
            closer = self._elsewhere() or failure
        elif failure.outcome is Outcome.UNANSWERED:
            closer = self._silent(failure)
        if closer.outcome is Outcome.UNREACHABLE:
            return self._lost(failure, closer.reason)
        return closer

    def _lost(self, failure: Failure, reason: str) -> Failure:
        """Return the failure behind a lost connection: of the server, or of the target."""
        answers, server = self._answers(), self.entry.host
        if answers is False:
            text = f"server {server} does not answer: {reason}, nor to its other targets"
            return Failure(Outcome.UNREACHABLE, text)
        if failure.outcome is Outcome.HUNG:
            return failure
        if isinstance(failure, Silence):
            reason = f"{reason} ({failure.reason})"
        target_gone = f"server {server} answers for others: the target is gone"
        unclear = "the target, its server or the network to it is down"
        return Failure(Outcome.BROKEN, f"{reason}; {target_gone if answers else unclear}")

    def _silent(self, failure: Failure) -> Failure:
        """Return the failure behind silence: of the connection, of the target, or unknown.

        A question may wait for another target, so a target is at fault only if no other is silent.
        """
        twice = Failure(failure.outcome, f"{failure.reason}, twice in this run")
        if not isinstance(failure, Silence):
            return twice
        watch = Watch(self.runner)
        try:
            self.target.refuse_lost(watch)
            unsure = not self.others_answer or self.target.waits_for_others(watch)
        except (LostTarget, NoMount) as error:
            return watch.failure(error)
        except (SkipTarget, ToolError):
            return twice
        if unsure:
            return twice
        return Failure(Outcome.HUNG, f"{failure.reason}; nothing else in this run hangs")

    def _elsewhere(self) -> Optional[Failure]:
        """Return a failure outside the target: its connection, or this node's mount."""
        watch = Watch(self.runner)
        try:
            self.target.state(watch)
        except (LostTarget, NoMount) as error:
            return watch.failure(error)
        except (SkipTarget, ToolError):
            return None
        return None

    def _answers(self) -> Optional[bool]:
        """Return True if the server answers for other targets, None if unknown."""
        try:
            return self.target.server_answers(self.runner)
        except (SkipTarget, ToolError):
            return None
