"""check_symptoms: arguments, and the verdict on one kind of a node's parts."""

from __future__ import annotations

import os

from plumbline.doors.runtime import run_check
from plumbline.judge.symptoms import JudgedLook, judge_kind, judge_looks
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.service import SYMPTOMS as LAYER
from plumbline.model.symptom import KINDS, REMEDY, title
from plumbline.model.units import format_duration
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.store.verdicts import COMMANDS, SYMPTOMS, load_report

if TYPE_CHECKING:
    from typing import NoReturn, Optional, Sequence

    from plumbline.doors.runtime import Call

STALE_AFTER_S = 3600.0
"""Age at which a look is stale, unless the plan sets another."""

_LONGEST_S = 1e8

_HELP = """\
{program} {version}: show signs of faults in hardware and kernel of this node

usage: {program} [--kind KIND] [options]

  -k, --kind KIND       one of {kinds};
                        without it: whether this node is looked at at all
  --node NAME           the node whose symptoms these must be, default any
  --stale-after SECONDS UNKNOWN when the last look is older, default {stale:g}
  -t, --timeout SECONDS UNKNOWN when it takes longer, default {timeout:g}
  -v, --verbose         show each symptom, and what was looked at
  --document FILE       default {document}
  --commands FILE       as old as the deployment: a node without a look may wait for
                        its first one so long, default {commands}
  -V, --version         show the version
  -h, --help            show this help

Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.  It reads the document and nothing else."""


def run(argv: Sequence[str]) -> NoReturn:
    """Print the verdict for ``argv``, which begins with the program's name; end the process."""
    kinds = ", ".join(KINDS)
    defaults = {"kinds": kinds, "stale": STALE_AFTER_S, "document": SYMPTOMS, "commands": COMMANDS}
    run_check(argv, _HELP, _judged, **defaults)


def _kind(call: Call) -> str:
    kind = call.options.get("--kind", "")
    if "--kind" in call.options and kind not in KINDS:
        raise UsageError(f"--kind {kind!r} is unknown; write one of {', '.join(KINDS)}")
    return kind


def _judged(call: Call, now: float) -> Verdict:
    kind = _kind(call)
    path = call.options.get("--document", SYMPTOMS)
    limit_s = call.number("--stale-after", "seconds", STALE_AFTER_S, _LONGEST_S)
    node = call.options.get("--node", "")
    try:
        report = load_report(path)
    except DocumentError as error:
        since = _waiting_since(call, error, now - limit_s)
        if kind or since is None:
            raise
        text = f"waits for the first look, deployed {format_duration(max(0.0, now - since))} ago"
        name = title(node or "this node")
        return Verdict(LAYER, name, State.OK, Reason.NEVER_MEASURED, f"{name} {text}")
    if node and report.node != node:
        raise DocumentError(f"{path} has the symptoms of {report.node}, not of {node}; {REMEDY}")
    look = JudgedLook(report, now, limit_s)
    return judge_kind(look, kind) if kind else judge_looks(look)


def _waiting_since(call: Call, error: DocumentError, earliest: float) -> Optional[float]:
    """Return the epoch seconds of deployment of a node without a look; None if before earliest."""
    if not isinstance(error.__cause__, FileNotFoundError):
        return None
    try:
        since = os.stat(call.options.get("--commands", COMMANDS)).st_mtime
    except OSError:
        return None
    return since if since >= earliest else None
