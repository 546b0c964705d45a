"""Ceilings and baselines of all measurements: what each operation is held against."""

from __future__ import annotations

from typing import Mapping, Optional, Sequence

from plumbline.baseline.document import Baselines, Key
from plumbline.ceiling import Capacities, alone, together
from plumbline.errors import DocumentError
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.record import Operation, Scenario
from plumbline.model.reference import Baseline, Ceiling, Reference
from plumbline.plan.assignments import Assignment, Step, by_server
from plumbline.plan.rounds import partners
from plumbline.topology.graph import Topology
from plumbline.topology.paths import between

Ceilings = Mapping[tuple[str, str, Step], Optional[Ceiling]]
"""By layer, component and step; None where nothing on the path has a rate."""

_AWAY = (Operation.WRITE, Operation.SEND)


def find_ceilings(topology: Topology, measured: Sequence[Assignment]) -> Ceilings:
    """Return the ceiling of every step; siblings that run together share what they cross."""
    found = {
        (one.layer, one.component, step): _with_kinds(
            topology, alone(_capacities(topology, one, step[0]), one.path)
        )
        for one in measured
        for step in one.steps
        if step[1] is Scenario.SINGLE
    }
    step = (Operation.READ, Scenario.TOGETHER)
    capacities = {name: part.read_Bps for name, part in topology.components.items()}
    for members in by_server(measured):
        shares = together(capacities, {one.component: one.path for one in members})
        found.update(
            {("raw", name, step): _with_kinds(topology, share) for name, share in shares.items()}
        )
    return found


def _with_kinds(topology: Topology, ceiling: Optional[Ceiling]) -> Optional[Ceiling]:
    if ceiling is None:
        return None
    return ceiling._replace(
        kinds=tuple(topology.components[name].kind for name in ceiling.limited_by)
    )


def _capacities(topology: Topology, one: Assignment, operation: Operation) -> Capacities:
    """Return what the parts on a path can carry in the direction of ``operation``.

    A part's write is the way towards storage, its read the way back: a client that sends uses
    what writes use, a server that sends what reads use.
    """
    writes = operation in _AWAY
    if one.layer == "net" and topology.components[one.component].kind == "server":
        writes = not writes
    parts = ((name, topology.components.get(name)) for name in one.path)
    return {
        name: part.write_Bps if writes else part.read_Bps
        for name, part in parts
        if part is not None
    }


def expectation(
    topology: Topology, one: Assignment, ceilings: Ceilings, accepted: Baselines
) -> Expectation:
    """Return a measurement with its references.

    A baseline that was taken on other terms of the probe is left out, so it can alarm nobody.
    """
    references = {
        f"{operation.value}/{scenario.value}": Reference(
            ceilings[one.layer, one.component, (operation, scenario)],
            _baseline(one, (operation, scenario), accepted),
        )
        for operation, scenario in one.steps
    }
    return Expectation(
        layer=one.layer,
        component=one.component,
        host=one.host,
        group=one.group,
        target=one.target,
        path=one.path,
        spec=one.spec,
        references=references,
        limits=one.limits,
        partners=_partners(topology, one) if one.layer == "net" else (),
    )


def _baseline(one: Assignment, step: Step, accepted: Baselines) -> Optional[Baseline]:
    baseline = accepted.get(Key(one.layer, one.component, step[0].value, step[1].value))
    return baseline if baseline and baseline.spec_hash == one.spec.hash() else None


def _partners(topology: Topology, one: Assignment) -> tuple[Partner, ...]:
    names = partners(one.target["hosts"], one.component)
    return tuple(_partner(topology, one.component, name) for name in names)


def _partner(topology: Topology, own: str, name: str) -> Partner:
    """Return a pair's other host; the ceiling holds for both directions."""
    host, other = topology.components[own], topology.components[name]
    path = between(topology, host, other)
    capacities = {
        part: min(topology.components[part].read_Bps or 0, topology.components[part].write_Bps or 0)
        for part in path
    }
    ceiling = _with_kinds(topology, alone(capacities, path))
    if ceiling is None:
        raise DocumentError(
            f"plumbline_topology: nothing between {own} and {name} has a rate; "
            "give the network ports of one of them link and encoding, or take its address away"
        )
    return Partner(name, other.address, path, ceiling)
