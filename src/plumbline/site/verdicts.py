"""Verdicts written for the checks of a node, shown as status, told as metrics, or of a file.

Whoever writes the snapshot publishes them: runs, and the deployment of other expectations.  What a
group has lost as one none of its members shows, so groups that are not OK are lines of the status.
"""

from __future__ import annotations

import time
from functools import lru_cache
from math import ceil, isnan, nan
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge import replay as replaying
from plumbline.judge.component import rulings_on
from plumbline.judge.fs import file_systems
from plumbline.judge.group import by_group
from plumbline.judge.judging import Judging
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
from plumbline.model.service import SYMPTOMS
from plumbline.model.trend import Course
from plumbline.model.units import DAY_S, format_duration
from plumbline.model.verdict import Judged, State, Verdict
from plumbline.observe.symptom import HOLDS_S, KINDS, Report, title
from plumbline.site.nodes import Judgement
from plumbline.store.collection import Unanswered
from plumbline.store.facts import LastReport, collected_reports
from plumbline.store.files import DATABASE, SNAPSHOT_FILE, VERDICTS_FOLDER
from plumbline.store.history import History
from plumbline.store.plan import SitePlan
from plumbline.store.publish import Publisher, VerdictFiles
from plumbline.store.recent import groups_of
from plumbline.store.samples import read_samples
from plumbline.store.snapshot import load_expectations
from plumbline.store.trends import Pictures
from plumbline.store.verdicts import stamp_of

_MOST_MOMENTS = 8
"""Of one verdict: to judge a large group again for each of its members takes long, and as soon as
anything is measured the whole group is judged."""

_AFTER_S = 0.001
"""A verdict that is stale after a moment is not yet stale at it."""


class _Service(NamedTuple):
    """A service: whom it asks about, and by whose records it is judged.

    ``alone`` is True for what is measured as one and may hang, a component or a file system whose
    targets are driven at once, which comes first then; False for a group.
    """

    subject: Subject
    members: Sequence[Expectation]
    alone: bool

    def verdict(self, judging: Judging) -> Verdict:
        """Return its verdict."""
        if not self.alone:
            return judging.group(self.members)
        if self.subject[2]:
            return judging.file_system(next(file_systems(self.members)))
        return next(iter(judging.components(self.members)))


class _Memory:
    """Content of a snapshot, the series of each component parsed once.

    What runs is for the check to see.
    """

    running: tuple[Running, ...] = ()

    def __init__(self, snapshot: Snapshot) -> None:
        """Parse nothing yet."""
        self.taken = snapshot
        self._of = lru_cache(maxsize=None)(snapshot.of)

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return every series of a component; raise DocumentError when one is damaged."""
        return self._of(layer, component)


class Verdicts:
    """Writes the verdicts of a node beside its snapshot, by the expectations that are deployed."""

    def __init__(self, expectations: str, folder: Path) -> None:
        """Take the document of expectations, which may be replaced while a run goes on."""
        self._path = expectations
        self._files = VerdictFiles(folder)
        self._stamp: Optional[str] = None
        self._services: tuple[_Service, ...] = ()
        self._known: dict[Subject, tuple[Any, Published]] = {}

    def __call__(self, snapshot: Snapshot) -> int:
        """Write what has changed, and return of how many services.

        Raises:
            DocumentError: the expectations are missing or damaged.
            StoreError: the verdicts cannot be written.
        """
        stamp = stamp_of(self._path)
        if stamp != self._stamp:
            self._services = tuple(_services(load_expectations(self._path)))
            self._stamp, self._known = stamp, {}
        memory = _Memory(snapshot)
        return self._files.write(
            self._published(service, memory, stamp) for service in self._services
        )

    def _published(self, service: _Service, memory: _Memory, stamp: str) -> Published:
        """Return the verdict of a service; what rests on the same is not judged again."""
        snapshot = memory.taken
        rests_on = _rests_on(service, snapshot)
        before, known = self._known.get(service.subject, (None, None))
        if known and before == rests_on:
            # until its first stage is over
            following = known.stages[1:2]
            if all(snapshot.written_at < stage.since for stage in following):
                return known
        layer, name, is_group = service.subject
        first = service.members[0]
        found = Published(
            layer,
            name,
            is_group,
            stamp,
            snapshot.written_at,
            first.limits.hung_after_s if service.alone else None,
            tuple(_running(service, snapshot)),
            tuple(_stages(service, memory)),
        )
        self._known[service.subject] = rests_on, found
        return found


def publish(expectations: str, state: Path) -> int:
    """Judge what this node has measured by what is expected of it now; return how much changed.

    That is the number of services with another verdict.  Where nothing was ever measured the
    verdicts say that.  Raises as ``Verdicts`` does; StoreError where no history can be read.
    """
    verdicts = published_by(expectations, state)
    node, now = load_expectations(expectations), time.time()
    if not (state / DATABASE).exists():
        return verdicts(Snapshot(node.node, now, (), {}, {}))
    changed: list[int] = []
    expected = node.every()
    with History(state / DATABASE) as history:
        publisher = Publisher(
            history,
            state / SNAPSHOT_FILE,
            node.node,
            groups_of(expected),
            lambda snapshot: changed.append(verdicts(snapshot)),
        )
        publisher(now, lambda memory: Weighing({node.node: expected}, {node.node: memory}).every())
    return sum(changed)


def _services(node: Expectations) -> Iterator[_Service]:
    """Yield each component that is expected, each group, and each file system as a whole."""
    expectations = node.every()
    for each in expectations:
        yield _Service(each.subject, (each,), alone=True)
    for (layer, group), members in by_group(expectations).items():
        yield _Service((layer, group, True), members, alone=False)
    for system in file_systems(expectations):
        subject = system.whole.layer, system.whole.component, True
        yield _Service(subject, system.entries, alone=True)


def _rests_on(service: _Service, snapshot: Snapshot) -> Any:
    """Return all of a snapshot that the verdict of a service follows from."""
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
    """Yield the runs of a component that have not ended, in document form."""
    first = service.members[0]
    for run in snapshot.running if service.alone else ():
        if (run.layer, run.component) == (first.layer, first.component):
            yield tuple(run)


def _stages(service: _Service, memory: _Memory) -> Iterator[Stage]:
    """Yield what a service says now, and after each moment that changes it."""
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
    """Yield the moments to come that change a verdict: those that count.

    A record becomes stale, or is dated ahead no longer; a figure is shown with its age.  Of the
    many of a group the last counts, when all of it is stale.
    """
    ends = [(end, each.limits) for each in service.members for end in _ends(each, memory)]
    stale = {end - CLOCK_STEP_S for end, _ in ends}
    stale |= {end + limits.stale_after_s for end, limits in ends}
    old = {end + NEW_S for end, _ in ends if service.alone}
    for moments in (stale, old):
        coming = sorted(moment + _AFTER_S for moment in moments if moment + _AFTER_S > now)
        yield from coming if len(coming) <= _MOST_MOMENTS else coming[-1:]


def _ends(entry: Expectation, memory: _Memory) -> list[float]:
    """Return when the latest record of each series of a component ended."""
    try:
        return [series.latest.finished_at for series in memory.of(entry.layer, entry.component)]
    except DocumentError:
        # which its verdict says
        return []


def published_by(expectations: str, state: Path) -> Verdicts:
    """Return who writes the verdicts of a node whose snapshot is in a folder."""
    return Verdicts(expectations, state / VERDICTS_FOLDER)


class Step(NamedTuple):
    """One operation of a component; ``retransmitted`` is a share of all segments, if known."""

    expectation: Expectation
    ruling: Ruling
    retransmitted: Optional[float] = None


class NodeVerdicts(NamedTuple):
    """Verdicts of one node: on components, groups, each operation, and its probes.

    ``probes`` is None where nothing is expected to be measured, ``symptoms`` where no report of
    them could be read.  ``devices`` are the components that are devices of the node, each with the
    kernel's name of it; of a whole site they are not known.
    """

    node: str
    components: tuple[tuple[Expectation, Verdict], ...]
    groups: tuple[Verdict, ...]
    steps: tuple[Step, ...]
    probes: Optional[Verdict]
    symptoms: Optional[Report] = None
    devices: Mapping[str, str] = {}

    def every(self, now: float) -> Iterator[Verdict]:
        """Yield every verdict, those on the last look for symptoms by their age at ``now``."""
        yield from (verdict for _, verdict in self.components)
        yield from self.groups
        if self.probes:
            yield self.probes
        if self.symptoms:
            looks = judged_looks(self.symptoms.node, LastReport(self.symptoms, now), {})
            yield from (verdict for _, verdict in looks)


def tell(judgement: Judgement, since: float) -> Iterator[NodeVerdicts]:
    """Yield what each node tells of what is expected ``since``, in epoch seconds."""
    for name, measured in judgement.nodes.items():
        judging, memory = judgement.judging(name), judgement.memories[name]
        # of what is driven at once the whole has a verdict, among the groups
        alone = [entry for entry in measured if not LAYERS[entry.layer].whole]
        yield NodeVerdicts(
            name,
            tuple(zip(alone, judging.components(alone))),
            tuple(judging.groups(measured)),
            tuple(step for entry in measured for step in _steps(entry, memory, judgement.now)),
            judgement.probes(name, since),
        )


def _steps(entry: Expectation, memory: Memory, now: float) -> list[Step]:
    """Return the operations of a component; of a damaged document none, as its verdict says."""
    try:
        series = memory.of(entry.layer, entry.component)
        if LAYERS[entry.layer].paired:
            return [Step(entry, *rulings) for rulings in rulings_on_host(entry, series, now)]
        return [Step(entry, ruling) for ruling in rulings_on(entry, series, now)]
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
            step: [None if isnan(rate) else quantities[step].figure(rate) for rate in of_step]
            for step, of_step in self.rates.items()
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
"""Rates of each step of components, by layer and name, oldest first; NaN for a run without one."""


def status(judgement: Judgement, rates: Rates) -> list[Line]:
    """Return the verdict on each component with its rates, and on each group that is not OK."""
    judged = [each.verdict for each in judgement.verdicts(members=True)]
    lines = [
        Line(verdict, rates.get((verdict.layer, verdict.component), {}))
        for verdict in judged
        if not verdict.group
    ]
    return [*lines, *_group_lines(judged)]


def rates_of_node(judgement: Judgement) -> Rates:
    """Return the rates that a node remembers; raise DocumentError where a series is damaged."""
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
        points = steps.setdefault(step_name(course.operation, course.scenario), [])
        points.extend(zip(course.times, course.rates))
    return {
        place: {step: [rate for _, rate in sorted(points)] for step, points in steps.items()}
        for place, steps in moments.items()
    }


def judge_symptoms(plan: SitePlan, history: Path, now: float) -> list[Judged]:
    """Return the verdicts at ``now``, in seconds since the epoch; none where the plan asks none.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    services = [service for service in plan.services if service.layer == SYMPTOMS]
    freshness = freshness_by_host(plan)
    reports = collected_reports(history, freshness, now) if services else {}
    verdicts = {
        (host, title(host, kind)): verdict
        for host, collected in reports.items()
        for kind, verdict in judged_looks(host, collected, freshness[host])
    }
    return [
        Judged(service.node, now, verdicts[service.node, service.component]) for service in services
    ]


def freshness_by_host(plan: SitePlan) -> dict[str, dict[str, float]]:
    """Return for how many seconds a look holds, of each host by the titles of its services."""
    hosts: dict[str, dict[str, float]] = {}
    for service in plan.services:
        if service.layer == SYMPTOMS:
            hosts.setdefault(service.node, {})[service.component] = service.freshness_s
    return hosts


def judged_looks(
    host: str, collected: LastReport, freshness: Mapping[str, float]
) -> Iterator[tuple[str, Verdict]]:
    """Yield the verdict on the last look at a host, and those on kinds of parts, by their kind.

    They are the kinds that have a service, and those at which a collector could look.
    """
    report = collected.report
    looks = report.looks if report else ()
    able = {look.kind for look in looks if not look.unavailable}
    for kind in ("", *(kind for kind in KINDS if kind in able or title(host, kind) in freshness)):
        if report is None:
            yield kind, judge_unread(host, kind, collected.trouble)
        else:
            look = JudgedLook(report, collected.now, freshness.get(title(host, kind), HOLDS_S))
            yield kind, judge_kind(look, kind) if kind else judge_looks(look)


_UNITS = (("h", 3600.0), ("min", 60.0), ("s", 1.0))
_SLACK = 1.25
"""Proposed window, as a multiple of the usual round: some take longer."""


class Replayed(NamedTuple):
    """Verdicts on a file in the ``unit`` of its figures, and what is odd about it.

    ``without`` is the number of rows without a figure; ``hint`` says what to do where no component
    has peers, and is empty where some have.
    """

    judged: tuple[replaying.Judged, ...]
    unit: str
    without: int
    hint: str


def replay_file(path: Path, window_s: float) -> Replayed:
    """Judge a file; samples of one host within ``window_s`` seconds are one run.

    Raises:
        DocumentError: the file cannot be read or understood, or no row has a figure.
    """
    read = read_samples(path)
    if not read.samples:
        raise DocumentError(
            f"{path} has no row with a figure and the name of a component "
            f"({read.without} rows without); nothing can be judged"
        )
    samples = replaying.bring_together(read.samples, window_s) if window_s else read.samples
    judged = tuple(replaying.replay(samples, replaying.default_limits(samples)))
    apart = replaying.never_together(samples)
    hint = _hint(apart, window_s) if apart else ""
    return Replayed(judged, read.unit, read.without, hint)


def _hint(apart: replaying.Apart, window_s: float) -> str:
    """Return what to do where no component has peers."""
    host = f"host {apart.host}" if apart.host else "the file"
    more = f" (and {apart.hosts - 1} more hosts alike)" if apart.hosts > 1 else ""
    when = "within the window" if window_s else "at the same time"
    text = f"{host} has {apart.components} components, no two measured {when}{more}: none has peers"
    wanted_s = _SLACK * apart.round_s
    if wanted_s <= window_s:
        return text
    unit, seconds = next(each for each in _UNITS if wanted_s >= each[1] or each[1] == 1)
    window = f"{ceil(wanted_s / seconds)}{unit}"
    return f"{text}; a round takes {format_duration(apart.round_s)}, try --together {window}"
