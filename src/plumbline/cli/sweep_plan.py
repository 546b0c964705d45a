"""What the options of ``plumbline sweep`` ask for: targets, points, and the run of each point."""

from __future__ import annotations

import argparse
import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any, Callable, NamedTuple

from plumbline.cli.parallel_members import members_of
from plumbline.cli.parallel_options import fill_in
from plumbline.cli.parallel_terms import launch_of, memory_bytes, test_of, work_of
from plumbline.errors import UsageError
from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation
from plumbline.ranks.job import Fixed
from plumbline.ranks.tests import share_of_memory
from plumbline.run.fs import FsUnit
from plumbline.run.parallel import Course
from plumbline.run.sweep import Budget
from plumbline.site.parallel import Members, Terms, entries_of, in_stripes
from plumbline.store.places import STATE
from plumbline.sweep.estimate import Load
from plumbline.sweep.grid import Grid, Layout, Point, layout, spread
from plumbline.sweep.ledger import Ledger
from plumbline.units import parse_bytes, parse_duration

LAYER = "sweep"
"""Of all records of sweeps: no series of probes, and so no verdict, ever meets them."""

OPERATIONS = (Operation.WRITE, Operation.READ)

_MOST_POINTS = 1000


class Plan(NamedTuple):
    """A sweep as it was asked for; ``common`` is what the terms of all points share.

    ``bytes`` are those of each point, ``given`` or left to plumbline.  The targets of ``members``
    are in the order in which points take them.
    """

    members: Members
    grid: Grid
    common: Terms
    bytes: int
    given: bool
    load: Load
    budget: Budget
    alone: bool
    work: str
    state: Path

    def going_on(self, ledger: Ledger) -> Plan:
        """Return the plan with the bytes that the sweep has begun with."""
        return self._replace(bytes=ledger.point_bytes)

    def layout(self, point: Point) -> Layout:
        """Return where the ranks of a point work; raise UsageError when there is no place."""
        return layout(point, len(self.members.entries), self.alone)

    def terms(self, point: Point) -> Terms:
        """Return the terms of a point's run."""
        ranks = self.layout(point)
        return self.common._replace(
            test=self.common.test._replace(transfer=point.transfer),
            stripes=point.stripes,
            ranks_per_target=ranks.ranks,
            rank_bytes=self.bytes // ranks.all_ranks // point.transfer * point.transfer,
        )

    def unit(self, point: Point) -> tuple[FsUnit, Expectation]:
        """Return the run of a point, and what is expected of all its targets together."""
        terms = self.terms(point)
        chosen = self.members._replace(entries=self.members.entries[: self.layout(point).targets])
        chosen = in_stripes(chosen, terms)
        *entries, whole = (one._replace(layer=LAYER) for one in entries_of(chosen, terms))
        course = Course(
            terms.test,
            terms.ranks_per_target,
            terms.launch,
            self.members.servers,
            terms.fixed,
            self.work,
        )
        return FsUnit(whole, entries, course), whole

    def document(self) -> dict[str, Any]:
        """Return what two calls must have in common to be one sweep; budgets may differ."""
        common = self.common._asdict()
        common["test"] = self.common.test._asdict()
        return {
            "file_system": self.members.name,
            "targets": [[one.component, dict(one.target)] for one in self.members.entries],
            "grid": self.grid._asdict(),
            "bytes": self.bytes if self.given else 0,
            "alone": self.alone,
            "common": common,
        }

    @property
    def name(self) -> str:
        """Return what the sweep's file is called after, the same for the same document."""
        text = json.dumps(self.document(), sort_keys=True)
        return f"{self.members.name}-{sha256(text.encode()).hexdigest()[:12]}"

    @property
    def path(self) -> Path:
        """Return the file that keeps what is done."""
        return self.state / f"sweep-{self.name}.json"


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
    servers = [members.servers.get(one.component, one.component) for one in members.entries]
    return members._replace(entries=tuple(members.entries[index] for index in spread(servers)))


def _grid(arguments: argparse.Namespace, transfer: int, targets: int) -> Grid:
    grid = Grid(
        _values("--writers", arguments.writers, _number),
        _values("--transfer", arguments.transfer or f"{transfer}B", parse_bytes),
        _values(
            "--stripes", arguments.stripes, lambda word: targets if word == "all" else _number(word)
        ),
        _values("--oversubscribe", arguments.oversubscribe, _number),
    )
    number = len(grid.points())
    if number > _MOST_POINTS:
        raise UsageError(f"these lists make {number} points; give fewer, {_MOST_POINTS} at most")
    if grid.oversubscription != (1,) and arguments.alone:
        raise UsageError("--alone leaves targets idle already; leave --oversubscribe out")
    return grid


def _values(option: str, text: str, read: Callable[[str], int]) -> tuple[int, ...]:
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
