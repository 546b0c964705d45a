"""Pairs in the plan: hosts that are measured with each other by TCP, and adapters by RDMA.

Partners come to the same part of the network; adapters are of the same rail as well.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import Iterator, NamedTuple, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.layers.layer import Layer
from plumbline.model.layers.net import NET
from plumbline.plan.places import Place, refuse_duplicates
from plumbline.plan.policy import Policy
from plumbline.topology.graph import Component, Route, Topology
from plumbline.topology.paths import to_network


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
        DocumentError: there is none; or an adapter is fed by no host with an address or by several,
            has several ways to the network, or no partner.
    """
    adapters = _adapters(topology)
    if not adapters:
        raise DocumentError(
            f"plumbline_policy names layer {layer.name}, but no adapter of plumbline_topology has "
            "rdma; give the parts of kind nic their device, such as mlx5_0, or remove the layer"
        )
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
    fed = {adapter.name for adapter in adapters}
    for part in topology.components.values():
        if part.rdma and part.name not in fed:
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
