"""``plumbline submit``: hand verdicts to Nagios, all in one file, through its command pipe."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from plumbline.cli.output import remark, show
from plumbline.doors.batch import Batch, batch
from plumbline.judge.phrases import several
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.verdict import Judged
from plumbline.site.command_pipe import hand_over
from plumbline.site.documents import read_verdicts
from plumbline.site.nodes import without_collector
from plumbline.site.publish import judge_with_causes
from plumbline.store.plan import SitePlan, load_plan
from plumbline.store.replacing import replace_own

_WAIT_S = 10.0


def submit(arguments: argparse.Namespace) -> int:
    """Hand the verdicts over; return 0, or 65 when some of them have no service."""
    if bool(arguments.documents) is bool(arguments.history):
        raise UsageError("name either documents of plumbline judge --json, or --history")
    if arguments.json and arguments.batch == "-":
        raise UsageError("--json and --batch - would both write to standard output; choose one")
    if not 0 < arguments.wait < 86400:
        raise UsageError(f"--wait {arguments.wait:g} is no time to wait; write for example 10")
    with without_collector():
        plan = load_plan(arguments.plan)
        made = batch(_judged(plan, arguments), plan.services)
    _deliver(made, arguments)
    _report(made, plan, arguments)
    return DocumentError.exit_code if made.homeless else 0


def _judged(plan: SitePlan, arguments: argparse.Namespace) -> list[Judged]:
    if arguments.history:
        return judge_with_causes(plan, Path(arguments.history), time.time())
    return [judged for name in arguments.documents for judged in read_verdicts(name)]


def _deliver(made: Batch, arguments: argparse.Namespace) -> None:
    if arguments.batch == "-":
        sys.stdout.writelines(f"{line}\n" for line in made.lines)
    elif arguments.batch:
        _write(Path(arguments.batch), made)
    elif made.lines:
        pipe = Path(arguments.pipe)
        hand_over(made.lines, pipe, Path(arguments.spool or pipe.parent), arguments.wait)


def _write(path: Path, made: Batch) -> None:
    if path.exists() and not path.is_file():
        raise UsageError(f"--batch {path} is no file; a pipe is named with --pipe")
    text = "".join(f"{line}\n" for line in made.lines).encode("utf-8", "replace").decode()
    replace_own(path, text, mode=0o644)


def _report(made: Batch, plan: SitePlan, arguments: argparse.Namespace) -> None:
    """Say what was handed over on standard output, what was not on standard error."""
    homeless = [
        f"{judged.verdict.layer} {judged.verdict.component} of {judged.node}"
        for judged in made.homeless
    ]
    silent = [f"{service.description} of {service.host}" for service in made.silent]
    goal = arguments.batch or arguments.pipe
    document = {
        "to": goal,
        "results": len(made.lines),
        "states": {state.name: count for state, count in made.states.items()},
        "without_service": homeless,
        "without_verdict": silent,
    }
    counts = ", ".join(f"{count} {state.name}" for state, count in made.states.items())
    handed_over = f"{len(made.lines)} of {len(plan.services)} services to {goal}: {counts}"
    lines = [] if goal == "-" else [handed_over]
    lines += [f"without a verdict: {several(silent)}"] if silent else []
    show(arguments, document, lines)
    if homeless:
        remark(
            f"{len(homeless)} verdicts have no service in {plan.path} and were not handed over: "
            f"{several(homeless)}; write the plan again and deploy the role nagios"
        )
