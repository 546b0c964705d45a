"""Verdicts for the checks of a node, for the status and for metrics.

Runs, and the deployment of other expectations, write the snapshot and publish the verdicts.  The
loss of a whole group is not visible in its members, so groups that are not OK have lines in the
status.
"""

from __future__ import annotations

from itertools import chain
from math import isnan
from operator import itemgetter
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.judging import Basis, Judging
from plumbline.judge.memory import Memory
from plumbline.judge.pair import rulings_on_host
from plumbline.judge.phrases import Ruling
from plumbline.judge.symptoms import JudgedLook, judge_kind, judge_looks, judge_unread
from plumbline.model.codec import positional
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.record import Operation, Scenario, step_name
from plumbline.model.series import column
from plumbline.model.service import SYMPTOMS, Service
from plumbline.model.space import SpaceReport
from plumbline.model.symptom import KINDS, VALID_S, Report, title
from plumbline.model.trend import Course
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Judged, State, Verdict
from plumbline.site.nodes import Judgement
from plumbline.store.collection import Unanswered
from plumbline.store.facts import LastReport, collected_reports
from plumbline.store.trends import Pictures


@positional
class Step(NamedTuple):
    """Figures of one operation of a component, None where there are none.

    ``file_system`` is empty for a disk or host.  Rates are in the quantity of the operation, the
    ceiling in bytes per second; ``baseline_ratio`` is rate / baseline, ``finished_at`` in epoch
    seconds; ``coverage`` and ``retransmitted``, of all TCP segments, are shares.
    """

    layer: str
    component: str
    file_system: str
    operation: Operation
    scenario: Scenario
    rate: Optional[float] = None
    ceiling: Optional[float] = None
    baseline: Optional[float] = None
    peers_rate: Optional[float] = None
    baseline_ratio: Optional[float] = None
    coverage: Optional[float] = None
    finished_at: Optional[float] = None
    duration_s: Optional[float] = None
    retransmitted: Optional[float] = None

    @classmethod
    def of(cls, entry: Expectation, ruling: Ruling, retransmitted: Optional[float] = None) -> Step:
        """Return the figures in a ruling."""
        measured, record = ruling.measured, ruling.record
        ceiling, baseline = (measured.ceiling, measured.baseline) if measured else (None, None)
        return cls(
            entry.layer,
            entry.component,
            file_system_of(entry),
            ruling.operation,
            ruling.scenario,
            rate=measured and measured.rate,
            ceiling=ceiling and ceiling.rate,
            baseline=baseline and baseline.median,
            peers_rate=measured and measured.peers_rate,
            baseline_ratio=measured and measured.ratio_baseline,
            coverage=record and record.coverage,
            finished_at=record and record.finished_at,
            duration_s=record and max(0.0, record.finished_at - record.started_at),
            retransmitted=retransmitted,
        )


def file_system_of(entry: Expectation) -> str:
    """Return the file system; empty for a disk or host, which belong to none."""
    return entry.file_system if LAYERS[entry.layer].on_targets else ""


class NodeVerdicts(NamedTuple):
    """Verdicts of one node: on components, each with its file system, on groups, and its probes.

    ``probes`` is None if no measurement is expected, ``symptoms`` and ``space`` if no report could
    be read.
    ``devices`` has the kernel's names of device components of the node; empty for a whole site.
    """

    node: str
    components: Sequence[tuple[str, Verdict]]
    groups: Sequence[Verdict]
    probes: Optional[Verdict]
    symptoms: Optional[Report] = None
    devices: Mapping[str, str] = {}
    space: Optional[SpaceReport] = None

    def judged(self, now: float) -> Iterator[Verdict]:
        """Yield all verdicts, including those on the last look for symptoms as of ``now``."""
        yield from (verdict for _, verdict in self.components)
        yield from self.groups
        if self.probes:
            yield self.probes
        if self.symptoms:
            looks = judged_looks(self.symptoms.node, LastReport(self.symptoms, now), {})
            yield from (verdict for _, verdict in looks)


def node_verdicts(judgement: Judgement, since: float) -> Iterator[NodeVerdicts]:
    """Yield the verdicts of each node; records are expected ``since``, in epoch seconds."""
    for name, measured in judgement.nodes.items():
        judging = judgement.judging(name)
        # targets driven at once have a verdict on the whole, among the groups
        single = [entry for entry in measured if not LAYERS[entry.layer].whole]
        yield NodeVerdicts(
            name,
            tuple(zip(map(file_system_of, single), judging.components(single))),
            tuple(judging.groups(measured)),
            judgement.probes(name, since),
        )


def steps(judgement: Judgement) -> Iterator[Step]:
    """Yield the figures of all operations, node by node."""
    for name, measured in judgement.nodes.items():
        judging, memory = judgement.judging(name), judgement.memories[name]
        for entry in measured:
            yield from _steps(entry, judging, memory, judgement.now)


def _steps(entry: Expectation, judging: Judging, memory: Memory, now: float) -> list[Step]:
    """Return the operations of a component; empty if damaged, which its verdict reports."""
    try:
        if LAYERS[entry.layer].paired:
            series = memory.of(entry.layer, entry.component)
            return [Step.of(entry, *rulings) for rulings in rulings_on_host(entry, series, now)]
        return [Step.of(entry, ruling) for ruling in judging.rulings(entry)]
    except DocumentError:
        return []


_BACK_DAYS = 60


class Line(NamedTuple):
    """One component; ``rates`` maps each step, such as ``write``, to its rates, oldest first.

    A group that is not OK is a line without rates.
    """

    verdict: Verdict
    rates: Mapping[str, Sequence[float]]

    def with_rates(self, rates: Rates) -> Line:
        """Return the line of a component with its rates; a group has none."""
        verdict = self.verdict
        known = {} if verdict.group else rates.get((verdict.layer, verdict.component), {})
        return self._replace(rates=known)

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        quantities = {step: Operation(step.partition(" ")[0]).quantity for step in self.rates}
        rates = {
            step: [None if isnan(rate) else quantities[step].figure(rate) for rate in step_rates]
            for step, step_rates in self.rates.items()
        }
        verdict = self.verdict
        return {
            "state": verdict.state.name,
            "layer": verdict.layer,
            "component": verdict.component,
            "group": verdict.group,
            "sentence": verdict.sentence,
            "rates": rates,
            "units": {step: quantity.unit for step, quantity in quantities.items()},
        }


Rates = Mapping[tuple[str, str], Mapping[str, Sequence[float]]]
"""Rates of each step of components, by layer and name, oldest first; NaN for a run without rate."""


def status(verdicts: Iterable[Verdict], rates: Rates, basis: Basis = Basis.RUNS) -> list[Line]:
    """Return the verdict on each component with its rates, and on each group that is not OK.

    A survey, a comparison, has no service for its group.
    """
    judged = tuple(verdicts)
    lines = [Line(verdict, {}).with_rates(rates) for verdict in judged if not verdict.group]
    return lines if basis is Basis.COMPARISON else [*lines, *_group_lines(judged)]


def rates_of_node(judgement: Judgement) -> Rates:
    """Return the rates in a node's snapshot; raise DocumentError if a series is damaged."""
    rates = {}
    for name, measured in judgement.nodes.items():
        for entry in measured:
            steps: dict[str, list[tuple[float, float]]] = {}
            for series in judgement.memories[name].of(entry.layer, entry.component):
                step = step_name(series.latest.operation.value, series.latest.scenario.value)
                runs = zip(column(series.samples, "started_at"), column(series.samples, "rate"))
                steps.setdefault(step, []).extend(runs)
            rates[entry.layer, entry.component] = {
                # the rates of a component with all its partners
                step: [rate for _, rate in sorted(runs, key=itemgetter(0))]
                for step, runs in steps.items()
            }
    return rates


def rates_of_site(
    history: Path, now: float, components: Optional[Iterable[tuple[str, str]]] = None
) -> Rates:
    """Return the rates in a history of some components, by layer and name; None means all.

    Raises:
        StoreError: the history cannot be read.
    """
    with Pictures(history, now - _BACK_DAYS * DAY_S) as pictures:
        if components is None:
            return _by_component(pictures.courses())
        return _by_component(chain.from_iterable(pictures.courses(*place) for place in components))


def unanswered_nodes(history: Path) -> Sequence[Unanswered]:
    """Return the nodes that did not answer the last collection; raise StoreError."""
    with Pictures(history, 0.0) as pictures:
        return pictures.unanswered()


def _group_lines(judged: Iterable[Verdict]) -> Iterator[Line]:
    """Yield a line for each group that is not OK, except for ``fs``, which has a component line."""
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
        points = steps.setdefault(step_name(course.operation, course.scenario), [])
        points.extend(zip(course.times, course.rates))
    return {
        place: {step: [rate for _, rate in sorted(points)] for step, points in steps.items()}
        for place, steps in moments.items()
    }


def judge_symptoms(services: Iterable[Service], history: Path, now: float) -> list[Judged]:
    """Return the verdicts of the symptom services among some, at ``now`` in epoch seconds.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    services = [service for service in services if service.layer == SYMPTOMS]
    freshness = freshness_by_host(services)
    reports = collected_reports(history, freshness, now) if services else {}
    verdicts = {
        (host, title(host, kind)): verdict
        for host, collected in reports.items()
        for kind, verdict in judged_looks(host, collected, freshness[host])
    }
    return [
        Judged(service.node, now, verdicts[service.node, service.component]) for service in services
    ]


def freshness_by_host(services: Iterable[Service]) -> dict[str, dict[str, float]]:
    """Return the seconds for which a look is valid, by host and title of the service."""
    hosts: dict[str, dict[str, float]] = {}
    for service in services:
        if service.layer == SYMPTOMS:
            hosts.setdefault(service.node, {})[service.component] = service.freshness_s
    return hosts


def judged_looks(
    host: str, collected: LastReport, freshness: Mapping[str, float]
) -> Iterator[tuple[str, Verdict]]:
    """Yield verdicts by kind: on the last look at a host, kind ``""``, and on its kinds of parts.

    Kinds need a service, or a collector that could look at them.
    """
    report = collected.report
    looks = report.looks if report else ()
    seen = {look.kind for look in looks if not look.unavailable}
    for kind in ("", *(kind for kind in KINDS if kind in seen or title(host, kind) in freshness)):
        if report is None:
            yield kind, judge_unread(host, kind, collected.trouble)
        else:
            look = JudgedLook(report, collected.now, freshness.get(title(host, kind), VALID_S))
            yield kind, judge_kind(look, kind) if kind else judge_looks(look)
