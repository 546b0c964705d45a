"""Network in the plan: hosts that look at the fabric, its links, and the switch of each host."""

from __future__ import annotations

from typing import Iterator, Mapping, Optional, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import FabricLink, Switches
from plumbline.model.symptom import LINKS
from plumbline.plan.looks import SymptomsPolicy, kinds_of
from plumbline.topology.graph import Component, Topology
from plumbline.topology.names import expand, fold

_SWITCH = "switch"
_ENDS = ("client", "server", _SWITCH, "router")
"""Kinds of parts that have a port of the fabric; those between them are adapters and cables."""
_DEPTH = 4
"""Most parts between two ends: adapter, port, link."""


def fabric_links(topology: Topology, rules: SymptomsPolicy) -> Mapping[str, tuple[FabricLink, ...]]:
    """Return the links of the topology for each host that looks at the fabric.

    Raises:
        DocumentError: the policy names an unknown host, or one without a service of links.
    """
    names = [name for text in rules.fabric for name in expand(text)]
    kinds = kinds_of(rules, [host.name for host in topology.hosts()])
    for name in names:
        if name not in kinds:
            raise DocumentError(
                f"plumbline_policy: symptoms fabric {name} is no host of plumbline_topology; "
                "correct its name, or remove it"
            )
        if LINKS not in kinds[name]:
            raise DocumentError(
                f"plumbline_policy: symptoms fabric names {name}, which has no service of links "
                f"to show what it finds; add {LINKS} to its kinds of symptoms"
            )
    links = tuple(_links(topology)) if names else ()
    return dict.fromkeys(names, links)


def switches(topology: Topology) -> Mapping[str, Switches]:
    """Return the switches of the topology for each host that is drawn next to one."""
    parts = topology.components
    every = frozenset(part.name for part in parts.values() if part.kind == _SWITCH)
    others: dict[tuple[str, ...], tuple[str, ...]] = {}
    found = {}
    for host in topology.hosts():
        ends = (way[-1] for way in _ways(parts, host, ()))
        near = tuple(dict.fromkeys(end.name for end in ends if end.kind == _SWITCH))
        if near:
            if near not in others:
                others[near] = tuple(filter(None, fold(every.difference(near)).split(", ")))
            found[host.name] = Switches(near, others[near])
    return found


def _links(topology: Topology) -> Iterator[FabricLink]:
    parts = topology.components
    for end in parts.values():
        if end.kind in _ENDS:
            for way in _ways(parts, end, ()):
                yield _link(end, way)


def _ways(
    parts: Mapping[str, Component], part: Component, crossed: Sequence[Component]
) -> Iterator[tuple[Component, ...]]:
    """Yield the parts from an end to each next one nearer to the network, that one included."""
    for above in (parts[name] for name in part.feeds):
        if above.kind in _ENDS:
            yield (*crossed, above)
        elif len(crossed) < _DEPTH:
            yield from _ways(parts, above, (*crossed, above))


def _link(end: Component, way: Sequence[Component]) -> FabricLink:
    *between, far = way
    rated = [(rate, part.name) for part in between if (rate := _rate(part)) is not None]
    rate, name = min(rated, default=(None, between[0].name if between else end.name))
    return FabricLink(name, (end.name, far.name), rate, end.is_host)


def _rate(part: Component) -> Optional[float]:
    rates = [rate for rate in (part.read_Bps, part.write_Bps) if rate is not None]
    return min(rates, default=None)
