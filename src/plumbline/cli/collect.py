"""``plumbline collect``: collect the records of all nodes in one history."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path
from typing import Iterator, Optional, Sequence

from plumbline.cli.output import show
from plumbline.doors.table import render
from plumbline.model.codec import write
from plumbline.model.errors import DocumentError, ToolError, UsageError
from plumbline.model.units import format_duration, parse_duration
from plumbline.site.cover import Coverage, cover
from plumbline.site.gather import Gathered, GatherOptions, gather, tidy
from plumbline.store.plan import load_plan
from plumbline.store.thinning import Thinned

_CLOCK_OFF_S = 60.0


def collect(arguments: argparse.Namespace) -> int:
    """Collect; return 0, 69 when a node did not answer, 65 when records were damaged."""
    plan, history = load_plan(arguments.plan), Path(arguments.history)
    if unknown := [name for name in arguments.node if name not in plan.nodes]:
        raise UsageError(
            f"{unknown[0]!r} is no node of the plan, which has {', '.join(plan.nodes)}"
        )
    nodes = [name for name in plan.nodes if not arguments.node or name in arguments.node]
    results = []
    for result in gather(nodes, _options(arguments, history)):
        results.append(result)
        if not arguments.quiet:
            remark = "; ".join([f"{result.node} {result.new} new", *_remarks(result)])
            print(f"{len(results)} of {len(nodes)}: {remark}", file=sys.stderr, flush=True)
    results.sort(key=lambda result: nodes.index(result.node))
    coverage = cover(history, plan.nodes, time.time())
    thinned = tidy(history, time.time(), time.monotonic)
    document = {
        "schema": 1,
        "collected_at": time.time(),
        "history": arguments.history,
        "nodes": [result.to_json() for result in results],
        "coverage": write(coverage),
        "thinned": write(thinned),
    }
    show(arguments, document, _lines(results, coverage, thinned))
    if any(result.trouble for result in results):
        return ToolError.exit_code
    return DocumentError.exit_code if any(result.damaged for result in results) else 0


def _options(arguments: argparse.Namespace, history: Path) -> GatherOptions:
    """Return how the nodes are asked; raise UsageError where that is impossible."""
    words, limit_s = arguments.remote, parse_duration(arguments.limit)
    try:
        remote = shlex.split(words)
    except ValueError as error:
        raise UsageError(f"--remote {words!r} is not understood: {error}") from error
    if not any("{node}" in word for word in remote):
        raise UsageError(f"--remote {words!r} does not say where {{node}} stands; add it")
    if not 0 < limit_s < 86400:
        raise UsageError(f"--limit {arguments.limit} is no time to wait; write for example 2 min")
    if not 1 <= arguments.at_once <= 256:
        raise UsageError(
            f"--at-once {arguments.at_once}: between 1 and 256 nodes can be asked at once"
        )
    return GatherOptions(history, remote, limit_s, arguments.at_once)


def _lines(
    results: Sequence[Gathered], coverage: Coverage, thinned: Optional[Thinned]
) -> Iterator[str]:
    rows = [
        (result.node, str(result.new), str(result.cursor.seq), "; ".join(_remarks(result)))
        for result in results
    ]
    yield render(("node", "new", "cursor", "remark"), rows)
    silent = sum(bool(result.trouble) for result in results)
    yield (
        f"{sum(result.new for result in results)} new records of {len(results) - silent} nodes; "
        f"{silent} did not answer"
    )
    yield from coverage.sentences()
    if thinned and thinned.runs:
        yield thinned.sentence()


def _remarks(result: Gathered) -> list[str]:
    remarks = []
    if result.trouble:
        remarks.append(f"no answer: {result.trouble}")
    if result.again:
        remarks.append("its history was begun again or restored; all of it was asked for")
    if abs(result.clock_s) > _CLOCK_OFF_S:
        way = "ahead" if result.clock_s > 0 else "behind"
        remarks.append(f"its clock is {format_duration(abs(result.clock_s))} {way}")
    if result.damaged:
        remarks.append(f"{len(result.damaged)} records left out, first: {result.damaged[0]}")
    for what, why in (
        ("without its symptoms", result.unsaid),
        ("without its changes", result.conditions),
        ("what is suspected of it did not arrive", result.untaken),
    ):
        if why:
            remarks.append(f"{what}: {why}")
    return remarks
