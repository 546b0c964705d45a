"""State and recent rates of each component, on a node or at a whole site.

What a group has lost as one none of its members shows, so groups that are not OK are lines as well.
"""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.expectation import Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.series import Sample, Snapshot
from plumbline.model.trend import Course
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State, Verdict
from plumbline.site.judge import judge_site
from plumbline.site.nodes import Judging
from plumbline.store.collection import Unanswered
from plumbline.store.plan import SitePlan
from plumbline.store.trends import Pictures

_BACK_DAYS = 60


class Line(NamedTuple):
    """One component; ``rates`` maps each step, such as ``write``, to its rates, oldest first.

    A group that is not OK is a line without rates.
    """

    verdict: Verdict
    rates: Mapping[str, Sequence[float]]

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        rates = {
            step: [None if isnan(rate) else rate for rate in found]
            for step, found in self.rates.items()
        }
        verdict = self.verdict
        return {
            "state": verdict.state.name,
            "layer": verdict.layer,
            "component": verdict.component,
            "group": verdict.group,
            "sentence": verdict.sentence,
            "rates_Bps": rates,
        }


def status_of_node(expectations: Expectations, snapshot: Snapshot, now: float) -> list[Line]:
    """Return what a node knows of each component that it measures."""
    chosen = expectations.every()
    judging = Judging(snapshot, snapshot, now, evidence=False)
    lines = []
    for each, verdict in zip(chosen, judging.components(chosen)):
        samples: dict[str, list[Sample]] = {}
        for series in snapshot.of(each.layer, each.component):
            step = _step(series.latest.operation.value, series.latest.scenario.value)
            samples.setdefault(step, []).extend(series.samples)
        rates = {step: _in_time(found) for step, found in samples.items()}
        lines.append(Line(verdict, rates))
    return [*lines, *_groups(judging.groups(chosen))]


def _in_time(samples: Iterable[Sample]) -> list[float]:
    """Return the rates of a component with all its partners, oldest first."""
    ordered = sorted(samples, key=lambda sample: sample.started_at)
    return [nan if sample.rate_Bps is None else sample.rate_Bps for sample in ordered]


class Status(NamedTuple):
    """States of the components of a site, and its nodes that did not answer lately."""

    lines: Sequence[Line]
    unanswered: Sequence[Unanswered]


def status_of_site(plan: SitePlan, history: Path, now: float) -> Status:
    """Return what the history of a site knows of each component.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the plan is damaged.
    """
    judged = [verdict.verdict for verdict in judge_site(plan, history, now, members=True)]
    with Pictures(history, now - _BACK_DAYS * DAY_S) as pictures:
        rates = _by_component(pictures.courses())
        silent = [node for node in pictures.unanswered() if node.node in plan.nodes]
    verdicts: Sequence[Verdict] = [verdict for verdict in judged if not verdict.group]
    lines = [
        Line(verdict, rates.get((verdict.layer, verdict.component), {})) for verdict in verdicts
    ]
    return Status([*lines, *_groups(judged)], silent)


def _groups(judged: Iterable[Verdict]) -> Iterator[Line]:
    """Yield a line for each group that is not OK; that of the layer ``fs`` is a component too."""
    for verdict in judged:
        if (
            verdict.group
            and not LAYERS[verdict.layer].whole
            and verdict.counts
            and verdict.state is not State.OK
        ):
            yield Line(verdict, {})


def _by_component(courses: Iterable[Course]) -> dict[tuple[str, str], dict[str, list[float]]]:
    moments: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = {}
    for course in courses:
        steps = moments.setdefault((course.layer, course.component), {})
        points = steps.setdefault(_step(course.operation, course.scenario), [])
        points.extend(zip(course.times, course.rates))
    return {
        place: {step: [rate for _, rate in sorted(points)] for step, points in steps.items()}
        for place, steps in moments.items()
    }


def _step(operation: str, scenario: str) -> str:
    return operation if scenario == "single" else f"{operation} {scenario}"
