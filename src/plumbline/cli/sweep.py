"""``plumbline sweep``: rates over writers, transfers, stripes and over-subscription."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple

from plumbline.cli.options import common, option
from plumbline.cli.parallel import (
    add_ranks,
    fill_in,
    launch_of,
    locks_of,
    members_of,
    test_of,
    work_of,
)
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
from plumbline.parallel.job import Fixed
from plumbline.parallel.sweep import (
    AXES,
    Budget,
    Done,
    Ending,
    Grid,
    Ledger,
    Load,
    Point,
    Sweep,
    estimate,
    planned,
    remarks,
    spread,
)
from plumbline.parallel.terms import share_of_memory
from plumbline.site.compare import memory_bytes
from plumbline.site.measure import interruptible
from plumbline.site.parallel import OPERATIONS, Members, Plan, Points, Terms
from plumbline.store.files import DATABASE, STATE
from plumbline.store.history import History
from plumbline.store.ledgers import SweepFile

_MOST_POINTS = 1000


def plan_of(arguments: argparse.Namespace) -> Plan:
    """Return what the options ask for.

    Raises:
        UsageError: they do not go together, or a point of them is impossible.
        DocumentError: the expectations of this node are missing, or a size cannot be read.
    """
    fill_in(arguments)
    _refuse_both(arguments)
    members = _spread(members_of(arguments, least=1))
    test = test_of(arguments)
    launch = launch_of(arguments)
    grid = _grid(arguments, test.transfer, len(members.entries))
    budget = Budget(parse_bytes(arguments.budget), parse_duration(arguments.limit))
    fixed = Fixed.TIME if arguments.fixed_time else Fixed.DATA
    seconds = parse_duration(arguments.seconds)
    size = _point_bytes(arguments, launch.hosts, budget.bytes, len(grid.points()))
    plan = Plan(
        members,
        grid,
        Terms(test, 0, 0, seconds, fixed, arguments.direct, launch, OPERATIONS),
        size,
        arguments.bytes is not None,
        Load(seconds, OPERATIONS, arguments.fixed_time),
        budget,
        arguments.alone,
        work_of(arguments, launch),
        _state(arguments),
    )
    for point in grid.points():
        plan.terms(point).refuse_contradictions()
        # what cannot be striped says so
        plan.unit(point)
    return plan


def _refuse_both(arguments: argparse.Namespace) -> None:
    if arguments.directory and (arguments.component or arguments.expectations):
        raise UsageError("--directory needs no --component and no --expectations: leave them out")


def _spread(members: Members) -> Members:
    servers = [
        members.servers.get(expectation.component, expectation.component)
        for expectation in members.entries
    ]
    return members._replace(entries=tuple(members.entries[index] for index in spread(servers)))


def _grid(arguments: argparse.Namespace, transfer: int, targets: int) -> Grid:
    grid = Grid(
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


class Known(NamedTuple):
    """A sweep and how far it came."""

    plan: Plan
    ending: Ending


def print_known(known: Known, *, as_json: bool) -> None:
    """Print what was measured, where the knees are, and how to go on."""
    plan, ending = known
    if as_json:
        print(json.dumps(_document(known), allow_nan=False))
        return
    axes = _axes(plan)
    headers = (*axes, "targets", "ranks", *_rate_headers(), "reason")
    print(render(headers, [_row(point, axes) for point in sorted(ending.ledger.done)]))
    for remark in remarks(ending.ledger.done, OPERATIONS):
        print(remark.sentence())
    for line in _left(known):
        print(line)


def print_ahead(plan: Plan, sweep: Sweep, ledger: Ledger, *, as_json: bool) -> None:
    """Print the points that are left in the order of measuring, each with bytes and seconds."""
    rows = list(_ahead(plan, sweep, ledger))
    if as_json:
        print(json.dumps({"sweep": plan.name, "points": rows}, allow_nan=False))
        return
    axes = _axes(plan)
    headers = (*axes, "targets", "ranks", "writes", "takes", "budget")
    print(render(headers, [_ahead_row(row, axes) for row in rows]))
    reached = [row for row in rows if not row["reason"]]
    seconds = sum(row["seconds"] for row in reached)
    most = "at most " if any(row["at_most"] for row in reached) else "about "
    size = format_bytes(sum(row["bytes"] for row in reached))
    print(
        f"{len(reached)} of {len(rows)} points, {size} written and as much read, "
        f"{most}{format_duration(seconds)}"
    )


def _axes(plan: Plan) -> tuple[str, ...]:
    moving = plan.grid.moving()
    return tuple(axis for axis in AXES if axis in _ALWAYS or axis in moving)


def _values(point: Point, axes: tuple[str, ...]) -> Iterator[str]:
    for axis in axes:
        value = getattr(point, axis)
        yield format_size(value) if axis == "transfer" else str(value)


def _rate_headers() -> Iterator[str]:
    for operation in OPERATIONS:
        yield operation.value
        yield "a target"


def _row(done: Done, axes: tuple[str, ...]) -> tuple[str, ...]:
    rates = []
    for operation in OPERATIONS:
        rate_Bps = done.rates.get(operation)
        rates += [
            "none" if rate_Bps is None else format_rate(rate_Bps),
            "" if rate_Bps is None else format_rate(rate_Bps / done.targets),
        ]
    return (*_values(done.point, axes), str(done.targets), str(done.ranks), *rates, done.reason)


def _ahead(plan: Plan, sweep: Sweep, ledger: Ledger) -> Iterator[dict[str, Any]]:
    for point, reason in planned(sweep, ledger):
        layout = plan.layout(point)
        expected = estimate(point, sweep.load, ledger)
        yield {
            **point._asdict(),
            "targets": layout.targets,
            "ranks": layout.all_ranks,
            "bytes": plan.terms(point).rank_bytes * layout.all_ranks,
            "seconds": expected.seconds,
            "at_most": expected.at_most,
            "reason": reason,
        }


def _ahead_row(row: dict[str, Any], axes: tuple[str, ...]) -> tuple[str, ...]:
    point = Point(*(row[axis] for axis in AXES))
    most = "at most " if row["at_most"] else ""
    return (
        *_values(point, axes),
        str(row["targets"]),
        str(row["ranks"]),
        format_bytes(row["bytes"]),
        f"{most}{format_duration(row['seconds'])}",
        "not reached" if row["reason"] else "",
    )


def _left(known: Known) -> Iterator[str]:
    """Yield how far the sweep is, and how to go on."""
    plan, ending = known
    points = plan.grid.points()
    left = ending.ledger.remaining(points)
    spent = (
        f"{format_bytes(ending.ledger.written)} written, {format_duration(ending.ledger.seconds)}"
    )
    yield f"{len(points) - len(left)} of {len(points)} points, {spent}; kept in {plan.path}"
    if ending.reason:
        yield f"The sweep ended early: {ending.reason}"
    elif left:
        yield "The same call measures those again that have no figures."


def _document(known: Known) -> dict[str, Any]:
    plan, ending = known
    ledger = ending.ledger
    return {
        "sweep": plan.name,
        "file": str(plan.path),
        **ledger.to_json(),
        "left": [point._asdict() for point in ledger.remaining(plan.grid.points())],
        "reason": ending.reason,
        "remarks": [remark.to_json() for remark in remarks(ledger.done, OPERATIONS)],
    }


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


EPILOG = """\
Lists are numbers or sizes with commas: --writers 1,2,4,8 --transfer 10000B,1MiB.  Every combination
is one point, the ends of all lists first.  The same call again goes on where the last one ended.

TIME is written 90s, 10m or 10min, 36h; SIZE 512MiB or 1GB.

Exit codes: 0 when every measured point has its figures, 3 when one has none; 75 when another run
holds one of the targets; see plumbline --help for the others.

Without inventory and root: plumbline sweep --directory a=/mnt/a --directory b=/mnt/b
"""


HELP = "measure all targets at once, with other writers, transfers, stripes each time"
DESCRIPTION = """Drive all targets of a file system at once, again and again with other numbers of
writers, sizes of calls and stripes, and say where more brings nothing."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    axes = parser.add_argument_group("what changes from point to point")
    option(axes, "--writers LIST", "per target", default="1,2,4,8")
    option(axes, "--transfer LIST", "sizes of a call (default: the test's)")
    option(axes, "--stripes LIST", "targets of one file, or all (Lustre)", default="1")
    option(axes, "--oversubscribe LIST", "the same ranks on 1/N of the targets", default="1")
    option(axes, "--alone", "one target or stripe set, others idle")
    ranks = parser.add_argument_group("what all points have in common")
    add_ranks(ranks)
    option(ranks, "--bytes SIZE", "bytes of a point, for all its writers")
    option(ranks, "--limit TIME", "limit of the sweep", default="30min")
    option(parser, "--component NAME", "only this target; repeatable", action="append")
    option(parser, "--directory NAME=PATH", "a target, without an inventory", action="append")
    option(parser, "--expectations PATH", "expectations of this node")
    option(parser, "--state DIR", "folder of records and progress")
    option(parser, "--again", "forget what is done, measure again")
    option(parser, "--dry-run", "print points, bytes and seconds")
    option(parser, "--json", "print points and knees")
    common(parser, "--locks", "--quiet")


def run(arguments: argparse.Namespace) -> int:
    """Carry the sweep on, print what is known of it, and return the exit code."""
    plan = plan_of(arguments)
    return look_ahead(arguments, plan) if arguments.dry_run else carry_on(arguments, plan)
