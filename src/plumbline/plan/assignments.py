"""Assignments: the node, the terms and the limits of each measured component.

Locks work only within one host, so the plan refuses targets that two hosts could measure at once.

To find errors early, each target and each command of a tool is built once as on the node, without
executing anything.

In layer ``fs`` the first client launches the ranks.  Each target and the whole file system are
components, and so is each further test, which uses the same targets but does not judge them.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, groupby, zip_longest
from math import inf
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, TypeVar

from plumbline.measure.probes import probe_for, tools_of
from plumbline.measure.probes.interface import Job
from plumbline.measure.targets import KINDS, target_for
from plumbline.model.codec import refuse_impossible
from plumbline.model.command import Within
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import PARALLEL
from plumbline.model.layers import LAYERS
from plumbline.model.layers.fs import FS
from plumbline.model.layers.layer import Layer
from plumbline.model.layers.net import NET
from plumbline.model.limits import Limits
from plumbline.model.ranks import (
    SPARE_S,
    Names,
    RunSize,
    contradiction,
    limit_s,
    named_test,
    pattern,
    share_of_memory,
    spread,
)
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import format_duration, format_size
from plumbline.plan.policy import Policy, explicit, limits_of, of_test, spec_of
from plumbline.topology.graph import Component, Route, Target, Topology
from plumbline.topology.paths import host_of, to_device, to_network, to_target


class Assignment(NamedTuple):
    """One component in one layer: an expectation without references.

    ``node`` measures, ``host`` has the judged part; ``steps`` are in measuring order.  Of their
    runs ``quantities`` are judged besides the rates.
    """

    layer: str
    component: str
    node: str
    host: str
    group: str
    target: Mapping[str, Any]
    path: tuple[str, ...]
    steps: tuple[Step, ...]
    spec: ProbeSpec
    limits: Limits
    quantities: tuple[Step, ...] = ()


Step = tuple[Operation, Scenario]
"""One operation in one scenario."""

_Key = TypeVar("_Key")


class Place(NamedTuple):
    """The part of an assignment that does not depend on the policy."""

    component: str
    node: str
    host: str
    group: str
    target: Mapping[str, Any]
    path: tuple[str, ...]
    steps: tuple[Step, ...]


_PEERS = 5
"""Metadata targets that are each other's peers.  Among fewer each has its own level, as the first
one has the root and most users, and is compared with its own runs alone."""


def targets(topology: Topology, layer: Layer) -> list[Place]:
    """Return the targets of a layer in all file systems, except retired ones."""
    places = []
    chosen = topology.metadata if layer.of_metadata else topology.targets
    sizes = Counter(target.file_system for target in chosen.values())
    for target in chosen.values():
        path = to_target(topology, target)
        if target.retired:
            continue
        host, group, reach = host_of(topology, path), target.file_system, target.reach
        if target.metadata:
            reach = {**reach, "file_system": group}
            group = group if sizes[group] >= _PEERS else target.name
        places.append(Place(target.name, target.client, host, group, reach, path, layer.steps()))
    return places


def devices(topology: Topology, layer: Layer) -> list[Place]:
    """Return the devices that servers read raw; refuse a device with two names on one server."""
    paths = {device.name: to_device(topology, device) for device in topology.devices()}
    _refuse_duplicates(
        [
            ((paths[component.name][0], component.device), component.name)
            for component in topology.devices()
        ],
        "the device {0[1]} of {0[0]}",
    )
    counts = Counter(path[0] for path in paths.values())
    return [_device(layer, device, paths[device.name], counts) for device in topology.devices()]


def _refuse_duplicates(pairs: Iterable[tuple[_Key, str]], description: str) -> None:
    """Refuse two names with the same key; ``description`` is a format of the key."""
    names: dict[_Key, str] = {}
    for key, name in pairs:
        if names.setdefault(key, name) != name:
            raise DocumentError(
                f"plumbline_topology: {names[key]} and {name} both have {description.format(key)}; "
                "give each its own"
            )


def _device(
    layer: Layer, device: Component, path: tuple[str, ...], counts: Mapping[str, int]
) -> Place:
    server = path[0]
    steps = layer.steps(alone=counts[server] == 1)
    target = {"kind": "device", "device": device.device}
    return Place(device.name, server, server, server, target, path, steps)


def networks(topology: Topology) -> list[list[Component]]:
    """Return the hosts with an address that come to the same part, sorted by name.

    Hosts are tested in pairs only within such a network.  None if only one has an address.

    Raises:
        DocumentError: a host has several ways to the network, or nobody else comes to where it
            comes.
    """
    hosts = sorted((host for host in topology.hosts() if host.address), key=lambda host: host.name)
    if len(hosts) < 2:
        return []
    by_end: dict[str, list[Component]] = {}
    for host in hosts:
        by_end.setdefault(to_network(topology, host)[-1], []).append(host)
    for end, (host, *others) in by_end.items():
        if not others:
            raise DocumentError(
                f"plumbline_topology: {host.name} has an address, and hosts with an address are "
                f"tested in pairs, but no other one comes to {end}: correct feeds, or take its "
                "address away"
            )
    return list(by_end.values())


_LOOPBACK = re.compile(r"127\.[\d.]+|::1|localhost(?:[.\d].*)?", re.IGNORECASE)


def _refuse_loopback(hosts: Sequence[Component]) -> None:
    """Refuse an address by which a host reaches itself and no other host."""
    for host in hosts:
        if _LOOPBACK.fullmatch(host.address):
            raise DocumentError(
                f"plumbline_topology: {host.name} has the address {host.address}, by which each "
                "host reaches itself; write the one that the other hosts use"
            )


def paired(topology: Topology, policy: Policy) -> list[Place]:
    """Return the hosts that are measured in pairs."""
    of_networks = networks(topology)
    hosts = sorted(chain.from_iterable(of_networks), key=lambda host: host.name)
    _refuse_duplicates([(host.address, host.name) for host in hosts], "the address {0}")
    _refuse_loopback(hosts)
    names = {
        host.name: [member.name for member in members]
        for members in of_networks
        for host in members
    }
    rules = policy.layers.net
    common = {
        "slot_s": rules.schedule.slot,
        "window_s": rules.schedule.window,
        "port": rules.port,
    }
    return [
        Place(
            host.name,
            host.name,
            host.name,
            NET.name,
            {"kind": "pair", "address": host.address, "hosts": names[host.name], **common},
            to_network(topology, host),
            NET.steps(),
        )
        for host in hosts
    ]


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
        if not LAYERS[layer].by_ranks:  # ranks have no choice of tools
            _refuse_tool(tools_of(LAYERS[layer]), spec.tool)
            _build_commands(location, spec, *subject)
    except (DocumentError, TypeError) as error:
        raise DocumentError(f"{where}: {error}") from error


def _subject(location: Place) -> tuple[str, Optional[Within]]:
    """Return the argument of a tool: a file and its folder, a device, or an address."""
    if location.target["kind"] == PARALLEL:
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


def _build_commands(
    location: Place, spec: ProbeSpec, subject: str, within: Optional[Within]
) -> None:
    probe, target = probe_for(spec.tool), location.target
    for operation in dict.fromkeys(operation for operation, _ in location.steps):
        probe.command(
            Job(
                operation,
                spec,
                subject,
                own_address=target.get("address", ""),
                port=target.get("port", 0),
                within=within,
            )
        )


_BUDGET = 64 << 30
"""Default budget of a run whose bytes follow from memory, as in ``plumbline probe fs``."""

_NAMES = Names("bytes", "transfer", "direct: true")


def parallel(topology: Topology, policy: Policy) -> list[Place]:
    """Return for each file system its targets, the whole and its further tests.

    Empty without clients.

    Raises:
        DocumentError: a client is not in the topology, or names clash.
    """
    rules = policy.layers.fs
    hosts = {host.name for host in topology.hosts()}
    for name in rules.clients:
        if name not in hosts:
            raise DocumentError(
                f"plumbline_policy: layer fs: {name!r} is no client or server of the topology; "
                "correct clients"
            )
    systems: dict[str, list[Target]] = {}
    for target in topology.targets.values():
        if rules.clients and not target.retired:
            systems.setdefault(target.file_system, []).append(target)
    return [
        place
        for name, targets in systems.items()
        for place in _file_system(topology, policy, name, targets)
    ]


def _file_system(
    topology: Topology, policy: Policy, name: str, targets: Sequence[Target]
) -> list[Place]:
    if name in topology.targets:
        raise DocumentError(
            f"plumbline_topology: file_systems {name!r} has the name of a target; layer fs "
            "measures both, so rename one of them"
        )
    launcher = policy.layers.fs.clients[0]
    places = []
    for member in targets:
        path = to_target(topology, member._replace(client=launcher))
        host = host_of(topology, path)
        places.append(Place(member.name, launcher, host, name, member.reach, path, FS.steps()))
    parallel_target = _parallel_target(topology, policy, name)
    for test in policy.layers.fs.tests:
        own = name if test == policy.layers.fs.tests[0] else f"{name}:{test}"
        # in a separate group: the sum has no peers
        group = f"{own} as a whole"
        target = {**parallel_target, "test": test}
        places.append(Place(own, launcher, launcher, group, target, (launcher,), FS.steps()))
    return places


def _parallel_target(topology: Topology, policy: Policy, name: str) -> dict[str, Any]:
    """Return the parameters for driving all targets of a file system."""
    rules = policy.layers.fs
    return {
        "kind": PARALLEL,
        "file_system": name,
        "ranks_per_target": rules.ranks_per_target,
        "clients": _interleaved([(name, topology.routes[name][0]) for name in rules.clients]),
        "launcher": rules.launcher,
        "work": rules.work,
    }


def _interleaved(routes: Sequence[tuple[str, Route]]) -> list[str]:
    """Order clients so that neighbours use different switches, and then different cards.

    Ranks go to the first clients, so if only some are used, they share as little of the network as
    possible.  The first client stays first.
    """
    if len(routes) < 2:
        return [name for name, _ in routes]
    by_part: dict[Route, list[tuple[str, Route]]] = {}
    for name, route in routes:
        by_part.setdefault(route[-1:], []).append((name, route[:-1]))
    turns = zip_longest(*map(_interleaved, by_part.values()))
    return [name for turn in turns for name in turn if name is not None]


def file_system_spec(policy: Policy, name: str, targets: int, test_name: str) -> ProbeSpec:
    """Return the terms of a file system, which are the same for all its targets.

    Raises:
        DocumentError: the terms contradict each other.
    """
    rules = policy.layers.fs
    spec = _sized(spec_of(policy, FS.name, name, name), policy, name, targets)
    if test_name != rules.tests[0]:
        spec = of_test(spec, test_name)
    test = named_test(test_name)._replace(transfer=spec.transfer_bytes)
    trouble = contradiction(test, spec.bytes, direct=spec.direct, names=_NAMES)
    if trouble:
        raise DocumentError(f"plumbline_policy: layer fs: {name}: {trouble}")
    _refuse_too_much(spec, policy, name, targets)
    size = RunSize(rules.ranks_per_target * targets, targets, len(rules.clients))
    return spec._replace(pattern=pattern(test, size, "data"))


def _sized(spec: ProbeSpec, policy: Policy, name: str, targets: int) -> ProbeSpec:
    """Return the terms with more bytes than caches can hold, if the memory is given.

    The bytes of a run are fixed in the plan: more memory makes it another specification.
    """
    rules = policy.layers.fs
    if rules.memory is None or "bytes" in explicit(policy, FS.name, name, name, "probe"):
        return spec
    ranks = rules.ranks_per_target * targets
    share = share_of_memory(rules.memory, max(spread(ranks, len(rules.clients))))
    return spec._replace(bytes=min(share, (rules.budget or _BUDGET) // ranks))


def _refuse_too_much(spec: ProbeSpec, policy: Policy, name: str, targets: int) -> None:
    rules = policy.layers.fs
    written = spec.bytes * rules.ranks_per_target * targets
    if rules.budget is not None and written > rules.budget:
        raise DocumentError(
            f"plumbline_policy: layer fs: a run on {name} would write {format_size(written)}, its "
            f"budget is {format_size(rules.budget)}; lower bytes, or raise budget"
        )


def assignments(topology: Topology, policy: Policy) -> tuple[Assignment, ...]:
    """Return all measurements of a site by layer, in the order of the documents.

    Retired targets have none, nor has the network of a site with fewer than two addresses.

    Raises:
        DocumentError: parts are not connected, the policy names something that is not measured, or
            two clients would measure one target.
    """
    measured = []
    for layer in LAYERS.values():
        places = _places(layer, topology, policy) if policy.measures(layer.name) else []
        _refuse_unknown_names(policy, layer.name, places)
        measured += [_assignment(policy, layer.name, place, places) for place in places]
    refuse_two_clients(measured)
    return tuple(measured)


def _places(layer: Layer, topology: Topology, policy: Policy) -> list[Place]:
    """Return the places of a layer's components."""
    if layer.whole:
        return parallel(topology, policy)
    if layer.paired:
        return paired(topology, policy)
    if layer.of_metadata and not topology.metadata:
        raise DocumentError(
            f"plumbline_policy names layer {layer.name}, but no file system of plumbline_topology "
            "has metadata; list its metadata targets there, or remove the layer"
        )
    return devices(topology, layer) if layer.on_devices else targets(topology, layer)


def _assignment(policy: Policy, layer: str, location: Place, places: Sequence[Place]) -> Assignment:
    names = (layer, _system(location), location.component)
    spec = _spec(policy, layer, location, places)
    limits = limits_of(policy, *names)._replace(
        stale_after_s=policy.layer(layer).stale_after_s(len(places))
    )
    if _test(policy, location) != policy.layers.fs.tests[0]:
        # small or shared calls have no known ceiling, only their baseline
        limits = limits._replace(min_efficiency=0.0)
    if explicit(policy, *names, "limits").get("hung_after_s") is None:
        limits = limits._replace(hung_after_s=_hung_after_s(layer, spec, len(location.steps)))
    _refuse_contradiction(limits, layer, location.component)
    _refuse_hanging(limits, spec, layer, location.component)
    _refuse_longer_than_window(location, spec)
    refuse_infeasible(layer, location, spec, limits)
    judged = tuple(_judged(policy, layer, location))
    return Assignment(layer, *location, spec=spec, limits=limits, quantities=judged)


def _judged(policy: Policy, layer: str, location: Place) -> Iterator[Step]:
    """Yield the further quantities to judge of a component's runs."""
    for operation, scenario in location.steps:
        for quantity in LAYERS[layer].quantities:
            if quantity.of is operation and quantity.name in policy.layer(layer).judge:
                yield quantity, scenario


def _system(location: Place) -> str:
    """Return the group whose rules apply to a component; a whole has the rules of its members."""
    return str(location.target.get("file_system", location.group))


def _test(policy: Policy, location: Place) -> str:
    """Return the test that measures a component, the first one by default."""
    return str(location.target.get("test", policy.layers.fs.tests[0]))


def _spec(policy: Policy, layer: str, location: Place, places: Sequence[Place]) -> ProbeSpec:
    if not LAYERS[layer].by_ranks:
        return spec_of(policy, layer, _system(location), location.component)
    system = _system(location)
    targets = sum(place.group == system for place in places)
    return file_system_spec(policy, system, targets, _test(policy, location))


def _hung_after_s(layer: str, spec: ProbeSpec, steps: int) -> float:
    """Return the default time in seconds after which a run counts as hung."""
    if LAYERS[layer].by_ranks:
        return limit_s(spec.seconds, steps) + SPARE_S
    # each repeat may take its full time, and so may the preparation of a file
    return (steps * spec.repeats + 1) * spec.seconds + SPARE_S


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


def _refuse_longer_than_window(location: Place, spec: ProbeSpec) -> None:
    """Refuse tests of host pairs that last longer than the receiving end is open."""
    duration = len(location.steps) * spec.repeats * spec.seconds
    window = location.target.get("window_s", inf)
    if duration >= window:
        raise DocumentError(
            f"plumbline_policy: layer net: {location.component}: both directions take "
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
    groups = {*(p.group for p in places), *map(_system, places)}
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
