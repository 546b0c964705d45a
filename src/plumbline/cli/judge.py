"""``plumbline judge``: the verdict on each component and group that this node measures.

On the console, with a plan and the history of all nodes, those of a whole site.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.cli.source import add_source, asks_for_site
from plumbline.errors import DocumentError, UsageError
from plumbline.model.state import worst

if TYPE_CHECKING:
    from plumbline.model.evidence import Knowing
    from plumbline.model.expectation import Expectation, Expectations
    from plumbline.model.series import Memory
    from plumbline.model.verdict import Verdict
    from plumbline.store.plan import SitePlan

LAYERS = ("ost", "raw", "net", "fs")


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "judge",
        help="judge what this node has measured; ends with the worst state",
        description="Hold what was measured last against ceiling, baseline and siblings, and print "
        "a verdict with its reason for each component.  Nothing is measured.",
        epilog="For example: plumbline judge --layer ost -v",
    )
    parser.add_argument("--layer", choices=LAYERS, help="this layer alone")
    parser.add_argument("--component", metavar="NAME", help="this component alone, without groups")
    add_source(parser)
    parser.add_argument(
        "--last-run",
        action="store_true",
        help="judge what the last run of each component of this node says by itself, as while "
        "somebody looks for a fault, and not by the evidence of several as services do",
    )
    parser.add_argument(
        "--replay",
        metavar="FILE.csv",
        help="judge samples recorded elsewhere instead, a verdict for each component and day; "
        "columns host, day, ts, component, and latency (microseconds) or rate, if known coverage "
        "and baseline; components of one host with the same ts are peers",
    )
    parser.add_argument(
        "--together",
        metavar="TIME",
        help="with --replay: samples of one host within this time are one run, and so peers, e.g. "
        "10min (default: only those with the same ts)",
    )
    parser.add_argument(
        "--explain",
        metavar="NAME",
        help="of this component alone, show each rule with its numbers and what would have "
        "changed the outcome",
    )
    parser.add_argument("--json", action="store_true", help="print one document for each node")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the evidence")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the verdicts and return the exit code of the worst."""
    site = asks_for_site(arguments)
    if arguments.last_run and site:
        raise UsageError("--last-run is of one node: leave out --plan and --history")
    if arguments.replay:
        return _replay(arguments)
    if arguments.together:
        raise UsageError("--together belongs to --replay FILE.csv: name the file, or leave it out")
    now = time.time()
    if arguments.explain:
        arguments.component = arguments.explain
        return _explain(_explainable(arguments) if site else _own(arguments), now)
    nodes = _site(arguments, now) if site else _node(arguments, now)
    verdicts = [verdict for found in nodes.values() for verdict in found]
    if arguments.json:
        for node, found in nodes.items():
            _print_json(node, now, found, None if site else 1)
    else:
        _print(verdicts, arguments.verbose)
    return worst(verdict.state for verdict in verdicts)


def _replay(arguments: argparse.Namespace) -> int:
    from plumbline.cli.replay import judge_file
    from plumbline.units import parse_duration

    window_s = parse_duration(arguments.together) if arguments.together else 0.0
    return judge_file(Path(arguments.replay), window_s=window_s, as_json=arguments.json)


def _node(arguments: argparse.Namespace, now: float) -> dict[str, list[Verdict]]:
    from plumbline.site.judging import Judging
    from plumbline.store.snapshot import load_expectations, load_snapshot

    expectations = load_expectations(arguments.expectations)
    chosen = _chosen(expectations, arguments)
    snapshot = load_snapshot(arguments.snapshot)
    judging = Judging(snapshot, snapshot, now, last_run=arguments.last_run)
    if arguments.component:
        return {expectations.node: list(judging.components(chosen))}
    # what is driven at once is judged as a whole
    alone = [each for each in chosen if each.layer != "fs"]
    verdicts = [*judging.components(alone), *judging.groups(chosen)]
    return {expectations.node: verdicts}


class _Place(NamedTuple):
    """What is asked for of a node, what that remembers, and what is known of it."""

    chosen: Sequence[Expectation]
    memory: Memory
    known: Knowing


def _explain(places: Iterable[_Place], now: float) -> int:
    """Explain the verdicts on what is expected, each with the memory of the node that expects."""
    from plumbline.judge.explain import explain
    from plumbline.judge.phrases import weighed
    from plumbline.site.judging import Judging

    states = []
    for chosen, memory, known in places:
        for expectation, verdict in zip(chosen, Judging(memory, known, now).components(chosen)):
            print(f"{verdict.state.name} {verdict.layer} {verdict.sentence}")
            found = known.evidence(expectation.subject)
            for line in weighed(found):
                print(f"  {line}")
            series = memory.of(expectation.layer, expectation.component)
            for line in explain(expectation, series, now):
                print(f"  {line}")
            states.append(verdict.state)
    return worst(states)


def _own(arguments: argparse.Namespace) -> Iterator[_Place]:
    """Yield what is asked for of this node."""
    from plumbline.store.snapshot import load_expectations, load_snapshot

    chosen = _chosen(load_expectations(arguments.expectations), arguments)
    snapshot = load_snapshot(arguments.snapshot)
    yield _Place(chosen, snapshot, snapshot)


def _explainable(arguments: argparse.Namespace) -> Iterator[_Place]:
    """Yield what is asked for of a site, node by node."""
    from plumbline.site.nodes import memories
    from plumbline.store.plan import load_plan

    plan = load_plan(arguments.plan)
    asked = False
    for _, expected, memory, known in memories(plan, Path(arguments.history)):
        chosen = [each for each in expected if _is_asked(arguments, each.component, each.layer)]
        if chosen:
            asked = True
            yield _Place(chosen, memory, known)
    if not asked:
        raise _not_planned(plan, arguments)


def _is_asked(arguments: argparse.Namespace, component: str, layer: str) -> bool:
    return arguments.component in (None, component) and arguments.layer in (None, layer)


def _not_planned(plan: SitePlan, arguments: argparse.Namespace) -> DocumentError:
    return DocumentError(
        f"plan {plan.path} has no {arguments.component or 'component'} in layer "
        f"{arguments.layer or ', '.join(LAYERS)}; add it to the topology and plan again"
    )


def _site(arguments: argparse.Namespace, now: float) -> dict[str, list[Verdict]]:
    """Return the verdicts asked for, by node."""
    from plumbline.site.judge import judge_site
    from plumbline.store.plan import load_plan

    plan = load_plan(arguments.plan)
    found: dict[str, list[Verdict]] = {}
    named = bool(arguments.component)
    judged = judge_site(plan, Path(arguments.history), now, evidence=True, members=named)
    for one in judged:
        if _is_asked(arguments, one.verdict.component, one.verdict.layer):
            found.setdefault(one.node, []).append(one.verdict)
    if not found:
        raise _not_planned(plan, arguments)
    return found


def _chosen(expectations: Expectations, arguments: argparse.Namespace) -> list[Expectation]:
    """Return the expectations asked for; a layer that is not named may be absent."""
    wanted, found = arguments.component, []
    present = {entry.get("layer") for entry in expectations.entries}
    layers = (arguments.layer,) if arguments.layer else [la for la in LAYERS if la in present]
    for layer in layers:
        found += [each for each in expectations.find(layer) if wanted in (None, each.component)]
    if not found:
        raise DocumentError(
            f"expectations of {expectations.node} have no {wanted or 'component'} in layer "
            f"{arguments.layer or ', '.join(LAYERS)}; add it to the topology and deploy the role "
            "agent again"
        )
    return found


def _print_json(node: str, now: float, verdicts: Sequence[Verdict], indent: Optional[int]) -> None:
    """Print the document of a node, on one line where there may be thousands."""
    from plumbline.documents.verdicts import SCHEMA

    document = {
        "schema": SCHEMA,
        "node": node,
        "judged_at": now,
        "verdicts": [verdict.to_json() for verdict in verdicts],
    }
    print(json.dumps(document, indent=indent, allow_nan=False))


def _print(verdicts: Sequence[Verdict], verbose: bool) -> None:
    from plumbline.output.table import render

    rows = [(each.state.name, each.layer, each.sentence) for each in verdicts]
    print(render(("state", "layer", "verdict"), rows))
    for each in verdicts if verbose else ():
        print(f"\n{each.state.name} {each.layer} {each.component}")
        print("\n".join(f"  {line}" for line in each.evidence))
