"""Rates of a simulated day: capacities, noise, and the due runs.

A disturbance of a single run tends to go on into the next one, over nights too; the shared loss of
a host or file system on a day has heavy tails and lasts.  All figures are the simulation's own,
taken from data (simulate/fleet.py), independent of the judge's.  Further runs draw from a random
source of their own, so that a fleet has the same planned days with and without confirmation.

A part without a rate is just fast enough for its largest load, in either direction, so that any
loss of it shows.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import chain
from math import ceil, exp, inf, log, sqrt
from random import Random
from statistics import median
from types import MappingProxyType
from typing import Callable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.record import Operation, Record, Scenario
from plumbline.model.units import DAY_S, HOUR_S
from plumbline.parts.simulate.days import starts
from plumbline.parts.simulate.fleet import (
    CALLS_PER_S,
    COVERAGE_ALONE,
    FADES,
    LASTS,
    MAX_COVERAGE,
    MIN_SPELL_LOSS,
    MIN_TAIL_LOSS,
    OVERNIGHT,
    REACHED,
    SITE,
    Fault,
    Fleet,
    Flow,
    Member,
    Noise,
)
from plumbline.parts.simulate.memory import Memory, Rate
from plumbline.parts.simulate.pairs import rounds_of
from plumbline.plan.capture import LAST_RUNS
from plumbline.plan.shared import flows_of
from plumbline.topology.ceiling import Capacities, Limit, alone, together

_NIGHT_S = 0.75 * DAY_S
"""Runs farther apart are not of one night and the following day."""

_KEY = 8
"""Words of a source's state that identify it."""


class SystemDay(NamedTuple):
    """Day of a file system: its shared loss, a logarithm, and whether it is busy.

    ``calm`` is the loss without that of a busy spell, which lasts independently.
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


_FIRST_DAY = SystemDay(0.0, False)


class Weather:
    """Disturbances of one fleet; systems, hosts and components are given by name."""

    def __init__(self, noise: Noise, chance: Random) -> None:
        """Draw from ``chance``, which has no other user."""
        self._noise = noise
        self._chance = self._planned = chance
        key = repr(chance.getstate()[1][:_KEY])
        self._further, self._verbs = Random(key), Random(f"verbs {key}")
        self._disturbances: dict[Flow, _Disturbance] = {}
        self._reruns: dict[Flow, _Disturbance] = {}
        self._system_days: dict[str, SystemDay] = {}
        self._hosts: dict[str, float] = {}
        self._components: dict[tuple[str, str], float] = {}
        self._of_calls: Optional[Weather] = None

    def _weather_of(self, flow: Flow) -> Weather:
        """Return the weather of a flow: calls draw apart, so that other days stay as without."""
        if self._of_calls is None and LAYERS[flow.layer].of_metadata:
            source = Random(repr(self._further.getstate()[1][:_KEY]))
            self._of_calls = Weather(self._noise.of_calls, source)
        of_calls = self._of_calls if LAYERS[flow.layer].of_metadata else None
        return of_calls or self

    def next_day(self) -> None:
        """Draw another day for every known file system and host, correlated with the last one."""
        if self._of_calls:
            self._of_calls.next_day()
        for host, before in self._hosts.items():
            self._hosts[host] = self._lasting(before, self._noise.host)
        for system, day in self._system_days.items():
            self._system_days[system] = self._next_system_day(day)

    @contextmanager
    def further(self) -> Iterator[None]:
        """Draw the disturbances of unplanned runs from a source of their own."""
        self._chance = self._further
        try:
            yield
        finally:
            self._chance = self._planned

    def run(self, flow: Flow, host: str, system: str, at: float) -> Draw:
        """Return the disturbance of one run of a flow today, at a moment in epoch seconds."""
        return self._weather_of(flow)._draw(flow, host, system, at)

    def _draw(self, flow: Flow, host: str, system: str, at: float) -> Draw:
        noise, gauss = self._noise, self._chance.gauss
        day = self._system_days.get(system)
        if day is None:
            day = self._system_days[system] = self._next_system_day(_FIRST_DAY)
        shared = self._hosts.get(host)
        if shared is None:
            shared = self._hosts[host] = self._heavy(noise.host)
        component = flow.layer, flow.component
        own = self._components.get(component)
        if own is None:
            own = self._components[component] = gauss(0, noise.component)
        loss = own + shared + day.loss + gauss(0, noise.spell_run if day.busy else noise.run)
        disturbance = self._disturb(self._last_disturbance(flow), at, day)
        (self._reruns if self._chance is self._further else self._disturbances)[flow] = disturbance
        loss += disturbance.tail
        if disturbance.coverage < MAX_COVERAGE:
            loss -= noise.contention_cost * log(disturbance.coverage)
        return Draw(loss, disturbance.coverage)

    def _last_disturbance(self, flow: Flow) -> Optional[_Disturbance]:
        """Return the disturbance of the run before; planned runs ignore further ones."""
        planned = self._disturbances.get(flow)
        further = self._reruns.get(flow) if self._chance is self._further else None
        return further if further and not (planned and planned.at > further.at) else planned

    def _disturb(self, before: Optional[_Disturbance], at: float, day: SystemDay) -> _Disturbance:
        """Return the disturbance of a run: often that of the run before."""
        if before is None or self._chance.random() >= self._goes_on(at - before.at):
            return _Disturbance(at, self._tail(), self._coverage(day.busy))
        tail, coverage = before.tail, before.coverage
        if tail and self._chance.random() >= self._noise.alike:
            tail = self._size_of_tail()
        if coverage < MAX_COVERAGE and self._chance.random() >= self._noise.alike:
            coverage = self._size_of_coverage()
        return _Disturbance(at, tail, coverage)

    def test(self, layer: str) -> float:
        """Return the loss of one test of a pair: verbs draw apart, so that days stay as without."""
        chance = self._verbs if LAYERS[layer].by_verbs else self._chance
        return chance.gauss(0, self._noise.network)

    def repeats(self, flow: Flow, rate: float, count: int, most: float) -> tuple[float, ...]:
        """Return the rates of the repeats of a run, none of them above ``most``."""
        weather = self._weather_of(flow)
        sigma, gauss = weather._noise.repeat, weather._chance.gauss
        return tuple([min(most, rate * exp(gauss(0, sigma))) for _ in range(count)])

    def _next_system_day(self, before: SystemDay) -> SystemDay:
        noise, chance = self._noise, self._chance
        shared = self._lasting(before.calm, noise.day)
        calm = shared
        busy = chance.random() < (noise.spell_goes_on if before.busy else noise.spell_begins)
        if busy:
            shared += MIN_SPELL_LOSS + self._exponential(noise.spell_loss)
        return SystemDay(shared, busy, calm)

    def _heavy(self, deviation: float) -> float:
        """Return a draw with heavy tails: Student's t with four degrees of freedom."""
        chance = self._chance
        if not deviation:
            return 0.0
        # scaled to the requested variance: that of t is two
        return deviation * chance.gauss(0, 1) / sqrt(2 * chance.gammavariate(2, 0.5))

    def _lasting(self, before: float, deviation: float) -> float:
        """Return the shared loss of a day, given that of the day before."""
        return LASTS * before + sqrt(1 - LASTS**2) * self._heavy(deviation)

    def _goes_on(self, apart_s: float) -> float:
        """Return the chance that the disturbance of the last run, ``apart_s`` ago, goes on."""
        if apart_s > _NIGHT_S:
            return OVERNIGHT if self._noise.goes_on else 0.0
        faded: float = (1 + max(0.0, apart_s) / HOUR_S) ** -FADES
        return self._noise.goes_on * faded

    def _tail(self) -> float:
        if self._chance.random() >= self._noise.tail_share:
            return 0.0
        return self._size_of_tail()

    def _size_of_tail(self) -> float:
        return MIN_TAIL_LOSS + self._exponential(self._noise.tail_loss)

    def _coverage(self, busy: bool) -> float:
        noise = self._noise
        share = noise.contended_in_spell if busy else noise.contended
        if self._chance.random() >= share:
            return COVERAGE_ALONE
        return self._size_of_coverage()

    def _size_of_coverage(self) -> float:
        return MAX_COVERAGE * exp(-self._exponential(self._noise.coverage_lost))

    def _exponential(self, mean: Optional[float]) -> float:
        return self._chance.expovariate(1 / mean) if mean else 0.0


_DIRECTIONS = {Operation.WRITE: "away", Operation.SEND: "pair", Operation.RECEIVE: "pair"}
"""A pair of hosts is limited by the slower direction of each part, all others by their own; verbs
have the same capacity in both."""


class _Place(NamedTuple):
    """A flow's direction and path, the concurrent flows with itself; of a sum, each read's path."""

    direction: str
    path: tuple[str, ...]
    concurrent: tuple[Flow, ...]
    reads: Mapping[str, tuple[str, ...]] = MappingProxyType({})


ROUNDING = 1e-9
"""Relative change of a rate that is none."""


class Capacity:
    """The rates of all flows of a fleet without noise, in bytes per second or calls per second."""

    def __init__(self, fleet: Fleet) -> None:
        """Compute the healthy rates."""
        self._metadata = {
            member.key[1] for member in fleet.members if LAYERS[member.key[0]].of_metadata
        }
        calls = dict.fromkeys(self._metadata, CALLS_PER_S)
        writes, reads = {**fleet.speeds.writes, **calls}, {**fleet.speeds.reads, **calls}
        self._speeds = {
            "away": writes,
            "back": reads,
            "pair": _slower_direction(reads, writes),
            "verbs": fleet.speeds.verbs,
        }
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
        # so that the rate of a run, REACHED times this, is the demonstrated one
        self._caps_Bps = {flow: rate / REACHED for flow, rate in fleet.demonstrated.items()}
        self.healthy_Bps: dict[Flow, float] = self._rates(self._places, ())
        self._needed = self._largest_loads()

    @property
    def components(self) -> tuple[str, ...]:
        """Return all parts and targets that a measurement crosses."""
        return tuple(self._crossing)

    @property
    def located(self) -> tuple[str, ...]:
        """Return the components that locating may name: all but metadata targets."""
        return tuple(name for name in self._crossing if name not in self._metadata)

    def under(self, faults: Sequence[Fault]) -> dict[Flow, float]:
        """Return the rates of the flows that the faults change."""
        parts = [fault for fault in faults if fault.component in self._crossing]
        crossing = {
            other: self._places[other]
            for fault in parts
            for flow in self._crossing[fault.component]
            for other in self._places[flow].concurrent
        }
        rates = self._rates(crossing, parts)
        for fault in faults:
            for flow in self._named_flows(fault) if fault not in parts else ():
                rates[flow] = rates.get(flow, self.healthy_Bps[flow]) * (1 - fault.loss)
        return {
            flow: rate
            for flow, rate in rates.items()
            if abs(rate / self.healthy_Bps[flow] - 1) > ROUNDING
        }

    def _named_flows(self, fault: Fault) -> Iterator[Flow]:
        """Yield the flows slowed by a fault of no part: a release, a file system, the site."""
        system = fault.system if fault.version else fault.component
        for flow in self._places:
            own = LAYERS[flow.layer].per_target and self._systems[flow.component] == system
            wide = LAYERS[flow.layer].per_target if fault.version else fault.component == SITE
            if (own or (wide and not fault.system)) and _concerns(fault, flow.operation):
                yield flow

    def path(self, flow: Flow) -> tuple[str, ...]:
        """Return the components that a flow crosses."""
        return self._places[flow].path

    def rate_under(self, flow: Flow, fault: Fault) -> float:
        """Return the rate of one flow under one fault."""
        return self._rates({flow: self._places[flow]}, [fault])[flow]

    def _rates(self, places: Mapping[Flow, _Place], faults: Sequence[Fault]) -> dict[Flow, float]:
        rates: dict[Flow, float] = {}
        remaining: dict[Operation, dict[str, float]] = {}
        for flow, place in places.items():
            if flow in rates:
                continue
            if flow.operation not in remaining:
                remaining[flow.operation] = _remaining_shares(faults, flow.operation)
            share = remaining[flow.operation]
            if place.reads:
                rates[flow] = sum(self._reads(place, share).values())
                continue
            paths = {other: self._places[other].path for other in place.concurrent}
            capacities = {
                name: self._capacity(name, place.direction, share)
                for path in paths.values()
                for name in path
            }
            if len(paths) == 1:
                rates[flow] = _rate(alone(capacities, place.path))
                continue
            shares = together(capacities, {str(n): path for n, path in enumerate(paths.values())})
            rates.update(zip(paths, map(_rate, shares.values())))
        return {flow: min(rate, self._caps_Bps.get(flow, rate)) for flow, rate in rates.items()}

    def _reads(self, place: _Place, share: Mapping[str, float]) -> dict[str, float]:
        capacities = {name: self._capacity(name, place.direction, share) for name in place.path}
        return {name: _rate(limit) for name, limit in together(capacities, place.reads).items()}

    def _capacity(self, name: str, direction: str, share: Mapping[str, float]) -> Optional[float]:
        rate_Bps = self._speeds[direction].get(name)
        if name not in share:
            return rate_Bps
        return share[name] * (self._needed[name] if rate_Bps is None else rate_Bps)

    def _largest_loads(self) -> dict[str, float]:
        """Return the largest load of the flows on each part, in either direction."""
        demands: dict[str, float] = {}
        for place in self._places.values():
            sums: dict[str, float] = {}
            loads = [
                (self._places[other].path, self.healthy_Bps[other]) for other in place.concurrent
            ]
            if place.reads:
                rates = self._reads(place, {})
                loads = [(path, rates[name]) for name, path in place.reads.items()]
            for path, rate in loads:
                for name in path:
                    sums[name] = sums.get(name, 0.0) + rate
            for name, total in sums.items():
                demands[name] = max(demands.get(name, 0.0), total)
        return demands


def _remaining_shares(faults: Sequence[Fault], operation: Operation) -> dict[str, float]:
    """Return the share of each part that faults leave for an operation."""
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


def _slower_direction(reads: Capacities, writes: Capacities) -> Capacities:
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
            if flow.scenario is Scenario.TOGETHER and not LAYERS[flow.layer].joint:
                servers[flow] = member.node, flow.operation.value
                groups.setdefault(servers[flow], []).append(flow)
    reads = _joint_reads(fleet.members)
    return {
        flow: _Place(
            "verbs" if LAYERS[flow.layer].by_verbs else _DIRECTIONS.get(flow.operation, "back"),
            tuple(dict.fromkeys(chain(*reads[flow].values()))) if flow in reads else path,
            (flow,) if flow in reads else tuple(groups.get(servers.get(flow, _NO_SERVER), (flow,))),
            reads.get(flow, {}),
        )
        for flow, path in paths.items()
    }


_NO_SERVER = "", ""


def _joint_reads(members: Sequence[Member]) -> dict[Flow, dict[str, tuple[str, ...]]]:
    """Return the paths of the reads whose sum each shared part's flow is."""
    paths = {member.key: member.expectation.path for member in members}
    return {
        flow: {
            read.component: paths[read.layer, read.component]
            for read in flows_of(member.expectation.target)
        }
        for member in members
        if LAYERS[member.key[0]].joint
        for flow in member.flows()
    }


def _paths(member: Member) -> Iterator[tuple[Flow, tuple[str, ...]]]:
    partners = {partner.name: partner.path for partner in member.expectation.partners}
    # calls move no bytes: no rate of another part limits them
    of_calls = LAYERS[member.key[0]].of_metadata
    path = member.expectation.path[-1:] if of_calls else member.expectation.path
    for flow in member.flows():
        yield flow, partners[flow.partner] if flow.partner else path


_Step = tuple[Operation, Scenario]


class _Group(NamedTuple):
    """Peers: the members of one group that one node measures in one run of a layer."""

    layer: str
    node: str
    name: str
    members: tuple[Member, ...]


class Measuring:
    """Measures a fleet run by run, into ``memory``.

    ``planned_bytes`` is the traffic of planned runs, ``confirmed_bytes`` that of confirmations.
    """

    def __init__(self, fleet: Fleet, weather: Weather) -> None:
        """Begin with an empty memory; ``weather`` must have no other user."""
        self.memory = Memory(fleet.members)
        self.planned_bytes = self.confirmed_bytes = 0
        self._weather = weather
        self._periods_s = fleet.periods_s
        self._groups = _groups(fleet.members)
        self._flows = {member.key: tuple(member.flows()) for member in fleet.members}
        self._rounds = tuple(rounds_of(fleet))
        self._members = {member.key: member for member in fleet.members}
        self._expected: Mapping[tuple[str, str], Expectation] = {}

    def expect(self, nodes: Mapping[str, Sequence[Expectation]]) -> None:
        """Let runs end early from now on if their rates are as expected."""
        expectations = (expectation for entries in nodes.values() for expectation in entries)
        self._expected = {
            (expectation.layer, expectation.component): expectation for expectation in expectations
        }

    @property
    def days_before(self) -> int:
        """Return the number of days until there are enough runs for baselines."""
        layers = {group.layer for group in self._groups}
        longest = max((self._periods_s[layer] for layer in layers), default=0.0)
        of_pairs = max((rounds.days for rounds in self._rounds), default=0)
        return max(1, ceil(LAST_RUNS * longest / DAY_S), of_pairs)

    def day(self, number: int, rates_Bps: Mapping[Flow, float]) -> Iterator[Record]:
        """Measure the due runs of a day, the first of which is 1, and yield the records.

        ``rates_Bps`` are the rates of the flows without noise.
        """
        for group in self._groups:
            for start in starts(number, self._periods_s[group.layer]):
                for record in self._run(group, start, rates_Bps):
                    self.planned_bytes += _moved(record)
                    yield record
        for rounds in self._rounds:
            if number > -rounds.days:
                for flow, rate in rounds.day(number, rates_Bps, self._weather.test):
                    self.memory.add_run({flow: rate})
                    yield self.memory.latest(flow)

    def confirm(
        self, chosen: Sequence[Expectation], start: float, rates_Bps: Mapping[Flow, float]
    ) -> None:
        """Measure some peers of one node and layer once more, at their present rates."""
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
            self.memory.add_run(self._ended_early(flows, together=scenario is Scenario.TOGETHER))
            yield from map(self.memory.latest, flows)

    def _ended_early(self, rates: Mapping[Flow, Rate], *, together: bool) -> Mapping[Flow, Rate]:
        """Return a run with only the first repeats of the flows for which they were enough."""
        enough = {flow for flow, rate in rates.items() if self._usual(flow, rate)}
        if together and len(enough) < len(rates):
            return rates
        return {flow: rate.first if flow in enough else rate for flow, rate in rates.items()}

    def _usual(self, flow: Flow, rate: Rate) -> bool:
        entry = self._expected.get((flow.layer, flow.component))
        first = rate.repeats[0]
        return entry is not None and entry.usual(flow.operation, flow.scenario, first)

    def _measure(self, member: Member, flow: Flow, start: float, ceiling: float) -> Rate:
        draw = self._weather.run(flow, member.expectation.host, member.system, start)
        # no run is faster than the hardware, which calls do not have
        most = inf if LAYERS[flow.layer].of_metadata else ceiling
        rate = min(most, REACHED * ceiling * exp(-draw.loss))
        repeats = self._weather.repeats(flow, rate, member.expectation.spec.repeats, most)
        coverage = draw.coverage if member.covered else None
        return Rate(start, median(repeats), repeats, coverage)


def _moved(record: Record) -> int:
    return len(record.repeats) * int((record.spec or {}).get("bytes", 0))


def _key(flow: Flow) -> tuple[str, str]:
    return flow.component, f"{flow.operation.value}/{flow.scenario.value}"


def _groups(members: Sequence[Member]) -> tuple[_Group, ...]:
    groups: dict[tuple[str, str, str], list[Member]] = {}
    for member in members:
        if not LAYERS[member.expectation.layer].paired:
            place = (member.expectation.layer, member.node, member.expectation.group)
            groups.setdefault(place, []).append(member)
    return tuple(_Group(*place, tuple(peers)) for place, peers in groups.items())
