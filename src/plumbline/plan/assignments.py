"""Assignments: the node, the terms and the limits of each measured component.

Locks work only within one host, so the plan refuses targets that two hosts could measure at once.

To find errors early, each target and each command of a tool is built once as on the node, without
executing anything.
"""

from __future__ import annotations

from itertools import groupby
from math import inf
from typing import Iterator, Mapping, Optional, Sequence

from plumbline.measure.probes import probe_for, tools_of
from plumbline.measure.probes.interface import Job
from plumbline.measure.targets import KINDS, target_for
from plumbline.model.codec import refuse_impossible
from plumbline.model.command import Within
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import PARALLEL, own_terms
from plumbline.model.layers import LAYERS
from plumbline.model.layers.layer import Layer
from plumbline.model.limits import Limits
from plumbline.model.ranks import (
    SPARE_S,
    limit_s,
)
from plumbline.model.record import Operation
from plumbline.model.shared import KIND as SHARED_KIND
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import format_duration
from plumbline.plan.file_systems import file_system_spec, is_further_test, parallel
from plumbline.plan.pairs import paired, rails
from plumbline.plan.places import Assignment, Place, Step, devices, system_of, targets
from plumbline.plan.policy import Policy, explicit, limits_of, spec_of
from plumbline.plan.server_places import on_servers
from plumbline.plan.shared import shared_parts, shared_spec
from plumbline.topology.graph import Topology


def refuse_two_clients(measured: Sequence[Assignment]) -> None:
    """Refuse a target with two clients; raise DocumentError naming target, clients and remedy."""
    first: dict[tuple[str, ...], Assignment] = {}
    for assignment in measured:
        storage = (
            _storage_key(assignment.target, assignment.component)
            if LAYERS[assignment.layer].on_targets
            else None
        )
        if storage is None:
            continue
        other = first.setdefault(storage, assignment)
        if other.node != assignment.node:
            raise DocumentError(_two_clients_message(other, assignment))


def _storage_key(target: Mapping[str, str], name: str) -> Optional[tuple[str, ...]]:
    """Return the identity of a target's storage, None if it is local to the client."""
    kind = target["kind"]
    return None if kind == PARALLEL else KINDS[kind].storage(target, name)


def _two_clients_message(assignment: Assignment, other: Assignment) -> str:
    names = assignment.component
    if assignment.component != other.component:
        names += f" and {other.component} are one target, which"
    text = (
        f"{names} would be measured by {assignment.node} (layer {assignment.layer}) and by "
        f"{other.node} (layer {other.layer}): two clients halve each other's rates"
    )
    if LAYERS[assignment.layer].by_ranks != LAYERS[other.layer].by_ranks:
        serial, parallel = (
            (other, assignment) if LAYERS[assignment.layer].by_ranks else (assignment, other)
        )
        return (
            f"plumbline_policy: {text}; name {serial.node} first in layers.fs.clients, or "
            f"{parallel.node} as client of the file system {serial.group}"
        )
    return f"plumbline_topology: {text}; give both the same client, or leave one out"


def refuse_infeasible(layer: str, location: Place, spec: ProbeSpec, limits: Limits) -> None:
    """Refuse terms with which a component cannot be measured.

    Raises:
        DocumentError: naming document, component and remedy.
    """
    try:
        subject = _subject(location)
    except DocumentError as error:
        raise DocumentError(f"plumbline_topology: {location.component}: {error}") from error
    where = f"plumbline_policy: layer {layer}: {location.component}"
    try:
        refuse_impossible(limits)
        refuse_impossible(spec)
        # ranks have no choice of tools, and flows the tool of their own layer
        if not LAYERS[layer].by_ranks and not LAYERS[layer].joint:
            _refuse_tool(tools_of(LAYERS[layer]), spec.tool)
            for operation in dict.fromkeys(operation for operation, _ in location.steps):
                _build_command(location, operation, own_terms(spec, operation), *subject)
    except (DocumentError, TypeError) as error:
        raise DocumentError(f"{where}: {error}") from error


def _subject(location: Place) -> tuple[str, Optional[Within]]:
    """Return the argument of a tool: a file and its folder, a device, or an address."""
    if location.target["kind"] in (PARALLEL, SHARED_KIND):
        return "", None
    if location.target["kind"] == "pair":
        return str(location.target["address"]), None
    within = target_for(location.target, location.component).within()
    if within is None:
        return str(location.target["device"]), None
    return f"{within.path}/{within.file}".rstrip("/"), within


def _refuse_tool(tools: Sequence[str], tool: str) -> None:
    if tool not in tools:
        raise DocumentError(
            f"the tool {tool[:60]!r} does not measure this layer; write one of: {', '.join(tools)}"
        )


def _build_command(
    location: Place, operation: Operation, spec: ProbeSpec, subject: str, within: Optional[Within]
) -> None:
    target = location.target
    probe_for(spec.tool).command(
        Job(
            operation,
            spec,
            subject,
            own_address=target.get("address", ""),
            port=target.get("port", 0),
            within=within,
            adapter=target.get("adapter", ""),
        )
    )


def assignments(topology: Topology, policy: Policy) -> tuple[Assignment, ...]:
    """Return all measurements of a site by layer, in the order of the documents.

    Retired targets have none, nor has the network of a site with fewer than two addresses.

    Raises:
        DocumentError: parts are not connected, the policy names something that is not measured, or
            two clients would measure one target.
    """
    measured: list[Assignment] = []
    for layer in LAYERS.values():
        places = _places(layer, topology, policy, measured) if policy.measures(layer.name) else []
        _refuse_unknown_names(policy, layer.name, places)
        specs = [_spec(policy, layer.name, place, places, measured) for place in places]
        measured += [
            _assignment(policy, layer.name, place, _members(layer, place, places), spec)
            for place, spec in zip(places, specs)
        ]
    refuse_two_clients(measured)
    return tuple(measured)


def _places(
    layer: Layer, topology: Topology, policy: Policy, measured: Sequence[Assignment]
) -> list[Place]:
    """Return the places of a layer's components; ``measured`` are those of earlier layers."""
    if layer.joint:
        return shared_parts(topology, policy, layer, measured)
    if layer.whole:
        return parallel(topology, policy)
    if layer.by_verbs:
        return rails(topology, policy, layer)
    if layer.paired:
        return paired(topology, policy)
    if layer.on_servers:
        return on_servers(topology, layer)
    if layer.on_devices:
        return devices(topology, layer)
    chosen = getattr(policy.layer(layer.name), "random_reads", ())
    return targets(topology, layer, chosen)


def _members(layer: Layer, place: Place, places: Sequence[Place]) -> int:
    """Return the number of components of a layer that take turns with one."""
    return len(place.target["hosts"]) if layer.by_verbs else len(places)


def _assignment(
    policy: Policy, layer: str, location: Place, members: int, spec: ProbeSpec
) -> Assignment:
    names = (layer, system_of(location), location.component)
    limits = limits_of(policy, *names)._replace(
        stale_after_s=policy.layer(layer).stale_after_s(members)
    )
    if is_further_test(policy, location):
        # small or shared calls have no known ceiling, only their baseline
        limits = limits._replace(min_efficiency=0.0)
    if explicit(policy, *names, "limits").get("hung_after_s") is None:
        limits = limits._replace(hung_after_s=_hung_after_s(layer, spec, location.steps))
    _refuse_contradiction(limits, layer, location.component)
    _refuse_hanging(limits, spec, layer, location.component)
    _refuse_longer_than_window(layer, location, spec)
    refuse_infeasible(layer, location, spec, limits)
    judged = tuple(_judged(policy, layer, location))
    return Assignment(layer, *location, spec=spec, limits=limits, quantities=judged)


def _judged(policy: Policy, layer: str, location: Place) -> Iterator[Step]:
    """Yield the further quantities to judge of a component's runs."""
    for operation, scenario in location.steps:
        for quantity in LAYERS[layer].quantities:
            if quantity.of is operation and quantity.name in policy.layer(layer).judge:
                yield quantity, scenario


def _spec(
    policy: Policy,
    layer: str,
    location: Place,
    places: Sequence[Place],
    measured: Sequence[Assignment],
) -> ProbeSpec:
    if LAYERS[layer].joint:
        return shared_spec(policy, location, measured)
    if LAYERS[layer].by_ranks:
        return file_system_spec(policy, location, places)
    return spec_of(policy, layer, system_of(location), location.component)


def _hung_after_s(layer: str, spec: ProbeSpec, steps: Sequence[Step]) -> float:
    """Return the default time in seconds after which a run counts as hung."""
    if LAYERS[layer].by_ranks:
        return limit_s(spec.seconds, len(steps)) + SPARE_S
    # each repeat may take its full time, and so may the preparation of a file
    once_s = sum(own_terms(spec, operation).seconds for operation, _ in steps)
    return once_s * spec.repeats + spec.seconds + SPARE_S


def _refuse_contradiction(limits: Limits, layer: str, component: str) -> None:
    if limits.critical.start > limits.warning.start:
        raise DocumentError(
            f"plumbline_policy: {layer} {component}: critical {limits.critical} begins above "
            f"warning {limits.warning}; a rate that warns must be the better one"
        )


def _refuse_hanging(limits: Limits, spec: ProbeSpec, layer: str, component: str) -> None:
    """Refuse a limit that calls a healthy run hung, in which one operation may take its time."""
    if limits.hung_after_s < spec.seconds:
        raise DocumentError(
            f"plumbline_policy: {layer} {component}: hung_after {limits.hung_after_s:g} s is "
            f"shorter than the {spec.seconds:g} s that one operation may take; raise it, or lower "
            "seconds"
        )


def _refuse_longer_than_window(layer: str, location: Place, spec: ProbeSpec) -> None:
    """Refuse tests of pairs that last longer than the receiving end is open."""
    rails = location.target.get("rails", 1)
    duration = len(location.steps) * spec.repeats * spec.seconds * rails
    window = location.target.get("window_s", inf)
    if duration >= window:
        what = "both directions" if rails == 1 else f"{rails} adapters of {location.host}"
        raise DocumentError(
            f"plumbline_policy: layer {layer}: {location.component}: {what} take "
            f"{format_duration(duration)}, but the receiving end is open for "
            f"{format_duration(window)}; lower seconds, or raise window"
        )


def _refuse_unknown_names(policy: Policy, layer: str, places: Sequence[Place]) -> None:
    rules = policy.layer(layer)
    quantities = dict.fromkeys(quantity.name for quantity in LAYERS[layer].quantities)
    for name in rules.judge:
        if name not in quantities:
            raise DocumentError(
                f"plumbline_policy: layer {layer} has no quantity {name[:60]!r} to judge; "
                + (f"write one of: {', '.join(quantities)}" if quantities else "remove judge")
            )
    groups = {*(p.group for p in places), *map(system_of, places)}
    for name in getattr(rules, "random_reads", ()):
        if name not in groups:
            raise DocumentError(
                f"plumbline_policy: layer {layer}: random_reads names {name[:60]!r}, which is no "
                "file system with targets; correct the name, or remove it"
            )
    components = {p.component for p in places}
    for key, given, measured in (
        ("group", rules.groups, groups),
        ("component", rules.components, components),
    ):
        unknown = sorted(set(given) - measured)
        if unknown:
            raise DocumentError(
                f"plumbline_policy: layer {layer} has no {key} {unknown[0]!r}; "
                f"correct the name, or remove what it overrides"
            )


def by_server(measured: Sequence[Assignment]) -> Iterator[list[Assignment]]:
    """Yield the raw measurements of each server whose devices are also read together."""
    raw = [
        assignment
        for assignment in measured
        if LAYERS[assignment.layer].on_devices and len(assignment.steps) > 1
    ]
    for _, members in groupby(
        sorted(raw, key=lambda assignment: assignment.group),
        key=lambda assignment: assignment.group,
    ):
        yield list(members)
