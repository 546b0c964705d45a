"""Verdicts for the checks of a node, for the status and for metrics.

Runs, and the deployment of other expectations, write the snapshot and publish the verdicts.  The
loss of a whole group is not visible in its members, so groups that are not OK have lines in the
status.
"""

from __future__ import annotations

import time
from functools import lru_cache
from math import isnan, nan
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.fs import file_systems
from plumbline.judge.group import by_group
from plumbline.judge.judging import Basis, Judging
from plumbline.judge.memory import Memory
from plumbline.judge.pair import rulings_on_host
from plumbline.judge.phrases import Ruling
from plumbline.judge.symptoms import JudgedLook, judge_kind, judge_looks, judge_unread
from plumbline.judge.weighing import Weighing
from plumbline.model.ages import CLOCK_STEP_S, NEW_S, OpenMoment, parts
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Subject
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.published import Published, Stage
from plumbline.model.record import Operation, step_name
from plumbline.model.series import Running, Sample, Series, Snapshot
from plumbline.model.service import SYMPTOMS, Service
from plumbline.model.symptom import KINDS, VALID_S, Report, title
from plumbline.model.trend import Course
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Judged, State, Verdict
from plumbline.site.nodes import Judgement
from plumbline.store.collection import Unanswered
from plumbline.store.facts import LastReport, collected_reports
from plumbline.store.files import DATABASE, SNAPSHOT_FILE, VERDICTS_FOLDER
from plumbline.store.history import History
from plumbline.store.publish import Publisher, VerdictFiles
from plumbline.store.recent import groups_of
from plumbline.store.snapshot import load_expectations
from plumbline.store.trends import Pictures
from plumbline.store.verdicts import stamp_of

_MOST_MOMENTS = 8
"""Most stages of a verdict: judging a large group again for each member takes long, and the next
measurement judges the whole group anyway."""

_AFTER_S = 0.001
"""Added to the time after which a verdict is stale, as it is not yet stale at that time."""


class _Service(NamedTuple):
    """A service: its subject, and the components whose records count.

    ``alone`` is True if it is measured as one and may hang: a component, or a file system whose
    targets are driven at once, which is then the first member.  It is False for a group.
    """

    subject: Subject
    members: Sequence[Expectation]
    alone: bool

    def verdict(self, judging: Judging) -> Verdict:
        """Return the verdict on the service."""
        if not self.alone:
            return judging.group(self.members)
        if self.subject[2]:
            return judging.file_system(next(file_systems(self.members)))
        return next(iter(judging.components(self.members)))


class _Memory:
    """Content of a snapshot, with the series of each component parsed once.

    ``running`` is empty, because checks look for running processes themselves.
    """

    running: tuple[Running, ...] = ()

    def __init__(self, snapshot: Snapshot) -> None:
        """Parse nothing yet."""
        self.taken = snapshot
        self._of = lru_cache(maxsize=None)(snapshot.of)

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return every series of a component; raise DocumentError if one is damaged."""
        return self._of(layer, component)


class Verdicts:
    """Writer of a node's verdicts beside its snapshot, by the deployed expectations."""

    def __init__(self, expectations: str, folder: Path) -> None:
        """Take the path of the expectations, which may be replaced during a run."""
        self._path = expectations
        self._files = VerdictFiles(folder)
        self._stamp: Optional[str] = None
        self._services: tuple[_Service, ...] = ()
        self._cache: dict[Subject, tuple[Any, Published]] = {}

    def __call__(self, snapshot: Snapshot) -> int:
        """Write changed verdicts, and return the number of their services.

        Raises:
            DocumentError: the expectations are missing or damaged.
            StoreError: the verdicts cannot be written.
        """
        stamp = stamp_of(self._path)
        if stamp != self._stamp:
            self._services = tuple(_services(load_expectations(self._path)))
            self._stamp, self._cache = stamp, {}
        memory = _Memory(snapshot)
        return self._files.write(
            self._published(service, memory, stamp) for service in self._services
        )

    def _published(self, service: _Service, memory: _Memory, stamp: str) -> Published:
        """Return the verdict of a service; judge it only if its inputs have changed."""
        snapshot = memory.taken
        inputs = _inputs(service, snapshot)
        before, cached = self._cache.get(service.subject, (None, None))
        if cached and before == inputs:
            # valid until the end of its first stage
            following = cached.stages[1:2]
            if all(snapshot.written_at < stage.since for stage in following):
                return cached
        layer, name, is_group = service.subject
        first = service.members[0]
        published = Published(
            layer,
            name,
            is_group,
            stamp,
            snapshot.written_at,
            first.limits.hung_after_s if service.alone else None,
            tuple(_running(service, snapshot)),
            tuple(_stages(service, memory)),
        )
        self._cache[service.subject] = inputs, published
        return published


def publish(expectations: str, state: Path) -> int:
    """Judge this node's records by its present expectations; return how many verdicts changed.

    Without a history the verdicts are on a node that has not measured.  Raises as ``Verdicts``
    does, and StoreError if the history cannot be read.
    """
    verdicts = published_by(expectations, state)
    node, now = load_expectations(expectations), time.time()
    if not (state / DATABASE).exists():
        return verdicts(Snapshot(node.node, now, (), {}, {}))
    changes: list[int] = []
    expected = node.every()
    with History(state / DATABASE) as history:
        publisher = Publisher(
            history,
            state / SNAPSHOT_FILE,
            node.node,
            groups_of(expected),
            lambda snapshot: changes.append(verdicts(snapshot)),
        )
        publisher(now, lambda memory: Weighing({node.node: expected}, {node.node: memory}).all())
    return sum(changes)


def _services(node: Expectations) -> Iterator[_Service]:
    """Yield each expected component, each group, and each file system as a whole."""
    expectations = node.every()
    for entry in expectations:
        yield _Service(entry.subject, (entry,), alone=True)
    for (layer, group), members in by_group(expectations).items():
        yield _Service((layer, group, True), members, alone=False)
    for system in file_systems(expectations):
        subject = system.whole.layer, system.whole.component, True
        yield _Service(subject, system.entries, alone=True)


def _inputs(service: _Service, snapshot: Snapshot) -> Any:
    """Return the parts of a snapshot that the verdict of a service depends on."""
    layer, name, _ = service.subject
    return (
        [
            snapshot.series.get(f"{expectation.layer}/{expectation.component}")
            for expectation in service.members
        ],
        snapshot.groups.get(f"{layer}/{name}"),
        list(_running(service, snapshot)),
    )


def _running(service: _Service, snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    """Yield unfinished runs of a component, in document form."""
    first = service.members[0]
    for run in snapshot.running if service.alone else ():
        if (run.layer, run.component) == (first.layer, first.component):
            yield tuple(run)


def _stages(service: _Service, memory: _Memory) -> Iterator[Stage]:
    """Yield the verdict on a service now, and after each time that changes it."""
    now = memory.taken.written_at
    before: Optional[Stage] = None
    for moment in (now, *sorted(set(_moments(service, memory, now)))):
        verdict = service.verdict(Judging(memory, memory.taken, OpenMoment(moment)))
        stage = Stage(
            moment if before else 0.0,
            verdict.state,
            verdict.reason,
            parts(verdict.sentence),
            tuple(map(parts, verdict.evidence)),
            verdict.figures,
        )
        if before is None or stage._replace(since=before.since) != before:
            yield stage
            before = stage


def _moments(service: _Service, memory: _Memory, now: float) -> Iterator[float]:
    """Yield the future times that change a verdict.

    A record becomes stale, or is no longer dated ahead, or is shown with its age.  If there are too
    many for a group, only the last one counts, when the whole group is stale.
    """
    ends = [(end, entry.limits) for entry in service.members for end in _ends(entry, memory)]
    stale = {end - CLOCK_STEP_S for end, _ in ends}
    stale |= {end + limits.stale_after_s for end, limits in ends}
    old = {end + NEW_S for end, _ in ends if service.alone}
    for moments in (stale, old):
        coming = sorted(moment + _AFTER_S for moment in moments if moment + _AFTER_S > now)
        yield from coming if len(coming) <= _MOST_MOMENTS else coming[-1:]


def _ends(entry: Expectation, memory: _Memory) -> list[float]:
    """Return the end of the latest record of each series of a component."""
    try:
        return [series.latest.finished_at for series in memory.of(entry.layer, entry.component)]
    except DocumentError:
        # the verdict reports the damage
        return []


def published_by(expectations: str, state: Path) -> Verdicts:
    """Return the writer of the verdicts of a node with its snapshot in ``state``."""
    return Verdicts(expectations, state / VERDICTS_FOLDER)


class Step(NamedTuple):
    """One operation of a component; ``retransmitted`` is a share of all TCP segments, if known."""

    expectation: Expectation
    ruling: Ruling
    retransmitted: Optional[float] = None


class NodeVerdicts(NamedTuple):
    """Verdicts of one node: on components, groups, each operation, and its probes.

    ``probes`` is None if no measurement is expected, ``symptoms`` if no report could be read.
    ``devices`` has the kernel's names of device components of the node; empty for a whole site.
    """

    node: str
    components: tuple[tuple[Expectation, Verdict], ...]
    groups: tuple[Verdict, ...]
    steps: tuple[Step, ...]
    probes: Optional[Verdict]
    symptoms: Optional[Report] = None
    devices: Mapping[str, str] = {}

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
        judging, memory = judgement.judging(name), judgement.memories[name]
        # targets driven at once have a verdict on the whole, among the groups
        single = [entry for entry in measured if not LAYERS[entry.layer].whole]
        yield NodeVerdicts(
            name,
            tuple(zip(single, judging.components(single))),
            tuple(judging.groups(measured)),
            tuple(
                step for entry in measured for step in _steps(entry, judging, memory, judgement.now)
            ),
            judgement.probes(name, since),
        )


def _steps(entry: Expectation, judging: Judging, memory: Memory, now: float) -> list[Step]:
    """Return the operations of a component; empty if damaged, which its verdict reports."""
    try:
        if LAYERS[entry.layer].paired:
            series = memory.of(entry.layer, entry.component)
            return [Step(entry, *rulings) for rulings in rulings_on_host(entry, series, now)]
        return [Step(entry, ruling) for ruling in judging.rulings(entry)]
    except DocumentError:
        return []


_BACK_DAYS = 60


class Line(NamedTuple):
    """One component; ``rates`` maps each step, such as ``write``, to its rates, oldest first.

    A group that is not OK is a line without rates.
    """

    verdict: Verdict
    rates: Mapping[str, Sequence[float]]

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


def status(judgement: Judgement, rates: Rates, basis: Basis = Basis.RUNS) -> list[Line]:
    """Return the verdict on each component with its rates, and on each group that is not OK.

    A survey, a comparison, has no service for its group.
    """
    judged = [result.verdict for result in judgement.verdicts(members=True, basis=basis)]
    lines = [
        Line(verdict, rates.get((verdict.layer, verdict.component), {}))
        for verdict in judged
        if not verdict.group
    ]
    return lines if basis is Basis.COMPARISON else [*lines, *_group_lines(judged)]


def rates_of_node(judgement: Judgement) -> Rates:
    """Return the rates in a node's snapshot; raise DocumentError if a series is damaged."""
    rates = {}
    for name, measured in judgement.nodes.items():
        for entry in measured:
            steps: dict[str, list[Sample]] = {}
            for series in judgement.memories[name].of(entry.layer, entry.component):
                step = step_name(series.latest.operation.value, series.latest.scenario.value)
                steps.setdefault(step, []).extend(series.samples)
            rates[entry.layer, entry.component] = {
                step: _in_time(samples) for step, samples in steps.items()
            }
    return rates


def _in_time(samples: Iterable[Sample]) -> list[float]:
    """Return the rates of a component with all its partners, oldest first."""
    ordered = sorted(samples, key=lambda sample: sample.started_at)
    return [nan if sample.rate is None else sample.rate for sample in ordered]


def rates_of_site(history: Path, now: float) -> tuple[Rates, Sequence[Unanswered]]:
    """Return the rates in a history, and the nodes that did not answer; raise StoreError."""
    with Pictures(history, now - _BACK_DAYS * DAY_S) as pictures:
        return _by_component(pictures.courses()), pictures.unanswered()


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
