"""``plumbline judge``: the verdict on each component and group that this node measures."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any, Iterator

from plumbline.errors import DocumentError
from plumbline.model.state import State, worst
from plumbline.store.snapshot import EXPECTATIONS, SNAPSHOT

if TYPE_CHECKING:
    from plumbline.model.expectation import Expectation, Expectations
    from plumbline.model.series import Snapshot
    from plumbline.model.verdict import Verdict

LAYERS = ("ost", "raw", "net")
SCHEMA = 1


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "judge", help="judge what this node has measured; ends with the worst state"
    )
    parser.add_argument("--layer", choices=LAYERS, help="this layer alone")
    parser.add_argument("--component", metavar="NAME", help="this component alone, without groups")
    parser.add_argument("--expectations", metavar="FILE", default=EXPECTATIONS)
    parser.add_argument("--snapshot", metavar="FILE", default=SNAPSHOT)
    parser.add_argument("--json", action="store_true", help="print the verdicts as one document")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the evidence")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the verdicts and return the exit code of the worst."""
    from plumbline.store.snapshot import load_expectations, load_snapshot

    expectations = load_expectations(arguments.expectations)
    chosen = _chosen(expectations, arguments)
    snapshot = load_snapshot(arguments.snapshot)
    verdicts = list(_verdicts(chosen, snapshot, time.time(), groups=not arguments.component))
    if arguments.json:
        document = {
            "schema": SCHEMA,
            "node": expectations.node,
            "verdicts": [verdict.to_json() for verdict in verdicts],
        }
        print(json.dumps(document, indent=1, allow_nan=False))
    else:
        _print(verdicts, arguments.verbose)
    return worst(verdict.state for verdict in verdicts)


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


def _verdicts(
    chosen: list[Expectation], snapshot: Snapshot, now: float, *, groups: bool
) -> Iterator[Verdict]:
    from plumbline.judge.component import judge
    from plumbline.judge.pair import judge_pair_host

    for each in chosen:
        judging = judge_pair_host if each.layer == "net" else judge
        try:
            series = snapshot.of(each.layer, each.component)
            yield judging(each, series, snapshot.running, now)
        except DocumentError as error:
            yield _damaged(each.layer, each.component, error)
    if groups:
        yield from _groups(chosen, snapshot, now)


def _groups(chosen: list[Expectation], snapshot: Snapshot, now: float) -> Iterator[Verdict]:
    """Yield the verdict on each group of siblings; a node has one component of the layer net."""
    from plumbline.judge.group import judge_group

    for layer, group in dict.fromkeys((each.layer, each.group) for each in chosen):
        members = [each for each in chosen if (each.layer, each.group) == (layer, group)]
        if layer != "net" and len(members) > 1:
            try:
                yield judge_group(members, snapshot, now)
            except DocumentError as error:
                yield _damaged(layer, group, error)


def _damaged(layer: str, name: str, error: DocumentError) -> Verdict:
    """Return the verdict where a document is damaged for one component; the others go on."""
    from plumbline.model.verdict import Verdict

    return Verdict(layer, name, State.UNKNOWN, 1, f"{name} cannot be judged: {error}")


def _print(verdicts: list[Verdict], verbose: bool) -> None:
    from plumbline.output.table import render

    rows = [(each.state.name, each.layer, each.sentence) for each in verdicts]
    print(render(("state", "layer", "verdict"), rows))
    for each in verdicts if verbose else ():
        print(f"\n{each.state.name} {each.layer} {each.component}")
        print("\n".join(f"  {line}" for line in each.evidence))
