"""Trials: one operation of one component, watched, repeated and turned into a record.

A trial is asked for its repeats one by one, so that several trials can be kept in step.

After a first failure the run goes on with other targets and comes back. After the second, the
state of the target and of its server decides whose fault it is: an error in the midst of a write
may be a server that has just gone down.
"""

from __future__ import annotations

from contextlib import contextmanager
from statistics import median, median_low
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence, Union
from uuid import uuid4

from plumbline.measure.probes import probe_for
from plumbline.measure.probes.interface import Job
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
from plumbline.model.record import Measurement, Operation, Outcome, Record, Scenario, Tool
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import format_duration
from plumbline.observe.command import Clock

NO_STATE = TargetState(fill=None, flags=(), versions={})
"""Of what has no file system above it, or could not be asked."""


class Conditions(NamedTuple):
    """Under what a trial was made; ``coverage`` is a fraction, None where it is not known."""

    state: TargetState = NO_STATE
    coverage: Optional[float] = None


UNCONDITIONED = Conditions()


class TaskResult(NamedTuple):
    """What came of one task of a run that carries out several at once, and when that was.

    Times are seconds since the epoch; ``details`` is kept in the record as it is.
    """

    outcome: Union[Measurement, Failure]
    tool: Optional[Tool]
    started_at: float
    finished_at: float
    details: Optional[Mapping[str, Any]] = None


class Recorder:
    """Writes the records of one run of one host."""

    def __init__(
        self, run_id: str, host: str, clock: Clock, topology_names: Optional[frozenset[str]] = None
    ) -> None:
        """Take the names that the topology has for targets, None where they are not known."""
        self._topology_names = topology_names
        self.run_id = run_id
        self.host = host
        self._clock = clock

    def of_trial(self, trial: Trial, conditions: Conditions = UNCONDITIONED) -> Record:
        """Return the record of a trial: the median of its repeats, or why there is none."""
        values = self._values(trial.task, conditions)
        values.update(started_at=trial.started_at, finished_at=trial.finished_at, tool=trial.tool)
        if trial.failure is not None:
            values.update(trial.failure._asdict())
        else:
            values.update(_result(trial.measurements, conditions))
        return Record(**values)

    def of_run(
        self, task: Task, result: TaskResult, conditions: Conditions = UNCONDITIONED
    ) -> Record:
        """Return the record of a task that one tool carried out together with others."""
        values = self._values(task, conditions)
        values.update(
            started_at=result.started_at, finished_at=result.finished_at, tool=result.tool
        )
        values.update(details=result.details)
        if isinstance(result.outcome, Failure):
            values.update(result.outcome._asdict())
        else:
            values.update(_result([result.outcome], conditions))
        return Record(**values)

    def without(
        self, task: Task, failure: Failure, conditions: Conditions = UNCONDITIONED
    ) -> Record:
        """Return the record of a task that was not even begun."""
        now = self._clock.wall()
        values = self._values(task, conditions)
        return Record(**values, **failure._asdict(), started_at=now, finished_at=now)

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
        """Return the targets in use that the topology does not name, None where there are none."""
        names = [] if self._topology_names is None else unnamed(state.active, self._topology_names)
        return {"unnamed": list(names)} if names else None


def _result(measurements: Sequence[Measurement], conditions: Conditions) -> dict[str, Any]:
    """Return sums of what moved, the median rate, and the detail of the repeat that shows it."""
    rates = tuple(measurement.rate_Bps for measurement in measurements)
    middle = measurements[rates.index(median_low(rates))]
    flags = [flag for measurement in measurements for flag in measurement.flags]
    retransmitted = [m.retransmits for m in measurements if m.retransmits is not None]
    return {
        "outcome": Outcome.OK,
        "bytes": sum(measurement.bytes for measurement in measurements),
        "seconds": sum(measurement.seconds for measurement in measurements),
        "rate_Bps": median(rates),
        "repeats_Bps": rates,
        "profile_Bps": tuple(middle.profile_Bps),
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
        """What a person calls it, e.g. ``scratch-OST0003 write``."""
        words = [self.entry.component, self.operation.value]
        if self.scenario is Scenario.TOGETHER:
            words.append(self.scenario.value)
        return " ".join(words + (["with", self.partner.name] if self.partner else []))


def tasks_of(entry: Expectation, partner: Optional[Partner] = None) -> tuple[Task, ...]:
    """Return the tasks of an expectation in measuring order.

    Raises:
        DocumentError: it names an operation or a scenario that does not exist.
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
    """Return what the tool of a job is called with."""
    return probe_for(job.spec.tool).command(job)


class Failure(NamedTuple):
    """Why there is no rate."""

    outcome: Outcome
    reason: str


class Silence(Failure):
    """A question about a target that got no answer in time."""


class Trial:
    """The repeats of one task; after a failure no further repeat is tried."""

    def __init__(self, task: Task, job: Job, runner: CommandRunner, clock: Clock) -> None:
        """Begin a trial that ends at the latest when its expectation calls it hung."""
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
        return not first.flags and task.entry.usual(task.operation, task.scenario, first.rate_Bps)

    def repeat(self) -> None:
        """Measure once more; trouble is kept as the trial's failure, never raised."""
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
        """Void the trial; what voided it first stays the reason."""
        self.failure = self.failure or failure

    def _measure(self) -> None:
        argv = self._probe.command(self._job)
        if self.tool is None:
            self.tool = Tool(self._job.spec.tool, self._version(), argv)
        completed = self._runner(argv, self._limit_s(), self._job.within)
        if completed.hung or completed.timed_out:
            self.fail(Failure(Outcome.HUNG, _hung(self._job, completed)))
            return
        self.measurements.append(self._probe.parse(self._job, completed))

    def _version(self) -> str:
        return self._probe.parse_version(
            self._runner(self._probe.VERSION_COMMAND, _VERSION_LIMIT_S)
        )

    def _limit_s(self) -> float:
        """Return the seconds for the next repeat; raise SkipTarget when too few are left."""
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
    """Passes commands on and remembers whether the last of them did not come back in time."""

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
        """Return why there is no rate.

        A question that got no answer is no hang of the target: it may wait for another one, as a
        folder does that lies on all of them.
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
    """Ask a target for its state and place ``size_bytes`` on it; return why not, if not.

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
    """Return a failure with its cause in front, where the target knows one, else None.

    ``since`` is when what failed began, in seconds since the epoch.
    """
    try:
        cause = target.cause(runner, failure.reason, since)
    except (SkipTarget, ToolError):
        return None
    return Failure(Outcome.FAILED, f"{cause} ({failure.reason})") if cause else None


class WatchedTrial:
    """One trial on one target: :meth:`begin`, the repeats, :meth:`end`, the record."""

    def __init__(self, task: Task, spec: ProbeSpec, reached: Reached, clock: Clock) -> None:
        self._reached = reached
        self._before: Optional[int] = None
        self._growth: Optional[int] = None
        block_size = task.entry.target.get("block_size", 512)
        within = reached.target.within()
        job = Job(task.operation, spec, reached.path, block_size, within=within)
        self._trial = Trial(task, job, reached.watch, clock)

    @property
    def measured_bytes(self) -> Optional[int]:
        """The fewest bytes that a repeat has moved, None after a failure."""
        if self._trial.failure is not None:
            return None
        return min(measurement.bytes for measurement in self._trial.measurements)

    def begin(self) -> None:
        """Prove the placement, and note what the target has moved so far."""
        with self._voiding():
            self._reached.target.verify(self._reached.watch, self._reached.path)
            self._before = self._reached.target.traffic(self._reached.watch)

    def repeat(self) -> None:
        """Measure once more; trouble voids the trial and is never raised.

        Somebody may have put something else in the place of the file since the last time, and a
        tool would follow a link.
        """
        if self._trial.measurements:
            with self._voiding():
                self._reached.target.verify(self._reached.watch, self._reached.path)
        before = self._trial.failure
        self._trial.repeat()
        if self._trial.failure is not before:
            self._explain()

    def end(self) -> None:
        """See what the target has moved meanwhile, and prove the placement again."""
        if self._trial.failure is not None:
            return
        with self._voiding():
            after = self._reached.target.traffic(self._reached.watch)
            if after is not None and self._before is not None:
                self._growth = after - self._before
            self._reached.target.verify(self._reached.watch, self._reached.path)

    @property
    def over(self) -> bool:
        """Return whether a further repeat would add nothing."""
        return self._trial.over

    @property
    def failure(self) -> Optional[Failure]:
        """Why there is no rate, None when there is one."""
        return self._trial.failure

    def conclude(self, failure: Failure) -> None:
        """Put what a closer look has found in the place of the failure."""
        self._trial.failure = failure

    def _explain(self) -> None:
        """Say why the tool failed, before its own words, where the target knows.

        What has a cause says nothing about the storage: an evicted client gets I/O errors too.
        """
        failure = self._trial.failure
        if failure is None or failure.outcome not in (Outcome.FAILED, Outcome.BROKEN):
            return
        questioned = self._reached.target, self._reached.watch
        explained = explanation(*questioned, failure, self._trial.started_at)
        if explained is not None:
            self._trial.failure = explained
        elif self._trial.lacks_space:
            self._look_for_space()

    def record(self, recorder: Recorder) -> Record:
        """Return the record of the trial under the conditions of the target."""
        return recorder.of_trial(self._trial, Conditions(self._reached.state, self._coverage()))

    def _coverage(self) -> Optional[float]:
        """Return the probe's bytes as a fraction of all that the target moved, None if unknown."""
        moved = sum(measurement.bytes for measurement in self._trial.measurements)
        if self._growth is None or self._growth <= 0 or not moved:
            return None
        return min(1.0, moved / self._growth)

    def _look_for_space(self) -> None:
        """See whether no space is left; where some is, the storage below cannot take the data.

        So say devices that allocate late, and disks that fail under a file system.
        """
        failure = self._trial.failure
        try:
            self._reached.target.refuse_without_room(self._reached.watch, 0)
        except (SkipTarget, ToolError):
            return
        if failure is not None:
            text = f"{failure.reason}; but the file system has space, its storage gives none"
            self._trial.failure = Failure(Outcome.BROKEN, text)

    @contextmanager
    def _voiding(self) -> Iterator[None]:
        try:
            yield
        except (SkipTarget, ToolError) as error:
            self._trial.fail(self._reached.watch.failure(error))


UNSURE = (Outcome.BROKEN, Outcome.UNREACHABLE, Outcome.NO_MOUNT, Outcome.UNANSWERED)
"""What may pass, or may be the fault of another one, and is tried twice."""


class Suspicion(NamedTuple):
    """What is asked when a target fails; ``last`` says that this is the second try.

    ``since`` is when it began, in seconds since the epoch; ``others_answer`` whether the run got
    an answer from all other targets.
    """

    entry: Expectation
    target: Target
    runner: CommandRunner
    since: float
    last: bool
    others_answer: bool = False

    def waits(self, failure: Failure) -> bool:
        """Return whether a failure is to be tried again when the other targets are done."""
        return not self.last and failure.outcome in UNSURE

    def concluded(self, failure: Failure) -> Failure:
        """Return a failure with the outcome that it has for good."""
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
        """Return whose fault it is that there is no connection to a target."""
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
        """Return the cause of a question without an answer: the connection, the target, unknown.

        A question may wait for another target, so one is at fault only if no other is silent.
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
        """Return what keeps the target from being measured that may not be its own fault.

        That is its connection, or this node's mount, also one that does not answer.
        """
        watch = Watch(self.runner)
        try:
            self.target.state(watch)
        except (LostTarget, NoMount) as error:
            return watch.failure(error)
        except (SkipTarget, ToolError):
            return None
        return None

    def _answers(self) -> Optional[bool]:
        """Return whether the server answers for other targets, None where nobody knows."""
        try:
            return self.target.server_answers(self.runner)
        except (SkipTarget, ToolError):
            return None
