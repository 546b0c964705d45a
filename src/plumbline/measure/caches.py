"""Repeated reads of a new file, each after dropping one more cache.

This separates the effects of the page cache, a client's locks and a server's cache (Edison, section
V-A.6).  The file is made for this test and removed at the end.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Generator, NamedTuple, Optional, Sequence

from plumbline.measure.probes.fio import KEEP_CACHED
from plumbline.measure.probes.interface import Job
from plumbline.measure.targets import target_for
from plumbline.measure.targets.probe_file import Cache, FileTarget
from plumbline.measure.trial import (
    Conditions,
    Failure,
    ReadyTarget,
    Task,
    WatchedTrial,
    command_of,
    reach,
)
from plumbline.measure.unit_context import UnitContext
from plumbline.model.errors import SkipTarget, ToolError, UsageError
from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation, Record, Scenario
from plumbline.model.spec import ProbeSpec
from plumbline.observe.query import SLOW_S, complaint

WITHOUT = "without"
"""Key of a record's details: the last cache dropped before the read, empty for none."""

_MAX_TRANSFER_BYTES = 1 << 20
"""Since 2.17 Lustre reads 8 MiB and more without the page cache."""


class CachesUnit:
    """One target: a write, a read, and one more read per cache."""

    def __init__(self, entry: Expectation) -> None:
        """Raise UsageError for a target that holds no files, DocumentError for an unusable one."""
        target = target_for(entry.target, entry.component, entry.limits.fill_limit)
        if not isinstance(target, FileTarget):
            raise UsageError(f"{entry.component} has no file that caches keep; name a target")
        target.use_folder_of_root()
        self._target = target
        self._caches = target.caches(entry.spec.bytes)
        buffered = entry._replace(spec=_buffered(entry.spec))
        single_write = entry._replace(spec=buffered.spec._replace(repeats=1))
        reads = (Task(buffered, Operation.READ, Scenario.SINGLE),) * (1 + len(self._caches))
        self.tasks = (Task(single_write, Operation.WRITE, Scenario.SINGLE), *reads)

    def measure(self, context: UnitContext) -> Generator[Record, None, None]:
        """Yield the record of the write, then one for each read, until a failure."""
        runner, write = context.runners[self.tasks[0].entry.component], self.tasks[0]
        reached = reach(self._target, runner, write.entry.spec.bytes)
        if isinstance(reached, Failure):
            yield context.recorder.without(write, reached)
            return
        try:
            yield from _Reads(context, reached).measure(self._target, self.tasks)
        finally:
            if not reached.watch.stuck:
                # the next run removes a file that resists
                with suppress(SkipTarget, ToolError):
                    self._target.remove(runner)

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Return the calls of the tools, with a placeholder for the file's name."""
        write, *reads = self.tasks
        file = f"/FILE-ON-{write.entry.component}"
        calls = [self._command(write, file)]
        for task, cache in zip(reads, (None, *self._caches)):
            calls += [] if cache is None else [cache.argv]
            calls.append(self._command(task, file))
        return tuple(calls)

    def _command(self, task: Task, file: str) -> tuple[str, ...]:
        job = Job(task.operation, task.entry.spec, file, within=self._target.within())
        return (*command_of(job), "<>", file)


def _buffered(spec: ProbeSpec) -> ProbeSpec:
    """Return a specification that lets caches serve reads."""
    transfer_bytes = min(spec.transfer_bytes, _MAX_TRANSFER_BYTES)
    return spec._replace(
        direct=False, queue_depth=1, transfer_bytes=transfer_bytes, pattern=KEEP_CACHED
    )


class _Reads(NamedTuple):
    """Write of one file, and its reads."""

    context: UnitContext
    reached: ReadyTarget

    def measure(self, target: FileTarget, tasks: Sequence[Task]) -> Generator[Record, None, None]:
        """Yield a record for each task; it is a failure if the cache cannot be dropped."""
        write, *reads = tasks
        trial = self._trial(write, write.entry.spec, ())
        yield self._record(trial, "")
        written = trial.measured_bytes
        if written is None:
            return
        spec = reads[0].entry.spec
        # read no more than was written: holes read too fast
        transfers = max(1, min(spec.bytes, written) // spec.transfer_bytes)
        spec = spec._replace(bytes=transfers * spec.transfer_bytes)
        dropped: list[Cache] = []
        # from here on the caches refer to the placed file
        for task, cache in zip(reads, (None, *target.caches(spec.bytes))):
            failure = self._refused(cache)
            if failure and cache:
                conditions = Conditions(self.reached.state)
                record = self.context.recorder.without(task, failure, conditions)
                yield record._replace(details={WITHOUT: cache.name})
            else:
                dropped += [cache] if cache else []
                trial = self._trial(task, spec, dropped)
                yield self._record(trial, cache.name if cache else "")
            if self.reached.watch.stuck:
                return

    def _trial(self, task: Task, spec: ProbeSpec, dropped: Sequence[Cache]) -> WatchedTrial:
        """Measure a task, dropping the caches before each repeat; return the trial."""
        trial = WatchedTrial(task, spec, self.reached, self.context.clock)
        trial.begin()
        for _ in range(spec.repeats):
            failure = next(filter(None, map(self._refused, dropped)), None)
            if failure:
                trial.fail(failure)
            trial.repeat()
            self.context.step(task.title)
        trial.end()
        return trial

    def _refused(self, cache: Optional[Cache]) -> Optional[Failure]:
        """Drop a cache; return the failure if that is impossible."""
        if cache is None:
            return None
        watch = self.reached.watch
        try:
            completed = watch(cache.argv, SLOW_S, cache.within)
            if completed.ok:
                return None
            raise SkipTarget(f"not dropped: {complaint(completed, cache.within)}")
        except (SkipTarget, ToolError) as error:
            return watch.failure(error)

    def _record(self, trial: WatchedTrial, without: str) -> Record:
        record = trial.record(self.context.recorder)
        return record._replace(details={**(record.details or {}), WITHOUT: without})
