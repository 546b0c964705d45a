"""Ceilings and baselines of all measurements: what each operation is held against."""

from __future__ import annotations

from typing import Mapping, Optional, Sequence

from plumbline.baseline.document import Baselines, Key
from plumbline.ceiling import Limit, alone, together
from plumbline.errors import DocumentError
from plumbline.expect.goals import Goals
from plumbline.expect.parallel import by_file_system, limits_of_all
from plumbline.expect.speeds import Limits, speeds
from plumbline.layers import PAIRED
from plumbline.layers.raw import RAW
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.record import Operation, Scenario
from plumbline.model.reference import Ceiling, Reference
from plumbline.plan.assignment import Assignment
from plumbline.plan.assignments import by_server
from plumbline.plan.places import Step
from plumbline.plan.rounds import partners
from plumbline.topology.graph import Topology
from plumbline.topology.paths import between
from plumbline.topology.routes import Route

Ceilings = Mapping[tuple[str, str, Step], Optional[Ceiling]]
"""By layer, component and step; None where nothing on the path has a rate."""

_NO_GOAL = Reference(None, None)


def find_limits(topology: Topology, measured: Sequence[Assignment]) -> Limits:
    """Return the limits of every step; peers that run together share what they cross."""
    capacities = speeds(topology)
    found = {
        (one.layer, one.component, step): alone(
            capacities.of(step[0], _kind_of_host(topology, one)), one.path
        )
        for one in measured
        for step in one.steps
        if step[1] is Scenario.SINGLE
    }
    step = (Operation.READ, Scenario.TOGETHER)
    for members in by_server(measured):
        shares = together(capacities.reads, {one.component: one.path for one in members})
        found.update({(RAW.name, name, step): share for name, share in shares.items()})
    for members, whole in by_file_system(measured):
        found.update(limits_of_all(topology, capacities, members, whole))
    return found


def find_ceilings(topology: Topology, measured: Sequence[Assignment]) -> Ceilings:
    """Return the ceiling of every step, with the kinds of the parts that set it."""
    return {
        key: _with_kinds(topology, limit) for key, limit in find_limits(topology, measured).items()
    }


def _kind_of_host(topology: Topology, assignment: Assignment) -> str:
    return topology.components[assignment.component].kind if assignment.layer in PAIRED else ""


def _with_kinds(topology: Topology, limit: Optional[Limit]) -> Optional[Ceiling]:
    if limit is None:
        return None
    kinds = tuple(topology.components[name].kind for name in limit.ceiling.limited_by)
    return limit.ceiling._replace(kinds=kinds)


def expectation(
    topology: Topology,
    assignment: Assignment,
    ceilings: Ceilings,
    accepted: Baselines,
    goals: Goals,
) -> Expectation:
    """Return a measurement with its references; the judge sees whether conditions still hold."""
    references = {
        f"{operation.value}/{scenario.value}": goals.get(
            (assignment.layer, assignment.component, (operation, scenario)), _NO_GOAL
        )._replace(
            ceiling=ceilings[assignment.layer, assignment.component, (operation, scenario)],
            baseline=accepted.get(
                Key(assignment.layer, assignment.component, operation.value, scenario.value)
            ),
        )
        for operation, scenario in assignment.steps
    }
    return Expectation(
        layer=assignment.layer,
        component=assignment.component,
        host=assignment.host,
        group=assignment.group,
        target=assignment.target,
        path=assignment.path,
        spec=assignment.spec,
        references=references,
        limits=assignment.limits,
        partners=_partners(topology, assignment) if assignment.layer in PAIRED else (),
    )


def _partners(topology: Topology, assignment: Assignment) -> tuple[Partner, ...]:
    names = partners(assignment.target["hosts"], assignment.component)
    return tuple(_partner(topology, assignment.component, name) for name in names)


def _partner(topology: Topology, own: str, name: str) -> Partner:
    path, limit = find_pair(topology, own, name)
    ceiling = _with_kinds(topology, limit)
    if ceiling is None:
        raise DocumentError(
            f"plumbline_topology: nothing between {own} and {name} has a rate; "
            "give the network ports of one of them link and encoding, or take its address away"
        )
    return Partner(name, topology.components[name].address, path, ceiling)


def find_pair(topology: Topology, own: str, name: str) -> tuple[Route, Optional[Limit]]:
    """Return the path of a pair of hosts and its limit, which holds for both directions."""
    path = between(topology, topology.components[own], topology.components[name])
    parts = [topology.components[part] for part in path]
    capacities = {
        part.name: min(part.read_Bps, part.write_Bps)
        for part in parts
        if part.read_Bps is not None and part.write_Bps is not None
    }
    return path, alone(capacities, path)
