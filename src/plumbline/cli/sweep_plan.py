"""What the options of ``plumbline sweep`` ask for: targets, points, and the run of each point."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Callable

from plumbline.cli.parallel_members import members_of
from plumbline.cli.parallel_options import fill_in
from plumbline.cli.parallel_terms import launch_of, memory_bytes, test_of, work_of
from plumbline.errors import UsageError
from plumbline.ranks.job import Fixed
from plumbline.ranks.tests import share_of_memory
from plumbline.run.sweep import Budget
from plumbline.site.parallel import Members, Terms
from plumbline.site.sweep import OPERATIONS, Plan
from plumbline.store.places import STATE
from plumbline.sweep.estimate import Load
from plumbline.sweep.grid import Grid, spread
from plumbline.units import parse_bytes, parse_duration

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
