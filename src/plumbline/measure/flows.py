"""Flows of one node through a shared part: reads that start at a moment agreed with other nodes.

Each flow is a read that the node makes anyway, one at a time: of a raw device, or of the file that
the layer of targets keeps on a target.  Nothing is written.  All that can be asked before is asked
before the moment; a node that is late, or whose storage is busy with others' traffic, stays out.
While its flows run, others alone write there: too much of it ends them.

The record of a node is not judged: several of them make one measurement (measure.shared).
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from threading import Event
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence, Union
from uuid import uuid4

from plumbline.measure.lock import Locks
from plumbline.measure.ost import TargetUnit
from plumbline.measure.raw import DeviceUnit
from plumbline.measure.targets import target_for
from plumbline.measure.targets.interface import Target, TargetState
from plumbline.measure.targets.probe_file import FileTarget
from plumbline.measure.trial import (
    Failure,
    ReadyTarget,
    Recorder,
    Task,
    Watch,
    WatchedTrial,
    reach,
)
from plumbline.model.command import CommandRunner
from plumbline.model.errors import BusyError, PlumblineError, SkipTarget, ToolError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Reference
from plumbline.model.record import Flag, Operation, Outcome, Record, Scenario, Tool
from plumbline.model.shared import FLOWS, Flow, FlowResult, SharedReads, Turn
from plumbline.model.units import format_duration, format_rate
from plumbline.observe.command import Clock
from plumbline.observe.mounts import Traffic

LATE_S = 1.0
"""Most seconds that a flow may start after the moment."""

_AHEAD_S = 900.0
"""Moments farther in the future are taken for a wrong clock; no playbook waits so long."""

_LOOK_S = 2.0
"""Time in which the traffic of others is counted, before the moment and while flows run."""

LOOK_EVERY_S = 1.0
"""Time between two looks at what others write while flows run."""

_READY_S = 1.0
"""Time before the moment at which the proofs of the flows begin."""

_UNFIT = {
    Flag.FAILED_OVER: "it is failed over, so its read takes another way than the drawn one",
    Flag.DEGRADED: "it is degraded (rebuilding), so its read asks for less than usual",
}
"""Known states of a target in which its read does not show what the part gives."""

_STEP = (Operation.READ, Scenario.TOGETHER)
_KEY = f"{_STEP[0].value}/{_STEP[1].value}"


class Surroundings(NamedTuple):
    """Node of the flows, its locks and clock, and a maker of command runners for a lock.

    ``look_every_s`` are the seconds between two looks at what others write while flows run.
    """

    expectations: Expectations
    locks: Locks
    clock: Clock
    runner: Callable[[Sequence[int], Event], CommandRunner]
    look_every_s: float = LOOK_EVERY_S


class _Ready(NamedTuple):
    """A flow that can start; ``look`` reads counters while it runs, and when it is ended."""

    flow: Flow
    task: Task
    reached: ReadyTarget
    look: CommandRunner

    def traffic(self) -> Optional[Traffic]:
        """Return what all have moved on its storage, None if this node cannot tell."""
        try:
            return self.reached.target.traffic(self.look)
        except (SkipTarget, ToolError):
            return None

    def settle(self, trial: WatchedTrial) -> None:
        """End a trial; void it if its target changed its state meanwhile."""
        trial.end()
        if trial.failure is not None:
            return
        watch = self.reached.watch
        try:
            unfit = _unfit(self.reached.target.state(watch))
        except (SkipTarget, ToolError) as error:
            trial.fail(watch.failure(error))
            return
        if unfit:
            trial.fail(Failure(Outcome.SKIPPED, f"while it was read: {unfit}"))

    def excess(self, max_load: float, verb: str, moved_bytes: int, seconds: float) -> str:
        """Return the sentence on others that move more than they may, empty if they do not."""
        rate = max(0, moved_bytes) / seconds
        if rate <= max_load * self.flow.free_Bps:
            return ""
        return (
            f"others {verb} {format_rate(rate)} on {self.flow.component}, more than "
            f"{100 * max_load:.0f} % of what it may take (max_load)"
        )


class _Writes:
    """Writes of others on the storage of running flows, which only read.

    What others read meanwhile cannot be told from what the flows read before these have ended.
    """

    def __init__(self, ready: Sequence[_Ready], max_load: float, now: float) -> None:
        counts = [(item, item.traffic()) for item in ready]
        self._ready = [item for item, traffic in counts if traffic]
        self._max_load = max_load
        self._looks = deque([(now, [traffic for _, traffic in counts if traffic])])

    def excess(self, now: float) -> str:
        """Return the storage that others write too much, empty if none.

        Bytes count over the last two seconds or more, as before the start, so that one flush of a
        cache or journal is not taken for a load.
        """
        traffic = [item.traffic() for item in self._ready]
        _, latest = self._looks[-1]
        self._looks.append((now, [new or old for new, old in zip(traffic, latest)]))
        while now - self._looks[1][0] >= _LOOK_S:
            self._looks.popleft()
        since, before = self._looks[0]
        seconds = max(_LOOK_S, now - since)
        excesses = (
            item.excess(self._max_load, "write", new.written - old.written, seconds)
            for item, old, new in zip(self._ready, before, self._looks[-1][1])
        )
        return next(filter(None, excesses), "")


class _Span(NamedTuple):
    """Start of a read in seconds since the epoch, and its duration."""

    started: float
    seconds: float


_Reading = Future[_Span]


def drive(around: Surroundings, reads: SharedReads, turn: Turn) -> Record:
    """Read this node's flows at the moment of a turn, and return their record.

    Raises:
        DocumentError: the node does not measure one of the flows one at a time.
    """
    assert turn.at is not None
    return _Run(around, reads, turn, float(turn.at)).record()


def commands(expectations: Expectations, reads: SharedReads) -> Iterator[tuple[str, ...]]:
    """Yield the calls of the tools for this node's flows."""
    for flow in reads.flows_of(expectations.node):
        task = _task(expectations, reads, flow)
        on_device = LAYERS[flow.layer].on_devices
        unit = DeviceUnit((task,)) if on_device else TargetUnit(task.entry)
        yield from unit.commands()


def _task(expectations: Expectations, reads: SharedReads, flow: Flow) -> Task:
    """Return the read of a flow, with the terms of its layer but for bytes and seconds."""
    (entry,) = expectations.find(flow.layer, flow.component)
    spec = entry.spec._replace(
        bytes=reads.bytes if LAYERS[entry.layer].on_devices else entry.spec.bytes,
        seconds=reads.seconds,
        repeats=1,
    )
    references = {_KEY: Reference(None, None)}
    return Task(entry._replace(spec=spec, references=references), *_STEP)


class _Run:
    """One turn of one node."""

    def __init__(self, around: Surroundings, reads: SharedReads, turn: Turn, at: float) -> None:
        self._around = around
        self._reads = reads
        self._turn = turn
        self._at = at
        self._stop = Event()
        self._recorder = Recorder(turn.run_id, around.expectations.node, around.clock)
        self._failed: dict[str, str] = {}
        self._tool: Optional[Tool] = None

    def record(self) -> Record:
        flows = self._reads.flows_of(self._around.expectations.node)
        tasks = [(flow, _task(self._around.expectations, self._reads, flow)) for flow in flows]
        untimely = self._untimely()
        if untimely:
            self._failed = {flow.component: untimely for flow in flows}
            return self._recorded(flows, [])
        with ExitStack() as stack:
            ready = [item for flow, task in tasks for item in self._prepared(stack, flow, task)]
            busy = self._busy(ready)
            if busy:
                self._failed.update({item.flow.component: busy for item in ready})
                ready = []
            return self._recorded(flows, self._read(ready))

    def _untimely(self) -> str:
        """Return why the moment cannot be kept, empty if it can."""
        wait_s = self._at - self._around.clock.wall()
        if wait_s < _LOOK_S + _READY_S:
            ago = format_duration(max(0.0, -wait_s))
            return (
                f"by this node's clock the moment is too near or was {ago} ago: it began late, or "
                "its clock is wrong"
            )
        if wait_s > _AHEAD_S:
            text = format_duration(wait_s)
            return f"by this node's clock the moment is still {text} ahead: its clock is wrong"
        return ""

    def _prepared(self, stack: ExitStack, flow: Flow, task: Task) -> Iterator[_Ready]:
        """Lock and reach a flow's storage; note the reason if that fails."""
        try:
            lock = stack.enter_context(self._around.locks.hold(flow.layer, flow.component))
            reached = _reach(task.entry, self._around.runner((lock,), self._stop))
            look = self._around.runner((lock,), Event())
        except (BusyError, PlumblineError) as error:
            self._failed[flow.component] = str(error)
            return
        if isinstance(reached, Failure):
            self._failed[flow.component] = reached.reason
        elif unfit := _unfit(reached.state):
            self._failed[flow.component] = unfit
        else:
            yield _Ready(flow, task, reached, look)

    def _busy(self, ready: Sequence[_Ready]) -> str:
        """Return the storage that others use too much, empty if none."""
        before = [item.traffic() for item in ready]
        self._around.clock.sleep(_LOOK_S)
        for item, moved in zip(ready, before):
            after = item.traffic()
            if moved is None or after is None:
                continue
            grown = after.bytes - moved.bytes
            excess = item.excess(self._reads.max_load, "move", grown, _LOOK_S)
            if excess:
                return excess
        return ""

    def _read(self, ready: Sequence[_Ready]) -> list[FlowResult]:
        if not ready:
            return []
        clock = self._around.clock
        clock.sleep(max(0.0, self._at - _READY_S - clock.wall()))
        trials = [
            WatchedTrial(item.task, item.task.entry.spec, item.reached, clock) for item in ready
        ]
        with ThreadPoolExecutor(len(trials)) as threads:
            try:
                list(threads.map(WatchedTrial.begin, trials))
                clock.sleep(max(0.0, self._at - clock.wall()))
                running = [threads.submit(self._timed, trial) for trial in trials]
                self._guard(ready, trials, running)
                spans = [reading.result() for reading in running]
            except BaseException:
                # tools of the other flows would go on to their ends
                self._stop.set()
                raise
        for item, trial in zip(ready, trials):
            item.settle(trial)
        self._tool = trials[0].tool
        return [self._row(*flow) for flow in zip(ready, trials, spans)]

    def _guard(
        self, ready: Sequence[_Ready], trials: Sequence[WatchedTrial], running: Sequence[_Reading]
    ) -> None:
        """Wait for the reads; end them all if others begin to write too much.

        The part gives the others what an ended flow leaves, so the rest would be no measurement.
        """
        clock = self._around.clock
        begun = clock.monotonic()
        writes = _Writes(ready, self._reads.max_load, begun)
        waiting = set(running)
        while waiting:
            done, waiting = wait(waiting, self._around.look_every_s, FIRST_EXCEPTION)
            for reading in done:
                reading.result()
            now = clock.monotonic()
            excess = writes.excess(now) if waiting else ""
            if excess:
                reason = f"ended after {format_duration(now - begun)}: {excess}"
                for trial in trials:
                    trial.fail(Failure(Outcome.SKIPPED, reason))
                self._stop.set()
                return

    def _timed(self, trial: WatchedTrial) -> _Span:
        """Read once."""
        begun = self._around.clock.monotonic()
        started = self._around.clock.wall()
        if started - self._at > LATE_S:
            late = format_duration(started - self._at)
            trial.fail(Failure(Outcome.SKIPPED, f"it would have started {late} late"))
        trial.repeat()
        return _Span(started, self._around.clock.monotonic() - begun)

    def _row(self, item: _Ready, trial: WatchedTrial, span: _Span) -> FlowResult:
        record = trial.record(self._recorder)
        name = item.flow.layer, item.flow.component
        started = span.started
        if record.rate is None:
            ended = started + span.seconds
            return FlowResult(*name, None, 0, started, ended, reason=record.reason)
        ended = started + record.seconds
        return FlowResult(*name, record.rate, record.bytes, started, ended, record.coverage)

    def _recorded(self, flows: Sequence[Flow], results: Sequence[FlowResult]) -> Record:
        """Return the record of all flows, skipped if none has a rate."""
        failed = [
            FlowResult(flow.layer, flow.component, reason=self._failed[flow.component])
            for flow in flows
            if flow.component in self._failed
        ]
        now = self._around.clock.wall()
        rated = [item for item in results if item.rate_Bps]
        reasons = [item.reason for item in (*failed, *results) if item.reason]
        total = sum(item.rate_Bps or 0.0 for item in rated)
        measured: dict[str, Any] = {
            "outcome": Outcome.OK,
            "rate": total,
            "repeats": (total,),
            "bytes": sum(item.bytes for item in rated),
            "seconds": max((item.seconds for item in rated), default=0.0),
        }
        return Record(
            id=uuid4().hex,
            run_id=self._turn.run_id,
            layer=FLOWS,
            component=self._turn.part,
            operation=_STEP[0],
            scenario=_STEP[1],
            host=self._around.expectations.node,
            started_at=min((item.started_at for item in rated), default=now),
            finished_at=now,
            tool=self._tool,
            details={"flows": [item._asdict() for item in (*results, *failed)]},
            **(measured if rated else {"outcome": Outcome.SKIPPED, "reason": reasons[0]}),
        )


def _unfit(state: TargetState) -> str:
    """Return the known state that makes a target's read no measure of the part, empty if none."""
    return next((words for flag, words in _UNFIT.items() if flag in state.flags), "")


def _reach(entry: Expectation, runner: CommandRunner) -> Union[ReadyTarget, Failure]:
    """Return a device, or a target with the file that its layer has kept; else the failure."""
    target: Target = target_for(entry.target, entry.component, entry.limits.fill_limit)
    if not isinstance(target, FileTarget):
        return reach(target, runner, entry.spec.bytes)
    watch = Watch(runner)
    try:
        state = target.state(watch)
        return ReadyTarget(target, state, target.find(watch, entry.spec.bytes), watch)
    except (SkipTarget, ToolError) as error:
        return watch.failure(error)
