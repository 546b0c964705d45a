"""What was measured around a moment of the past, and what was known of it then."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Collection, Iterator

from plumbline.model.state import State
from plumbline.model.verdict import Verdict
from plumbline.report.past import Past
from plumbline.report.past_runs import PastRun, Probed
from plumbline.site.judging import Judging
from plumbline.site.nodes import remembered, require
from plumbline.store.past import MOST_RUNS, Began, PastHistory
from plumbline.store.plan import SitePlan

_Place = tuple[str, str]
"""Layer and component."""


def probed(plan: SitePlan, history: Path, past: Past, thinned_until: str) -> Probed:
    """Return the measurements of a time with the verdicts that they led to.

    ``thinned_until`` is the last day, as ISO date in UTC, of which daily figures are all that is
    left; empty without any.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the expectations of a node are damaged.
    """
    require(history)
    with PastHistory(history, past.end) as kept:
        began = kept.since(past.begin)
        places = {(one.layer, one.component) for one in began}
        nodes = dict(_nodes(plan, places))
        verdicts = dict(_verdicts(plan, kept, places, past.end))
    runs = [_run(one, nodes, verdicts) for one in began]
    return Probed(runs, _remark(past, runs, thinned_until))


def _nodes(plan: SitePlan, places: Collection[_Place]) -> Iterator[tuple[_Place, str]]:
    for name, node in plan.nodes.items():
        for entry in node.entries:
            place = entry["layer"], entry["component"]
            if place in places:
                yield place, name


def _verdicts(
    plan: SitePlan, kept: PastHistory, places: Collection[_Place], at: float
) -> Iterator[tuple[_Place, Verdict]]:
    """Yield the verdicts on components at a moment, of the nodes that measured any of them."""
    for node in plan.nodes.values():
        if not any((one["layer"], one["component"]) in places for one in node.entries):
            continue
        _, chosen, memory, known = remembered(node, kept)
        measured = [one for one in chosen if (one.layer, one.component) in places]
        for verdict in Judging(memory, known, at, evidence=False).components(measured):
            yield (verdict.layer, verdict.component), verdict


def _run(began: Began, nodes: dict[_Place, str], verdicts: dict[_Place, Verdict]) -> PastRun:
    place = began.layer, began.component
    step = began.operation if began.scenario == "single" else f"{began.operation} {began.scenario}"
    verdict = verdicts.get(place)
    return PastRun(
        *place,
        f"{step} with {began.partner}" if began.partner else step,
        nodes.get(place, ""),
        began.started_at,
        began.outcome,
        began.rate_Bps,
        began.coverage,
        verdict.state if verdict else State.UNKNOWN,
        verdict.sentence if verdict else "not in the plan of today",
    )


def _remark(past: Past, runs: list[PastRun], thinned_until: str) -> str:
    if len(runs) == MOST_RUNS:
        return f"The first {MOST_RUNS} of this time are shown."
    day = datetime.fromtimestamp(past.begin, timezone.utc).date().isoformat()
    if not runs and day <= thinned_until:
        return f"up to {thinned_until} a day may be one figure, its runs are not kept any longer"
    return ""
