"""Measure the points of a sweep: each is a run of its own, kept before the next begins."""

from __future__ import annotations

from typing import Protocol, Sequence

from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation, Outcome, Record
from plumbline.model.series import Running
from plumbline.run.by_hand import by_hand
from plumbline.run.clock import SystemClock
from plumbline.run.command import SystemRunner
from plumbline.run.lock import Locks
from plumbline.run.recording import Recorder
from plumbline.run.session import Session, SessionContext
from plumbline.run.unit_context import Step
from plumbline.site.measure import run_id_at
from plumbline.site.sweep import Plan
from plumbline.store.history import History
from plumbline.sweep.grid import Point
from plumbline.sweep.ledger import Done


class Telling(Protocol):
    """Tells whoever has started a sweep how far it is."""

    def begin(self, point: Point) -> None:
        """Say which point is next."""
        ...

    def __call__(self, step: Step) -> None:
        """Show a step of the point."""
        ...


class _Records:
    """The records of one point, kept in the history as they come.

    A sweep is watched by whoever has started it: nothing is noted as running, which checks would
    wait for.
    """

    def __init__(self, history: History) -> None:
        self.kept: list[Record] = []
        self._history = history

    def begin(self, run_id: str, running: Running) -> None:
        """Note nothing."""

    def end(self, layer: str, component: str) -> None:
        """Note nothing."""

    def interrupt(self, layer: str, component: str) -> None:
        """Note nothing."""

    def running(self) -> tuple[Running, ...]:
        """Return that nothing is noted."""
        return ()

    def save(self, record: Record) -> None:
        """Keep a record for good."""
        self._history.save(record)
        self.kept.append(record)


class Points:
    """Measures points one by one."""

    def __init__(self, plan: Plan, history: History, locks: Locks, tell: Telling) -> None:
        """Keep what is measured in a history, and tell of each point as it begins."""
        self._plan = plan
        self._history = history
        self._locks = locks
        self._tell = tell
        self._clock = SystemClock()
        self._number = 0

    def measure(self, point: Point) -> Done:
        """Return what came of a point; raise why not: others hold a target, this user may not.

        Each point is a run of its own, so that points are never each other's peers.
        """
        self._tell.begin(point)
        self._number += 1
        clock, records = self._clock, _Records(self._history)
        began, begun = clock.wall(), clock.monotonic()
        run_id = f"{run_id_at(began)}.{self._number}"
        unit, whole = self._plan.unit(point)
        session = Session(
            SessionContext(
                journal=records,
                locks=self._locks,
                clock=clock,
                recorder=Recorder(run_id, self._plan.members.node, clock),
                runner=SystemRunner,
                publish=_nothing,
                progress=self._tell,
                keep_files=False,
                by_hand=by_hand(),
            )
        )
        session.run([unit])
        if session.busy:
            raise session.busy[0]
        layout = self._plan.layout(point)
        return Done(
            point,
            run_id,
            whole.spec.hash(),
            layout.targets,
            layout.all_ranks,
            began,
            clock.monotonic() - begun,
            _written(records.kept, whole, unit.planned_bytes),
            _rates(records.kept, whole),
            _reason(records.kept, whole),
        )


def _nothing(_now: float) -> None:
    """Publish no snapshot: no check reads what a sweep measures."""


def _rates(records: Sequence[Record], whole: Expectation) -> dict[Operation, float]:
    return {
        record.operation: record.rate_Bps
        for record in records
        if record.component == whole.component and record.rate_Bps is not None
    }


def _reason(records: Sequence[Record], whole: Expectation) -> str:
    """Return why a point has not all of its figures; what is said of the whole tells most."""
    without = [record for record in records if record.outcome is not Outcome.OK]
    own = [record for record in without if record.component == whole.component]
    if without:
        return (own or without)[0].reason
    return "" if records else "an earlier run is stuck on a target; see plumbline status"


def _written(records: Sequence[Record], whole: Expectation, planned: int) -> int:
    """Return the bytes that a point has written; where that is not certain, all it was to write."""
    writes = [
        record
        for record in records
        if record.operation is Operation.WRITE and record.component != whole.component
    ]
    if all(record.outcome in (Outcome.OK, Outcome.SKIPPED) for record in writes):
        return sum(record.bytes for record in writes)
    return planned
