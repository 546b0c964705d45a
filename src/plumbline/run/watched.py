"""A trial on a target, watched from before to after: placement, traffic of others, hangs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator, NamedTuple, Optional, Sequence, Union

from plumbline.errors import PrivilegeError, SkipTarget, ToolError
from plumbline.model.command import CommandRunner, Completed, Within
from plumbline.model.record import Outcome, Record
from plumbline.model.spec import ProbeSpec
from plumbline.probes.interface import Job
from plumbline.run.clock import Clock
from plumbline.run.recording import Conditions, Recorder
from plumbline.run.trial import Failure, Task, Trial
from plumbline.targets.interface import Target, TargetState


class Watch:
    """Passes commands on and remembers whether one of them did not come back in time."""

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
        self._late = self._late or completed.hung or completed.timed_out
        return completed

    def failure(self, error: Exception) -> Failure:
        """Return why there is no rate: a target that gives no answer is hung, not skipped."""
        if self._late:
            return Failure(Outcome.HUNG, str(error))
        skipped = isinstance(error, SkipTarget)
        return Failure(Outcome.SKIPPED if skipped else Outcome.FAILED, str(error))


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

    def _explain(self) -> None:
        """Say why the tool failed, before its own words, where the target knows."""
        failure = self._trial.failure
        if failure is None or failure.outcome is not Outcome.FAILED:
            return
        with self._voiding():
            asked = self._reached.watch, failure.reason, self._trial.started_at
            cause = self._reached.target.cause(*asked)
            if cause:
                self._trial.failure = failure._replace(reason=f"{cause} ({failure.reason})")

    def record(self, recorder: Recorder) -> Record:
        """Return the record of the trial under the conditions of the target."""
        return recorder.of_trial(self._trial, Conditions(self._reached.state, self._coverage()))

    def _coverage(self) -> Optional[float]:
        """Return the probe's bytes as a fraction of all that the target moved, None if unknown."""
        moved = sum(measurement.bytes for measurement in self._trial.measurements)
        if self._growth is None or self._growth <= 0 or not moved:
            return None
        return min(1.0, moved / self._growth)

    @contextmanager
    def _voiding(self) -> Iterator[None]:
        try:
            yield
        except (SkipTarget, ToolError) as error:
            self._trial.fail(self._reached.watch.failure(error))
