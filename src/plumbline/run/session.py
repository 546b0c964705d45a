"""One run of one layer: unit after unit, each under its locks, every record kept as it comes.

Whatever happens to one unit, the run goes on with the next; whatever happens to the run, what was
measured before is kept and the next run finds and closes what this one left open.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Callable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.errors import BusyError, PlumblineError, PrivilegeError
from plumbline.model.command import CommandRunner
from plumbline.model.record import Outcome, Record
from plumbline.model.series import Running
from plumbline.run.bench import Bench, Journal, Step, Unit
from plumbline.run.clock import Clock
from plumbline.run.lock import Locks, StuckError
from plumbline.run.recording import Recorder
from plumbline.run.trial import Failure, Task
from plumbline.targets import osts_of
from plumbline.units import format_duration


class Means(NamedTuple):
    """What a session needs of the world.

    ``runner`` gives a command runner whose commands inherit descriptors of locks and end when the
    event is set; ``publish`` writes the snapshot of a moment of the wall clock; ``progress`` is
    told each step; ``limit_s`` bounds the whole run, None where something else does.  ``by_hand``
    is set where no unit started the run: what this user may not measure leaves no record then.
    """

    journal: Journal
    locks: Locks
    clock: Clock
    recorder: Recorder
    runner: Callable[[Sequence[int], threading.Event], CommandRunner]
    publish: Callable[[float], None]
    progress: Callable[[Step], None]
    limit_s: Optional[float] = None
    keep_files: bool = True
    by_hand: bool = False


class Session:
    """Measures units; ``busy`` holds what left no record: measured by others, or not permitted."""

    def __init__(self, means: Means) -> None:
        self.busy: list[PlumblineError] = []
        self._means = means
        self._done = 0
        self._total = 0

    def run(self, units: Sequence[Unit]) -> None:
        """Measure all units in order; raise StoreError when a record cannot be kept."""
        means = self._means
        self._total = sum(task.entry.spec.repeats for unit in units for task in unit.tasks)
        begun = means.clock.monotonic()
        try:
            for unit in units:
                if self._has_time(means.clock.monotonic() - begun, unit):
                    self._unit(unit)
        finally:
            means.publish(means.clock.wall())

    def close_killed(self, known: Sequence[Task]) -> None:
        """Record as failed what a killed run left open, and end the tools that outlived it.

        What a living run measures is left alone.  ``known`` are all tasks of this node; what is
        open and no longer expected is only closed.
        """
        for running in self._means.journal.running():
            with suppress(BusyError), self._means.locks.hold(running.layer, running.component):
                if running not in self._means.journal.running():
                    continue
                for task in known:
                    if (task.entry.layer, task.entry.component) == running[:2]:
                        self._save(self._killed(task, running))
                self._means.journal.end(running.layer, running.component)

    def _killed(self, task: Task, running: Running) -> Record:
        age = format_duration(max(0.0, self._means.clock.wall() - running.since))
        reason = f"the run that began {age} ago was killed before {task.title} ended; run it again"
        return self._means.recorder.without(task, Failure(Outcome.FAILED, reason))

    def _has_time(self, spent_s: float, unit: Unit) -> bool:
        """Return whether the run's limit lets a unit begin; record it as skipped if not."""
        limit_s = self._means.limit_s
        if limit_s is None or spent_s < limit_s:
            return True
        limit = format_duration(limit_s)
        reason = f"the run's limit of {limit} was used up before its turn; raise --limit"
        self._give_up(unit.tasks, Failure(Outcome.SKIPPED, reason))
        return False

    def _unit(self, unit: Unit) -> None:
        """Measure one unit, or record why not.

        What another run measures needs no record, nor does what was to be measured together with a
        stuck component: one cause, one alarm.
        """
        means = self._means
        stop = threading.Event()
        try:
            with self._locked(unit) as descriptors:
                runners = {
                    name: means.runner(kept, stop) for name, kept in _kept(unit, descriptors)
                }
                bench = Bench(
                    means.recorder,
                    means.clock,
                    runners,
                    self._step,
                    stop.set,
                    stop.clear,
                    means.keep_files,
                )
                with closing(unit.measure(bench)) as records:
                    for record in records:
                        self._save(record)
        except StuckError as error:
            stuck = [task for task in unit.tasks if task.entry.component == error.component]
            self._give_up(stuck, Failure(Outcome.HUNG, str(error)))
        except BusyError as error:
            self.busy.append(error)
        except PrivilegeError as error:
            self._refuse(unit, error)

    def _refuse(self, unit: Unit, error: PrivilegeError) -> None:
        """Record what a unit of systemd may not measure; by hand only say who may."""
        own = [task for task in unit.tasks if task.entry.component == error.component]
        if self._means.by_hand:
            # the whole comes last, and its unit measures all of it
            entry = (own or unit.tasks)[-1].entry
            remedy = f"systemctl start plumbline-{entry.layer}@{entry.component}"
            sentence = f"{entry.layer} {entry.component}: not measured, {error}; as root: {remedy}"
            if sentence not in map(str, self.busy):
                self.busy.append(PrivilegeError(sentence, entry.component))
        else:
            self._give_up(own or unit.tasks, Failure(Outcome.SKIPPED, str(error)))

    @contextmanager
    def _locked(self, unit: Unit) -> Iterator[dict[str, int]]:
        """Hold the locks of all components of a unit, and note that they are being measured."""
        means = self._means
        entries = {task.entry.component: task.entry.layer for task in unit.tasks}
        # a file over several targets keeps all of them busy
        parts = {
            part: task.entry.layer for task in unit.tasks for part in osts_of(task.entry.target)
        }
        with ExitStack() as held:
            # always in the same order, so that two runs cannot each hold what the other waits for
            descriptors = {
                name: held.enter_context(means.locks.hold(layer, name))
                for name, layer in sorted({**parts, **entries}.items())
            }
            for name, layer in entries.items():
                means.journal.begin(means.recorder.run_id, Running(layer, name, means.clock.wall()))
                held.callback(means.journal.end, layer, name)
            means.publish(means.clock.wall())
            yield descriptors

    def _give_up(self, tasks: Sequence[Task], failure: Failure) -> None:
        for task in tasks:
            self._save(self._means.recorder.without(task, failure))

    def _save(self, record: Record) -> None:
        self._means.journal.save(record)
        title = f"{record.component} {record.operation.value}"
        self._means.progress(Step(title, self._done, self._total, record))

    def _step(self, title: str) -> None:
        self._done += 1
        self._means.progress(Step(title, self._done, self._total))


def _kept(unit: Unit, descriptors: Mapping[str, int]) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield which locks the tools of each component keep taken: ranks those of all targets."""
    wholes = {task.entry.component for task in unit.tasks if task.entry.parallel}
    for name, descriptor in descriptors.items():
        yield name, tuple(descriptors.values()) if name in wholes else (descriptor,)
