"""Everything measured around a moment of the past, from history and Prometheus.

``plumbline counters`` gives it the counters of Lustre and LNet.  ``rate`` sees those that begin
again at 0, and a sum over hosts follows a target that fails over.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Callable, Collection, Iterator, NamedTuple, Sequence

from plumbline.judge.phrases import moment, several
from plumbline.model.errors import ToolError
from plumbline.model.verdict import State, Verdict
from plumbline.observe.counters import (
    BYTES,
    LNET_BYTES,
    LOOKED,
    OPERATIONS,
    RECOVERY,
    SECONDS,
    SETTLED,
)
from plumbline.report.moment import (
    LATENCY,
    MOVED,
    OTHERS,
    READ,
    REQUESTS,
    WRITE,
    Chart,
    Column,
    Line,
    Past,
    PastRun,
    Probed,
)
from plumbline.site.nodes import Judging, remembered, require
from plumbline.site.prometheus import Curve, Prometheus, Span
from plumbline.store.plan import SitePlan
from plumbline.store.recent import MOST_RUNS, Began, PastHistory

STEP_S = 60.0
BEFORE_S = AFTER_S = 1800.0
_WINDOW = "[2m]"
"""Of a rate: it needs two scrapes."""

_MOST = 5
"""Of each kind by each figure: those of the moment, and those of the hour."""

_MOST_RECOVERING = 30
_PATIENCE_S = 120.0
"""For all questions together: a report is drawn all the same."""


class _Kind(NamedTuple):
    """One drawing: the label that names a series, and an expression for each column.

    In an expression ``{by}`` stands for the grouping, ``{only}`` for more matchers of labels,
    ``{range}`` for the time.
    """

    name: str
    label: str
    columns: tuple[tuple[Column, str], ...]


def _rate(metric: str, chosen: str) -> str:
    return f"sum{{by}}(rate({metric}{{{{{chosen}{{only}}}}}}{{range}}))"


def _mean(chosen: str) -> str:
    return f"{_rate(SECONDS.name, chosen)} / {_rate(OPERATIONS.name, chosen)}"


_SERVED = 'source="obdfilter"'
_KINDS = (
    _Kind(
        "OST",
        "target",
        (
            (READ, _rate(BYTES.name, f'{_SERVED},operation="read"')),
            (WRITE, _rate(BYTES.name, f'{_SERVED},operation="write"')),
            (LATENCY, _mean(f'{_SERVED},operation=~"read|write"')),
        ),
    ),
    _Kind(
        "MDT",
        "target",
        (
            (REQUESTS, _rate(OPERATIONS.name, 'source="mdt"')),
            (LATENCY, _mean('source="mdt"')),
        ),
    ),
    _Kind("router", "instance", ((MOVED, _rate(LNET_BYTES.name, 'direction="route"')),)),
    _Kind(
        "client",
        "instance",
        (
            (READ, _rate(BYTES.name, 'source="llite",operation="read"')),
            (WRITE, _rate(BYTES.name, 'source="llite",operation="write"')),
        ),
    ),
)
_STORAGE = f'{OPERATIONS.name}{{source=~"obdfilter|mdt"}}'
_UNSETTLED = f'{RECOVERY.name}{{status!~"{"|".join(SETTLED)}"}}'


def look_back(
    prometheus: Prometheus, at: float, now: float, monotonic: Callable[[], float]
) -> Past:
    """Return what is kept of the hour around a moment; what is not is a sentence among its remarks.

    ``at`` and ``now`` are in seconds since the epoch, ``monotonic`` returns the seconds of a clock.
    """
    span = Span(at - BEFORE_S, min(at + AFTER_S, now), STEP_S)
    past = Past(at, span.start, span.end)
    asking = _Asking(prometheus, at, span, monotonic)
    try:
        for kind in _KINDS:
            past = past._replace(charts=(*past.charts, *asking.charts(kind)))
        past = past._replace(recovering=asking.recovering())
        past = past._replace(remarks=tuple(asking.remarks(past)))
    except ToolError as error:
        past = past._replace(remarks=(*past.remarks, f"{error}; what is missing here is not drawn"))
    return past._replace(remarks=(*past.remarks, *prometheus.warnings))


class _Asking:
    """Asks about one hour; every question may raise ToolError."""

    def __init__(
        self, prometheus: Prometheus, at: float, span: Span, monotonic: Callable[[], float]
    ) -> None:
        self._prometheus = prometheus
        self._at = at
        self._span = span
        self._moment = Span(at, at, STEP_S)
        self._monotonic = monotonic
        self._end = monotonic() + _PATIENCE_S
        self._hour = f"[{span.end - span.start:.0f}s] @ {span.end:.3f}"

    def charts(self, kind: _Kind) -> Iterator[Chart]:
        """Yield the pictures of a kind; the same series are in all of them."""
        names = self._foremost(kind)
        if not names:
            return
        matcher = json.dumps("|".join(map(re.escape, names)), ensure_ascii=False)
        only, by = f",{kind.label}=~{matcher}", f" by ({kind.label}) "
        for column, expression in kind.columns:
            own = self._over(expression.format(by=by, only=only, range=_WINDOW))
            lines = [
                Line(curve.labels.get(kind.label, ""), curve.points)
                for curve in own
                if curve.points
            ]
            if lines and column.adds:
                curves = self._over(expression.format(by="", only="", range=_WINDOW))
                lines += _others(lines, curves)
            if lines:
                yield Chart(kind.name, column, tuple(lines))

    def recovering(self) -> tuple[tuple[str, Line], ...]:
        """Return which targets were in recovery, each with a line for each status."""
        hour = f"sum by (target) (count_over_time({_UNSETTLED}{self._hour}))"
        curves = self._over(
            f"max by (target, status) ({_UNSETTLED}) "
            f"and on (target) topk({_MOST_RECOVERING}, {hour})"
        )
        return tuple(
            (curve.labels.get("target", ""), Line(curve.labels.get("status", ""), curve.points))
            for curve in curves
            if curve.points
        )

    def remarks(self, past: Past) -> Iterator[str]:
        """Yield what is odd about the counters of this hour, a sentence each."""
        if not past.charts and (why := self._nothing()):
            yield why
            return
        drawn = {(chart.kind, chart.column) for chart in past.charts}
        absent = [
            f"{kind.name} {column.name}"
            for kind in _KINDS
            for column, _ in kind.columns
            if (kind.name, column) not in drawn
        ]
        if absent:
            yield f"No figure above 0 in this hour of: {', '.join(absent)}"
        if not self._holds(RECOVERY.name):
            yield "No state of recovery is held of this hour"
        known = f"count by (target) (count_over_time({_STORAGE}{self._hour}))"
        there = f"count by (target) (count_over_time({_STORAGE}{_WINDOW}))"
        began = f"sum by (target) (resets({_STORAGE}{self._hour})) > 0"
        servers = f"count by (target, instance) (count_over_time({_STORAGE}{self._hour}))"
        for expression, words in (
            (f"{known} unless {there}", "Not counted at this moment, though in this hour"),
            (began, "Counters began at 0 again in this hour (cleared, or the server restarted)"),
            (
                f"count by (target) ({servers}) > 1",
                "Counted by several servers in this hour (failed over)",
            ),
        ):
            names = sorted(self._now(expression, "target"))
            if names:
                yield f"{words}: {several(names)}"

    def _foremost(self, kind: _Kind) -> list[str]:
        """Return the names of the first by each column, at the moment or over the hour."""
        found: dict[str, None] = {}
        for _, expression in kind.columns:
            for range_ in (_WINDOW, self._hour):
                asked = expression.format(by=f" by ({kind.label}) ", only="", range=range_)
                found.update(dict.fromkeys(self._now(f"topk({_MOST}, {asked} > 0)", kind.label)))
        return list(found)

    def _nothing(self) -> str:
        """Return why nothing is held, and what to do; empty where nothing has moved."""
        if self._holds(LOOKED.name):
            return ""
        url, hour = self._prometheus.url, f"the hour around {moment(self._at)}"
        others = self._now('topk(1, count by (__name__) ({__name__=~"lustre_.+"}))', "__name__")
        if others:
            return (
                f"{url} holds counters of another exporter ({others[0]}), whose names are not "
                "known here; deploy plumbline counters beside it"
            )
        return (
            f"{url} holds no counters of {hour}; see how long it keeps them, and docs/counters.md"
        )

    def _holds(self, metric: str) -> bool:
        """Return whether anything is held of a metric in this hour."""
        expression = f"count(count_over_time({metric}{self._hour}))"
        return any(curve.points for curve in self._asked(expression, self._moment))

    def _now(self, expression: str, label: str) -> list[str]:
        """Return the labels of what an expression gives at the moment."""
        curves = self._asked(expression, self._moment)
        return [name for curve in curves if curve.points and (name := curve.labels.get(label, ""))]

    def _over(self, expression: str) -> Sequence[Curve]:
        return self._asked(expression, self._span)

    def _asked(self, expression: str, span: Span) -> Sequence[Curve]:
        if self._monotonic() > self._end:
            raise ToolError(f"{self._prometheus.url} took more than {_PATIENCE_S:.0f} s to answer")
        return self._prometheus.over(expression, span)


def _others(lines: Sequence[Line], curves: Sequence[Curve]) -> Iterator[Line]:
    """Yield the sum of what is not drawn itself, where there is any."""
    drawn: dict[float, float] = {}
    for line in lines:
        for at, value in line.points:
            drawn[at] = drawn.get(at, 0.0) + value
    for whole in curves:
        points = tuple((at, max(0.0, value - drawn.get(at, 0.0))) for at, value in whole.points)
        # what is left of a sum of the same numbers in another order is no traffic
        if any(left > 1e-6 * value for (_, left), (_, value) in zip(points, whole.points)):
            yield Line(OTHERS, points)


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
        places = {(run.layer, run.component) for run in began}
        nodes = dict(_nodes(plan, places))
        verdicts = dict(_verdicts(plan, kept, places, past.end))
    runs = [_run(run, nodes, verdicts) for run in began]
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
        if not any((entry["layer"], entry["component"]) in places for entry in node.entries):
            continue
        _, chosen, memory, weighing = remembered(node, kept)
        measured = [
            expectation
            for expectation in chosen
            if (expectation.layer, expectation.component) in places
        ]
        for verdict in Judging(memory, weighing, at, evidence=False).components(measured):
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
