"""``plumbline collect``: collect the records of all nodes in one history."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from pathlib import Path
from typing import Optional, Sequence

from plumbline.doors.table import render
from plumbline.model.errors import DocumentError, ToolError, UsageError
from plumbline.model.units import format_duration, parse_duration
from plumbline.site.cover import Coverage, cover
from plumbline.site.gather import Gathered, GatherOptions, gather, tidy
from plumbline.store.plan import load_plan
from plumbline.store.thinning import Thinned

SSH_CONFIG = "/etc/plumbline-console/ssh_config"
REMOTE = f"ssh -F {SSH_CONFIG} -T {{node}} plumbline export"

_CLOCK_OFF_S = 60.0


def collect(arguments: argparse.Namespace) -> int:
    """Collect; return 0, 69 when a node did not answer, 65 when records were damaged."""
    plan = load_plan(arguments.plan)
    nodes = _chosen(arguments.node, list(plan.nodes))
    options = GatherOptions(
        Path(arguments.history),
        _remote(arguments.remote),
        _limit(arguments.limit),
        _at_once(arguments.at_once),
    )
    found = []
    for one in gather(nodes, options):
        found.append(one)
        if not arguments.quiet:
            print(f"{len(found)} of {len(nodes)}: {_sentence(one)}", file=sys.stderr, flush=True)
    found.sort(key=lambda gathered: nodes.index(gathered.node))
    coverage = cover(options.history, plan.nodes, time.time())
    thinned = tidy(options.history, time.time(), time.monotonic)
    _report(found, coverage, thinned, arguments)
    if any(gathered.trouble for gathered in found):
        return ToolError.exit_code
    return DocumentError.exit_code if any(gathered.damaged for gathered in found) else 0


def _chosen(wanted: Sequence[str], nodes: Sequence[str]) -> list[str]:
    unknown = [name for name in wanted if name not in nodes]
    if unknown:
        raise UsageError(f"{unknown[0]!r} is no node of the plan, which has {', '.join(nodes)}")
    return [name for name in nodes if not wanted or name in wanted]


def _remote(words: str) -> list[str]:
    try:
        argv = shlex.split(words)
    except ValueError as error:
        raise UsageError(f"--remote {words!r} is not understood: {error}") from error
    if not any("{node}" in word for word in argv):
        raise UsageError(f"--remote {words!r} does not say where {{node}} stands; add it")
    return argv


def _limit(text: str) -> float:
    seconds = parse_duration(text)
    if not 0 < seconds < 86400:
        raise UsageError(f"--limit {text} is no time to wait; write for example 2 min")
    return seconds


def _at_once(count: int) -> int:
    if not 1 <= count <= 256:
        raise UsageError(f"--at-once {count}: between 1 and 256 nodes can be asked at once")
    return count


def _report(
    found: Sequence[Gathered],
    coverage: Coverage,
    thinned: Optional[Thinned],
    arguments: argparse.Namespace,
) -> None:
    if arguments.json:
        document = {
            "schema": 1,
            "collected_at": time.time(),
            "history": arguments.history,
            "nodes": [gathered.to_json() for gathered in found],
            "coverage": coverage.to_json(),
            "thinned": thinned and thinned._asdict(),
        }
        print(json.dumps(document, allow_nan=False))
        return
    rows = [
        (gathered.node, str(gathered.new), str(gathered.cursor.seq), _remark(gathered))
        for gathered in found
    ]
    print(render(("node", "new", "cursor", "remark"), rows))
    silent = sum(bool(gathered.trouble) for gathered in found)
    print(
        f"{sum(gathered.new for gathered in found)} new records of {len(found) - silent} nodes; "
        f"{silent} did not answer"
    )
    for sentence in coverage.sentences():
        print(sentence)
    if thinned and thinned.runs:
        print(thinned.sentence())


def _sentence(gathered: Gathered) -> str:
    remark = _remark(gathered)
    return f"{gathered.node} {gathered.new} new" + (f"; {remark}" if remark else "")


def _remark(gathered: Gathered) -> str:
    remarks = []
    if gathered.trouble:
        remarks.append(f"no answer: {gathered.trouble}")
    if gathered.again:
        remarks.append("its history was begun again or restored; all of it was asked for")
    if abs(gathered.clock_s) > _CLOCK_OFF_S:
        way = "ahead" if gathered.clock_s > 0 else "behind"
        remarks.append(f"its clock is {format_duration(abs(gathered.clock_s))} {way}")
    if gathered.damaged:
        remarks.append(f"{len(gathered.damaged)} records left out, first: {gathered.damaged[0]}")
    if gathered.unsaid:
        remarks.append(f"without its symptoms: {gathered.unsaid}")
    if gathered.conditions:
        remarks.append(f"without its changes: {gathered.conditions}")
    if gathered.untaken:
        remarks.append(f"what is suspected of it did not arrive: {gathered.untaken}")
    return "; ".join(remarks)
