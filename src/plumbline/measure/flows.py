"""Flows of one node through a shared part: reads that start at a moment agreed with other nodes.

Each flow is a read that the node makes anyway, one at a time: of a raw device, or of the file that
the layer of targets keeps on a target.  Nothing is written.  All that can be asked before is asked
before the moment; a node that is late, or whose storage is busy with others' traffic, stays out.

The record of a node is not judged: several of them make one measurement (measure.shared).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence, Union
from uuid import uuid4

from plumbline.measure.lock import Locks
from plumbline.measure.ost import TargetUnit
from plumbline.measure.raw import DeviceUnit
from plumbline.measure.targets import target_for
from plumbline.measure.targets.interface import Target
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
from plumbline.model.record import Operation, Outcome, Record, Scenario, Tool
from plumbline.model.shared import FLOWS, Flow, FlowResult, SharedReads, Turn
from plumbline.model.units import format_duration, format_rate
from plumbline.observe.command import Clock

LATE_S = 1.0
"""Most seconds that a flow may start after the moment."""

_AHEAD_S = 900.0
"""Moments farther in the future are taken for a wrong clock; no playbook waits so long."""

_LOOK_S = 2.0
"""Time in which the traffic of others is counted."""

_READY_S = 1.0
"""Time before the moment at which the proofs of the flows begin."""

_STEP = (Operation.READ, Scenario.TOGETHER)
_KEY = f"{_STEP[0].value}/{_STEP[1].value}"


class Surroundings(NamedTuple):
    """Node of the flows, its locks and clock, and a maker of command runners for a lock."""

    expectations: Expectations
    locks: Locks
    clock: Clock
    runner: Callable[[Sequence[int], Event], CommandRunner]


class _Ready(NamedTuple):
    """A flow that can start."""

    flow: Flow
    task: Task
    reached: ReadyTarget


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
        except (BusyError, PlumblineError) as error:
            self._failed[flow.component] = str(error)
            return
        if isinstance(reached, Failure):
            self._failed[flow.component] = reached.reason
        else:
            yield _Ready(flow, task, reached)

    def _busy(self, ready: Sequence[_Ready]) -> str:
        """Return the storage that others use too much, empty if none."""
        before = [_traffic(item) for item in ready]
        self._around.clock.sleep(_LOOK_S)
        for item, moved in zip(ready, before):
            after = _traffic(item)
            if moved is None or after is None:
                continue
            rate = max(0, after - moved) / _LOOK_S
            if rate > self._reads.max_load * item.flow.free_Bps:
                return (
                    f"others move {format_rate(rate)} on {item.flow.component}, more than "
                    f"{100 * self._reads.max_load:.0f} % of what it may take (max_load)"
                )
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
                starts = list(threads.map(self._timed, trials))
            except BaseException:
                # tools of the other flows would go on to their ends
                self._stop.set()
                raise
        for trial in trials:
            trial.end()
        self._tool = trials[0].tool
        return [self._row(*flow) for flow in zip(ready, trials, starts)]

    def _timed(self, trial: WatchedTrial) -> float:
        """Read once; return the start by the wall clock."""
        started = self._around.clock.wall()
        if started - self._at > LATE_S:
            late = format_duration(started - self._at)
            trial.fail(Failure(Outcome.SKIPPED, f"it would have started {late} late"))
        trial.repeat()
        return started

    def _row(self, item: _Ready, trial: WatchedTrial, started: float) -> FlowResult:
        record = trial.record(self._recorder)
        name = item.flow.layer, item.flow.component
        if record.rate is None:
            return FlowResult(*name, reason=record.reason)
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


def _traffic(item: _Ready) -> Optional[int]:
    """Return the bytes that all have moved on a flow's storage, None if this node cannot tell."""
    try:
        return item.reached.target.traffic(item.reached.watch)
    except (SkipTarget, ToolError):
        return None


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
