"""Verbs of a console: collect, submit."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path
from typing import Iterator, Optional, Sequence

from plumbline.cli.output import note, remark, show
from plumbline.doors.batch import Batch, batch
from plumbline.doors.table import render
from plumbline.model.errors import DocumentError, ToolError, UsageError
from plumbline.model.names import several
from plumbline.model.units import format_duration
from plumbline.site.command_pipe import hand_over
from plumbline.site.cover import Coverage, cover
from plumbline.site.documents import read_verdicts
from plumbline.site.gather import GatherOptions, NodeResult, gather, tidy
from plumbline.site.kept import Answers, answers
from plumbline.site.scope import Scopes
from plumbline.site.shared import keep_sums
from plumbline.store.history import Thinned
from plumbline.store.plan import load_plan, without_collector
from plumbline.store.replacing import replace_own

_CLOCK_OFF_S = 60.0


def collect(arguments: argparse.Namespace) -> int:
    """Collect; return 0, 69 if a node did not answer, 65 if something was left out."""
    plan, history = load_plan(arguments.plan), Path(arguments.history)
    if unknown := [name for name in arguments.node if name not in plan.nodes]:
        raise UsageError(
            f"{unknown[0]!r} is no node of the plan, which has {', '.join(plan.nodes)}"
        )
    nodes = [name for name in plan.nodes if not arguments.node or name in arguments.node]
    results = []
    for result in gather(nodes, Scopes(plan.nodes), _options(arguments, history)):
        results.append(result)
        if not arguments.quiet:
            text = "; ".join([f"{result.node} {result.new} new", *_remarks(result)])
            note(f"{len(results)} of {len(nodes)}: {text}")
    results.sort(key=lambda result: nodes.index(result.node))
    keep_sums(history, plan.nodes, time.time())
    coverage = cover(history, plan.nodes, time.time())
    thinned = tidy(history, time.time(), time.monotonic)
    document = {
        "schema": 1,
        "collected_at": time.time(),
        "history": arguments.history,
        "nodes": results,
        "coverage": coverage,
        "thinned": thinned,
    }
    show(arguments, document, _collected_lines(results, coverage, thinned))
    if any(result.trouble for result in results):
        return ToolError.exit_code
    left_out = any(result.damaged or result.left_out for result in results)
    return DocumentError.exit_code if left_out else 0


def _options(arguments: argparse.Namespace, history: Path) -> GatherOptions:
    """Return the options of collecting; raise UsageError if they are impossible."""
    words = arguments.remote
    try:
        command = shlex.split(words)
    except ValueError as error:
        raise UsageError(f"--remote {words!r} is not understood: {error}") from error
    if not any("{node}" in word for word in command):
        raise UsageError(f"--remote {words!r} does not say where {{node}} stands; add it")
    return GatherOptions(history, command, arguments.limit, arguments.at_once)


def _collected_lines(
    results: Sequence[NodeResult], coverage: Coverage, thinned: Optional[Thinned]
) -> Iterator[str]:
    rows = [
        (result.node, str(result.new), str(result.cursor.seq), "; ".join(_remarks(result)))
        for result in results
    ]
    yield render(("node", "new", "cursor", "text"), rows)
    failed = sum(bool(result.trouble) for result in results)
    yield (
        f"{sum(result.new for result in results)} new records of {len(results) - failed} nodes; "
        f"{failed} did not answer"
    )
    yield from coverage.sentences()
    if thinned and thinned.runs:
        yield thinned.sentence()


def _remarks(result: NodeResult) -> list[str]:
    remarks = []
    if result.trouble:
        remarks.append(f"no answer: {result.trouble}")
    if result.again:
        remarks.append("its history is new or was restored, so all of it was requested")
    if abs(result.clock_s) > _CLOCK_OFF_S:
        way = "ahead" if result.clock_s > 0 else "behind"
        remarks.append(f"its clock is {format_duration(abs(result.clock_s))} {way}")
    if result.damaged:
        remarks.append(f"{len(result.damaged)} records left out, first: {result.damaged[0]}")
    remarks += result.left_out
    if result.waiting:
        remarks.append(result.waiting)
    for consequence, reason in (
        ("without its symptoms", result.unsaid),
        ("without its changes", result.conditions),
        ("what is suspected of it did not arrive", result.untaken),
    ):
        if reason:
            remarks.append(f"{consequence}: {reason}")
    return remarks


def submit(arguments: argparse.Namespace) -> int:
    """Hand the verdicts over; return 0, or 65 if a verdict has no service."""
    if bool(arguments.documents) is bool(arguments.history):
        raise UsageError("name either documents of plumbline judge --json, or --history")
    if arguments.json and arguments.batch == "-":
        raise UsageError("--json and --batch - would both write to standard output; choose one")
    with without_collector():
        judged, services = _answers(arguments)
        results = batch(judged, services)
    _deliver(results, arguments)
    _report_batch(results, arguments)
    return DocumentError.exit_code if results.without_service else 0


def _answers(arguments: argparse.Namespace) -> Answers:
    if arguments.history:
        return answers(arguments.plan, Path(arguments.history), time.time())
    services = load_plan(arguments.plan).services
    judged = [judged for name in arguments.documents for judged in read_verdicts(name)]
    return Answers(judged, services)


def _deliver(results: Batch, arguments: argparse.Namespace) -> None:
    if arguments.batch == "-":
        sys.stdout.writelines(f"{line}\n" for line in results.lines)
    elif arguments.batch:
        _write(Path(arguments.batch), results)
    elif results.lines:
        pipe = Path(arguments.pipe)
        hand_over(results.text, pipe, Path(arguments.spool or pipe.parent), arguments.wait)


def _write(path: Path, results: Batch) -> None:
    if path.exists() and not path.is_file():
        raise UsageError(f"--batch {path} is no file; a pipe is named with --pipe")
    replace_own(path, results.text, mode=0o644)


def _report_batch(results: Batch, arguments: argparse.Namespace) -> None:
    """Print the results handed over on standard output, and all others on standard error."""
    no_service = [
        f"{judged.verdict.layer} {judged.verdict.component} of {judged.node}"
        for judged in results.without_service
    ]
    no_verdict = [f"{service.description} of {service.host}" for service in results.without_verdict]
    path = arguments.batch or arguments.pipe
    document = {
        "to": path,
        "results": len(results.lines),
        "states": {state.name: count for state, count in results.states.items()},
        "without_service": no_service,
        "without_verdict": no_verdict,
    }
    counts = ", ".join(f"{count} {state.name}" for state, count in results.states.items())
    handed_over = f"{len(results.lines)} of {results.services} services to {path}: {counts}"
    lines = [] if path == "-" else [handed_over]
    lines += [f"without a verdict: {several(no_verdict)}"] if no_verdict else []
    show(arguments, document, lines)
    if no_service:
        remark(
            f"{len(no_service)} verdicts have no service in {arguments.plan} and were not handed "
            f"over: {several(no_service)}; write the plan again and deploy the role nagios"
        )
