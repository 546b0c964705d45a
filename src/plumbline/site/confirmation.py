"""Confirmation of low rates on this node: what is due, and one run after another of it.

A timer confirms low rates with healthy peers; it ends at once if there is nothing to confirm.  All
its state is in the history, so it continues after a kill.
"""

from __future__ import annotations

import time
from typing import NamedTuple, Sequence

from plumbline.judge import confirm as confirming
from plumbline.measure.process import is_running
from plumbline.measure.units import units_of
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectations
from plumbline.site.measure import Result, RunOptions, measure, run_id_at
from plumbline.site.nodes import SiteJudgement, plan_of_node
from plumbline.store.facts import node_suspicions
from plumbline.store.history import History


class Confirmation(NamedTuple):
    """Confirmation at one time: suspicious components, due runs, remaining bytes.

    ``trouble`` is the reason why the console's suspicions are unknown, empty if they are known.
    """

    queue: Sequence[confirming.QueuePlace]
    due: Sequence[confirming.Turn]
    left_bytes: float
    trouble: str = ""


def confirmation(
    expectations: Expectations, layer: str, history: History, now: float
) -> Confirmation:
    """Return the confirmation due at ``now``, in epoch seconds; raise as ``History`` does."""
    entries = expectations.find(layer)
    judged = SiteJudgement(plan_of_node(expectations), history, now)
    suspected, trouble = _suspected(history, layer, now)
    component = judged.judging(expectations.node).component
    state = confirming.Layer(entries, component, judged.weighing, suspected)
    oldest_s = max(entry.limits.stale_after_s for entry in entries)
    past = confirming.PastRuns(
        [run for run in history.confirmed(layer) if run.at <= now],
        history.planned_at(layer, now - oldest_s, now),
    )
    queue = confirming.places(confirming.find_candidates(state), past, now)
    left_bytes = confirming.remaining_bytes(entries[0], past.measured, now)
    turns = confirming.turns(state, queue, past, now)
    return Confirmation(queue, turns, left_bytes, trouble)


def _suspected(history: History, layer: str, now: float) -> tuple[dict[str, float], str]:
    """Return a console's suspicions and an error; damaged ones do not prevent confirmation."""
    try:
        return node_suspicions(history.path.parent, layer, now), ""
    except DocumentError as error:
        return {}, str(error)


def busy_components(history: History) -> list[str]:
    """Return the components that another run is measuring."""
    return [run.component for run in history.running() if run.process and is_running(run.process)]


def confirm(
    expectations: Expectations, layer: str, history: History, options: RunOptions
) -> list[Result]:
    """Carry out one run after another until none is due or the limit is reached.

    ``options`` apply to every run; raises as ``measure`` does.
    """
    deadline = None if options.limit_s is None else time.monotonic() + options.limit_s
    results: list[Result] = []
    while deadline is None or time.monotonic() < deadline:
        now = time.time()
        queue = confirmation(expectations, layer, history, now)
        if not queue.due:
            break
        turn = queue.due[0]
        run_id = f"{run_id_at(now)}-{len(results)}"
        history.begin_confirmation(turn.entries(run_id, now))
        limit_s = None if deadline is None else max(0.0, deadline - time.monotonic())
        units = units_of(layer, turn.steps)
        run = options._replace(limit_s=limit_s, run_id=run_id)
        results.append(measure(expectations, units, history, run))
        if results[-1].interrupted:
            break
    return results
