"""``plumbline plan``: which node measures what, when, and what Nagios asks for."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Optional, Sequence

from plumbline.cli.plan_objects import FORMATS, print_objects
from plumbline.errors import UsageError
from plumbline.model.waves import in_waves
from plumbline.units import format_duration, format_rate

if TYPE_CHECKING:
    from plumbline.expect.plan import Plan
    from plumbline.model.expectation import Expectation
    from plumbline.model.reference import Reference


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "plan",
        help="show which node measures what, when, on which terms",
        description="Work out from topology, policy and baselines of an inventory which node "
        "measures what, and what is expected of it.  Nothing is measured.",
        epilog="For example: plumbline plan -i inventories/mysite --node client1",
    )
    made_from = parser.add_mutually_exclusive_group(required=True)
    made_from.add_argument("-i", "--inventory", help="folder of the inventory")
    made_from.add_argument(
        "--plan",
        metavar="FILE",
        help="with --format: what plumbline plan --json printed; - is stdin",
    )
    parser.add_argument("--node", help="show one node alone; as JSON, its expectations")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="print the objects of a monitoring system instead; with --json, by the names of files",
    )
    parser.add_argument(
        "--options",
        metavar="JSON",
        help="with --format: options of the roles nagios, icinga and nrpe, without the role's name "
        '(default: those of the roles), for example \'{"contact_groups": ["storage"]}\'',
    )
    parser.add_argument("--json", action="store_true", help="print the document for programs")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the plan, or the objects made from it, and return 0."""
    from plumbline.documents.inventory import plan_of, read_inventory

    if arguments.format:
        return print_objects(arguments)
    if arguments.plan or arguments.options:
        raise UsageError("--plan and --options belong to --format: add it, or leave them out")
    plan = plan_of(read_inventory(arguments.inventory))
    if arguments.node is not None and arguments.node not in plan.expectations:
        raise UsageError(
            f"{arguments.node!r} is no client or server of {plan.site}; "
            f"its hosts are {', '.join(plan.expectations)}"
        )
    if arguments.json:
        # of one node a person may read it; to indent that of a large site takes half of the time
        document, indent = (plan.node(arguments.node), 1) if arguments.node else (plan, None)
        print(json.dumps(document.to_json(), indent=indent, allow_nan=False))
        return 0
    _print(plan, arguments.node)
    return 0


def _print(plan: Plan, node: Optional[str]) -> None:
    from plumbline.output.table import render

    names = [node] if node else list(plan.expectations)
    rows = [_row(name, entry) for name in names for entry in plan.expectations[name]]
    headers = ("node", "layer", "component", "probe", "repeats", "ceiling", "baseline", "too old")
    print(render(headers, rows))
    takes_s = {layer: _chosen(plan.takes_s(layer), names) for layer in plan.schedule}
    for layer, found in takes_s.items():
        print(_timer(plan, layer, found))
    for layer, found in takes_s.items():
        for warning in _too_long(layer, found, plan.schedule[layer]["limit_s"]):
            print(warning)
    for warning in _met(plan, names):
        print(warning)
    chosen = [one for one in plan.services if node in (None, one.node)]
    print(f"{len(rows)} measurements, {len(chosen)} services")


def _chosen(takes_s: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    return {name: takes_s[name] for name in names if name in takes_s}


def _timer(plan: Plan, layer: str, takes_s: Mapping[str, float]) -> str:
    """Return when a layer runs, and how long that takes; ``takes_s`` is by node."""
    timer = plan.schedule[layer]
    text = f"{layer}: {timer['calendar']}"
    if timer["randomized_delay_s"]:
        text += f", spread over {format_duration(timer['randomized_delay_s'])}"
    if not takes_s:
        return text
    longest, name = max((seconds, name) for name, seconds in takes_s.items())
    text += f", takes at most {format_duration(longest)} on {name} while everything is healthy"
    most = _most_at_once(one for one in plan.expectations[name] if one.layer == layer)
    return f"{text}, up to {most} at the same time" if most > 1 else text


def _most_at_once(entries: Iterable[Expectation]) -> int:
    return max(map(len, in_waves(entries, lambda entry: entry.wave)))


def _too_long(layer: str, takes_s: Mapping[str, float], limit_s: float) -> Iterator[str]:
    """Yield a warning for each node whose run of a layer is ended before it is over."""
    for name, seconds in takes_s.items():
        if seconds > limit_s:
            yield (
                f"WARNING: {layer} on {name} takes {format_duration(seconds)} but is ended after "
                f"{format_duration(limit_s)}, the last of it unmeasured: raise its limit"
            )


def _met(plan: Plan, names: Sequence[str]) -> Iterator[str]:
    """Yield a warning for clients that measure on the same parts of the storage."""
    from plumbline.expect.meeting import meetings

    for one in meetings(plan.expectations, plan.parts):
        if set(one.nodes) & set(names):
            more = f" and {len(one.parts) - 1} more parts" if len(one.parts) > 1 else ""
            yield (
                f"WARNING: {' and '.join(one.nodes)} measure targets across {one.parts[0]}{more} "
                "and may disturb one another: give their file systems the same clients"
            )


def _row(node: str, entry: Expectation) -> tuple[str, ...]:
    references = list(entry.references.values())
    return (
        node,
        entry.layer,
        entry.component,
        entry.spec.tool,
        str(entry.spec.repeats),
        _rates([_ceiling(reference) for reference in references]),
        _rates([_baseline(reference) for reference in references]),
        format_duration(entry.limits.stale_after_s),
    )


def _ceiling(reference: Reference) -> Optional[float]:
    return reference.ceiling.rate_Bps if reference.ceiling else None


def _baseline(reference: Reference) -> Optional[float]:
    return reference.baseline.median_Bps if reference.baseline else None


def _rates(rates_Bps: list[Optional[float]]) -> str:
    return ", ".join(
        dict.fromkeys("none" if rate is None else format_rate(rate) for rate in rates_Bps)
    )
