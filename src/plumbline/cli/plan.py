"""``plumbline plan``: measurements and schedule of each node, and objects for monitoring."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Optional, Sequence

from plumbline.cli.options import common, option
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.expectation import in_waves
from plumbline.model.units import format_duration, format_rate
from plumbline.model.validation import read_json

if TYPE_CHECKING:
    from plumbline.doors.monitored import Sited
    from plumbline.model.expectation import Expectation
    from plumbline.model.limits import Reference
    from plumbline.plan.expectations import Plan


FORMATS = ("nagios", "icinga2")

_REMEDY = "write it with: plumbline plan -i INVENTORY --json"


def print_objects(arguments: argparse.Namespace) -> int:
    """Print the objects, as text or by the names of files, and return 0."""
    from plumbline.site.inventory import need_console_libraries

    if arguments.node is not None:
        raise UsageError("--node shows expectations of one node; objects are those of the site")
    need_console_libraries()
    from plumbline.doors.icinga import icinga_objects
    from plumbline.doors.monitored import monitored, read_options
    from plumbline.doors.nagios import nagios_objects

    made = {"nagios": nagios_objects, "icinga2": icinga_objects}[arguments.format]
    raw = parse_json(arguments.options or "{}", "--options", "write an object, such as {}")
    options = read_options(raw)
    files = made(monitored(read_sited(arguments), options), options)
    print(json.dumps(files) if arguments.json else "\n".join(files.values()), end="")
    return 0


def read_sited(arguments: argparse.Namespace) -> Sited:
    """Return what is monitored, by an inventory or by a plan that was printed."""
    from plumbline.doors.monitored import printed_plan
    from plumbline.site.inventory import plan_of, read_inventory

    if arguments.inventory:
        return plan_of(read_inventory(arguments.inventory))
    raw = parse_json(_read(arguments.plan), f"plan {arguments.plan}", _REMEDY)
    if not isinstance(raw, dict):
        raise DocumentError(f"plan {arguments.plan} is damaged (no JSON object); {_REMEDY}")
    return printed_plan(raw)


def _read(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise DocumentError(f"plan {name}: {error.strerror}; {_REMEDY}") from error
    except UnicodeDecodeError as error:
        raise DocumentError(f"plan {name} is no text ({error.reason}); {_REMEDY}") from error


def parse_json(text: str, what: str, remedy: str) -> Any:
    """Return what JSON says; raise DocumentError."""
    try:
        return read_json(text)
    except ValueError as error:
        raise DocumentError(f"{what} is no JSON ({error}); {remedy}") from error


HELP = "show what each node measures, when and how"
DESCRIPTION = """Work out from topology, policy and baselines of an inventory which node measures
what, and what is expected of it. Nothing is measured."""
EPILOG = "For example: plumbline plan -i inventories/mysite --node client1"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    made_from = parser.add_mutually_exclusive_group(required=True)
    option(made_from, "-i, --inventory DIR", "folder of the inventory")
    option(made_from, "--plan FILE", "with --format: output of plumbline plan --json; - is stdin")
    option(parser, "--node NAME", "only this node; with --json its expectations")
    option(parser, "--format", "print the objects of a monitoring system instead", choices=FORMATS)
    option(
        parser,
        "--options JSON",
        "with --format: options of the roles nagios, icinga and nrpe, such as "
        '{"contact_groups": ["storage"]}',
    )
    common(parser, "--json")


def run(arguments: argparse.Namespace) -> int:
    """Print the plan, or the objects made from it, and return 0."""
    from plumbline.site.inventory import plan_of, read_inventory

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
    from plumbline.doors.table import render

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
    chosen = [service for service in plan.services if node in (None, service.node)]
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
    most = _most_at_once(
        expectation for expectation in plan.expectations[name] if expectation.layer == layer
    )
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
    from plumbline.plan.expectations import meetings

    for meeting in meetings(plan.expectations, plan.parts):
        if set(meeting.nodes) & set(names):
            more = f" and {len(meeting.parts) - 1} more parts" if len(meeting.parts) > 1 else ""
            yield (
                f"WARNING: {' and '.join(meeting.nodes)} measure targets across "
                f"{meeting.parts[0]}{more} "
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
