"""What healthy and faulty paths give: each flow's ceiling, by the code that finds ceilings.

A part without a rate is taken to be just fast enough for the most that is ever asked of it,
whatever way, so that any loss of it shows.
"""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.ceiling import Capacities, Limit, alone, together
from plumbline.layers import SINGLE_TARGETS
from plumbline.model.record import Operation, Scenario
from plumbline.simulate.faults import SITE, Fault
from plumbline.simulate.fleet import Fleet, Flow, Member

_WAYS = {Operation.WRITE: "away", Operation.SEND: "pair", Operation.RECEIVE: "pair"}
"""A pair of hosts is limited by the slower direction of each part, all else by its own."""


class _Place(NamedTuple):
    """How a flow runs: which way, across what, and beside which others, itself included."""

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
            one.key[1]: one.system for one in fleet.members if one.key[0] in SINGLE_TARGETS
        }
        self._crossing: dict[str, dict[Flow, None]] = {}
        for flow, place in self._places.items():
            for name in place.path:
                self._crossing.setdefault(name, {})[flow] = None
        self._needed: dict[str, float] = {}
        self.healthy_Bps: dict[Flow, float] = self._rates(self._places, ())
        self._needed = self._most_asked()

    @property
    def components(self) -> tuple[str, ...]:
        """Return all parts and targets that a measurement crosses."""
        return tuple(self._crossing)

    def under(self, faults: Sequence[Fault]) -> dict[Flow, float]:
        """Return the rates of the flows that the faults make slower."""
        parts = [fault for fault in faults if fault.component in self._crossing]
        crossing = {
            other: self._places[other]
            for fault in parts
            for flow in self._crossing[fault.component]
            for other in self._places[flow].beside
        }
        found = self._rates(crossing, parts)
        for fault in faults:
            for flow in self._named(fault) if fault not in parts else ():
                found[flow] = found.get(flow, self.healthy_Bps[flow]) * (1 - fault.loss)
        # rounding makes nobody slower
        return {f: rate for f, rate in found.items() if rate < self.healthy_Bps[f] * (1 - 1e-9)}

    def _named(self, fault: Fault) -> Iterator[Flow]:
        """Yield what a fault slows that is of no part: a release, a file system, the site."""
        system = fault.system if fault.version else fault.component
        for flow in self._places:
            ours = flow.layer in SINGLE_TARGETS and self._systems[flow.component] == system
            every = flow.layer in SINGLE_TARGETS if fault.version else fault.component == SITE
            if (ours or (every and not fault.system)) and _concerns(fault, flow.operation):
                yield flow

    def path(self, flow: Flow) -> tuple[str, ...]:
        """Return the components that a flow crosses."""
        return self._places[flow].path

    def left_to(self, flow: Flow, fault: Fault) -> float:
        """Return the rate of one flow under one fault."""
        return self._rates({flow: self._places[flow]}, [fault])[flow]

    def _rates(self, places: Mapping[Flow, _Place], faults: Sequence[Fault]) -> dict[Flow, float]:
        found: dict[Flow, float] = {}
        lefts: dict[Operation, dict[str, float]] = {}
        for flow, place in places.items():
            if flow in found:
                continue
            if flow.operation not in lefts:
                lefts[flow.operation] = _left(faults, flow.operation)
            left = lefts[flow.operation]
            paths = {other: self._places[other].path for other in place.beside}
            capacities = {
                name: self._capacity(name, place.way, left)
                for path in paths.values()
                for name in path
            }
            if len(paths) == 1:
                found[flow] = _rate(alone(capacities, place.path))
                continue
            shares = together(capacities, {str(n): path for n, path in enumerate(paths.values())})
            found.update(zip(paths, map(_rate, shares.values())))
        return found

    def _capacity(self, name: str, way: str, left: Mapping[str, float]) -> Optional[float]:
        given = self._given[way].get(name)
        if name not in left:
            return given
        return left[name] * (self._needed[name] if given is None else given)

    def _most_asked(self) -> dict[str, float]:
        """Return the most that the flows ask of each part, whatever way they run."""
        asked: dict[str, float] = {}
        for place in self._places.values():
            sums: dict[str, float] = {}
            for other in place.beside:
                for name in self._places[other].path:
                    sums[name] = sums.get(name, 0.0) + self.healthy_Bps[other]
            for name, total in sums.items():
                asked[name] = max(asked.get(name, 0.0), total)
        return asked


def _left(faults: Sequence[Fault], operation: Operation) -> dict[str, float]:
    """Return what faults leave of each part for an operation."""
    left: dict[str, float] = {}
    for fault in faults:
        if _concerns(fault, operation):
            left[fault.component] = left.get(fault.component, 1.0) * (1 - fault.loss)
    return left


def _concerns(fault: Fault, operation: Operation) -> bool:
    return fault.operation in ("", operation.value)


def _rate(limit: Optional[Limit]) -> float:
    # a fleet has no flow without a ceiling
    assert limit is not None
    return limit.ceiling.rate_Bps


def _both(reads: Capacities, writes: Capacities) -> Capacities:
    found: dict[str, Optional[float]] = {}
    for name, read in reads.items():
        write = writes[name]
        found[name] = min(read, write) if read is not None and write is not None else None
    return found


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
