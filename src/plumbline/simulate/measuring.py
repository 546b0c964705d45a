"""The runs of a day: which are due, and what they give under the weather."""

from __future__ import annotations

from math import ceil, exp
from statistics import median
from typing import Callable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.baseline.capture import LAST_RUNS
from plumbline.layers import PAIRED
from plumbline.layers.net import NET
from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation, Record, Scenario
from plumbline.plan.rounds import Role, cycle, pairing
from plumbline.simulate.fleet import Fleet, Flow, Member
from plumbline.simulate.memory import Memory, Rate
from plumbline.simulate.noise import REACHED
from plumbline.simulate.weather import Weather
from plumbline.units import DAY_S

FIRST_DAY = 20454
"""The day after those on which baselines are taken, in days since the epoch: 2026-01-01."""

_HOUR_S = 7200.0
"""Runs begin at two in the night, as the default policy has it."""

_Step = tuple[Operation, Scenario]


class _Group(NamedTuple):
    """Peers: what one node measures in one run of a layer, of one group."""

    layer: str
    node: str
    name: str
    members: tuple[Member, ...]


class Measuring:
    """Measures a fleet run by run; what it finds goes into ``memory``.

    ``planned_bytes`` is what planned runs have moved, ``confirmed_bytes`` what was measured again.
    """

    def __init__(self, fleet: Fleet, weather: Weather) -> None:
        """Begin with an empty memory; nothing else may draw from ``weather``."""
        self.memory = Memory(fleet.members)
        self.planned_bytes = self.confirmed_bytes = 0
        self._weather = weather
        self._periods_s = fleet.periods_s
        self._groups = _groups(fleet.members)
        self._flows = {one.key: tuple(one.flows()) for one in fleet.members}
        self._hosts = {one.key[1]: one for one in fleet.members if one.key[0] in PAIRED}
        self._partners = tuple(sorted(self._hosts))
        self._members = {one.key: one for one in fleet.members}
        self._expected: Mapping[tuple[str, str], Expectation] = {}

    def expect(self, nodes: Mapping[str, Sequence[Expectation]]) -> None:
        """Have runs end early from now on that are as these expectations say."""
        found = (one for entries in nodes.values() for one in entries)
        self._expected = {(one.layer, one.component): one for one in found}

    @property
    def days_before(self) -> int:
        """Return how many days it takes until there are runs enough for baselines."""
        layers = {group.layer for group in self._groups}
        longest = max((self._periods_s[layer] for layer in layers), default=0.0)
        return max(1, ceil(LAST_RUNS * longest / DAY_S), self._days_of_rounds())

    def day(self, number: int, rates_Bps: Mapping[Flow, float]) -> Iterator[Record]:
        """Measure what is due on a day, the first of which is 1, and yield the records.

        ``rates_Bps`` is what each flow would give without noise.
        """
        for group in self._groups:
            for start in starts(number, self._periods_s[group.layer]):
                for record in self._run(group, start, rates_Bps):
                    self.planned_bytes += _moved(record)
                    yield record
        if number > -self._days_of_rounds():
            for slot in _slots(number, self._periods_s[NET.name]) if self._hosts else ():
                yield from self._meet(slot, rates_Bps)

    def _days_of_rounds(self) -> int:
        if not self._hosts:
            return 0
        return ceil(cycle(len(self._hosts)) * self._periods_s[NET.name] / DAY_S)

    def again(
        self, chosen: Sequence[Expectation], start: float, rates_Bps: Mapping[Flow, float]
    ) -> None:
        """Measure some peers of one node and layer once more, in what they are to give now."""
        members = [self._members[one.layer, one.component] for one in chosen]
        group = _Group(chosen[0].layer, members[0].node, chosen[0].group, tuple(members))
        keys = {(one.component, key) for one in chosen for key in one.references}
        with self._weather.further():
            found = self._run(group, start, rates_Bps, lambda flow: _key(flow) in keys)
            self.confirmed_bytes += sum(map(_moved, found))

    def _run(
        self,
        group: _Group,
        start: float,
        rates_Bps: Mapping[Flow, float],
        chosen: Callable[[Flow], bool] = lambda _: True,
    ) -> Iterator[Record]:
        steps: dict[_Step, dict[Flow, Rate]] = {}
        for member in group.members:
            for flow in filter(chosen, self._flows[member.key]):
                step = flow.operation, flow.scenario
                rate = self._measure(member, flow, start, rates_Bps[flow])
                steps.setdefault(step, {})[flow] = rate
        for (_, scenario), found in steps.items():
            self.memory.add_run(self._ended(found, together=scenario is Scenario.TOGETHER))
            yield from map(self.memory.latest, found)

    def _ended(self, found: Mapping[Flow, Rate], *, together: bool) -> Mapping[Flow, Rate]:
        """Return a run with the first repeats alone of what they were enough for."""
        enough = {flow for flow, rate in found.items() if self._usual(flow, rate)}
        if together and len(enough) < len(found):
            return found
        return {flow: rate.first if flow in enough else rate for flow, rate in found.items()}

    def _usual(self, flow: Flow, rate: Rate) -> bool:
        entry = self._expected.get((flow.layer, flow.component))
        first = rate.repeats_Bps[0]
        return entry is not None and entry.usual(flow.operation, flow.scenario, first)

    def _measure(self, member: Member, flow: Flow, start: float, most_Bps: float) -> Rate:
        draw = self._weather.run(flow, member.expectation.host, member.system, start)
        # no run is faster than the hardware
        rate = min(most_Bps, REACHED * most_Bps * exp(-draw.loss))
        repeats = self._weather.repeats(rate, member.expectation.spec.repeats, most_Bps)
        coverage = draw.coverage if member.covered else None
        return Rate(start, median(repeats), repeats, coverage)

    def _meet(self, slot: int, rates_Bps: Mapping[Flow, float]) -> Iterator[Record]:
        slot_s = self._periods_s[NET.name]
        for host, turn in pairing(self._partners, slot).items():
            if turn.role is not Role.INITIATOR:
                continue
            for flow in self._hosts[host].flows():
                if flow.partner == turn.partner:
                    most_Bps = rates_Bps[flow]
                    rate = min(most_Bps, REACHED * most_Bps * exp(-self._weather.test()))
                    self.memory.add_run({flow: Rate(slot * slot_s, rate, (rate,), None)})
                    yield self.memory.latest(flow)


def _moved(record: Record) -> int:
    """Return the bytes of the repeats that a run has made."""
    return len(record.repeats_Bps) * int((record.spec or {}).get("bytes", 0))


def _key(flow: Flow) -> tuple[str, str]:
    return flow.component, f"{flow.operation.value}/{flow.scenario.value}"


def _groups(members: Sequence[Member]) -> tuple[_Group, ...]:
    found: dict[tuple[str, str, str], list[Member]] = {}
    for one in members:
        if one.expectation.layer not in PAIRED:
            place = (one.expectation.layer, one.node, one.expectation.group)
            found.setdefault(place, []).append(one)
    return tuple(_Group(*place, tuple(of)) for place, of in found.items())


def end_of(day: int) -> float:
    """Return the moment at which a day, of which the first is 1, is over, in epoch seconds."""
    return (FIRST_DAY + day) * DAY_S


def starts(day: int, period_s: float) -> Iterator[float]:
    """Yield the starts of a layer's runs on a day; one of them is on the first day."""
    begin, end = end_of(day - 1), end_of(day)
    first = FIRST_DAY * DAY_S + _HOUR_S
    number = max(-LAST_RUNS, ceil((begin - first) / period_s))
    while first + number * period_s < end:
        yield first + number * period_s
        number += 1


def _slots(day: int, slot_s: float) -> Iterator[int]:
    number = ceil(end_of(day - 1) / slot_s)
    while number * slot_s < end_of(day):
        yield number
        number += 1
