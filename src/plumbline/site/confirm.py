"""Measure again what was low, beside healthy peers.

A timer calls this.  It ends at once where nothing is in question, and takes all that it must know
from the history: whatever was killed before, it goes on from there.
"""

from __future__ import annotations

import time
from typing import NamedTuple, Sequence

from plumbline.judge.component import judge_service
from plumbline.judge.confirm import (
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
from plumbline.measure.process import goes_on
from plumbline.measure.units import units_of
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.verdict import Verdict
from plumbline.site.measure import Result, RunOptions, measure, run_id_at
from plumbline.site.nodes import remembered
from plumbline.store.facts import suspected_here
from plumbline.store.history import History
from plumbline.store.ledgers import Confirmed


class Moment(NamedTuple):
    """Confirmation at one time: components in question, runs that are due, bytes left to move.

    ``trouble`` says why nothing is known of the console's suspicions, empty where they are known.
    """

    layer: Layer
    queue: Sequence[Place]
    due: Sequence[Turn]
    left_bytes: float
    trouble: str = ""


def look(
    expectations: Expectations, layer: str, kept: tuple[History, Confirmed], now: float
) -> Moment:
    """Return what can be said at a moment in epoch seconds; raise as histories do."""
    history, confirmed = kept
    entries = expectations.find(layer)
    _, _, memory, weighing = remembered(expectations, history)

    def verdict(entry: Expectation) -> Verdict:
        series = memory.of(entry.layer, entry.component)
        return judge_service(entry, series, (), now, weighing.evidence(entry.subject))

    suspected, trouble = _suspected(history, layer, now)
    of = Layer(entries, verdict, weighing, suspected)
    oldest_s = max(entry.limits.stale_after_s for entry in entries)
    past = Past(
        [run for run in confirmed.measured(layer) if run.at <= now],
        confirmed.planned_at(layer, now - oldest_s, now),
    )
    queue = places(wanted(of), past, now)
    left = bytes_left(entries[0], past.measured, now)
    return Moment(of, queue, turns(of, queue, past, now), left, trouble)


def _suspected(history: History, layer: str, now: float) -> tuple[dict[str, float], str]:
    """Return what a console suspects here; damaged, it keeps nobody from being measured again."""
    try:
        return suspected_here(history.path.parent, layer, now), ""
    except DocumentError as error:
        return {}, str(error)


def busy(history: History) -> list[str]:
    """Return what another run measures at this moment."""
    return [run.component for run in history.running() if run.process and goes_on(run.process)]


def confirm(
    expectations: Expectations, layer: str, kept: tuple[History, Confirmed], options: RunOptions
) -> list[Result]:
    """Carry out one run after another until none is due or the limit is reached.

    ``options`` are those of every run; raises as ``measure`` does.
    """
    deadline = None if options.limit_s is None else time.monotonic() + options.limit_s
    results: list[Result] = []
    while deadline is None or time.monotonic() < deadline:
        now = time.time()
        moment = look(expectations, layer, kept, now)
        if not moment.due:
            break
        turn = moment.due[0]
        run_id = f"{run_id_at(now)}-{len(results)}"
        kept[1].begin(moved(turn, run_id, now, moment.layer))
        limit_s = None if deadline is None else max(0.0, deadline - time.monotonic())
        units = units_of(layer, steps_of(turn, moment.layer))
        run = options._replace(limit_s=limit_s, run_id=run_id)
        results.append(measure(expectations, units, kept[0], run))
        if results[-1].interrupted:
            break
    return results
