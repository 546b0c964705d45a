"""Layer ``raw``: read the block devices of one server, each alone and then all at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Generator, Iterator, Optional, Sequence, Union

from plumbline.measure.probes.interface import Job
from plumbline.measure.targets import target_for
from plumbline.measure.targets.device import DeviceTarget
from plumbline.measure.targets.interface import Target
from plumbline.measure.trial import (
    Failure,
    ReadyTarget,
    Task,
    WatchedTrial,
    command_of,
    reach,
    tasks_of,
)
from plumbline.measure.unit_context import PAUSE_S, UnitContext
from plumbline.model.command import CommandRunner
from plumbline.model.errors import DocumentError, PrivilegeError, SkipTarget, ToolError
from plumbline.model.expectation import Expectation
from plumbline.model.layers.raw import RAW
from plumbline.model.record import Operation, Outcome, Record, Scenario


class DeviceUnit:
    """Devices read in step: a single device, or all devices of a server."""

    def __init__(self, tasks: tuple[Task, ...]) -> None:
        """Raise DocumentError for a task that does not read, or a target that is no device."""
        for task in tasks:
            _refuse_unsafe(task)
        self.tasks = tasks
        self._targets = [target_for(task.entry.target, task.entry.component) for task in tasks]

    def measure(self, context: UnitContext) -> Generator[Record, None, None]:
        """Yield one record for each device.

        If a device is missing, only that one has a record: the others cannot be read together with
        it, and one cause must raise one alarm.
        """
        devices: list[ReadyTarget] = []
        failures: list[Record] = []
        for task, target in zip(self.tasks, self._targets):
            answer = _reach_twice(context, task, target)
            if isinstance(answer, ReadyTarget) and task.operation in RAW.chosen:
                answer = _refused(answer) or answer
            if isinstance(answer, Failure):
                failures.append(context.recorder.without(task, answer))
            else:
                devices.append(answer)
        yield from failures or self._read(context, devices)

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Return the calls of the tools."""
        return tuple(
            command_of(Job(task.operation, task.spec, task.entry.target["device"]))
            for task in self.tasks
        )

    def _read(self, context: UnitContext, devices: Sequence[ReadyTarget]) -> Iterator[Record]:
        trials = [
            WatchedTrial(task, task.spec, device, context.clock)
            for task, device in zip(self.tasks, devices)
        ]
        for trial in trials:
            trial.begin()
        with ThreadPoolExecutor(len(trials)) as threads:
            for _ in range(max(task.spec.repeats for task in self.tasks)):
                try:
                    # an idle device would leave the others a larger share of the controller
                    if not all(trial.over for trial in trials):
                        # list() waits for all devices, so the next repeats begin at the same time
                        list(threads.map(WatchedTrial.repeat, trials))
                except BaseException:
                    context.stop()
                    raise
                for task in self.tasks:
                    context.step(task.title)
        for trial in trials:
            trial.end()
        for task, device, trial in zip(self.tasks, devices, trials):
            broken = trial.failure is not None and trial.failure.outcome is Outcome.BROKEN
            confirmed = _confirmed(context, task, device, trial) if broken else trial
            yield confirmed.record(context.recorder)


def _reach_twice(context: UnitContext, task: Task, target: Target) -> Union[ReadyTarget, Failure]:
    """Return a readable device, or the failure; look twice for a missing device."""
    runner = context.runners[task.entry.component]
    answer = _reach(task, target, runner)
    if isinstance(answer, Failure) and answer.outcome is Outcome.BROKEN:
        context.clock.sleep(PAUSE_S)
        answer = _reach(task, target, runner)
    return answer


def _refused(device: ReadyTarget) -> Optional[Failure]:
    """Return the failure of a device that must not be read at random: a disk would seek."""
    assert isinstance(device.target, DeviceTarget)
    try:
        device.target.refuse_rotating(device.watch)
    except (SkipTarget, ToolError) as error:
        return device.watch.failure(error)
    return None


def _confirmed(
    context: UnitContext, task: Task, device: ReadyTarget, first: WatchedTrial
) -> WatchedTrial:
    """Read a failed device once more, alone; return the trial that counts.

    If a device measured alone then reads without an error, the second trial counts.  If it was read
    together with others, the first trial stands as a failure of the tool, which does not
    incriminate the device.
    """
    context.clock.sleep(PAUSE_S)
    second = WatchedTrial(task, task.spec, device, context.clock)
    second.begin()
    for _ in range(task.spec.repeats):
        second.repeat()
    second.end()
    failure = first.failure
    if second.failure is not None or failure is None or task.scenario is Scenario.SINGLE:
        return second
    text = f"{failure.reason}; read alone it gave no error"
    first.failure = Failure(Outcome.FAILED, text)
    return first


def units(entries: Sequence[Expectation]) -> Iterator[DeviceUnit]:
    """Yield a unit for each single device, then one for all devices read together."""
    tasks = [task for entry in entries for task in tasks_of(entry)]
    for task in tasks:
        if task.scenario is Scenario.SINGLE:
            yield DeviceUnit((task,))
    together = tuple(task for task in tasks if task.scenario is Scenario.TOGETHER)
    if together:
        yield DeviceUnit(together)


def _reach(task: Task, target: Target, runner: CommandRunner) -> Union[ReadyTarget, Failure]:
    try:
        return reach(target, runner, task.entry.spec.bytes)
    except PrivilegeError as error:
        raise PrivilegeError(str(error), task.entry.component) from error


def _refuse_unsafe(task: Task) -> None:
    kind, component = task.entry.target.get("kind"), task.entry.component
    if kind != "device":
        raise DocumentError(
            f"expectations: raw {component} is of kind {kind!r}, not a device; "
            "deploy the role agent again"
        )
    if task.operation not in (Operation.READ, *RAW.chosen):
        raise DocumentError(
            f"expectations: raw {component} has the operation {task.operation.value}; "
            "devices are only ever read"
        )
