"""A trial on a target, watched from before to after: placement, traffic of others, hangs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator, NamedTuple, Optional, Sequence, Union

from plumbline.errors import (
    BrokenTarget,
    DisturbedTarget,
    LostTarget,
    NoMount,
    PrivilegeError,
    SkipTarget,
    ToolError,
)
from plumbline.model.command import CommandRunner, Completed, Within
from plumbline.model.record import Outcome, Record
from plumbline.model.spec import ProbeSpec
from plumbline.probes.interface import Job
from plumbline.run.clock import Clock
from plumbline.run.recording import Conditions, Recorder
from plumbline.run.trial import Failure, Silence, Task, Trial
from plumbline.targets.interface import Target, TargetState

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
        found = (outcome for kind, outcome in _OUTCOMES if isinstance(error, kind))
        return Failure(next(found, Outcome.FAILED), str(error))


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
        asked = self._reached.target, self._reached.watch
        explained = explanation(*asked, failure, self._trial.started_at)
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
