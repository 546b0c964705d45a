"""Which node measures what: every component of a site in each layer, in measuring order."""

from __future__ import annotations

from itertools import groupby
from math import inf
from typing import Iterator, Sequence

from plumbline.errors import DocumentError
from plumbline.layers import LAYERS, ON_DEVICES, WHOLE
from plumbline.layers.layer import Layer
from plumbline.model.expectation import PARALLEL
from plumbline.model.limits import Limits
from plumbline.model.spec import ProbeSpec
from plumbline.plan.assignment import Assignment
from plumbline.plan.clients import refuse_two_clients
from plumbline.plan.feasible import refuse_infeasible
from plumbline.plan.parallel import parallel, spec_of_all
from plumbline.plan.places import Place, devices, paired, targets
from plumbline.plan.policy import Policy, hung_after_given, limits_of, spec_of
from plumbline.ranks.terms import SPARE_S, limit_s
from plumbline.topology.graph import Topology
from plumbline.units import format_duration


def assignments(topology: Topology, policy: Policy) -> tuple[Assignment, ...]:
    """Return all measurements of a site, layer by layer, in the order of the documents.

    A retired target has none, neither has the network of a site with fewer than two addresses.

    Raises:
        DocumentError: parts are not connected, the policy names what is not measured, or two
            clients would measure one target.
    """
    found = []
    for layer in LAYERS.values():
        places = _places(layer, topology, policy)
        _refuse_unknown_names(policy, layer.name, places)
        found += [_assignment(policy, layer.name, place, places) for place in places]
    refuse_two_clients(found)
    return tuple(found)


def _places(layer: Layer, topology: Topology, policy: Policy) -> list[Place]:
    """Return where the components of a layer are measured."""
    if layer.whole:
        return parallel(topology, policy)
    if layer.paired:
        return paired(topology, policy)
    return devices(topology) if layer.on_devices else targets(topology)


def _assignment(policy: Policy, layer: str, location: Place, places: Sequence[Place]) -> Assignment:
    names = (layer, _system(location), location.component)
    spec = _spec(policy, layer, location, places)
    limits = limits_of(policy, *names)._replace(
        stale_after_s=policy.layer(layer).schedule.stale_after_s(len(places))
    )
    if not hung_after_given(policy, *names):
        limits = limits._replace(hung_after_s=_hung_after_s(layer, spec, len(location.steps)))
    _refuse_contradiction(limits, layer, location.component)
    _refuse_longer_than_window(location, spec)
    refuse_infeasible(layer, location, spec, limits)
    return Assignment(layer, *location, spec=spec, limits=limits)


def _system(location: Place) -> str:
    """Return the group whose rules hold for a component: a whole has those of its members."""
    return location.component if location.target["kind"] == PARALLEL else location.group


def _spec(policy: Policy, layer: str, location: Place, places: Sequence[Place]) -> ProbeSpec:
    if layer not in WHOLE:
        return spec_of(policy, layer, location.group, location.component)
    system = _system(location)
    return spec_of_all(policy, system, sum(one.group == system for one in places))


def _hung_after_s(layer: str, spec: ProbeSpec, steps: int) -> float:
    """Return the seconds after which a run hangs of which nobody has said it."""
    if layer in WHOLE:
        return limit_s(spec.seconds, steps) + SPARE_S
    # each repeat may take its whole time, and so may the preparation of a file
    return (steps * spec.repeats + 1) * spec.seconds + SPARE_S


def _refuse_contradiction(limits: Limits, layer: str, component: str) -> None:
    if limits.critical.start > limits.warning.start:
        raise DocumentError(
            f"plumbline_policy: {layer} {component}: critical {limits.critical} begins above "
            f"warning {limits.warning}; a rate that warns must be the better one"
        )


def _refuse_longer_than_window(location: Place, spec: ProbeSpec) -> None:
    """Refuse what a pair of hosts would still measure when its receiving end is closed."""
    lasts = len(location.steps) * spec.repeats * spec.seconds
    window = location.target.get("window_s", inf)
    if lasts >= window:
        raise DocumentError(
            f"plumbline_policy: layer net: {location.component}: both directions take "
            f"{format_duration(lasts)}, but the receiving end is open for "
            f"{format_duration(window)}; lower seconds, or raise window"
        )


def _refuse_unknown_names(policy: Policy, layer: str, places: Sequence[Place]) -> None:
    rules = policy.layer(layer)
    groups, components = {p.group for p in places}, {p.component for p in places}
    for key, given, known in (
        ("group", rules.groups, groups),
        ("component", rules.components, components),
    ):
        unknown = sorted(set(given) - known)
        if unknown:
            raise DocumentError(
                f"plumbline_policy: layer {layer} has no {key} {unknown[0]!r}; "
                f"correct the name, or remove what it overrides"
            )


def by_server(found: Sequence[Assignment]) -> Iterator[list[Assignment]]:
    """Yield the raw measurements of each server that is measured with all devices together."""
    raw = [one for one in found if one.layer in ON_DEVICES and len(one.steps) > 1]
    for _, members in groupby(
        sorted(raw, key=lambda assignment: assignment.group),
        key=lambda assignment: assignment.group,
    ):
        yield list(members)
