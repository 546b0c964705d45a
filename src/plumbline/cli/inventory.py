"""Ceilings of the hardware, measurements of each node, and objects for monitoring."""

from __future__ import annotations

import argparse
import json
from itertools import chain
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

from plumbline.cli.output import print_json, say
from plumbline.doors.ceilings import share_notes, tables
from plumbline.doors.exposure import exposure_table
from plumbline.doors.icinga import icinga_objects
from plumbline.doors.monitored import monitored, read_options
from plumbline.doors.nagios import nagios_objects
from plumbline.doors.table import render
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.expectation import Expectation, in_waves
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Reference
from plumbline.model.units import format_duration, parse_rate
from plumbline.model.validation import read_json
from plumbline.plan.assignments import assignments
from plumbline.plan.baseline import read_baselines
from plumbline.plan.expectations import SCHEMA, Plan
from plumbline.plan.exposure import OF_ONE_NODE, exposures, seldom_shown
from plumbline.plan.places import Assignment, meetings
from plumbline.plan.policy import Policy, load
from plumbline.plan.references import at_once, measurements, pairs, with_demonstrated
from plumbline.plan.schedule import collisions
from plumbline.site.documents import read_text
from plumbline.site.inventory import compiled, plan_of, read_inventory, topology_of
from plumbline.topology.graph import Topology
from plumbline.topology.names import expand

_REMEDY = "write it with: plumbline plan -i INVENTORY --json"


def ceiling(arguments: argparse.Namespace) -> int:
    """Print the ceilings and return 0."""
    inventory, layer = read_inventory(arguments.inventory), arguments.layer
    topology = _supposed(topology_of(inventory, arguments.zone), arguments.set)
    measured = assignments(topology, load(inventory.policy))
    all_lines = chain(measurements(topology, measured), at_once(topology))
    lines = [line for line in all_lines if layer in (None, line.layer)]
    if layer and LAYERS[layer].paired:
        lines += [line for line in pairs(topology, measured) if line.layer == layer]
    lines = list(with_demonstrated(topology, lines, read_baselines(inventory.baselines)))
    if arguments.json:
        # one line per ceiling: fast to write for many, and searchable
        documents = (json.dumps(line.to_json(), allow_nan=False) for line in lines)
        print("[" + ",\n ".join(documents) + "]")
        return 0
    for number, table in enumerate(tables(topology, lines)):
        say(*[""] * bool(number), render(table.headers, table.rows))
    if not lines:
        say(f"nothing is measured in layer {layer}")
    return 0


def _supposed(topology: Topology, rates: Sequence[str]) -> Topology:
    """Return the topology with the rates of ``PART=RATE``; a later one counts."""
    for text in rates:
        names, equals, rate = text.rpartition("=")
        if not (equals and names.strip()):
            raise UsageError(f"--set {text!r} is no PART=RATE; write for example oss1-nic=1 GB/s")
        topology = topology.with_rate(expand(names), parse_rate(rate))
    return topology


def plan(arguments: argparse.Namespace) -> int:
    """Print the plan, or the objects generated from it, and return 0."""
    if arguments.format:
        return _print_objects(arguments)
    if arguments.plan or arguments.options:
        raise UsageError("--plan and --options belong to --format: add it, or leave them out")
    inventory = read_inventory(arguments.inventory)
    topology = topology_of(inventory)
    plan, measured, policy = compiled(inventory, topology)
    if arguments.node is not None and arguments.node not in plan.expectations:
        raise UsageError(
            f"{arguments.node!r} is no client or server of {plan.site}; "
            f"its hosts are {', '.join(plan.expectations)}"
        )
    if arguments.json:
        # people read the plan of one node; indenting a large site would double the time
        document, indent = (plan.node(arguments.node), 1) if arguments.node else (plan, None)
        print_json(document, indent)
    else:
        *lines, summary = _plan_lines(plan, arguments.node)
        if not arguments.node:
            lines += _unexposed(topology, measured, policy)
        say(*lines, summary)
    return 0


def _unexposed(topology: Topology, measured: Sequence[Assignment], policy: Policy) -> Iterator[str]:
    """Yield a note on losses that show seldom, and a table of those that no single node shows."""
    found = list(exposures(topology, measured))
    for note in seldom_shown(found, policy.periods_s()):
        yield f"note: {note}"
    hidden = [item for item in found if item.way not in OF_ONE_NODE]
    if hidden:
        yield from ("", exposure_table(topology, hidden), "")


def _print_objects(arguments: argparse.Namespace) -> int:
    """Print the objects as text, or with --json by file name, and return 0."""
    if arguments.node is not None:
        raise UsageError("--node shows expectations of one node; objects are those of the site")
    generate = {"nagios": nagios_objects, "icinga2": icinga_objects}[arguments.format]
    raw = parse_json(arguments.options or "{}", "--options", "write an object, such as {}")
    options = read_options(raw)
    files = generate(monitored(read_fields(arguments), options), options)
    print(json.dumps(files) if arguments.json else "\n".join(files.values()), end="")
    return 0


def read_fields(arguments: argparse.Namespace) -> Mapping[str, Any]:
    """Return the fields of an inventory's plan, or of a printed plan."""
    if arguments.inventory:
        return {"schema": SCHEMA, **plan_of(read_inventory(arguments.inventory))._asdict()}
    text = read_text(arguments.plan, _REMEDY)
    fields: Mapping[str, Any] = parse_json(text, f"plan {arguments.plan}", _REMEDY)
    return fields


def parse_json(text: str, what: str, remedy: str) -> Any:
    """Return the value of a JSON text; raise DocumentError."""
    try:
        return read_json(text)
    except ValueError as error:
        raise DocumentError(f"{what} is no JSON ({error}); {remedy}") from error


def _plan_lines(plan: Plan, node: Optional[str]) -> Iterator[str]:
    names = [node] if node else list(plan.expectations)
    rows = [_row(name, entry) for name in names for entry in plan.expectations[name]]
    headers = ("node", "layer", "component", "probe", "repeats", "ceiling", "baseline", "too old")
    yield render(headers, rows)
    takes_s = {
        layer: {name: seconds for name, seconds in plan.takes_s(layer).items() if name in names}
        for layer in plan.schedule
    }
    for layer, by_node in takes_s.items():
        yield _timer(plan, layer, by_node)
    for layer, by_node in takes_s.items():
        limit_s = plan.schedule[layer]["limit_s"]
        for name, seconds in by_node.items():
            if seconds > limit_s:
                yield (
                    f"WARNING: {layer} on {name} takes {format_duration(seconds)} but is ended "
                    f"after {format_duration(limit_s)}, the last of it unmeasured: raise its limit"
                )
    yield from _meetings(plan, names)
    entries = (entry for name in names for entry in plan.expectations[name])
    notes = (
        *share_notes(entries),
        *collisions(plan.schedule),
        *plan.left_out,
        *plan.one_by_one,
    )
    yield from (f"note: {note}" for note in notes)
    chosen = [service for service in plan.services if node in (None, service.node)]
    yield f"{len(rows)} measurements, {len(chosen)} services"


def _timer(plan: Plan, layer: str, takes_s: dict[str, float]) -> str:
    """Return the calendar of a layer and its longest duration; ``takes_s`` is by node."""
    timer = plan.schedule[layer]
    text = f"{layer}: {timer['calendar']}"
    if timer["randomized_delay_s"]:
        text += f", spread over {format_duration(timer['randomized_delay_s'])}"
    if not takes_s:
        return text
    longest, name = max((seconds, name) for name, seconds in takes_s.items())
    text += f", takes at most {format_duration(longest)} on {name} while everything is healthy"
    entries = (entry for entry in plan.expectations[name] if entry.layer == layer)
    most = max(map(len, in_waves(entries, lambda entry: entry.wave)))
    return f"{text}, up to {most} at the same time" if most > 1 else text


def _meetings(plan: Plan, names: Sequence[str]) -> Iterator[str]:
    """Yield a warning for clients that measure through the same parts at once."""
    for meeting in meetings(plan.expectations, plan.parts):
        if set(meeting.nodes) & set(names):
            more = f" and {len(meeting.parts) - 1} more parts" if len(meeting.parts) > 1 else ""
            yield (
                f"WARNING: {' and '.join(meeting.nodes)} measure targets across "
                f"{meeting.parts[0]}{more} "
                "and may disturb one another: let the same client measure them"
            )


def _row(node: str, entry: Expectation) -> tuple[str, ...]:
    return (
        node,
        entry.layer,
        entry.component,
        entry.spec.tool,
        str(entry.spec.repeats),
        _rates(entry, lambda reference: reference.ceiling and reference.ceiling.rate),
        _rates(entry, lambda reference: reference.baseline and reference.baseline.median),
        format_duration(entry.limits.stale_after_s),
    )


def _rates(entry: Expectation, rate_of: Callable[[Reference], Optional[float]]) -> str:
    texts = (
        "none" if (rate := rate_of(reference)) is None else operation.quantity.format(rate)
        for operation, _, reference in entry.steps()
    )
    return ", ".join(dict.fromkeys(texts))
