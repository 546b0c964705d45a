"""Carry a sweep on: each point is a run of its own, kept in the history before the next begins."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from typing import Callable

from plumbline.cli.parallel_members import locks_of
from plumbline.cli.progress import progress
from plumbline.cli.sweep_table import Known, print_ahead, print_known
from plumbline.model.state import State
from plumbline.run.sweep import Sweep
from plumbline.run.unit_context import Step
from plumbline.site.measure import interruptible
from plumbline.site.points import Points
from plumbline.site.sweep import Plan
from plumbline.store.history import History
from plumbline.store.places import DATABASE
from plumbline.store.sweeps import SweepFile
from plumbline.sweep.grid import Point
from plumbline.sweep.ledger import Ledger


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
                points = Points(plan, history, locks, _Teller(plan, ledger, show, arguments.quiet))
                ending = _sweep(plan).work_off(ledger, points.measure)
    finally:
        locks.dissolve()
    print_known(Known(plan, ending), as_json=arguments.json)
    return State.UNKNOWN if any(done.reason for done in ending.ledger.done) else State.OK


def _begun(arguments: argparse.Namespace, plan: Plan) -> Ledger:
    if not arguments.again:
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
