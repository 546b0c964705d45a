"""``plumbline probe LAYER --confirm``: measure again what was low, beside healthy peers.

A timer calls it.  It ends at once where nothing is in question, and takes all that it must know
from the history: whatever was killed before, it goes on from there.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Mapping, NamedTuple, Optional, Sequence

from plumbline.cli.progress import progress
from plumbline.cli.results import end
from plumbline.errors import UsageError
from plumbline.judge.component import judge_service
from plumbline.judge.confirm import (
    LAYERS,
    Layer,
    Past,
    Place,
    Turn,
    bytes_left,
    moved,
    places,
    steps_of,
    turns,
    wanted,
)
from plumbline.judge.phrases import odds, several
from plumbline.judge.weighing import Weighing
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.state import worst
from plumbline.model.verdict import Verdict
from plumbline.run.clock import SystemClock
from plumbline.run.lock import Locks
from plumbline.run.process import goes_on
from plumbline.run.units import units_of
from plumbline.site.measure import Manner, Result, measure, run_id_at
from plumbline.store.confirmed import Confirmed
from plumbline.store.history import History
from plumbline.store.places import DATABASE, SNAPSHOT_FILE
from plumbline.store.recent import Recent, groups_of
from plumbline.units import format_bytes, parse_duration

_NOTHING = "nothing to confirm"


class Moment(NamedTuple):
    """What can be said now: who is in question, which runs are due, and what is left to move."""

    layer: Layer
    queue: Sequence[Place]
    due: Sequence[Turn]
    left_bytes: float


def refuse_confirm(arguments: argparse.Namespace) -> None:
    """Refuse what makes no sense beside ``--confirm``; raise UsageError."""
    if arguments.layer not in LAYERS:
        raise UsageError(
            f"--confirm measures single targets and devices again; layer {arguments.layer} has "
            f"none: call plumbline probe {' or '.join(LAYERS)}"
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
        if arguments.dry_run:
            print(show(look(expectations, arguments.layer, (history, confirmed), time.time())))
            return 0
        busy = [one.component for one in history.running() if one.process and goes_on(one.process)]
        if busy:
            print(f"another run measures {several(busy)}; the next moment of the timer confirms")
            return 0
        return _print(_runs(expectations, arguments, (history, confirmed)))


def look(
    expectations: Expectations, layer: str, kept: tuple[History, Confirmed], now: float
) -> Moment:
    """Return what can be said at a moment in epoch seconds; raise as histories do."""
    history, confirmed = kept
    entries = expectations.find(layer)
    expected = expectations.every()
    memory = Recent(history, groups_of(expected))
    known = Weighing({expectations.node: expected}, {expectations.node: memory})

    def verdict(entry: Expectation) -> Verdict:
        series = memory.of(entry.layer, entry.component)
        return judge_service(entry, series, (), now, known.evidence(entry.subject))

    of = Layer(entries, verdict, known)
    oldest_s = max(entry.limits.stale_after_s for entry in entries)
    past = Past(
        [one for one in confirmed.measured(layer) if one.at <= now],
        confirmed.planned_at(layer, now - oldest_s, now),
    )
    queue = places(wanted(of), past, now)
    return Moment(
        of, queue, turns(of, queue, past, now), bytes_left(entries[0], past.measured, now)
    )


def show(moment: Moment) -> str:
    """Return the queue in words: who is in question, why, and what happens next."""
    if not moment.queue:
        return _NOTHING
    beside = {
        target.component: several([one.component for one in turn.controls]) or "nobody"
        for turn in moment.due
        for target in turn.targets
    }
    lines = [_line(place, beside) for place in moment.queue]
    left = format_bytes(round(max(0.0, moment.left_bytes)))
    return "\n".join([*lines, f"{left} can be moved now"])


def _line(place: Place, beside: Mapping[str, str]) -> str:
    one, terms = place.wanted, place.wanted.entry.confirm
    name = one.entry.component
    after = f"{place.runs} of {terms.runs} runs"
    if place.obstacle:
        what = f"waits: {place.obstacle}"
    elif name in beside:
        what = f"measured now beside {beside[name]}"
    else:
        what = "waits: the bytes of confirmation are used up"
    return f"{name}: odds {odds(one.known.odds)} to 1, {after}, {what}; {one.sentence}"


def _runs(
    expectations: Expectations,
    arguments: argparse.Namespace,
    kept: tuple[History, Confirmed],
) -> list[Result]:
    """Carry out one run after another until none is due."""
    deadline = _deadline(arguments.limit)
    found: list[Result] = []
    while deadline is None or time.monotonic() < deadline:
        now = time.time()
        moment = look(expectations, arguments.layer, kept, now)
        if not moment.due:
            break
        turn = moment.due[0]
        run_id = f"{run_id_at(now)}-{len(found)}"
        kept[1].begin(moved(turn, run_id, now, moment.layer))
        manner = Manner(
            locks=Locks(Path(arguments.locks), SystemClock()),
            snapshot=Path(arguments.state) / SNAPSHOT_FILE,
            progress=partial(progress, arguments.quiet),
            limit_s=None if deadline is None else max(0.0, deadline - time.monotonic()),
            run_id=run_id,
        )
        units = units_of(arguments.layer, steps_of(turn, moment.layer))
        found.append(measure(expectations, units, kept[0], manner))
        if found[-1].interrupted:
            break
    return found


def _deadline(limit: Optional[str]) -> Optional[float]:
    return time.monotonic() + parse_duration(limit) if limit else None


def _print(results: Sequence[Result]) -> int:
    from plumbline.output.table import render

    verdicts = [verdict for result in results for verdict in result.verdicts]
    if not results:
        print(_NOTHING)
        return 0
    print(render(("state", "verdict"), [(one.state.name, one.sentence) for one in verdicts]))
    codes = [end(result) for result in results if result.busy or result.interrupted]
    return codes[0] if codes else int(worst(one.state for one in verdicts))
