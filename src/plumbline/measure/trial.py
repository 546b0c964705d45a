"""Trials: measure one operation of one component several times and record it.

The caller starts each repeat, so it can keep several trials in step.

After a first failure the run continues with other targets and retries at the end.  After a
second one, the state of the target and its server decides the cause: an error during a write may
come from a server that has just gone down.
"""

from __future__ import annotations

from contextlib import contextmanager
from statistics import median, median_low
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence, Union
from uuid import uuid4

from plumbline.measure.probes import probe_for
from plumbline.measure.probes.interface import Job, parse_version
from plumbline.measure.targets.interface import Target, TargetState, unnamed
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
from plumbline.model.layers.layer import REQUEST
from plumbline.model.quantity import BYTES_PER_S
from plumbline.model.record import Measurement, Operation, Outcome, Record, Scenario, Tool
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import format_duration
from plumbline.observe.command import Clock
from plumbline.observe.lustre_output import Requests
from plumbline.observe.mounts import Traffic

NO_STATE = TargetState(fill=None, flags=(), versions={})
"""State of a target without a file system, or without an answer."""


class Conditions(NamedTuple):
    """Target state during a trial; ``coverage`` is a fraction, None if unknown."""

    state: TargetState = NO_STATE
    coverage: Optional[float] = None


UNCONDITIONED = Conditions()


class Recorder:
    """Factory of the records of one run on one host."""

    def __init__(
        self, run_id: str, host: str, clock: Clock, topology_names: Optional[frozenset[str]] = None
    ) -> None:
        """Take ``topology_names``, the targets that the topology names; None if unknown."""
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

        ``values`` are start and end in seconds since the epoch, the tool and details.
        """
        if isinstance(outcome, Failure):
            values.update(outcome._asdict())
        else:
            values.update(_result(outcome, conditions))
        return Record(**{**self._values(task, conditions), **values})

    def without(
        self, task: Task, failure: Failure, conditions: Conditions = UNCONDITIONED
    ) -> Record:
        """Return the record of a task that did not start."""
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
            "spec": task.spec.to_json(),
            "spec_hash": task.spec.hash(),
            "fill": conditions.state.fill,
            "versions": dict(conditions.state.versions),
            "flags": tuple(conditions.state.flags),
            "details": self._details(conditions.state),
        }

    def _details(self, state: TargetState) -> Optional[dict[str, Any]]:
        """Return the active targets that the topology does not name; None if there are none."""
        names = [] if self._topology_names is None else unnamed(state.active, self._topology_names)
        return {"unnamed": list(names)} if names else None


def _result(measurements: Sequence[Measurement], conditions: Conditions) -> dict[str, Any]:
    """Return total bytes and seconds, median rate and quantities, and the median's profile."""
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
        "quantities": {
            name: median(m.quantities[name] for m in measurements if name in m.quantities)
            for name in middle.quantities
        },
        "retransmits": sum(retransmitted) if retransmitted else None,
        "coverage": conditions.coverage,
        "flags": tuple(dict.fromkeys([*conditions.state.flags, *flags])),
    }


_VERSION_LIMIT_S = 10.0


class Task(NamedTuple):
    """One operation to record, with its expectation and, for a host pair, the partner."""

    entry: Expectation
    operation: Operation
    scenario: Scenario
    partner: Optional[Partner] = None

    @property
    def spec(self) -> ProbeSpec:
        """Specification of the operation."""
        return self.entry.spec_of(self.operation)

    @property
    def title(self) -> str:
        """Name in messages, e.g. ``scratch-OST0003 write``."""
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
            if Operation(operation).of is None
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


class NoAnswer(Failure):
    """Failure of a query about a target that got no answer in time."""


class Trial:
    """Repeats of one task; a failure ends them."""

    def __init__(self, task: Task, job: Job, runner: CommandRunner, clock: Clock) -> None:
        """Start a trial; all its repeats must end within ``hung_after_s`` of the expectation."""
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
        """Seconds since the epoch: start by the wall clock, duration by the monotonic clock."""
        return self.started_at + self._clock.monotonic() - self._begun

    @property
    def over(self) -> bool:
        """True if another repeat would add nothing: all done, or a first one with a usual rate."""
        return self._ended or (len(self.measurements) == 1 and self._usual(self.measurements[0]))

    @property
    def _ended(self) -> bool:
        return self.failure is not None or len(self.measurements) >= self._job.spec.repeats

    def _usual(self, result: Measurement) -> bool:
        task = self.task
        return not result.flags and task.entry.usual(task.operation, task.scenario, result.rate)

    def carry_out(self, step: Callable[[str], None]) -> None:
        """Measure until more repeats add nothing; ``step`` gets the title after each repeat."""
        self.begin()
        for _ in range(self.task.spec.repeats):
            if not self.over:
                self.repeat()
            step(self.task.title)
        self.end()

    def begin(self) -> None:
        """Prepare the repeats."""

    def end(self) -> None:
        """Check the target after the repeats."""

    def record(self, recorder: Recorder) -> Record:
        """Return the record of the trial."""
        times = {"started_at": self.started_at, "finished_at": self.finished_at}
        outcome = self.failure or self.measurements
        return recorder.record(self.task, outcome, self._conditions(), **times, tool=self.tool)

    def _conditions(self) -> Conditions:
        return UNCONDITIONED

    def repeat(self) -> None:
        """Measure once more; an error becomes the trial's failure."""
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
        """Void the trial; only the first failure counts."""
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
        """Return the seconds left for the next repeat; raise SkipTarget if they are too few."""
        allowed_s = self.task.entry.limits.hung_after_s
        remaining_s = allowed_s - (self._clock.monotonic() - self._begun)
        if remaining_s < self._job.spec.seconds:
            raise SkipTarget(
                f"the {format_duration(allowed_s)} that {self.task.title} may take leave no time "
                f"for repeat {len(self.measurements) + 1}; ask for fewer bytes, or raise hung_after"
            )
        return min(self._job.spec.seconds + self._probe.SPARE_S, remaining_s)


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
        """Run a command."""
        completed = self._runner(argv, timeout_s, within)
        self.stuck = self.stuck or completed.hung
        self._late = completed.hung or completed.timed_out
        return completed

    def failure(self, error: Exception) -> Failure:
        """Return the failure for an error.

        A query without an answer does not prove that this target hangs: it may be waiting for
        another target, for instance because a folder is spread over all of them.
        """
        if self._late:
            return NoAnswer(Outcome.UNANSWERED, str(error))
        outcomes = (outcome for kind, outcome in _OUTCOMES if isinstance(error, kind))
        return Failure(next(outcomes, Outcome.FAILED), str(error))


class ReadyTarget(NamedTuple):
    """A target ready for measuring: its state, and the path of the file or device on it."""

    target: Target
    state: TargetState
    path: str
    watch: Watch


def reach(target: Target, runner: CommandRunner, size_bytes: int) -> Union[ReadyTarget, Failure]:
    """Check a target's state and place a file of ``size_bytes``; return the failure otherwise.

    Raises:
        PrivilegeError: this user may not measure the target.
    """
    watch = Watch(runner)
    try:
        state = target.state(watch)
        return ReadyTarget(target, state, target.place(watch, size_bytes), watch)
    except PrivilegeError:
        raise
    except (SkipTarget, ToolError) as error:
        return watch.failure(error)


def explanation(
    target: Target, runner: CommandRunner, failure: Failure, since: float
) -> Optional[Failure]:
    """Return a failure that states its cause first; None if the target shows no cause.

    ``since`` is the start of the failed command, in seconds since the epoch.
    """
    try:
        cause = target.cause(runner, failure.reason, since)
    except (SkipTarget, ToolError):
        return None
    return Failure(Outcome.FAILED, f"{cause} ({failure.reason})") if cause else None


class WatchedTrial(Trial):
    """Trial on one target; its placement is proven before, between and after the repeats."""

    def __init__(self, task: Task, spec: ProbeSpec, reached: ReadyTarget, clock: Clock) -> None:
        self._reached = reached
        self._before: Optional[Traffic] = None
        self._growth: Optional[int] = None
        self._requests: Optional[Requests] = None
        target = reached.target
        job = Job(task.operation, spec, reached.path, within=target.within(), proof=target.proof())
        super().__init__(task, job, reached.watch, clock)

    @property
    def measured_bytes(self) -> Optional[int]:
        """Bytes of the smallest repeat; None after a failure."""
        if self.failure is not None:
            return None
        return min(measurement.bytes for measurement in self.measurements)

    def begin(self) -> None:
        """Prove the placement, and read the target's counters."""
        with self._voiding():
            self._reached.target.verify(self._reached.watch, self._reached.path)
            self._before = self._reached.target.traffic(self._reached.watch)
            target, watch = self._reached.target, self._reached.watch
            self._requests = target.requests(watch, self.task.operation)

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
        """Read the target's counters again, and prove the placement again."""
        if self.failure is not None:
            return
        with self._voiding():
            if self._requests:
                self._note_requests(self._requests)
            after = self._reached.target.traffic(self._reached.watch)
            if after is not None and self._before is not None:
                self._growth = after.bytes - self._before.bytes
            self._reached.target.verify(self._reached.watch, self._reached.path)

    def _note_requests(self, before: Requests) -> None:
        """Add the mean time of a request over all repeats to each, if it is known."""
        after = self._reached.target.requests(self._reached.watch, self.task.operation)
        mean_s = after.mean_since(before) if after else None
        if mean_s is not None:
            self.measurements = [repeat.having(REQUEST, mean_s) for repeat in self.measurements]

    def _explain(self) -> None:
        """Put the cause, if the target shows one, before the message of the failed tool.

        Such a failure does not incriminate the storage: an evicted client gets I/O errors too.
        """
        failure = self.failure
        if failure is None or failure.outcome not in (Outcome.FAILED, Outcome.BROKEN):
            return
        target, watch = self._reached.target, self._reached.watch
        explained = explanation(target, watch, failure, self.started_at)
        if explained is not None:
            self.failure = explained
        elif self.lacks_space:
            self._look_for_space()

    def _conditions(self) -> Conditions:
        return Conditions(self._reached.state, self._coverage())

    def _coverage(self) -> Optional[float]:
        """Return the probe's share of all bytes that the target moved, None if unknown."""
        moved_bytes = sum(measurement.bytes for measurement in self.measurements)
        if self._growth is None or self._growth <= 0 or not moved_bytes:
            return None
        return min(1.0, moved_bytes / self._growth)

    def _look_for_space(self) -> None:
        """Check for free space; if there is some, the storage below the file system is broken.

        Thin-provisioned devices, and disks that fail below a file system, report no space.
        """
        failure = self.failure
        assert failure is not None
        try:
            self._reached.target.refuse_without_room(self._reached.watch, 0)
        except SkipTarget as error:
            # others have filled it meanwhile
            self.failure = Failure(failure.outcome, f"{error} ({failure.reason})")
        except ToolError:
            return
        else:
            text = f"{failure.reason}; the file system has space, but its storage has none"
            self.failure = Failure(Outcome.BROKEN, text)

    @contextmanager
    def _voiding(self) -> Iterator[None]:
        try:
            yield
        except (SkipTarget, ToolError) as error:
            self.fail(self._reached.watch.failure(error))


UNSURE = (Outcome.BROKEN, Outcome.UNREACHABLE, Outcome.NO_MOUNT, Outcome.UNANSWERED)
"""Outcomes to retry: they may pass, or may be another component's fault."""


class Suspicion(NamedTuple):
    """Search for the cause of a target's failure; ``last`` is True in the second try.

    ``since`` is the start of the trial, in seconds since the epoch; ``others_answer`` is True if
    all other targets of the run have answered.  ``tries`` ends the reason of a lasting silence.
    """

    entry: Expectation
    target: Target
    runner: CommandRunner
    since: float
    last: bool
    others_answer: bool = False
    tries: str = ", twice in this run"

    def waits(self, failure: Failure) -> bool:
        """Return True if the measurement is retried after the other targets."""
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
        """Return the failure behind a lost connection: the server's or the target's."""
        answers, server = self._answers(), self.entry.host
        if answers is False:
            text = f"server {server} does not answer: {reason}, nor to its other targets"
            return Failure(Outcome.UNREACHABLE, text)
        if failure.outcome is Outcome.HUNG:
            return failure
        if isinstance(failure, NoAnswer):
            reason = f"{reason} ({failure.reason})"
        gone_text = f"server {server} answers for others: the target is gone"
        unclear_text = "the target, its server or the network to it is down"
        return Failure(Outcome.BROKEN, f"{reason}; {gone_text if answers else unclear_text}")

    def _silent(self, failure: Failure) -> Failure:
        """Return the failure behind silence: the connection's, the target's, or an unknown one.

        A query may be waiting for another target, so a silent target is at fault only if all
        others answer.
        """
        twice = Failure(failure.outcome, f"{failure.reason}{self.tries}")
        if not isinstance(failure, NoAnswer):
            return twice
        watch = Watch(self.runner)
        try:
            self.target.refuse_lost(watch)
            other = self.target.waits_for_others(watch)
        except (LostTarget, NoMount) as error:
            return watch.failure(error)
        except (SkipTarget, ToolError):
            return twice
        if other:
            return Failure(failure.outcome, f"{twice.reason}; {other}")
        if not self.others_answer:
            return twice
        return Failure(Outcome.HUNG, f"{failure.reason}; nothing else in this run hangs")

    def _elsewhere(self) -> Optional[Failure]:
        """Return a failure outside the target: of its connection, or of this node's mount."""
        watch = Watch(self.runner)
        try:
            self.target.state(watch)
        except (LostTarget, NoMount) as error:
            return watch.failure(error)
        except (SkipTarget, ToolError):
            return None
        return None

    def _answers(self) -> Optional[bool]:
        """Return True if the server still serves other targets, None if unknown."""
        try:
            return self.target.server_answers(self.runner)
        except (SkipTarget, ToolError):
            return None
