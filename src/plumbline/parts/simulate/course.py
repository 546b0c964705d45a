"""Simulate the days of a fleet: faults begin, runs are made and confirmed, the judge decides.

By default runs are planned at two or three in the night and confirmed from five on, and on the
following days until the next planned run.

``Today`` has the expectations of each node and all measurements, of all layers, for instance to
find the parts that explain the verdicts of a day.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import zip_longest
from random import Random
from types import MappingProxyType
from typing import (
    Collection,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
)

from plumbline.judge import confirm as confirming
from plumbline.judge.component import Detail
from plumbline.judge.judging import Judging, judge_day
from plumbline.judge.weighing import Weighing, weigh_subjects
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.expectation import Expectation, Measured
from plumbline.model.layers import LAYERS
from plumbline.model.record import Record
from plumbline.model.verdict import Verdict
from plumbline.parts.simulate.days import end_of, starts
from plumbline.parts.simulate.fleet import Fault, Fleet, Flow, Member, Noise, simulated
from plumbline.parts.simulate.memory import Memory
from plumbline.parts.simulate.weather import Capacity, Measuring, Weather
from plumbline.plan.baseline import Baselines, Key, accept
from plumbline.plan.capture import capture

_AFTER_S = 10_800.0
"""From a planned run to its first confirmation."""
_FIRST_S = 18_000.0
"""The first look on a day without a planned run: at five, as in the default policy."""
_LOOKS = 7
"""Looks of a morning: hourly from five to eleven, as in the default policy."""


class _Node(NamedTuple):
    """One layer of a node: its confirmable components, all of the node's, and its confirmations.

    ``doubts`` has the start of the last planned run while a component is in question.
    """

    chosen: tuple[Expectation, ...]
    expectations: Sequence[Expectation]
    measured: list[Measured]
    doubts: list[float]


class _Look(NamedTuple):
    """The time from the first look at the run that began at ``begun`` to the end, epoch seconds."""

    node: _Node
    begun: float
    now: float
    ends: float


class Confirmer:
    """Confirms on all nodes of a fleet."""

    def __init__(
        self,
        measuring: Measuring,
        nodes: Mapping[str, Sequence[Expectation]],
        periods_s: Mapping[str, float],
    ) -> None:
        """Begin without confirmations; ``periods_s`` is between two planned runs of a layer."""
        self._measuring = measuring
        self._periods_s = periods_s
        self._nodes = [
            _Node(chosen, expectations, [], [])
            for expectations in nodes.values()
            for layer in LAYERS.values()
            if layer.confirmable
            if (
                chosen := tuple(
                    expectation
                    for expectation in expectations
                    if expectation.layer == layer.name and expectation.confirm.runs
                )
            )
        ]

    def day(self, number: int, rates_Bps: Mapping[Flow, float]) -> None:
        """Confirm the low runs of a day, the first of which is 1, and those in question before."""
        for looks in zip_longest(*(self._looks(node, number) for node in self._nodes)):
            looked = [_NodeEvidence(look, self._measuring) for look in looks if look]
            # no node needs another one's measurements, so all are weighed at once
            weigh_subjects([evidence.unweighed() for evidence in looked])
            for evidence in looked:
                self._confirm(evidence, rates_Bps)

    def _looks(self, node: _Node, number: int) -> Iterator[_Look]:
        """Yield the times when a node looks at its runs on a day: after each, or in the morning."""
        planned = [*starts(number, self._periods_s[node.chosen[0].layer])]
        for begun, ends in zip(planned, [*planned[1:], end_of(number)]):
            yield _Look(node, begun, begun + _AFTER_S, ends)
        if node.doubts and not planned:
            yield _Look(node, node.doubts[0], end_of(number - 1) + _FIRST_S, end_of(number))

    def _confirm(self, evidence: _NodeEvidence, rates_Bps: Mapping[Flow, float]) -> None:
        """Confirm the low results of a planned run, from the first look to the end."""
        node, begun, first, ends = evidence.look
        past = confirming.PastRuns(
            node.measured,
            dict.fromkeys((expectation.component for expectation in node.chosen), begun),
        )
        queue: Sequence[confirming.QueuePlace] = ()
        for now in _looks(first, ends, node.chosen[0].confirm.every_s):
            layer = confirming.Layer(node.chosen, evidence.verdict, evidence)
            queue = confirming.places(confirming.find_candidates(layer), past, now)
            due = confirming.turns(layer, queue, past, now)
            if not due and not any(map(_waits_for_hours, queue)):
                break
            for number, turn in enumerate(due):
                node.measured.extend(turn.entries(f"{now} {number}", now))
                self._measuring.confirm(turn.steps, now, rates_Bps)
            if due:
                evidence.forget(
                    {expectation.component for turn in due for expectation in turn.chosen}, now
                )
        node.doubts[:] = [begun] if any(not place.candidate.obstacle for place in queue) else []


def _looks(first: float, ends: float, every_s: float) -> Iterator[float]:
    """Yield the moments of a morning when a node looks at its runs, the last one to end it."""
    for number in range(_LOOKS + 1):
        if first + number * every_s < ends:
            yield first + number * every_s


def _waits_for_hours(place: confirming.QueuePlace) -> bool:
    """Return whether a component with too few peers may be due at one of the next looks."""
    return place.candidate.few and not place.candidate.obstacle


class _NodeEvidence:
    """Evidence and verdicts on a node's measurements, kept until the next measurement."""

    def __init__(self, look: _Look, measuring: Measuring) -> None:
        self.look = look
        self._measuring = measuring
        self._verdicts: dict[tuple[str, str], Verdict] = {}
        self._now = look.now
        nodes, memories = {"": look.node.expectations}, {"": measuring.memory}
        self._weighing = Weighing(nodes, memories, counting=False)

    def unweighed(self) -> tuple[Weighing, list[Subject]]:
        return self._weighing, [entry.subject for entry in self.look.node.chosen]

    def forget(self, components: Collection[str], now: float) -> None:
        """Weigh some components again, at a moment in epoch seconds."""
        self._now = now
        layer = self.look.node.chosen[0].layer
        self._verdicts = {
            key: verdict for key, verdict in self._verdicts.items() if key[1] not in components
        }
        self._weighing.measured_again([(layer, component) for component in components])
        weigh_subjects([self.unweighed()])

    def evidence(self, subject: Subject) -> Optional[Evidence]:
        """Return the evidence of the last runs on a component or group."""
        if not self._weighing.weighed(subject):
            weigh_subjects([(self._weighing, [subject])])
        return self._weighing.evidence(subject)

    def verdict(self, entry: Expectation) -> Verdict:
        key = entry.layer, entry.component
        if key not in self._verdicts:
            judging = Judging(self._measuring.memory, self, self._now, detail=Detail.STATE)
            self._verdicts[key] = judging.component(entry)
        return self._verdicts[key]


CLIENT = "client"
"""The name of the client's version in records."""

_EARLIER = "earlier"
"""The version before a release."""


class Scenario(NamedTuple):
    """Scenario: the days after the baselines, with their noise and faults.

    Equal seeds give equal days.  ``new`` is whether the first day is that of the installation,
    without healthy days before and without baselines.
    """

    days: int
    noise: Noise
    faults: tuple[Fault, ...]
    seed: str
    new: bool = False


class Today(NamedTuple):
    """One day, from 1 on: the verdicts of all layers at its end, and its faults.

    ``nodes`` are the expectations of each node, with baselines; ``judging`` is the judge of all at
    the end of the day, whose memory continues with the next day; ``weighing`` is its evidence.
    ``planned_bytes`` is the traffic of planned runs since day 1, ``confirmed_bytes`` that of
    confirmations.
    """

    day: int
    verdicts: tuple[Verdict, ...]
    faults: tuple[Fault, ...]
    nodes: Mapping[str, Sequence[Expectation]]
    judging: Judging
    weighing: Weighing
    planned_bytes: int
    confirmed_bytes: int


class NewFleet(NamedTuple):
    """A fleet before its first day, and the expectations of each node, with baselines."""

    measuring: Measuring
    nodes: Mapping[str, Sequence[Expectation]]


def prepare(
    fleet: Fleet,
    capacity: Capacity,
    weather: Weather,
    faults: Sequence[Fault] = (),
    *,
    new: bool = False,
) -> NewFleet:
    """Simulate the days on which baselines are taken, with the versions of that time.

    A ``new`` fleet has neither.
    """
    measuring = Measuring(fleet, weather)
    for fault in faults:
        if fault.version:
            measuring.memory.install(_under_release(fleet, fault), {CLIENT: _EARLIER})
    if new:
        return NewFleet(measuring, _nodes(fleet.members, {}))
    records: list[Record] = []
    before = capacity.under([fault for fault in faults if fault.day < 0])
    for day in range(1 - measuring.days_before, 1):
        weather.next_day()
        records += measuring.day(day, {**capacity.healthy_Bps, **before})
    nodes = _nodes(fleet.members, _accepted(records, fleet.members))
    measuring.expect(nodes)
    return NewFleet(measuring, nodes)


def simulated_days(fleet: Fleet, capacity: Capacity, scenario: Scenario) -> Iterator[Today]:
    """Yield the days of a scenario; before the first, healthy ones for baselines have passed."""
    weather = Weather(scenario.noise, Random(scenario.seed))
    measuring, nodes = prepare(fleet, capacity, weather, scenario.faults, new=scenario.new)
    confirming = Confirmer(measuring, nodes, fleet.periods_s)
    # the same faults go on for days
    changed = lru_cache(maxsize=1)(capacity.under)
    earlier_bytes = measuring.planned_bytes
    weighing, runs = Weighing({}, {}), Counter[str]()
    for day in range(1, scenario.days + 1):
        weather.next_day()
        faults = tuple(fault for fault in scenario.faults if fault.blamed(day))
        for fault in faults:
            if fault.version and fault.since == day:
                flows = _under_release(fleet, fault)
                measuring.memory.install(flows, {CLIENT: fault.version})
        slowing = (fault.on(day, scenario.seed) for fault in faults)
        slowed = {
            **capacity.healthy_Bps,
            **changed(tuple(fault for fault in slowing if fault)),
        }
        for _ in measuring.day(day, slowed):
            pass
        confirming.day(day, slowed)
        same = {layer for layer, count in measuring.memory.runs.items() if runs[layer] == count}
        weighing = weigh(nodes, measuring.memory, weighing.known(same))
        runs = measuring.memory.runs.copy()
        judging = Judging(measuring.memory, weighing, end_of(day), detail=Detail.STATE)
        verdicts = tuple(judge_day(nodes, judging))
        traffic = measuring.planned_bytes - earlier_bytes, measuring.confirmed_bytes
        yield Today(day, verdicts, faults, nodes, judging, weighing, *traffic)


def weigh(
    nodes: Mapping[str, Sequence[Expectation]],
    memory: Memory,
    evidence_before: Mapping[Subject, Optional[Evidence]] = MappingProxyType({}),
) -> Weighing:
    """Return the evidence of all nodes, without the number of further runs.

    ``evidence_before`` is that on what has no run since.
    """
    memories = dict.fromkeys(nodes, memory)
    return Weighing(nodes, memories, counting=False, evidence_before=evidence_before)


def _under_release(fleet: Fleet, fault: Fault) -> Iterator[Flow]:
    """Yield the measurements through the clients that have a release."""
    for member in fleet.members:
        if LAYERS[member.key[0]].per_target and fault.system in ("", member.system):
            yield from member.flows()


def _accepted(records: Iterable[Record], members: Sequence[Member]) -> Baselines:
    """Return all baselines except those far below their peers, or below their floor.

    Nobody accepts these without a look.
    """
    expected = {member.key: member.expectation for member in members}
    numbered = (record._replace(id=str(number)) for number, record in enumerate(records))
    candidates = {
        key: candidate
        for key, candidate in capture(numbered, expected).candidates.items()
        if not candidate.outlier and not candidate.baseline.below_floor
    }
    return accept({}, candidates, (), "plumbline simulate", "healthy days")


def _nodes(members: Sequence[Member], baselines: Baselines) -> dict[str, list[Expectation]]:
    nodes: dict[str, list[Expectation]] = {}
    for member in members:
        nodes.setdefault(member.node, []).append(_with(member.expectation, baselines))
    return nodes


def _with(expectation: Expectation, baselines: Baselines) -> Expectation:
    """Return an expectation of what is simulated, with its baselines."""
    references = {}
    for operation, scenario, reference in simulated(expectation):
        key = Key(expectation.layer, expectation.component, operation.value, scenario.value)
        references[key.reference] = reference._replace(baseline=baselines.get(key))
    return expectation._replace(references=references)
