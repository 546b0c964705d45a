"""A sweep as a table, or for programs: its points, its knees, and what is left of it."""

from __future__ import annotations

import json
from typing import Any, Iterator, NamedTuple

from plumbline.output.table import render
from plumbline.run.sweep import Ending, Sweep, planned
from plumbline.site.sweep import OPERATIONS, Plan
from plumbline.sweep.estimate import estimate
from plumbline.sweep.grid import AXES, Point
from plumbline.sweep.knee import remarks
from plumbline.sweep.ledger import Done, Ledger
from plumbline.units import format_bytes, format_duration, format_rate, format_size

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
    print(render(headers, [_row(one, axes) for one in sorted(ending.ledger.done)]))
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
    left = ending.ledger.left(points)
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
        "left": [point._asdict() for point in ledger.left(plan.grid.points())],
        "reason": ending.reason,
        "remarks": [remark.to_json() for remark in remarks(ledger.done, OPERATIONS)],
    }
