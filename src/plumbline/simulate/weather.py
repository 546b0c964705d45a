"""Rates of a simulated day: capacities, noise, and the runs that are due.

What disturbs a single run tends to go on into the next one, over nights too; what a host or file
system shares on a day has heavy tails and lasts.  All figures of it are the simulation's own, taken
from data (simulate/fleet.py): the judge is not examined in its own handwriting.  Further runs draw
from a source of their own, so that a fleet meets the same planned days whether or not it confirms.

A part without a rate is taken to be just fast enough for the most that is ever asked of it,
whatever way, so that any loss of it shows.
"""

from __future__ import annotations

from contextlib import contextmanager
from math import ceil, exp, log, sqrt
from random import Random
from statistics import median
from typing import Callable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.layers.net import NET
from plumbline.model.record import Operation, Record, Scenario
from plumbline.model.rounds import Role, cycle, pairing
from plumbline.model.units import DAY_S, HOUR_S
from plumbline.plan.capture import LAST_RUNS
from plumbline.simulate.fleet import (
    COVERAGE_ALONE,
    COVERAGE_MOST,
    FADES,
    LASTS,
    OVERNIGHT,
    REACHED,
    SITE,
    SPELL_LEAST,
    TAIL_LEAST,
    Fault,
    Fleet,
    Flow,
    Member,
    Noise,
)
from plumbline.simulate.memory import Memory, Rate
from plumbline.topology.ceiling import Capacities, Limit, alone, together

_NIGHT_S = 0.75 * DAY_S
"""Runs that are further apart are not of one night and the day after it."""

_KEY = 8
"""So many words of a source's state tell it apart."""


class Sky(NamedTuple):
    """Day of a file system: the loss that all share, a logarithm, and whether it is busy.

    ``calm`` is the loss without that of a busy spell, which goes on by itself.
    """

    loss: float
    busy: bool
    calm: float = 0.0


class Draw(NamedTuple):
    """One run of one component: its loss, a logarithm, and its coverage, a fraction."""

    loss: float
    coverage: float


class _Disturbance(NamedTuple):
    """Disturbance of one run: its loss in the long tail, a logarithm, and its coverage."""

    at: float
    tail: float
    coverage: float


_CLEAR = Sky(0.0, False)


class Weather:
    """Disturbances of one fleet; systems, hosts and components are given by name."""

    def __init__(self, noise: Noise, chance: Random) -> None:
        """Draw from ``chance``, which nobody else may use."""
        self._noise = noise
        self._chance = self._planned = chance
        self._further = Random(repr(chance.getstate()[1][:_KEY]))
        self._disturbances: dict[Flow, _Disturbance] = {}
        self._again: dict[Flow, _Disturbance] = {}
        self._skies: dict[str, Sky] = {}
        self._hosts: dict[str, float] = {}
        self._components: dict[tuple[str, str], float] = {}

    def next_day(self) -> None:
        """Let every known file system and host have another day, much like the one before."""
        for host, before in self._hosts.items():
            self._hosts[host] = self._lasting(before, self._noise.host)
        for system, sky in self._skies.items():
            self._skies[system] = self._sky(sky)

    @contextmanager
    def further(self) -> Iterator[None]:
        """Draw what runs meet that nobody has planned from a source of their own."""
        self._chance = self._further
        try:
            yield
        finally:
            self._chance = self._planned

    def run(self, flow: Flow, host: str, system: str, at: float) -> Draw:
        """Return the disturbance of one run of a flow today, at a moment in epoch seconds."""
        noise, gauss = self._noise, self._chance.gauss
        sky = self._skies.get(system)
        if sky is None:
            sky = self._skies[system] = self._sky(_CLEAR)
        shared = self._hosts.get(host)
        if shared is None:
            shared = self._hosts[host] = self._heavy(noise.host)
        component = flow.layer, flow.component
        own = self._components.get(component)
        if own is None:
            own = self._components[component] = gauss(0, noise.component)
        loss = own + shared + sky.loss + gauss(0, noise.spell_run if sky.busy else noise.run)
        met = self._disturbed(self._last(flow), at, sky)
        (self._again if self._chance is self._further else self._disturbances)[flow] = met
        loss += met.tail
        if met.coverage < COVERAGE_MOST:
            loss -= noise.contention_cost * log(met.coverage)
        return Draw(loss, met.coverage)

    def _last(self, flow: Flow) -> Optional[_Disturbance]:
        """Return what the run before met; for a planned one no further run has been."""
        planned = self._disturbances.get(flow)
        again = self._again.get(flow) if self._chance is self._further else None
        return again if again and not (planned and planned.at > again.at) else planned

    def _disturbed(self, before: Optional[_Disturbance], at: float, sky: Sky) -> _Disturbance:
        """Return the disturbance of a run: often the same as of the one before it."""
        if before is None or self._chance.random() >= self._goes_on(at - before.at):
            return _Disturbance(at, self._tail(), self._coverage(sky.busy))
        tail, coverage = before.tail, before.coverage
        if tail and self._chance.random() >= self._noise.alike:
            tail = self._size_of_tail()
        if coverage < COVERAGE_MOST and self._chance.random() >= self._noise.alike:
            coverage = self._size_of_coverage()
        return _Disturbance(at, tail, coverage)

    def test(self) -> float:
        """Return the loss of one test of a host pair."""
        return self._chance.gauss(0, self._noise.network)

    def repeats(self, rate_Bps: float, count: int, most_Bps: float) -> tuple[float, ...]:
        """Return the rates of the repeats of a run, none of them above ``most_Bps``."""
        sigma, gauss = self._noise.repeat, self._chance.gauss
        return tuple([min(most_Bps, rate_Bps * exp(gauss(0, sigma))) for _ in range(count)])

    def _sky(self, before: Sky) -> Sky:
        noise, chance = self._noise, self._chance
        shared = self._lasting(before.calm, noise.day)
        calm = shared
        busy = chance.random() < (noise.spell_goes_on if before.busy else noise.spell_begins)
        if busy:
            shared += SPELL_LEAST + self._exponential(noise.spell_loss)
        return Sky(shared, busy, calm)

    def _heavy(self, deviation: float) -> float:
        """Return a draw with heavy tails: Student's t with four degrees of freedom."""
        chance = self._chance
        if not deviation:
            return 0.0
        # of the variance that is asked for: that of t is two
        return deviation * chance.gauss(0, 1) / sqrt(2 * chance.gammavariate(2, 0.5))

    def _lasting(self, before: float, deviation: float) -> float:
        """Return what is shared on a day after one on which it was so much."""
        return LASTS * before + sqrt(1 - LASTS**2) * self._heavy(deviation)

    def _goes_on(self, apart_s: float) -> float:
        """Return the chance that a run meets what the one before it met, so many seconds ago."""
        if apart_s > _NIGHT_S:
            return OVERNIGHT if self._noise.goes_on else 0.0
        faded: float = (1 + max(0.0, apart_s) / HOUR_S) ** -FADES
        return self._noise.goes_on * faded

    def _tail(self) -> float:
        if self._chance.random() >= self._noise.tail_share:
            return 0.0
        return self._size_of_tail()

    def _size_of_tail(self) -> float:
        return TAIL_LEAST + self._exponential(self._noise.tail_loss)

    def _coverage(self, busy: bool) -> float:
        noise = self._noise
        share = noise.contended_in_spell if busy else noise.contended
        if self._chance.random() >= share:
            return COVERAGE_ALONE
        return self._size_of_coverage()

    def _size_of_coverage(self) -> float:
        return COVERAGE_MOST * exp(-self._exponential(self._noise.coverage_lost))

    def _exponential(self, mean: Optional[float]) -> float:
        return self._chance.expovariate(1 / mean) if mean else 0.0


_WAYS = {Operation.WRITE: "away", Operation.SEND: "pair", Operation.RECEIVE: "pair"}
"""A pair of hosts is limited by the slower direction of each part, all else by its own."""


class _Place(NamedTuple):
    """A flow with its direction and path, and the flows at the same time, itself included."""

    way: str
    path: tuple[str, ...]
    beside: tuple[Flow, ...]


class Capacity:
    """The rates of all flows of a fleet, in bytes per second, before noise."""

    def __init__(self, fleet: Fleet) -> None:
        """Find what is healthy."""
        writes, reads = fleet.speeds.writes, fleet.speeds.reads
        self._given = {"away": writes, "back": reads, "pair": _both(reads, writes)}
        self._places = _places(fleet)
        self._systems = {
            member.key[1]: member.system
            for member in fleet.members
            if LAYERS[member.key[0]].per_target
        }
        self._crossing: dict[str, dict[Flow, None]] = {}
        for flow, place in self._places.items():
            for name in place.path:
                self._crossing.setdefault(name, {})[flow] = None
        self._needed: dict[str, float] = {}
        # so that the rate of a run, which is REACHED of this, is what was demonstrated
        self._most = {flow: rate / REACHED for flow, rate in fleet.demonstrated.items()}
        self.healthy_Bps: dict[Flow, float] = self._rates(self._places, ())
        self._needed = self._most_asked()

    @property
    def components(self) -> tuple[str, ...]:
        """Return all parts and targets that a measurement crosses."""
        return tuple(self._crossing)

    def under(self, faults: Sequence[Fault]) -> dict[Flow, float]:
        """Return the rates of the flows that the faults change."""
        parts = [fault for fault in faults if fault.component in self._crossing]
        crossing = {
            other: self._places[other]
            for fault in parts
            for flow in self._crossing[fault.component]
            for other in self._places[flow].beside
        }
        rates = self._rates(crossing, parts)
        for fault in faults:
            for flow in self._named(fault) if fault not in parts else ():
                rates[flow] = rates.get(flow, self.healthy_Bps[flow]) * (1 - fault.loss)
        # rounding changes nobody
        return {f: rate for f, rate in rates.items() if abs(rate / self.healthy_Bps[f] - 1) > 1e-9}

    def _named(self, fault: Fault) -> Iterator[Flow]:
        """Yield the flows that a fault of no part slows: of a release, a file system, the site."""
        system = fault.system if fault.version else fault.component
        for flow in self._places:
            ours = LAYERS[flow.layer].per_target and self._systems[flow.component] == system
            every = LAYERS[flow.layer].per_target if fault.version else fault.component == SITE
            if (ours or (every and not fault.system)) and _concerns(fault, flow.operation):
                yield flow

    def path(self, flow: Flow) -> tuple[str, ...]:
        """Return the components that a flow crosses."""
        return self._places[flow].path

    def left_to(self, flow: Flow, fault: Fault) -> float:
        """Return the rate of one flow under one fault."""
        return self._rates({flow: self._places[flow]}, [fault])[flow]

    def _rates(self, places: Mapping[Flow, _Place], faults: Sequence[Fault]) -> dict[Flow, float]:
        rates: dict[Flow, float] = {}
        lefts: dict[Operation, dict[str, float]] = {}
        for flow, place in places.items():
            if flow in rates:
                continue
            if flow.operation not in lefts:
                lefts[flow.operation] = _left(faults, flow.operation)
            share = lefts[flow.operation]
            paths = {other: self._places[other].path for other in place.beside}
            capacities = {
                name: self._capacity(name, place.way, share)
                for path in paths.values()
                for name in path
            }
            if len(paths) == 1:
                rates[flow] = _rate(alone(capacities, place.path))
                continue
            shares = together(capacities, {str(n): path for n, path in enumerate(paths.values())})
            rates.update(zip(paths, map(_rate, shares.values())))
        return {flow: min(rate, self._most.get(flow, rate)) for flow, rate in rates.items()}

    def _capacity(self, name: str, way: str, share: Mapping[str, float]) -> Optional[float]:
        rate_Bps = self._given[way].get(name)
        if name not in share:
            return rate_Bps
        return share[name] * (self._needed[name] if rate_Bps is None else rate_Bps)

    def _most_asked(self) -> dict[str, float]:
        """Return the most that the flows ask of each part, whatever way they run."""
        demands: dict[str, float] = {}
        for place in self._places.values():
            sums: dict[str, float] = {}
            for other in place.beside:
                for name in self._places[other].path:
                    sums[name] = sums.get(name, 0.0) + self.healthy_Bps[other]
            for name, total in sums.items():
                demands[name] = max(demands.get(name, 0.0), total)
        return demands


def _left(faults: Sequence[Fault], operation: Operation) -> dict[str, float]:
    """Return the share that faults leave of each part for an operation."""
    shares: dict[str, float] = {}
    for fault in faults:
        if _concerns(fault, operation):
            shares[fault.component] = shares.get(fault.component, 1.0) * (1 - fault.loss)
    return shares


def _concerns(fault: Fault, operation: Operation) -> bool:
    return fault.operation in ("", operation.value)


def _rate(limit: Optional[Limit]) -> float:
    # a fleet has no flow without a ceiling
    assert limit is not None
    return limit.ceiling.rate


def _both(reads: Capacities, writes: Capacities) -> Capacities:
    both: dict[str, Optional[float]] = {}
    for name, read in reads.items():
        write = writes[name]
        both[name] = min(read, write) if read is not None and write is not None else None
    return both


def _places(fleet: Fleet) -> dict[Flow, _Place]:
    paths = {flow: path for member in fleet.members for flow, path in _paths(member)}
    groups: dict[tuple[str, str], list[Flow]] = {}
    servers: dict[Flow, tuple[str, str]] = {}
    for member in fleet.members:
        for flow in member.flows():
            if flow.scenario is Scenario.TOGETHER:
                servers[flow] = member.node, flow.operation.value
                groups.setdefault(servers[flow], []).append(flow)
    return {
        flow: _Place(
            _WAYS.get(flow.operation, "back"),
            path,
            tuple(groups[servers[flow]]) if flow in servers else (flow,),
        )
        for flow, path in paths.items()
    }


def _paths(member: Member) -> Iterator[tuple[Flow, tuple[str, ...]]]:
    partners = {partner.name: partner.path for partner in member.expectation.partners}
    for flow in member.flows():
        yield flow, partners[flow.partner] if flow.partner else member.expectation.path


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
        self._flows = {member.key: tuple(member.flows()) for member in fleet.members}
        self._hosts = {
            member.key[1]: member for member in fleet.members if LAYERS[member.key[0]].paired
        }
        self._partners = tuple(sorted(self._hosts))
        self._members = {member.key: member for member in fleet.members}
        self._expected: Mapping[tuple[str, str], Expectation] = {}

    def expect(self, nodes: Mapping[str, Sequence[Expectation]]) -> None:
        """Have runs end early from now on that are as these expectations say."""
        expectations = (expectation for entries in nodes.values() for expectation in entries)
        self._expected = {
            (expectation.layer, expectation.component): expectation for expectation in expectations
        }

    @property
    def days_before(self) -> int:
        """Return the number of days until there are enough runs for baselines."""
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
        members = [
            self._members[expectation.layer, expectation.component] for expectation in chosen
        ]
        group = _Group(chosen[0].layer, members[0].node, chosen[0].group, tuple(members))
        keys = {
            (expectation.component, key) for expectation in chosen for key in expectation.references
        }
        with self._weather.further():
            records = self._run(group, start, rates_Bps, lambda flow: _key(flow) in keys)
            self.confirmed_bytes += sum(map(_moved, records))

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
        for (_, scenario), flows in steps.items():
            self.memory.add_run(self._ended(flows, together=scenario is Scenario.TOGETHER))
            yield from map(self.memory.latest, flows)

    def _ended(self, rates: Mapping[Flow, Rate], *, together: bool) -> Mapping[Flow, Rate]:
        """Return a run with the first repeats alone of what they were enough for."""
        enough = {flow for flow, rate in rates.items() if self._usual(flow, rate)}
        if together and len(enough) < len(rates):
            return rates
        return {flow: rate.first if flow in enough else rate for flow, rate in rates.items()}

    def _usual(self, flow: Flow, rate: Rate) -> bool:
        entry = self._expected.get((flow.layer, flow.component))
        first = rate.repeats[0]
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
    return len(record.repeats) * int((record.spec or {}).get("bytes", 0))


def _key(flow: Flow) -> tuple[str, str]:
    return flow.component, f"{flow.operation.value}/{flow.scenario.value}"


def _groups(members: Sequence[Member]) -> tuple[_Group, ...]:
    groups: dict[tuple[str, str, str], list[Member]] = {}
    for member in members:
        if not LAYERS[member.expectation.layer].paired:
            place = (member.expectation.layer, member.node, member.expectation.group)
            groups.setdefault(place, []).append(member)
    return tuple(_Group(*place, tuple(of)) for place, of in groups.items())


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
