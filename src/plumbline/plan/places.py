"""Places: what each layer measures, on which node.

In layer ``fs`` the first client launches the ranks.  Each target and the whole file system are
components, and so is each further test, which uses the same targets but does not judge them.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, zip_longest
from math import inf
from typing import Any, Collection, Iterable, Iterator, Mapping, NamedTuple, Sequence, TypeVar

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import PARALLEL, Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.layers.fs import FS
from plumbline.model.layers.layer import Layer
from plumbline.model.layers.net import NET
from plumbline.model.limits import Limits
from plumbline.model.ranks import (
    Names,
    RunSize,
    contradiction,
    named_test,
    pattern,
    share_of_memory,
    spread,
)
from plumbline.model.record import Operation, Scenario
from plumbline.model.service import SitePart
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import format_size
from plumbline.plan.policy import Policy, explicit, of_test, spec_of
from plumbline.topology.document import NETWORK
from plumbline.topology.graph import Component, Route, Target, Topology
from plumbline.topology.paths import host_of, to_device, to_network, to_target

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


_PEERS = 5
"""Metadata targets that are each other's peers.  Among fewer each has its own level, as the first
one has the root and most users, and is compared with its own runs alone."""


def targets(topology: Topology, layer: Layer, chosen: Collection[str] = ()) -> list[Place]:
    """Return the targets of a layer in all file systems, except retired ones.

    Those of the ``chosen`` file systems have the layer's chosen operations too.
    """
    places = []
    members = topology.metadata if layer.of_metadata else topology.targets
    sizes = Counter(target.file_system for target in members.values())
    for target in members.values():
        path = to_target(topology, target)
        if target.retired:
            continue
        host, group, reach = host_of(topology, path), target.file_system, target.reach
        if target.metadata:
            reach = {**reach, "file_system": group}
            group = group if sizes[group] >= _PEERS else target.name
        steps = layer.steps(chosen=target.file_system in chosen)
        places.append(Place(target.name, target.client, host, group, reach, path, steps))
    return places


def devices(topology: Topology, layer: Layer) -> list[Place]:
    """Return the devices that servers read raw; refuse a device with two names on one server."""
    paths = {device.name: to_device(topology, device) for device in topology.devices()}
    refuse_duplicates(
        [
            ((paths[component.name][0], component.device), component.name)
            for component in topology.devices()
        ],
        "the device {0[1]} of {0[0]}",
    )
    counts = Counter(path[0] for path in paths.values())
    return [_device(layer, device, paths[device.name], counts) for device in topology.devices()]


def refuse_duplicates(pairs: Iterable[tuple[_Key, str]], description: str) -> None:
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
    steps = layer.steps(alone=counts[server] == 1, chosen=device.flash)
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
    refuse_duplicates([(host.address, host.name) for host in hosts], "the address {0}")
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


def rails(topology: Topology, policy: Policy, layer: Layer) -> list[Place]:
    """Return the RDMA adapters that are measured in pairs: those of one rail with each other.

    The first adapter of each host is of the first rail, and so on.

    Raises:
        DocumentError: an adapter is fed by no host with an address or by several, has several ways
            to the network, or no partner.
    """
    adapters = _adapters(topology)
    by_rail: dict[tuple[str, int], list[str]] = {}
    for adapter in adapters:
        by_rail.setdefault((adapter.path[-1], adapter.rail), []).append(adapter.name)
    for (end, rail), names in by_rail.items():
        if len(names) < 2:
            raise DocumentError(
                f"plumbline_topology: {names[0]} is the adapter of rail {rail + 1} of its host and "
                f"comes to {end}, where no other host has one of that rail: correct feeds and the "
                "order of adapters, or take its rdma away"
            )
    rules = policy.layers.rdma
    common = {"slot_s": rules.schedule.slot, "window_s": rules.schedule.window}
    return [
        Place(
            adapter.name,
            adapter.path[0],
            adapter.path[0],
            layer.name,
            {
                "kind": "pair",
                "address": topology.components[adapter.path[0]].address,
                "hosts": by_rail[adapter.path[-1], adapter.rail],
                **common,
                # each operation of each rail has its own port
                "port": rules.port + adapter.rail * len(layer.operations),
                "adapter": topology.components[adapter.name].rdma,
                "negotiated": topology.components[adapter.name].negotiated,
                "rails": adapter.rails,
            },
            adapter.path,
            layer.steps(),
        )
        for adapter in adapters
    ]


class _Adapter(NamedTuple):
    """RDMA adapter with its path from its host to the network, and its number on the host."""

    name: str
    path: Route
    rail: int
    rails: int


def _adapters(topology: Topology) -> list[_Adapter]:
    hosts = sorted(topology.hosts(), key=lambda host: host.name)
    adapters = [adapter for host in hosts for adapter in _of_host(topology, host)]
    refuse_duplicates(
        [
            ((adapter.path[0], topology.components[adapter.name].rdma), adapter.name)
            for adapter in adapters
        ],
        "the port {0[1]} of {0[0]}",
    )
    for name, number in Counter(adapter.name for adapter in adapters).items():
        if number > 1:
            raise DocumentError(
                f"plumbline_topology: {name} has rdma, but several hosts feed it; an adapter "
                "belongs to one host, so give each its own"
            )
    for part in topology.components.values():
        if part.rdma and part.name not in {adapter.name for adapter in adapters}:
            raise DocumentError(
                f"plumbline_topology: {part.name} has rdma, but no client or server feeds it; "
                "correct feeds, or take its rdma away"
            )
    return adapters


def _of_host(topology: Topology, host: Component) -> Iterator[_Adapter]:
    names = [name for name in host.feeds if topology.components[name].rdma]
    if names and not host.address:
        raise DocumentError(
            f"plumbline_topology: {host.name} has the RDMA adapter {names[0]}, but no address, by "
            "which the two ends of a pair meet; give it one"
        )
    for rail, name in enumerate(names):
        routes = topology.routes[name]
        if len(routes) > 1:
            raise DocumentError(
                f"plumbline_topology: {name} has rdma and reaches the network by "
                f"{' or by '.join(' - '.join(route) for route in routes)}; choose with through"
            )
        yield _Adapter(name, (host.name, *routes[0]), rail, len(names))


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


_NO_STORAGE = (*NETWORK, "client", "target")


class Meeting(NamedTuple):
    """Nodes that measure targets through the same parts of the storage."""

    nodes: tuple[str, ...]
    parts: tuple[str, ...]


def meetings(
    nodes: Mapping[str, Sequence[Expectation]], parts: Mapping[str, SitePart]
) -> Iterator[Meeting]:
    """Yield the nodes that share parts of the storage, in the order of their paths.

    A part of the network counts if its rate is less than what one target of each node asks for.
    """
    crossed: dict[str, dict[str, float]] = {}
    for node, entries in nodes.items():
        for entry in entries:
            if LAYERS[entry.layer].per_target:
                rate = _highest_ceiling(entry)
                for name in entry.path:
                    by_node = crossed.setdefault(name, {})
                    by_node[node] = max(by_node.get(node, 0.0), rate)
    names_by_nodes: dict[tuple[str, ...], list[str]] = {}
    for name, by_node in crossed.items():
        part = parts[name]
        rates = [rate for rate in (part.read_Bps, part.write_Bps) if rate is not None]
        narrow = part.kind in NETWORK and min(rates, default=inf) < sum(by_node.values())
        if len(by_node) > 1 and (narrow or part.kind not in _NO_STORAGE):
            names_by_nodes.setdefault(tuple(by_node), []).append(name)
    for nodes_of_parts, names in names_by_nodes.items():
        yield Meeting(nodes_of_parts, tuple(names))


def _highest_ceiling(entry: Expectation) -> float:
    """Return the most bytes per second that a measurement asks for, 0 if nothing limits it."""
    ceilings = (reference.ceiling for reference in entry.references.values())
    return max((ceiling.rate for ceiling in ceilings if ceiling), default=0.0)
