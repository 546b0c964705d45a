"""``plumbline sweep``: rates over writers, transfers, stripes and over-subscription."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

from plumbline.cli import parallel
from plumbline.cli.options import refuse_both
from plumbline.cli.output import show
from plumbline.cli.progress import progress
from plumbline.doors.table import render
from plumbline.measure.unit_context import Step
from plumbline.model.errors import UsageError
from plumbline.model.units import (
    format_bytes,
    format_duration,
    format_rate,
    format_size,
    parse_bytes,
    parse_duration,
)
from plumbline.model.verdict import State
from plumbline.parallel import sweep as sweeps
from plumbline.parallel.job import Fixed
from plumbline.parallel.sweep import Ledger, Point, Sweep
from plumbline.parallel.terms import share_of_memory
from plumbline.site import parallel as runs
from plumbline.site.measure import interruptible, memory_bytes
from plumbline.site.parallel import OPERATIONS, Plan
from plumbline.store.files import DATABASE, STATE
from plumbline.store.history import History

_MOST_POINTS = 1000


def _plan(arguments: argparse.Namespace) -> Plan:
    """Return what the options ask for.

    Raises:
        UsageError: they do not go together, or a point of them is impossible.
        DocumentError: the expectations of this node are missing, or a size cannot be read.
    """
    parallel.fill_in(arguments)
    refuse_both(arguments)
    members = _spread(parallel.members_of(arguments, least=1))
    test = parallel.test_of(arguments)
    launch = parallel.launch_of(arguments)
    grid = _grid(arguments, test.transfer, len(members.entries))
    budget = sweeps.Budget(parse_bytes(arguments.budget), parse_duration(arguments.limit))
    fixed = Fixed.TIME if arguments.fixed_time else Fixed.DATA
    seconds = parse_duration(arguments.seconds)
    size = _point_bytes(arguments, launch.hosts, budget.bytes, len(grid.points()))
    plan = Plan(
        members,
        grid,
        runs.Terms(test, 0, 0, seconds, fixed, arguments.direct, launch, OPERATIONS),
        size,
        arguments.bytes is not None,
        sweeps.Load(seconds, OPERATIONS, arguments.fixed_time),
        budget,
        arguments.alone,
        parallel.work_of(arguments, launch),
        _state(arguments),
    )
    for point in grid.points():
        plan.terms(point).refuse_contradictions()
        # what cannot be striped says so
        plan.unit(point)
    return plan


def _spread(members: runs.Members) -> runs.Members:
    servers = [
        members.servers.get(expectation.component, expectation.component)
        for expectation in members.entries
    ]
    return members._replace(
        entries=tuple(members.entries[index] for index in sweeps.spread(servers))
    )


def _grid(arguments: argparse.Namespace, transfer: int, targets: int) -> sweeps.Grid:
    grid = sweeps.Grid(
        _axis_values("--writers", arguments.writers, _number),
        _axis_values("--transfer", arguments.transfer or f"{transfer}B", parse_bytes),
        _axis_values(
            "--stripes", arguments.stripes, lambda word: targets if word == "all" else _number(word)
        ),
        _axis_values("--oversubscribe", arguments.oversubscribe, _number),
    )
    number = len(grid.points())
    if number > _MOST_POINTS:
        raise UsageError(f"these lists make {number} points; give fewer, {_MOST_POINTS} at most")
    if grid.oversubscription != (1,) and arguments.alone:
        raise UsageError("--alone leaves targets idle already; leave --oversubscribe out")
    return grid


def _axis_values(option: str, text: str, read: Callable[[str], int]) -> tuple[int, ...]:
    values = tuple(dict.fromkeys(read(word.strip()) for word in text.split(",") if word.strip()))
    if not values or min(values) < 1:
        raise UsageError(f"{option} {text!r} is no list of values from 1 on; write for example 1,2")
    return tuple(sorted(values))


def _number(word: str) -> int:
    """Return a number; what is none is as wrong as 0."""
    return int(word) if word.isdecimal() else 0


def _point_bytes(arguments: argparse.Namespace, clients: int, budget: int, points: int) -> int:
    """Return what a point writes: given, or 1.5 memories of each client, within the budget."""
    if arguments.bytes:
        return parse_bytes(arguments.bytes)
    return min(clients * share_of_memory(memory_bytes(), 1), budget // points)


def _state(arguments: argparse.Namespace) -> Path:
    """Return the folder of records and of what is done: the node's, or the user's own."""
    if arguments.state:
        return Path(arguments.state)
    if not arguments.directory:
        return Path(STATE)
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "plumbline"


_ALWAYS = ("writers", "transfer")


def sweep(arguments: argparse.Namespace) -> int:
    """Carry the sweep on, print what is known of it, and return the exit code."""
    plan = _plan(arguments)
    if arguments.dry_run:
        ledger = _begun(arguments, plan)
        plan = plan.going_on(ledger)
        ahead = list(_ahead(plan, ledger))
        documents = [{**point._asdict(), **figures} for point, figures in ahead]
        show(arguments, {"sweep": plan.name, "points": documents}, _ahead_lines(plan, ahead))
        return 0
    locks = parallel.locks_of(arguments, plan.members)
    try:
        with locks.hold("sweep", plan.name), interruptible():
            ledger = _begun(arguments, plan)
            plan = plan.going_on(ledger)
            plan.save(ledger)
            with History(plan.state / DATABASE) as history, progress(arguments.quiet) as step:
                teller = _Teller(plan, ledger, step, arguments.quiet)
                points = runs.Points(plan, history, locks, teller)
                ending = _sweep(plan).work_off(ledger, points.measure)
    finally:
        locks.dissolve()
    _show(plan, ending, arguments)
    return State.UNKNOWN if any(done.reason for done in ending.ledger.done) else State.OK


def _show(plan: Plan, ending: sweeps.Ending, arguments: argparse.Namespace) -> None:
    """Print what was measured, where the knees are, how far the sweep is, and how to go on."""
    ledger, points = ending.ledger, plan.grid.points()
    remaining, remarks = ledger.remaining(points), sweeps.remarks(ledger.done, OPERATIONS)
    document = {
        "sweep": plan.name,
        "file": str(plan.path),
        **ledger.to_json(),
        "left": [point._asdict() for point in remaining],
        "reason": ending.reason,
        "remarks": [remark.to_json() for remark in remarks],
    }
    axes = _axes(plan)
    rates = [header for each in OPERATIONS for header in (each.value, "a target")]
    headers = (*axes, "targets", "ranks", *rates, "reason")
    lines = [render(headers, [_row(done, axes) for done in sorted(ledger.done)])]
    lines += [remark.sentence() for remark in remarks]
    spent = f"{format_bytes(ledger.written)} written, {format_duration(ledger.seconds)}"
    done = len(points) - len(remaining)
    lines.append(f"{done} of {len(points)} points, {spent}; kept in {plan.path}")
    if ending.reason:
        lines.append(f"The sweep ended early: {ending.reason}")
    elif remaining:
        lines.append("The same call measures those again that have no figures.")
    show(arguments, document, lines)


def _row(done: sweeps.Done, axes: Sequence[str]) -> tuple[str, ...]:
    rates = []
    for rate_Bps in map(done.rates.get, OPERATIONS):
        if rate_Bps is None:
            rates += ["none", ""]
        else:
            rates += [format_rate(rate_Bps), format_rate(rate_Bps / done.targets)]
    return (*_values(done.point, axes), str(done.targets), str(done.ranks), *rates, done.reason)


def _ahead_lines(plan: Plan, points: Sequence[tuple[Point, dict[str, Any]]]) -> Iterator[str]:
    """Yield a table of the points with their bytes and seconds, and the sum of these."""
    axes = _axes(plan)
    headers = (*axes, "targets", "ranks", "writes", "takes", "budget")
    rows = [
        (
            *_values(point, axes),
            str(figures["targets"]),
            str(figures["ranks"]),
            format_bytes(figures["bytes"]),
            f"{'at most ' * figures['at_most']}{format_duration(figures['seconds'])}",
            "not reached" if figures["reason"] else "",
        )
        for point, figures in points
    ]
    yield render(headers, rows)
    reached = [figures for _, figures in points if not figures["reason"]]
    seconds = sum(figures["seconds"] for figures in reached)
    most = "at most " if any(figures["at_most"] for figures in reached) else "about "
    size = format_bytes(sum(figures["bytes"] for figures in reached))
    yield (
        f"{len(reached)} of {len(points)} points, {size} written and as much read, "
        f"{most}{format_duration(seconds)}"
    )


def _ahead(plan: Plan, ledger: Ledger) -> Iterator[tuple[Point, dict[str, Any]]]:
    """Yield the points that are left in the order of measuring, with their figures."""
    for point, reason in sweeps.planned(_sweep(plan), ledger):
        layout = plan.layout(point)
        expected = sweeps.estimate(point, plan.load, ledger)
        yield (
            point,
            {
                "targets": layout.targets,
                "ranks": layout.all_ranks,
                "bytes": plan.terms(point).rank_bytes * layout.all_ranks,
                "seconds": expected.seconds,
                "at_most": expected.at_most,
                "reason": reason,
            },
        )


def _axes(plan: Plan) -> list[str]:
    """Return the axes that are shown: those that move, and the two that a reader expects."""
    return [axis for axis in sweeps.AXES if axis in (*_ALWAYS, *plan.grid.moving())]


def _values(point: Point, axes: Sequence[str]) -> Iterator[str]:
    for axis in axes:
        value = getattr(point, axis)
        yield format_size(value) if axis == "transfer" else str(value)


def _begun(arguments: argparse.Namespace, plan: Plan) -> Ledger:
    return Ledger(plan.document(), plan.bytes) if arguments.again else plan.begun()


def _sweep(plan: Plan) -> Sweep:
    return Sweep(plan.grid.points(), plan.load, plan.budget, plan.save)


class _Teller:
    """Tells how far a sweep is: the point under way, and of records those of all targets."""

    def __init__(
        self, plan: Plan, ledger: Ledger, show: Callable[[Step], None], quiet: bool
    ) -> None:
        self._whole = plan.members.name
        self._show = show
        self._quiet = quiet
        self._total = len(plan.grid.points())
        self._begun = self._total - len(ledger.remaining(plan.grid.points()))
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
