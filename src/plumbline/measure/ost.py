"""Layer ``ost``: one storage target, measured through a client on a file that lies only on it.

Placement is proven before and after each operation; a file in the wrong place voids the record.
A failure that may pass, or may be another target's fault, is retried at the end of the run.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Generator, NamedTuple, Optional, Sequence, Union

from plumbline.measure.probes.interface import Job
from plumbline.measure.targets import target_for
from plumbline.measure.trial import (
    UNSURE,
    Conditions,
    Failure,
    ReadyTarget,
    Suspicion,
    Task,
    WatchedTrial,
    command_of,
    reach,
    tasks_of,
)
from plumbline.measure.unit_context import Retry, UnitContext
from plumbline.model.errors import SkipTarget, ToolError
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.quantity import BYTES_PER_S
from plumbline.model.record import Operation, Outcome, Record
from plumbline.model.spec import ProbeSpec


class _Remainder(NamedTuple):
    """Tasks for a retry, and the bytes that the first try wrote."""

    tasks: tuple[Task, ...]
    written: Optional[int]


class TargetUnit:
    """One storage target and its operations, in measuring order."""

    def __init__(self, entry: Expectation, remainder: Optional[_Remainder] = None) -> None:
        """Raise DocumentError if the expectation's target is unusable."""
        self._entry = entry
        self._last = remainder is not None
        self.tasks = remainder.tasks if remainder else tasks_of(entry)
        self._written = remainder.written if remainder else None
        self._target = target_for(entry.target, entry.component, entry.limits.fill_limit)

    def measure(self, context: UnitContext) -> Generator[Union[Record, Retry], None, None]:
        """Yield one record for each operation; remove the file unless files are kept."""
        runner = context.runners[self._entry.component]
        reached = reach(self._target, runner, self._entry.spec.bytes)
        suspicion = Suspicion(
            self._entry,
            self._target,
            runner,
            context.clock.wall(),
            last=self._last,
            others_answer=context.others_answer,
        )
        remainder: Optional[_Remainder] = None
        try:
            if not isinstance(reached, Failure):
                operations = _Operations(context, reached, suspicion, self._written)
                remainder = yield from operations.measure(self.tasks)
            elif suspicion.waits(reached):
                remainder = _Remainder(self.tasks, self._written)
            else:
                reached = suspicion.concluded(reached)
                yield from (context.recorder.without(task, reached) for task in self.tasks)
            if remainder is not None:
                yield Retry(TargetUnit(self._entry, remainder))
        finally:
            # a retry reads the file of the first try
            if remainder is None and not context.keep_files and not _is_silent(reached):
                # the next run removes a file that resists
                with suppress(SkipTarget, ToolError):
                    self._target.remove(runner)

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Return the calls of the tools, with a placeholder for the file's name."""
        place, within = f"/FILE-ON-{self._entry.component}", self._target.within()
        proof = self._target.proof()
        jobs = [
            Job(task.operation, task.spec, place, within=within, proof=proof) for task in self.tasks
        ]
        # a tool without a file works in a folder
        shown = ("<>", place) if within is None or within.file else ("in", within.path)
        return tuple((*command_of(job), *shown) for job in jobs)


def units(entries: Sequence[Expectation]) -> list[TargetUnit]:
    """Return a unit for each target; raise DocumentError for an unusable one."""
    return [TargetUnit(entry) for entry in entries]


def _is_silent(reached: Union[ReadyTarget, Failure]) -> bool:
    """Return True if a target does not answer: removing its file would hang too."""
    if isinstance(reached, Failure):
        return reached.outcome is Outcome.UNANSWERED
    return reached.watch.stuck


class _Operations:
    """Operations on one file; each depends on the ones before."""

    def __init__(
        self,
        context: UnitContext,
        reached: ReadyTarget,
        suspicion: Suspicion,
        written: Optional[int],
    ) -> None:
        self._context = context
        self._reached = reached
        self._suspicion = suspicion
        self._written = written
        self._hung = ""

    def measure(self, tasks: tuple[Task, ...]) -> Generator[Record, None, Optional[_Remainder]]:
        """Yield one record for each task; return the tasks to retry, or None."""
        for number, task in enumerate(tasks):
            obstacle = self._obstacle(task)
            if obstacle:
                failure = Failure(Outcome.SKIPPED, obstacle)
                conditions = Conditions(self._reached.state)
                yield self._context.recorder.without(task, failure, conditions)
                continue
            trial = self._operation(task)
            if trial.failure is not None and self._suspicion.waits(trial.failure):
                return _Remainder(tasks[number:], self._written)
            if trial.failure is not None:
                trial.failure = self._suspicion.concluded(trial.failure)
            yield self._recorded(task, trial)
        return None

    def _obstacle(self, task: Task) -> str:
        """Return the obstacle to a task, empty if it can start."""
        if self._hung:
            return f"not tried, because {self._hung}"
        chosen = task.operation in LAYERS[task.entry.layer].chosen
        reads = chosen or task.operation.quantity == BYTES_PER_S
        if reads and task.operation is not Operation.WRITE and self._written is None:
            return (
                f"{task.title} was not tried: no write before it in this run went well, and holes "
                "in the file read too fast"
            )
        return ""

    def _operation(self, task: Task) -> WatchedTrial:
        trial = WatchedTrial(task, self._spec(task), self._reached, self._context.clock)
        trial.carry_out(self._context.step)
        return trial

    def _recorded(self, task: Task, trial: WatchedTrial) -> Record:
        if task.operation is Operation.WRITE:
            self._written = trial.measured_bytes
        record = trial.record(self._context.recorder)
        if record.outcome in (Outcome.HUNG, *UNSURE):
            word = record.outcome.value.replace("_", " ")
            self._hung = f"{task.operation.value} ended {word}: {record.reason}"
        return record

    def _spec(self, task: Task) -> ProbeSpec:
        """Return the specification, limited to the bytes that were written."""
        spec = task.spec
        if self._written is None or self._written >= spec.bytes:
            return spec
        transfers = max(1, self._written // spec.transfer_bytes)
        return spec._replace(bytes=transfers * spec.transfer_bytes)
