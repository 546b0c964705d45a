"""Repeat one operation of one component with one tool, and keep what came of it.

A trial is asked for its repeats one by one, so that several trials can be kept in step.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from plumbline.errors import DocumentError, NoSpaceError, SkipTarget, StorageError, ToolError
from plumbline.model.command import CommandRunner, Completed
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.measurement import Measurement
from plumbline.model.record import Operation, Outcome, Scenario, Tool
from plumbline.probes import probe_for
from plumbline.probes.interface import Job
from plumbline.run.clock import Clock
from plumbline.units import format_duration

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
