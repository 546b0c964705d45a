"""``plumbline ceiling``: the theoretical rate of every measurement, and the part that sets it."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional

from plumbline.units import format_rate

if TYPE_CHECKING:
    from plumbline.expect.plan import Plan
    from plumbline.model.reference import Ceiling


class _Line(NamedTuple):
    """One ceiling; ``rate_Bps`` is None where nothing on the path has a rate."""

    layer: str
    component: str
    partner: Optional[str]
    operation: str
    scenario: str
    rate_Bps: Optional[float]
    limited_by: tuple[str, ...]
    path: tuple[str, ...]


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser("ceiling", help="show what the hardware should give")
    parser.add_argument("-i", "--inventory", required=True, help="folder of the inventory")
    parser.add_argument(
        "--layer", choices=("ost", "raw", "net"), help="one layer; net with its pairs"
    )
    parser.add_argument("--json", action="store_true", help="print the numbers for programs")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the ceilings and return 0."""
    from plumbline.cli.inventory import plan_of, read_inventory

    plan = plan_of(read_inventory(arguments.inventory))
    lines = [line for line in _lines(plan) if arguments.layer in (None, line.layer)]
    if arguments.json:
        print(json.dumps([line._asdict() for line in lines], indent=1, allow_nan=False))
        return 0
    if arguments.layer is None:
        lines = [line for line in lines if line.partner is None]
    from plumbline.output.table import render

    headers = ("layer", "component", "operation", "ceiling", "limited by")
    print(render(headers, [_row(line) for line in lines]))
    return 0


def _lines(plan: Plan) -> Iterator[_Line]:
    """Yield the ceilings layer by layer; a pair of hosts once, under the first of them."""
    entries = [entry for found in plan.expectations.values() for entry in found]
    for entry in sorted(entries, key=lambda entry: ("ost", "raw", "net").index(entry.layer)):
        for step, reference in entry.references.items():
            operation, scenario = step.split("/")
            rate_Bps, parts = _limit(reference.ceiling)
            yield _Line(
                entry.layer, entry.component, None, operation, scenario, rate_Bps, parts, entry.path
            )
        for partner in entry.partners:
            if entry.component < partner.name:
                rate_Bps, parts = _limit(partner.ceiling)
                yield _Line(
                    "net",
                    entry.component,
                    partner.name,
                    "send or receive",
                    "single",
                    rate_Bps,
                    parts,
                    partner.path,
                )


def _limit(ceiling: Optional[Ceiling]) -> tuple[Optional[float], tuple[str, ...]]:
    return (ceiling.rate_Bps, ceiling.limited_by) if ceiling else (None, ())


def _row(line: _Line) -> tuple[str, ...]:
    together = " together" if line.scenario == "together" else ""
    return (
        line.layer,
        f"{line.component} - {line.partner}" if line.partner else line.component,
        line.operation + together,
        "unknown" if line.rate_Bps is None else format_rate(line.rate_Bps),
        ", ".join(line.limited_by) or "no part on the path has a rate",
    )
