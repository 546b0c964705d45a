"""Waves: targets that a node measures at the same time.

They share only the client's link and the network, whose rates suffice for the sum of their
ceilings.  Without a rate of its link, a client measures its targets one after the other.
"""

from __future__ import annotations

from typing import Collection, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.expectation import ALONE, Expectation
from plumbline.model.layers import LAYERS
from plumbline.plan.exposure import MAX_AT_ONCE
from plumbline.topology.document import NETWORK
from plumbline.topology.graph import Topology

_OPEN_WAVES = 64
"""Most open waves, for as many successive targets on one server."""

_ROUNDING = 1 + 1e-9
"""Tolerance for rounding of sums."""

Nodes = Mapping[str, Sequence[Expectation]]
Load = Mapping[tuple[str, str], float]
"""Bytes per second on each shared part with a rate, by step and part."""


class _Flow(NamedTuple):
    """A target's unshared parts, and its load on shared parts.

    ``bounded`` is whether the client's link has a rate in each direction that is measured.
    """

    name: str
    own: frozenset[str]
    load: Load
    bounded: bool


class _Wave:
    """Targets that do not disturb each other, and their load on shared parts."""

    def __init__(self, capacities: Load) -> None:
        self.names: list[str] = []
        self._capacities = capacities
        self._own: set[str] = set()
        self._loads: dict[tuple[str, str], float] = {}

    def takes(self, flow: _Flow) -> bool:
        """Add a target unless it would disturb or be disturbed; return whether it was added."""
        if not self._own.isdisjoint(flow.own):
            return False
        sums = {key: self._loads.get(key, 0.0) + load for key, load in flow.load.items()}
        if self.names and any(sums[key] > self._capacities[key] * _ROUNDING for key in sums):
            return False
        self.names.append(flow.name)
        self._own |= flow.own
        self._loads.update(sums)
        return True


def with_waves(topology: Topology, nodes: Nodes) -> dict[str, tuple[Expectation, ...]]:
    """Add to each node's measurements the number of their wave."""
    return {node: tuple(_numbered(topology, node, entries)) for node, entries in nodes.items()}


def _numbered(
    topology: Topology, node: str, entries: Sequence[Expectation]
) -> Iterator[Expectation]:
    """Yield a node's measurements with numbers of waves, from 1 for waves of several targets."""
    flows = [flow for flow in _flows(topology, node, entries) if flow.bounded]
    several = (
        wave for wave in _form_waves(flows, _capacities(topology, flows)) if len(wave.names) > 1
    )
    numbers = {name: number for number, wave in enumerate(several, 1) for name in wave.names}
    for entry in entries:
        own_wave = numbers.get(entry.component, ALONE) if LAYERS[entry.layer].per_target else ALONE
        yield entry._replace(wave=own_wave) if own_wave else entry


def one_by_one(topology: Topology, nodes: Nodes) -> Iterator[str]:
    """Yield a sentence on each client that would measure in waves if its link had a rate."""
    for node, entries in nodes.items():
        flows = [flow for flow in _flows(topology, node, entries) if not flow.bounded]
        waves = _form_waves(flows, _capacities(topology, flows))
        if any(len(wave.names) > 1 for wave in waves):
            yield (
                f"{node} measures its {len(flows)} targets one after the other, as its link has no "
                "rate; give it one, and as many are measured at the same time as it carries"
            )


def _flows(topology: Topology, node: str, entries: Sequence[Expectation]) -> Iterator[_Flow]:
    """Yield the flows of a node's targets that could be measured together with others."""
    route_parts = {name for route in topology.routes[node] for name in route}
    for entry in entries:
        flow = LAYERS[entry.layer].per_target and _flow(topology, route_parts, node, entry)
        if flow:
            yield flow


def _form_waves(flows: Sequence[_Flow], capacities: Load) -> list[_Wave]:
    """Put each target in the first open wave that it fits in; return the waves."""
    waves: list[_Wave] = []
    open_waves: list[_Wave] = []
    for flow in flows:
        wave = next((wave for wave in open_waves if wave.takes(flow)), None)
        if wave is None:
            wave = _Wave(capacities)
            wave.takes(flow)
            waves.append(wave)
            open_waves = [*open_waves, wave][-_OPEN_WAVES:]
        elif len(wave.names) == MAX_AT_ONCE:
            open_waves.remove(wave)
    return waves


def _flow(
    topology: Topology, route_parts: Collection[str], node: str, entry: Expectation
) -> Optional[_Flow]:
    """Return the flow of a target, None if it cannot be measured together with others."""
    parts = topology.components
    shared = [
        name
        for name in entry.path
        if name in route_parts or (name in parts and parts[name].kind in NETWORK)
    ]
    link = [name for name in shared if name in route_parts and parts[name].kind not in NETWORK]
    steps = entry.steps_in_bytes()
    keys = (f"{operation.value}/{scenario.value}" for operation, scenario, _ in steps)
    rates = {key: _rate(entry, key) for key in keys}
    load: dict[tuple[str, str], float] = {}
    bounded = True
    for key, rate in rates.items():
        rated = [name for name in shared if _capacity(topology, key, name) is not None]
        if entry.host == node or rate is None:
            return None
        bounded = bounded and not set(rated).isdisjoint(link)
        load.update({(key, name): rate for name in rated})
    return _Flow(entry.component, frozenset(entry.path) - frozenset(shared), load, bounded)


def _rate(entry: Expectation, key: str) -> Optional[float]:
    """Return the highest rate of an operation in bytes per second, None if unknown."""
    ceiling = entry.references[key].ceiling
    if ceiling is None:
        return None
    return min(ceiling.rate, entry.spec.rate_cap_Bps or ceiling.rate)


def _capacities(topology: Topology, flows: Sequence[_Flow]) -> Load:
    rates = {key: _capacity(topology, *key) for flow in flows for key in flow.load}
    return {key: rate for key, rate in rates.items() if rate is not None}


def _capacity(topology: Topology, key: str, name: str) -> Optional[float]:
    """Return the rate of a part in the direction of a step such as ``write/single``."""
    part = topology.components[name]
    return part.write_Bps if key.startswith("write") else part.read_Bps
