"""What the nodes of a site measure, and how often, as its plan says."""

from __future__ import annotations

from types import MappingProxyType
from typing import Iterator, Mapping, NamedTuple

from plumbline.errors import DocumentError, UsageError
from plumbline.expect.plan import compile_plan
from plumbline.expect.speeds import Speeds, speeds
from plumbline.layers import GROUPED, PAIRED, SINGLE_TARGETS
from plumbline.model.expectation import Expectation
from plumbline.model.part import SitePart
from plumbline.model.path_service import PathService
from plumbline.model.record import Operation, Scenario
from plumbline.model.service import Service
from plumbline.plan.duration import seconds_of
from plumbline.plan.policy import Policy
from plumbline.topology.graph import Topology

_KNOWS_COVERAGE = ("device", "directory")
"""Kinds of targets whose traffic the node that measures them can see."""


class Flow(NamedTuple):
    """One operation of one component; ``partner`` is empty but for host pairs."""

    layer: str
    component: str
    operation: Operation
    scenario: Scenario
    partner: str = ""


class Member(NamedTuple):
    """One component in one layer: its expectation without baselines, and what it shares.

    ``system`` is the file system whose busy days it has, empty for a host.  ``covered`` says
    whether the node that measures it knows what else it moved meanwhile.
    """

    node: str
    expectation: Expectation
    system: str
    covered: bool

    @property
    def key(self) -> tuple[str, str]:
        """Return layer and component."""
        return self.expectation.layer, self.expectation.component

    def flows(self) -> Iterator[Flow]:
        """Yield all that is measured of it, for each partner where there are some."""
        for key in self.expectation.references:
            operation, _, scenario = key.partition("/")
            step = (*self.key, Operation(operation), Scenario(scenario))
            for partner in self.expectation.partners:
                yield Flow(*step, partner.name)
            if not self.expectation.partners:
                yield Flow(*step)


class Longest(NamedTuple):
    """The node whose run of a layer takes longest, and how long."""

    layer: str
    node: str
    seconds: float


class Fleet(NamedTuple):
    """A site as it is measured: ``periods_s`` is the time between two runs of each layer."""

    site: str
    members: tuple[Member, ...]
    periods_s: Mapping[str, float]
    speeds: Speeds
    kinds: Mapping[str, str]
    """The kind of each part, ``target`` of a target."""
    services: tuple[Service, ...] = ()
    """Those of the plan, which show the verdicts."""
    paths: tuple[PathService, ...] = ()
    """Those of the plan that say the suspects."""
    parts: Mapping[str, SitePart] = MappingProxyType({})
    """What each part of the plan is."""

    @property
    def systems(self) -> tuple[str, ...]:
        """Return the file systems whose targets are measured."""
        return tuple(
            dict.fromkeys(one.system for one in self.members if one.key[0] in SINGLE_TARGETS)
        )

    def longest(self) -> Iterator[Longest]:
        """Yield for each layer the node whose run takes longest, while everything is healthy."""
        for layer in GROUPED:
            nodes: dict[str, list[Expectation]] = {}
            for one in self.members:
                if one.key[0] == layer:
                    nodes.setdefault(one.node, []).append(one.expectation)
            if nodes:
                seconds, node = max((seconds_of(found), node) for node, found in nodes.items())
                yield Longest(layer, node, seconds)

    def neighbour(self, component: str) -> str:
        """Return the target or device that shares most parts with one.

        Raises:
            UsageError: there is no such target or device, or no other one shares a part with it.
        """
        own = [one for one in self.members if one.key[1] == component]
        for one in own:
            parts = set(one.expectation.path) - {component}
            others = [
                (len(parts.intersection(other.expectation.path)), other.key[1])
                for other in self.members
                if other.key[0] == one.key[0] and other.key[1] != component
            ]
            shared, name = max(others, key=lambda pair: pair[0], default=(0, ""))
            if shared:
                return name
        what = "shares no part with another one" if own else "is no target or device"
        raise UsageError(f"{component!r} {what}, so it has no neighbour; name two faults instead")


def build(topology: Topology, policy: Policy) -> Fleet:
    """Return the fleet of a site.

    Raises:
        DocumentError: the documents do not fit together, nothing is measured, or something is on
            a path where no part has a rate.
    """
    plan = compile_plan(topology, policy, {})
    systems = {one.on: one.file_system for one in topology.targets.values()}
    periods = {name: policy.layer(name).schedule.period_s() for name in (*GROUPED, *PAIRED)}
    # what other layers measure has a noise of its own, which nobody has fitted
    members = tuple(
        Member(node, each, _system(each, systems), _covered(each, node))
        for node, found in plan.expectations.items()
        for each in found
        if each.layer in periods
    )
    if not members:
        raise DocumentError(
            f"plumbline_topology: nothing of {topology.site} is measured; give it file systems "
            "with targets, devices, or hosts with addresses"
        )
    for member in members:
        _refuse_unlimited(member.expectation)
    kinds = {name: part.kind for name, part in topology.components.items()}
    kinds.update(dict.fromkeys(topology.targets, "target"))
    return Fleet(
        topology.site,
        members,
        periods,
        speeds(topology),
        kinds,
        plan.services,
        plan.paths,
        plan.parts,
    )


def _system(one: Expectation, systems: Mapping[str, str]) -> str:
    if one.layer in PAIRED:
        return ""
    return one.group if one.layer in SINGLE_TARGETS else systems.get(one.component, one.group)


def _covered(one: Expectation, node: str) -> bool:
    if one.layer in PAIRED:
        return False
    # the server of a Lustre target sees what it moves, a mere client does not
    local = one.target["kind"] == "lustre" and one.host == node
    return local or one.target["kind"] in _KNOWS_COVERAGE


def _refuse_unlimited(one: Expectation) -> None:
    for key, reference in one.references.items():
        if reference.ceiling is None and not one.partners:
            raise DocumentError(
                f"plumbline_topology: no part on the path of {one.component} has a rate for "
                f"{key.partition('/')[0]}; give one of {', '.join(one.path)} a rate to simulate it"
            )
