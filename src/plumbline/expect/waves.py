"""Which targets a client measures at the same time: those that do not disturb one another.

They share nothing but the client's own way and the network, whose rates carry the sum of their
ceilings: another server, adapter, controller and disk each.  A client whose own link has no rate
measures one after the other, for nobody knows how wide it is.  The waves follow from the documents
alone, so that node and console agree.
"""

from __future__ import annotations

from typing import Collection, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.layers import SINGLE_TARGETS
from plumbline.model.expectation import Expectation
from plumbline.model.waves import ALONE
from plumbline.topology.document import NETWORK
from plumbline.topology.graph import Topology

MOST_AT_ONCE = 16
"""Targets of a wave: fio holds some 30 MiB for each, and the unit may hold 1 GiB by default."""

_OPEN = 64
"""Waves that may still take a target: as many targets in a row may lie on one server."""

_TIE = 1 + 1e-9
"""Rounding alone makes no sum too large."""

Nodes = Mapping[str, Sequence[Expectation]]
Load = Mapping[tuple[str, str], float]
"""Bytes per second on each shared part with a rate, by step and part."""


class _Flow(NamedTuple):
    """What a target needs for itself, and what it loads of what others use as well."""

    name: str
    own: frozenset[str]
    load: Load


class _Wave:
    """Targets that do not disturb one another, and what they leave of the parts they share."""

    def __init__(self, capacities: Load) -> None:
        self.names: list[str] = []
        self._capacities = capacities
        self._own: set[str] = set()
        self._loads: dict[tuple[str, str], float] = {}

    def takes(self, flow: _Flow) -> bool:
        """Add a target and return True, or False where it would disturb or be disturbed."""
        if not self._own.isdisjoint(flow.own):
            return False
        sums = {key: self._loads.get(key, 0.0) + load for key, load in flow.load.items()}
        if self.names and any(sums[key] > self._capacities[key] * _TIE for key in sums):
            return False
        self.names.append(flow.name)
        self._own |= flow.own
        self._loads.update(sums)
        return True


def with_waves(topology: Topology, nodes: Nodes) -> dict[str, tuple[Expectation, ...]]:
    """Return what each node measures, with the wave in which it does."""
    return {node: tuple(_numbered(topology, node, entries)) for node, entries in nodes.items()}


def _numbered(
    topology: Topology, node: str, entries: Sequence[Expectation]
) -> Iterator[Expectation]:
    """Yield what a node measures with numbers of waves, from 1 on where there are several in it."""
    chosen = [one for one in entries if one.layer in SINGLE_TARGETS]
    way = {name for route in topology.routes[node] for name in route}
    flows = [flow for one in chosen if (flow := _flow(topology, way, node, one))]
    several = (wave for wave in _fill(flows, _capacities(topology, flows)) if len(wave.names) > 1)
    numbers = {name: number for number, wave in enumerate(several, 1) for name in wave.names}
    for one in entries:
        found = numbers.get(one.component, ALONE) if one.layer in SINGLE_TARGETS else ALONE
        yield one._replace(wave=found) if found else one


def _fill(flows: Sequence[_Flow], capacities: Load) -> list[_Wave]:
    """Return waves, each target in the first one that takes it."""
    waves: list[_Wave] = []
    still_open: list[_Wave] = []
    for flow in flows:
        taken = next((wave for wave in still_open if wave.takes(flow)), None)
        if taken is None:
            taken = _Wave(capacities)
            taken.takes(flow)
            waves.append(taken)
            still_open = [*still_open, taken][-_OPEN:]
        elif len(taken.names) == MOST_AT_ONCE:
            still_open.remove(taken)
    return waves


def _flow(
    topology: Topology, way: Collection[str], node: str, entry: Expectation
) -> Optional[_Flow]:
    """Return what a target needs, None where it cannot be measured beside another one."""
    parts = topology.components
    shared = [
        name
        for name in entry.path
        if name in way or (name in parts and parts[name].kind in NETWORK)
    ]
    link = [name for name in shared if name in way and parts[name].kind not in NETWORK]
    rates = {key: _rate(entry, key) for key in entry.references}
    load: dict[tuple[str, str], float] = {}
    for key, rate in rates.items():
        rated = [name for name in shared if _capacity(topology, key, name) is not None]
        if entry.host == node or rate is None or not set(rated) & set(link):
            return None
        load.update({(key, name): rate for name in rated})
    return _Flow(entry.component, frozenset(entry.path) - frozenset(shared), load)


def _rate(entry: Expectation, key: str) -> Optional[float]:
    """Return the most that an operation moves in a second, None where that is not known."""
    ceiling = entry.references[key].ceiling
    if ceiling is None:
        return None
    return min(ceiling.rate_Bps, entry.spec.rate_cap_Bps or ceiling.rate_Bps)


def _capacities(topology: Topology, flows: Sequence[_Flow]) -> Load:
    found = {key: _capacity(topology, *key) for flow in flows for key in flow.load}
    return {key: rate for key, rate in found.items() if rate is not None}


def _capacity(topology: Topology, key: str, name: str) -> Optional[float]:
    """Return what a part carries in the direction of a step, ``write/single`` for instance."""
    part = topology.components[name]
    return part.write_Bps if key.startswith("write") else part.read_Bps
