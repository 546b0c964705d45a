"""Run of one layer: measure units in waves under locks, and store each record at once.

A unit calls only its own tools and hands over its records; the session alone stores records, takes
locks and lists running measurements.

After a unit fails, the run continues with the next one.  After a run dies, its records remain, and
the next run ends its orphans.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from queue import SimpleQueue
from typing import Callable, Collection, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from plumbline.measure.lock import Locks, StuckError
from plumbline.measure.process import this_process
from plumbline.measure.targets import osts_of, target_for
from plumbline.measure.trial import UNSURE, Failure, NoAnswer, Recorder, Suspicion, Task
from plumbline.measure.unit_context import PAUSE_S, Journal, Retry, Step, Unit, UnitContext
from plumbline.model.command import CommandRunner
from plumbline.model.errors import BusyError, PlumblineError, PrivilegeError
from plumbline.model.expectation import ALONE, Expectation, in_waves
from plumbline.model.layers import LAYERS, layer_of
from plumbline.model.record import Outcome, Record
from plumbline.model.series import Process, Running
from plumbline.model.units import format_duration
from plumbline.observe.command import Clock
from plumbline.observe.query import QUESTIONS


class RepeatEnd(NamedTuple):
    """End of a repeat of the task with this ``title``."""

    title: str


class UnitEnd(NamedTuple):
    """End of a unit, with the ``error`` that ended it early."""

    error: Optional[BaseException]


UnitEvent = Union[Record, Retry, RepeatEnd, UnitEnd]


class Wave:
    """Units measured at the same time; iterate for their events, close to stop them."""

    def __init__(self, units: int) -> None:
        """Prepare threads for at most ``units`` units."""
        self._threads = ThreadPoolExecutor(units, thread_name_prefix="plumbline-unit")
        self._events: SimpleQueue[tuple[Unit, UnitEvent]] = SimpleQueue()
        self._contexts: list[UnitContext] = []
        self._measured = 0
        self._closed = threading.Event()

    def begin(self, unit: Unit, context: UnitContext) -> None:
        """Start measuring a unit."""
        context = context._replace(step=lambda title: self._events.put((unit, RepeatEnd(title))))
        self._contexts.append(context)
        self._measured += 1
        future = self._threads.submit(self._measure, unit, context)
        future.add_done_callback(lambda done: self._events.put((unit, UnitEnd(done.exception()))))

    def __iter__(self) -> Iterator[tuple[Unit, UnitEvent]]:
        """Yield the events of the units until all are done."""
        while self._measured:
            unit, event = self._events.get()
            if isinstance(event, UnitEnd):
                self._measured -= 1
            yield unit, event

    def close(self) -> None:
        """Stop the tools of all unfinished units, and wait for their threads.

        Later events are dropped: a stopped measurement has no result.
        """
        self._closed.set()
        for context in self._contexts:
            context.stop()
        self._threads.shutdown()

    def _measure(self, unit: Unit, context: UnitContext) -> None:
        with closing(unit.measure(context)) as results:
            for result in results:
                if self._closed.is_set():
                    # the unit may still have to remove its file
                    context.go_on()
                    return
                self._events.put((unit, result))


class SessionContext(NamedTuple):
    """Surroundings of a session.

    ``runner`` returns a command runner; its commands inherit descriptors of locks and end when the
    event is set.  ``publish`` writes the snapshot for a time of the wall clock; ``progress`` gets
    each step; ``limit_s`` bounds the entire run (None: no bound).  ``by_hand`` is True unless
    systemd started the run; components that this user may not measure then get no record.
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
    """Run over units; ``busy`` lists errors without a record: busy or forbidden components."""

    def __init__(self, context: SessionContext) -> None:
        self.busy: list[PlumblineError] = []
        self._context = context
        self._done = 0
        self._total = 0
        self._silent: set[str] = set()
        self._entries: dict[tuple[str, str], Expectation] = {}

    def run(self, units: Sequence[Unit]) -> None:
        """Measure all units in order; raise StoreError if a record cannot be stored."""
        context = self._context
        self._total = _repeats(units)
        entries = (task.entry for unit in units for task in unit.tasks)
        self._entries = {entry.subject[:2]: entry for entry in entries}
        start = context.clock.monotonic()
        try:
            later = self._turn(units, start, last=False)
            if later:
                self._total += _repeats(later)
                self._silent.update(*map(_components, later))
                context.clock.sleep(PAUSE_S)
                self._turn(later, start, last=True)
        finally:
            context.publish(context.clock.wall())

    def settle_killed(self, measured: Collection[tuple[str, str]]) -> None:
        """Kill the tools that outlived a killed run, and mark its measurements as interrupted.

        Measurements of a live run stay untouched.  ``measured`` has layer and component of all
        measurements of this node; others are removed without a mark.
        """
        journal = self._context.journal
        for running in journal.running():
            place = running.layer, running.component
            with suppress(BusyError), self._context.locks.hold(*place):
                if running not in journal.running():
                    continue
                (journal.interrupt if place in measured else journal.end)(*place)

    def _has_time(self, spent_s: float, unit: Unit) -> bool:
        """Return True if the run's time limit lets a unit start; else record it as skipped."""
        limit_s = self._context.limit_s
        if limit_s is None or spent_s < limit_s:
            return True
        limit = format_duration(limit_s)
        reason = f"the run's limit of {limit} was used up before its turn; raise --limit"
        self._give_up(unit.tasks, Failure(Outcome.SKIPPED, reason))
        return False

    def _turn(self, units: Sequence[Unit], start: float, *, last: bool) -> list[Unit]:
        """Measure units wave by wave; return the units to retry at the end of the run.

        Retried units are measured one at a time.
        """
        later: list[Unit] = []
        for wave in in_waves(units, lambda unit: ALONE if last else _wave_of(unit)):
            spent_s = self._context.clock.monotonic() - start
            ready = [unit for unit in wave if self._has_time(spent_s, unit)]
            if len(ready) > 1:
                self._wave(ready, later)
            elif ready:
                self._unit(ready[0], later, last=last)
        return later

    def _unit(self, unit: Unit, later: list[Unit], *, last: bool) -> None:
        """Measure one unit, or record the obstacle; add its retry to ``later``."""
        with self._concluding(unit, later, last=last), ExitStack() as stack:
            descriptors = stack.enter_context(self._locked(unit))
            results = unit.measure(self._unit_context(unit, descriptors))
            stack.enter_context(closing(results))
            for result in results:
                self._take(result, later)

    def _wave(self, units: Sequence[Unit], later: list[Unit]) -> None:
        """Measure units at the same time, each under its own locks until it is done."""
        stacks: dict[Unit, ExitStack] = {}
        contexts: dict[Unit, UnitContext] = {}
        with ExitStack() as locks, closing(Wave(len(units))) as wave:
            for unit in units:
                stacks[unit] = locks.enter_context(ExitStack())
                with self._concluding(unit, later, last=False):
                    descriptors = stacks[unit].enter_context(self._locked(unit))
                    contexts[unit] = self._unit_context(unit, descriptors)
            # waiting for a lock would delay the records of units already begun
            for unit, context in contexts.items():
                wave.begin(unit, context)
            for unit, event in wave:
                if isinstance(event, RepeatEnd):
                    self._step(event.title)
                elif isinstance(event, UnitEnd):
                    stacks[unit].close()
                    self._end(unit, event, later)
                else:
                    self._take(event, later)

    def _end(self, unit: Unit, end: UnitEnd, later: list[Unit]) -> None:
        with self._concluding(unit, later, last=False):
            if end.error is not None:
                raise end.error

    def _unit_context(self, unit: Unit, descriptors: Mapping[str, int]) -> UnitContext:
        context, stop = self._context, threading.Event()
        runners = {
            name: context.runner(locks, stop) for name, locks in _locks_of(unit, descriptors)
        }
        return UnitContext(
            context.recorder,
            context.clock,
            runners,
            self._step,
            stop.set,
            stop.clear,
            context.keep_files,
            self._others_answer(unit),
        )

    def _others_answer(self, unit: Unit) -> bool:
        """Return True if all targets outside this unit have answered so far."""
        return self._silent <= _components(unit)

    def _take(self, result: Union[Record, Retry], later: list[Unit]) -> None:
        if isinstance(result, Retry):
            later.append(result.unit)
        else:
            self._save(result)

    @contextmanager
    def _concluding(self, unit: Unit, later: list[Unit], *, last: bool) -> Iterator[None]:
        """Record the reason if a unit cannot be measured.

        A unit that another run is measuring gets no record; nor do components measured together
        with a stuck one, because one cause must raise one alarm.
        """
        try:
            yield
        except StuckError as error:
            stuck = [task for task in unit.tasks if task.entry.component == error.component]
            # a stuck query may be waiting for another target, and may still be answered
            by_question = error.programs <= QUESTIONS
            if by_question and not last:
                later.append(unit)
                return
            if by_question:
                self._give_up(stuck, self._closer(unit, stuck, str(error)))
            else:
                self._give_up(stuck, Failure(Outcome.HUNG, str(error)))
        except BusyError as error:
            self.busy.append(error)
        except PrivilegeError as error:
            self._refuse(unit, error)

    def _closer(self, unit: Unit, stuck: Sequence[Task], reason: str) -> Failure:
        """Return the failure behind a stuck query, from sources that always answer."""
        silence = NoAnswer(Outcome.UNANSWERED, reason)
        entry = next((task.entry for task in stuck if LAYERS[task.entry.layer].one_target), None)
        if entry is None:
            return silence
        # these queries measure nothing and need no lock
        runner = self._context.runner((), threading.Event())
        suspicion = Suspicion(
            entry,
            target_for(entry.target, entry.component, entry.limits.fill_limit),
            runner,
            self._context.clock.wall(),
            last=True,
            others_answer=self._others_answer(unit),
            tries="",
        )
        return suspicion.concluded(silence)

    def _refuse(self, unit: Unit, error: PrivilegeError) -> None:
        """Record a forbidden measurement; in a manual run only report the remedy."""
        tasks = [task for task in unit.tasks if task.entry.component == error.component]
        if self._context.by_hand:
            # the file system comes last, and its unit measures all targets
            entry = (tasks or unit.tasks)[-1].entry
            remedy = f"systemctl start {layer_of(entry.layer).unit(entry.component)}"
            sentence = f"{entry.layer} {entry.component}: not measured, {error}; as root: {remedy}"
            if sentence not in map(str, self.busy):
                self.busy.append(PrivilegeError(sentence, entry.component))
        else:
            self._give_up(tasks or unit.tasks, Failure(Outcome.SKIPPED, str(error)))

    @contextmanager
    def _locked(self, unit: Unit) -> Iterator[dict[str, int]]:
        """Hold the locks of all components of a unit, and list the components as running."""
        context = self._context
        entries = {task.entry.component: task.entry.layer for task in unit.tasks}
        # a file striped over several targets keeps all of them busy
        parts = {
            part: task.entry.layer for task in unit.tasks for part in osts_of(task.entry.target)
        }
        with ExitStack() as stack:
            # a fixed order prevents a deadlock between two runs
            descriptors = {
                name: stack.enter_context(context.locks.hold(layer, name))
                for name, layer in sorted({**parts, **entries}.items())
            }
            for name, layer in entries.items():
                process = Process(*this_process(descriptors[name]))
                running = Running(layer, name, context.clock.wall(), process)
                context.journal.begin(context.recorder.run_id, running)
                stack.callback(context.journal.end, layer, name)
            context.publish(context.clock.wall())
            yield descriptors

    def _give_up(self, tasks: Sequence[Task], failure: Failure) -> None:
        for task in tasks:
            self._save(self._context.recorder.without(task, failure))

    def _save(self, record: Record) -> None:
        asked = self._entries[record.layer, record.component].references
        for part in (record, *record.quantity_records(asked)):
            self._context.journal.save(part)
        if record.outcome in (Outcome.HUNG, *UNSURE):
            self._silent.add(record.component)
        title = f"{record.component} {record.operation.value}"
        self._context.progress(Step(title, self._done, self._total, record))

    def _step(self, title: str) -> None:
        self._done += 1
        self._context.progress(Step(title, self._done, self._total))


def _wave_of(unit: Unit) -> int:
    """Return the wave of a unit; a unit of several components is a wave of its own."""
    waves = {task.entry.component: task.entry.wave for task in unit.tasks}
    return next(iter(waves.values())) if len(waves) == 1 else ALONE


def _components(unit: Unit) -> set[str]:
    return {task.entry.component for task in unit.tasks}


def _repeats(units: Sequence[Unit]) -> int:
    return sum(task.entry.spec.repeats for unit in units for task in unit.tasks)


def _locks_of(unit: Unit, descriptors: Mapping[str, int]) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield the locks that each component's tools inherit; ranks inherit the locks of all."""
    parallel = {task.entry.component for task in unit.tasks if task.entry.parallel}
    for name, descriptor in descriptors.items():
        yield name, tuple(descriptors.values()) if name in parallel else (descriptor,)
