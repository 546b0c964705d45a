"""Confirm the due targets: measure low ones again between two planned runs."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Mapping, Sequence

from plumbline.cli.measuring import history_of_run, run_options
from plumbline.cli.options import deployed
from plumbline.cli.output import say
from plumbline.cli.progress import end, verdict_table
from plumbline.judge.confirm import QueuePlace
from plumbline.judge.phrases import odds
from plumbline.model.names import several
from plumbline.model.units import format_bytes
from plumbline.model.verdict import worst
from plumbline.site.confirmation import Confirmation, busy_components, confirm, confirmation
from plumbline.site.measure import Result
from plumbline.store.files import DATABASE
from plumbline.store.history import History

_NOTHING = "nothing to confirm"


def probe(arguments: argparse.Namespace) -> int:
    """Confirm the due targets, print the verdicts, and return the worst state."""
    expectations = deployed(arguments)
    path = Path(arguments.state) / DATABASE
    if not path.exists():
        say(f"{_NOTHING}: history {path}: nothing was measured here yet")
        return 0
    if arguments.dry_run:
        with History(path) as history:
            say(*_queue(confirmation(expectations, arguments.layer, history, time.time())))
        return 0
    with history_of_run(arguments) as history:
        if busy := busy_components(history):
            say(f"another run measures {several(busy)}; the next moment of the timer confirms")
            return 0
        options = run_options(arguments, keep_files=True)
        return _print_confirmed(confirm(expectations, arguments.layer, history, options))


def _queue(moment: Confirmation) -> list[str]:
    """Return the queue as text: each suspicious target, the reason, and the next step."""
    troubles = [moment.trouble] if moment.trouble else []
    if not moment.queue:
        return [*troubles, _NOTHING]
    controls = {
        target.component: several([expectation.component for expectation in turn.controls])
        or "nobody"
        for turn in moment.due
        for target in turn.targets
    }
    lines = [_line(place, controls) for place in moment.queue]
    allowed = format_bytes(round(max(0.0, moment.left_bytes)))
    return [*troubles, *lines, f"{allowed} can be moved now"]


def _line(queued: QueuePlace, controls: Mapping[str, str]) -> str:
    candidate = queued.candidate
    name, evidence = candidate.entry.component, candidate.evidence
    progress = f"{queued.runs} of {candidate.entry.confirm.runs} runs"
    if queued.obstacle:
        plan = f"waits: {queued.obstacle}"
    elif name in controls:
        plan = f"measured now beside {controls[name]}"
    else:
        plan = "waits: the bytes of confirmation are used up"
    return f"{name}: odds {odds(evidence.odds)} to 1, {progress}, {plan}; {candidate.sentence}"


def _print_confirmed(results: Sequence[Result]) -> int:
    verdicts = [verdict for result in results for verdict in result.verdicts]
    if not results:
        say(_NOTHING)
        return 0
    say(*verdict_table(*results))
    codes = [end(result) for result in results if result.busy or result.interrupted]
    return codes[0] if codes else int(worst(verdict.state for verdict in verdicts))
