"""``plumbline metrics``: the verdicts of this node for Prometheus or Checkmk.

On the console, with a plan and the history of all nodes, those of a whole site.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Sequence

from plumbline.cli.source import add_source, asks_for_site
from plumbline.errors import DocumentError, ToolError

if TYPE_CHECKING:
    from plumbline.judge.node import Asked
    from plumbline.model.expectation import Expectation
    from plumbline.model.series import Memory
    from plumbline.output.metrics import Step, Told
    from plumbline.site.judging import Judging

FORMATS = ("prometheus", "checkmk")
_NO_LIBRARY = (
    "the metrics of a whole site are written by Prometheus's client library, which is not "
    "installed on this host; install python3-prometheus-client, or: pip install "
    "'plumbline[console]'"
)


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "metrics",
        help="tell Prometheus or Checkmk what this node has measured",
        description="Judge what this node, or with --plan and --history a whole site, has "
        "measured, and write it as metrics for the textfile collector of Prometheus's node "
        "exporter, or as lines of a Checkmk local check.",
    )
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0], help="default %(default)s")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="replace this file, which everybody may read then; default: standard output",
    )
    add_source(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the metrics and return 0, whatever they say."""
    site, now = asks_for_site(arguments), time.time()
    form = (_checkmk if arguments.format == "checkmk" else _prometheus)(site)
    told = tuple(_site(arguments, now) if site else _node(arguments, now))
    text = form(told, now)
    if arguments.output:
        from plumbline.store.replacing import replace_own

        replace_own(Path(arguments.output), text, world_readable=True)
    else:
        # whatever the locale of who asks: both read UTF-8
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def _checkmk(site: bool) -> Callable[[Iterable[Told], float], str]:
    """Return how it is written; of a site, with the node in the name of each group."""
    from plumbline.output.checkmk import local_checks

    return lambda told, _: "".join(
        local_checks(
            (
                *(verdict for _, verdict in node.components),
                *node.groups,
                *([node.probes] if node.probes else []),
            ),
            node.node if site else "",
        )
        for node in told
    )


def _prometheus(site: bool) -> Callable[[Iterable[Told], float], str]:
    """Return how it is written; of a site by the library that the console has."""
    from plumbline.output.metrics import families

    if not site:
        from plumbline.output.exposition import exposition
    else:
        try:
            from plumbline.output.client_library import exposition
        except ImportError as error:
            raise ToolError(_NO_LIBRARY) from error
    return lambda told, now: exposition(families(told, now))


def _node(arguments: argparse.Namespace, now: float) -> Iterator[Told]:
    from plumbline.judge.node import Asked
    from plumbline.site.judging import Judging
    from plumbline.store.snapshot import load_expectations, load_snapshot

    expectations = load_expectations(arguments.expectations)
    snapshot = load_snapshot(arguments.snapshot)
    judging = Judging(snapshot, snapshot, now, evidence=False)
    asked = Asked(expectations, _deployed_at(arguments.expectations), now)
    yield _told(asked, expectations.every(), snapshot, judging)


def _site(arguments: argparse.Namespace, now: float) -> Iterator[Told]:
    from plumbline.judge.node import Asked
    from plumbline.site.judging import Judging
    from plumbline.site.nodes import memories
    from plumbline.store.plan import load_plan

    plan, since = load_plan(arguments.plan), _deployed_at(arguments.plan)
    for one in memories(plan, Path(arguments.history)):
        judging = Judging(one.memory, one.known, now, evidence=False)
        yield _told(Asked(plan.nodes[one.node], since, now), one.chosen, one.memory, judging)


def _deployed_at(path: str) -> float:
    """Return since when what a document asks for is expected, in seconds since the epoch."""
    return os.stat(path).st_mtime


def _told(asked: Asked, chosen: Sequence[Expectation], memory: Memory, judging: Judging) -> Told:
    from plumbline.judge.node import judge_node
    from plumbline.output.metrics import Told

    # of what is driven at once the whole has a verdict, among the groups
    alone = [each for each in chosen if each.layer != "fs"]
    return Told(
        asked.expectations.node,
        tuple(zip(alone, judging.components(alone))),
        tuple(judging.groups(chosen)),
        tuple(_steps_of(chosen, memory, asked.now)),
        judge_node(asked, memory) if asked.expectations.entries else None,
    )


def _steps_of(chosen: Sequence[Expectation], memory: Memory, now: float) -> Iterator[Step]:
    return (step for each in chosen for step in _steps(each, memory, now))


def _steps(each: Expectation, memory: Memory, now: float) -> list[Step]:
    """Return the operations of a component; of a damaged document none, as its verdict says."""
    from plumbline.judge.component import rulings_on
    from plumbline.judge.pair import rulings_on_host
    from plumbline.output.metrics import Step

    try:
        series = memory.of(each.layer, each.component)
        if each.layer == "net":
            return [Step(each, *found) for found in rulings_on_host(each, series, now)]
        return [Step(each, ruling) for ruling in rulings_on(each, series, now)]
    except DocumentError:
        return []
