"""``plumbline probe LAYER --confirm``: measure again what was low, beside healthy peers."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Mapping, Sequence

from plumbline.cli.progress import progress
from plumbline.cli.results import end
from plumbline.errors import UsageError
from plumbline.judge.confirm import Place
from plumbline.judge.phrases import odds, several
from plumbline.layers import GROUPED
from plumbline.model.expectation import Expectations
from plumbline.model.state import worst
from plumbline.run.clock import SystemClock
from plumbline.run.lock import Locks
from plumbline.site import confirm as use_case
from plumbline.site.measure import Result
from plumbline.site.verdicts import published_by
from plumbline.store.confirmed import Confirmed
from plumbline.store.history import History
from plumbline.store.places import DATABASE, EXPECTATIONS
from plumbline.units import format_bytes, parse_duration

_NOTHING = "nothing to confirm"


def refuse_confirm(arguments: argparse.Namespace) -> None:
    """Refuse what makes no sense beside ``--confirm``; raise UsageError."""
    if arguments.layer not in GROUPED:
        raise UsageError(
            f"--confirm measures single targets and devices again; layer {arguments.layer} has "
            f"none: call plumbline probe {' or '.join(GROUPED)}"
        )
    beside = {
        "--component": arguments.component,
        "--directory": arguments.directory,
        "--another-client": arguments.another_client,
        "--json": arguments.json,
    }
    for option, given in beside.items():
        if given:
            raise UsageError(f"--confirm chooses what it measures; leave out {option}")


def confirm(expectations: Expectations, arguments: argparse.Namespace) -> int:
    """Measure what is due, print the verdicts, and return the worst of them."""
    path = Path(arguments.state) / DATABASE
    if not path.exists():
        print(f"{_NOTHING}: history {path}: nothing was measured here yet")
        return 0
    with History(path) as history, Confirmed(path) as confirmed:
        kept = history, confirmed
        if arguments.dry_run:
            print(show(use_case.look(expectations, arguments.layer, kept, time.time())))
            return 0
        if busy := use_case.busy(history):
            print(f"another run measures {several(busy)}; the next moment of the timer confirms")
            return 0
        terms = use_case.Terms(
            Path(arguments.state),
            Locks(Path(arguments.locks), SystemClock()),
            partial(progress, arguments.quiet),
            parse_duration(arguments.limit) if arguments.limit else None,
            published_by(arguments.expectations or EXPECTATIONS, Path(arguments.state)),
        )
        return _print(use_case.confirm(expectations, arguments.layer, kept, terms))


def show(moment: use_case.Moment) -> str:
    """Return the queue in words: who is in question, why, and what happens next."""
    trouble = [moment.trouble] if moment.trouble else []
    if not moment.queue:
        return "\n".join([*trouble, _NOTHING])
    beside = {
        target.component: several([one.component for one in turn.controls]) or "nobody"
        for turn in moment.due
        for target in turn.targets
    }
    lines = [_line(place, beside) for place in moment.queue]
    left = format_bytes(round(max(0.0, moment.left_bytes)))
    return "\n".join([*trouble, *lines, f"{left} can be moved now"])


def _line(queued: Place, beside: Mapping[str, str]) -> str:
    one, terms = queued.wanted, queued.wanted.entry.confirm
    name = one.entry.component
    after = f"{queued.runs} of {terms.runs} runs"
    if queued.obstacle:
        what = f"waits: {queued.obstacle}"
    elif name in beside:
        what = f"measured now beside {beside[name]}"
    else:
        what = "waits: the bytes of confirmation are used up"
    return f"{name}: odds {odds(one.known.odds)} to 1, {after}, {what}; {one.sentence}"


def _print(results: Sequence[Result]) -> int:
    from plumbline.output.table import render

    verdicts = [verdict for result in results for verdict in result.verdicts]
    if not results:
        print(_NOTHING)
        return 0
    print(render(("state", "verdict"), [(one.state.name, one.sentence) for one in verdicts]))
    codes = [end(result) for result in results if result.busy or result.interrupted]
    return codes[0] if codes else int(worst(one.state for one in verdicts))
