"""``plumbline sweep``: rates over writers, transfers, stripes and over-subscription."""

from __future__ import annotations

import argparse
from math import prod
from pathlib import Path
from typing import Any, Callable, Iterator, Optional, Sequence

from plumbline.cli.measuring import fill_in
from plumbline.cli.options import refuse_both, spelled
from plumbline.cli.output import note, remark, show
from plumbline.cli.progress import progress
from plumbline.doors.table import render
from plumbline.measure.unit_context import Step
from plumbline.model.codec import write
from plumbline.model.errors import UsageError
from plumbline.model.ranks import named_test, share_of_memory
from plumbline.model.units import (
    format_bytes,
    format_duration,
    format_rate,
)
from plumbline.model.verdict import State
from plumbline.observe.command import SystemRunner
from plumbline.parts.parallel import axes, choices, runs
from plumbline.parts.parallel import sweep as sweeps
from plumbline.parts.parallel.axes import Point
from plumbline.parts.parallel.job import Fixed
from plumbline.parts.parallel.launch import find_launcher
from plumbline.parts.parallel.runs import OPERATIONS, Plan
from plumbline.parts.parallel.sweep import Ledger, Sweep
from plumbline.site.comparison import caveat, memory_bytes
from plumbline.site.measure import interruptible
from plumbline.store.files import DATABASE, STATE, load_document, own_state
from plumbline.store.history import History

_MAX_POINTS = 1000


def _plan(arguments: argparse.Namespace) -> Plan:
    """Return the plan of the sweep from the options.

    Raises:
        UsageError: options contradict each other, or a point is impossible.
        DocumentError: the expectations of this node are missing, or a size cannot be read.
    """
    fill_in(arguments)
    refuse_both(arguments)
    members = _spread(choices.members_of(arguments, least=1))
    test = named_test(arguments.test)
    launch = choices.launch_of(arguments)
    grid = _grid(arguments, test.transfer, len(members.entries))
    points = axes.points_of(grid)
    budget = sweeps.Budget(arguments.budget, arguments.limit)
    fixed = Fixed.TIME if arguments.fixed_time else Fixed.DATA
    size = _point_bytes(arguments, launch.hosts, budget.bytes, len(points))
    plan = Plan(
        members,
        grid,
        runs.Terms(test, 0, 0, arguments.seconds, fixed, arguments.direct, launch, OPERATIONS),
        size,
        arguments.bytes is not None,
        budget,
        arguments.alone,
        choices.work_of(arguments, launch),
        _state(arguments),
    )
    if arguments.scaling == "weak":
        per_rank = size // max(plan.setting(point).ranks for point in points)
        plan = plan._replace(grid={**grid, "bytes_per_rank": (max(1, per_rank),)})
    for point in axes.points_of(plan.grid):
        # raises UsageError for a point that is impossible on these targets
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


_SCALED = "1,2,4,8,16"
"""Writers of both scalings: strong writers share a point's bytes, weak writers have equal bytes."""


def _grid(arguments: argparse.Namespace, transfer: int, targets: int) -> axes.Grid:
    _refuse_contradictions(arguments)
    defaults = {"transfer": f"{transfer}B", "stripes": "1", axes.PER_TARGET: "1"}
    if not arguments.total_ranks:
        defaults["writers"] = _SCALED if arguments.scaling else axes.AXES["writers"].default
    grid = {}
    for name, axis in axes.AXES.items():
        text = getattr(arguments, _destination(axis), None) or defaults.get(name)
        if text:
            grid[name] = _axis_values(axis, text, targets)
    if arguments.repeats > 1:
        grid[axes.REPEAT] = tuple(range(1, arguments.repeats + 1))
    number = prod(len(values) for values in grid.values())
    if number > _MAX_POINTS:
        raise UsageError(f"these lists make {number} points; give fewer, {_MAX_POINTS} at most")
    if grid[axes.PER_TARGET] != (1,) and arguments.alone:
        raise UsageError("--alone leaves targets idle already; leave --oversubscribe out")
    return grid


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Raise UsageError if two options set the same quantity."""
    for alternatives in (
        ("bytes", "bytes_per_node", "bytes_per_rank"),
        ("writers", "total_ranks"),
        ("scaling", "total_ranks"),
        ("scaling", "bytes_per_node"),
        ("scaling", "bytes_per_rank"),
    ):
        options = [spelled(name) for name in alternatives if getattr(arguments, name)]
        if len(options) > 1:
            raise UsageError(f"{' and '.join(options)} do not go together; give one of them")


def _destination(axis: axes.Axis) -> str:
    return axis.option[2:].replace("-", "_")


def _axis_values(axis: axes.Axis, text: str, targets: int) -> tuple[axes.Value, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    values = tuple(dict.fromkeys(axis.read(word, targets) for word in words))
    if not values or any(isinstance(value, int) and value < 1 for value in values):
        raise UsageError(
            f"{axis.option} {text!r} is no list of values from 1 on; write for example 1,2"
        )
    return values


def _point_bytes(arguments: argparse.Namespace, clients: int, budget: int, points: int) -> int:
    """Return the bytes of a point: given, or 1.5 times the clients' memory, within the budget."""
    return arguments.bytes or min(clients * share_of_memory(memory_bytes(), 1), budget // points)


def _state(arguments: argparse.Namespace) -> Path:
    """Return the folder of records and progress: the node's, or the user's own."""
    if arguments.state:
        return Path(arguments.state)
    if not arguments.directory:
        return Path(STATE)
    return Path(own_state())


_ALWAYS = ("writers", "transfer")


def _advice(plan: Plan) -> tuple[str, ...]:
    """Return advice on writing to these targets from their last sweep; raise UsageError."""
    files = plan.state.glob(f"sweep-{plan.members.name}-*.json")
    ledgers = [load_document(Ledger, str(path)) for path in files]
    targets = plan.document()["targets"]
    past = [ledger for ledger in ledgers if ledger.done and ledger.terms.get("targets") == targets]
    newest = max(past, key=lambda ledger: ledger.done[-1].started_at, default=None)
    lines = sweeps.advice(newest, plan.members.name) if newest else ()
    if not lines:
        raise UsageError(
            f"no sweep of {plan.members.name} in {plan.state} has a figure yet; leave --advice out "
            "to begin one"
        )
    return lines


def sweep(arguments: argparse.Namespace) -> int:
    """Begin or continue the sweep, print its results, and return the exit code."""
    plan = _plan(arguments)
    if arguments.advice:
        lines = _advice(plan)
        show(arguments, {"advice": list(lines)}, lines)
        return State.OK
    if arguments.dry_run:
        ledger = _ledger(arguments, plan)
        plan = plan.resumed(ledger)
        remaining = list(_remaining_points(plan, ledger))
        documents = [{**point, **figures} for point, figures in remaining]
        show(arguments, {"sweep": plan.name, "points": documents}, _estimates(plan, remaining))
        return 0
    if arguments.directory and not arguments.json and (doubt := _doubt(plan, arguments.scaling)):
        remark(doubt)
    locks = choices.locks_of(arguments, plan.members)
    try:
        with locks.hold("sweep", plan.name), interruptible():
            ledger = _ledger(arguments, plan)
            plan = plan.resumed(ledger)
            if ledger.remaining(axes.points_of(plan.grid)):
                # report a missing launcher once, not for each point
                find_launcher(plan.common.launch, SystemRunner())
            plan.save(ledger)
            with History(plan.state / DATABASE) as history, progress(arguments.quiet) as step:
                reporter = _SweepProgress(plan, ledger, step, arguments.quiet)
                points = runs.Points(plan, history, locks, reporter)
                ending = _sweep(plan).work_off(ledger, points.measure)
    finally:
        locks.dissolve()
    _show(plan, ending, arguments)
    done = ending.ledger.done
    return State.OK if done and not any(point.reason for point in done) else State.UNKNOWN


def _doubt(plan: Plan, scaling: Optional[str]) -> str:
    """Return a warning if a point fits the page cache of its clients, else an empty text."""
    hosts = plan.common.launch.hosts
    written = min(
        plan.size(point) // min(hosts, plan.setting(point).ranks)
        for point in axes.points_of(plan.grid)
    )
    # weak scaling deals the bytes of the largest point
    option = plan.bytes if scaling == "weak" else written * hosts
    return caveat({}, written, memory_bytes(), option)


def _show(plan: Plan, ending: sweeps.Ending, arguments: argparse.Namespace) -> None:
    """Print the measured points, the knees, the progress, and how to continue."""
    ledger, points = ending.ledger, axes.points_of(plan.grid)
    summaries = sweeps.summaries(ledger.done)
    remaining, remarks = ledger.remaining(points), sweeps.remarks(ledger.done, OPERATIONS)
    document = {
        "sweep": plan.name,
        "file": str(plan.path),
        **write(ledger),
        "left": remaining,
        "reason": ending.reason,
        "points": summaries,
        "remarks": remarks,
    }
    rows = [(summary.point, _figures(summary)) for summary in summaries]
    lines = [_table(plan, _FIGURES, rows)]
    lines += [remark.sentence() for remark in remarks]
    spent = f"{format_bytes(ledger.written)} written, {format_duration(ledger.seconds)}"
    done = len(points) - len(remaining)
    lines.append(f"{done} of {len(points)} points, {spent}; kept in {plan.path}")
    if ending.reason:
        lines.append(f"The sweep ended early: {ending.reason}")
    elif remaining:
        lines.append("The same call measures those again that have no figures.")
    show(arguments, document, lines)


def _table(plan: Plan, headers: Sequence[str], rows: Sequence[tuple[Point, Sequence[str]]]) -> str:
    """Return a table of points and figures, with the axes that vary and the usual ones."""
    visible = [axis for axis in plan.grid if axis in (*_ALWAYS, *axes.moving(plan.grid))]
    columns = [axes.AXES[axis] for axis in visible if axis not in (*headers, axes.REPEAT)]
    return render(
        [*(axis.title for axis in columns), *headers],
        [[*(axis.format(point[axis.name]) for axis in columns), *row] for point, row in rows],
    )


_FIGURES = ("targets", "ranks", "write", "a target", "read", "a target", "reason")


def _figures(summary: sweeps.Summary) -> list[str]:
    """Return the figures of a measured point; median and range if it has several runs."""
    figures = [str(summary.targets), str(summary.ranks)]
    for spread in map(summary.rates.get, OPERATIONS):
        if spread is None:
            figures += ["none", ""]
        else:
            figures += [spread.text, format_rate(spread.median / summary.targets)]
    return [*figures, summary.reason]


_ESTIMATES = ("targets", "ranks", "writes", "takes", "budget")


def _estimates(plan: Plan, points: Sequence[tuple[Point, dict[str, Any]]]) -> Iterator[str]:
    """Yield a table of the points with bytes and seconds, and their sums."""
    rows = [
        (
            point,
            (
                str(figures["targets"]),
                str(figures["ranks"]),
                format_bytes(figures["bytes"]),
                f"{'at most ' * figures['at_most']}{format_duration(figures['seconds'])}",
                "not reached" if figures["reason"] else "",
            ),
        )
        for point, figures in points
    ]
    yield _table(plan, _ESTIMATES, rows)
    reached = [figures for _, figures in points if not figures["reason"]]
    seconds = sum(figures["seconds"] for figures in reached)
    prefix = "at most " if any(figures["at_most"] for figures in reached) else "about "
    size = format_bytes(sum(figures["bytes"] for figures in reached))
    yield (
        f"{len(reached)} of {len(points)} points, {size} written and as much read, "
        f"{prefix}{format_duration(seconds)}"
    )


def _remaining_points(plan: Plan, ledger: Ledger) -> Iterator[tuple[Point, dict[str, Any]]]:
    for point, reason in sweeps.planned(_sweep(plan), ledger):
        setting = plan.setting(point)
        expected = sweeps.estimate(point, plan.work_load, ledger)
        yield (
            point,
            {
                "targets": setting.in_use,
                "ranks": setting.ranks,
                "bytes": plan.size(point),
                "seconds": expected.seconds,
                "at_most": expected.at_most,
                "reason": reason,
            },
        )


def _ledger(arguments: argparse.Namespace, plan: Plan) -> Ledger:
    return Ledger(plan.document(), plan.bytes) if arguments.again else plan.ledger()


def _sweep(plan: Plan) -> Sweep:
    return Sweep(axes.points_of(plan.grid), plan.work_load, plan.budget, plan.save)


class _SweepProgress:
    """Progress of a sweep: the current point, and the records of all targets together."""

    def __init__(
        self, plan: Plan, ledger: Ledger, show: Callable[[Step], None], quiet: bool
    ) -> None:
        self._whole = plan.members.name
        self._show = show
        self._quiet = quiet
        points = axes.points_of(plan.grid)
        self._total = len(points)
        self._begun = self._total - len(ledger.remaining(points))
        self._title = ""

    def begin(self, point: Point) -> None:
        self._begun += 1
        self._title = f"point {self._begun} of {self._total}: {axes.words(point)}"
        if not self._quiet:
            note(self._title)

    def __call__(self, step: Step) -> None:
        record = step.record if step.record and step.record.component == self._whole else None
        title = f"{self._title}, {step.title}"
        self._show(Step(title, self._begun - 1, self._total, record))
