"""One run of one layer: unit after unit, each under its locks, every record kept as it comes.

Whatever happens to one unit, the run goes on with the next; whatever happens to the run, what was
measured before is kept, and the next run ends what this one left.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Callable, Collection, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.errors import BusyError, PlumblineError, PrivilegeError
from plumbline.layers import layer_of
from plumbline.model.command import CommandRunner
from plumbline.model.record import Outcome, Record
from plumbline.model.series import Running
from plumbline.run.bench import PAUSE_S, Bench, Journal, Later, Step, Unit
from plumbline.run.clock import Clock
from plumbline.run.lock import Locks, StuckError
from plumbline.run.process import this_process
from plumbline.run.recording import Recorder
from plumbline.run.trial import Failure, Task
from plumbline.targets import osts_of
from plumbline.targets.query import QUESTIONS
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
    publish: Callable[[float], object]
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
        self._total = _repeats(units)
        begun = means.clock.monotonic()
        try:
            later = self._turn(units, begun, last=False)
            if later:
                self._total += _repeats(later)
                means.clock.sleep(PAUSE_S)
                self._turn(later, begun, last=True)
        finally:
            means.publish(means.clock.wall())

    def settle_killed(self, known: Collection[tuple[str, str]]) -> None:
        """End the tools that outlived a killed run, and note that what it measured is interrupted.

        What a living run measures is left alone.  ``known`` are layer and component of all that
        this node measures; of what it measures no longer nothing is noted.
        """
        journal = self._means.journal
        for running in journal.running():
            place = running.layer, running.component
            with suppress(BusyError), self._means.locks.hold(*place):
                if running not in journal.running():
                    continue
                (journal.interrupt if place in known else journal.end)(*place)

    def _has_time(self, spent_s: float, unit: Unit) -> bool:
        """Return whether the run's limit lets a unit begin; record it as skipped if not."""
        limit_s = self._means.limit_s
        if limit_s is None or spent_s < limit_s:
            return True
        limit = format_duration(limit_s)
        reason = f"the run's limit of {limit} was used up before its turn; raise --limit"
        self._give_up(unit.tasks, Failure(Outcome.SKIPPED, reason))
        return False

    def _turn(self, units: Sequence[Unit], begun: float, *, last: bool) -> list[Unit]:
        """Measure units in order; return what is to be asked again when all of them are done."""
        later: list[Unit] = []
        for unit in units:
            if self._has_time(self._means.clock.monotonic() - begun, unit):
                later += self._unit(unit, last=last)
        return later

    def _unit(self, unit: Unit, *, last: bool) -> list[Unit]:
        """Measure one unit, or record why not; return what of it is to be asked again later.

        What another run measures needs no record, nor does what was to be measured together with a
        stuck component: one cause, one alarm.
        """
        means = self._means
        later: list[Unit] = []
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
                with closing(unit.measure(bench)) as came:
                    for one in came:
                        if isinstance(one, Later):
                            later.append(one.unit)
                        else:
                            self._save(one)
        except StuckError as error:
            stuck = [task for task in unit.tasks if task.entry.component == error.component]
            # a question that is stuck may wait for another target, and may get its answer yet
            asked = error.programs <= QUESTIONS
            if asked and not last:
                return [unit]
            outcome = Outcome.UNANSWERED if asked else Outcome.HUNG
            self._give_up(stuck, Failure(outcome, str(error)))
        except BusyError as error:
            self.busy.append(error)
        except PrivilegeError as error:
            self._refuse(unit, error)
        return later

    def _refuse(self, unit: Unit, error: PrivilegeError) -> None:
        """Record what a unit of systemd may not measure; by hand only say who may."""
        own = [task for task in unit.tasks if task.entry.component == error.component]
        if self._means.by_hand:
            # the whole comes last, and its unit measures all of it
            entry = (own or unit.tasks)[-1].entry
            remedy = f"systemctl start {layer_of(entry.layer).unit(entry.component)}"
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
                process = this_process(descriptors[name])
                running = Running(layer, name, means.clock.wall(), process)
                means.journal.begin(means.recorder.run_id, running)
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


def _repeats(units: Sequence[Unit]) -> int:
    return sum(task.entry.spec.repeats for unit in units for task in unit.tasks)


def _kept(unit: Unit, descriptors: Mapping[str, int]) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield which locks the tools of each component keep taken: ranks those of all targets."""
    wholes = {task.entry.component for task in unit.tasks if task.entry.parallel}
    for name, descriptor in descriptors.items():
        yield name, tuple(descriptors.values()) if name in wholes else (descriptor,)
