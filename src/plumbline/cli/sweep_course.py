"""Carry a sweep on: each point is a run of its own, kept in the history before the next begins."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from typing import Callable, Sequence

from plumbline.cli.parallel_members import locks_of
from plumbline.cli.progress import progress
from plumbline.cli.sweep_plan import Plan
from plumbline.cli.sweep_table import Known, print_ahead, print_known
from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation, Outcome, Record
from plumbline.model.series import Running
from plumbline.model.state import State
from plumbline.run.bench import Step
from plumbline.run.by_hand import by_hand
from plumbline.run.clock import SystemClock
from plumbline.run.command import SystemRunner
from plumbline.run.lock import Locks
from plumbline.run.recording import Recorder
from plumbline.run.session import Means, Session
from plumbline.run.sweep import Sweep
from plumbline.site.measure import interruptible, run_id_at
from plumbline.store.history import History
from plumbline.store.places import DATABASE
from plumbline.store.sweeps import SweepFile
from plumbline.sweep.grid import Point
from plumbline.sweep.ledger import Done, Ledger


def look_ahead(arguments: argparse.Namespace, plan: Plan) -> int:
    """Print the points that are left, with bytes and seconds, and touch nothing."""
    ledger = _begun(arguments, plan)
    plan = plan.going_on(ledger)
    print_ahead(plan, _sweep(plan), ledger, as_json=arguments.json)
    return 0


def carry_on(arguments: argparse.Namespace, plan: Plan) -> int:
    """Measure what is left, print what is known, and return the exit code."""
    locks = locks_of(arguments, plan.members)
    try:
        with locks.hold("sweep", plan.name), interruptible():
            ledger = _begun(arguments, plan)
            plan = plan.going_on(ledger)
            SweepFile(plan.path).save(ledger)
            with History(plan.state / DATABASE) as history, progress(arguments.quiet) as show:
                points = _Points(plan, history, locks, _Teller(plan, ledger, show, arguments.quiet))
                ending = _sweep(plan).work_off(ledger, points.measure)
    finally:
        locks.dissolve()
    print_known(Known(plan, ending), as_json=arguments.json)
    return State.UNKNOWN if any(done.reason for done in ending.ledger.done) else State.OK


def _begun(arguments: argparse.Namespace, plan: Plan) -> Ledger:
    if not arguments.anew:
        with suppress(FileNotFoundError):
            return SweepFile(plan.path).load()
    return Ledger(plan.document(), plan.bytes)


def _sweep(plan: Plan) -> Sweep:
    return Sweep(plan.grid.points(), plan.load, plan.budget, SweepFile(plan.path))


class _Teller:
    """Tells how far a sweep is: the point under way, and of records those of all targets."""

    def __init__(
        self, plan: Plan, ledger: Ledger, show: Callable[[Step], None], quiet: bool
    ) -> None:
        self._whole = plan.members.name
        self._show = show
        self._quiet = quiet
        self._total = len(plan.grid.points())
        self._begun = self._total - len(ledger.left(plan.grid.points()))
        self._title = ""

    def begin(self, point: Point) -> None:
        """Say which point is next."""
        self._begun += 1
        self._title = f"point {self._begun} of {self._total}: {point.words()}"
        if not self._quiet:
            print(self._title, file=sys.stderr, flush=True)

    def __call__(self, step: Step) -> None:
        """Show a step of the point."""
        record = step.record if step.record and step.record.component == self._whole else None
        title = f"{self._title}, {step.title}"
        self._show(Step(title, self._begun - 1, self._total, record))


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


class _Points:
    """Measures points one by one."""

    def __init__(self, plan: Plan, history: History, locks: Locks, teller: _Teller) -> None:
        self._plan = plan
        self._history = history
        self._locks = locks
        self._teller = teller
        self._clock = SystemClock()
        self._number = 0

    def measure(self, point: Point) -> Done:
        """Return what came of a point; raise why not: others hold a target, this user may not.

        Each point is a run of its own, so that points are never each other's peers.
        """
        self._teller.begin(point)
        self._number += 1
        clock, records = self._clock, _Records(self._history)
        began, begun = clock.wall(), clock.monotonic()
        run_id = f"{run_id_at(began)}.{self._number}"
        unit, whole = self._plan.unit(point)
        session = Session(
            Means(
                journal=records,
                locks=self._locks,
                clock=clock,
                recorder=Recorder(run_id, self._plan.members.node, clock),
                runner=SystemRunner,
                publish=_nothing,
                progress=self._teller,
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
