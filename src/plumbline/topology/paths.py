"""The components that the bytes of one measurement cross, for each layer."""

from __future__ import annotations

from typing import Sequence

from plumbline.errors import DocumentError
from plumbline.topology.component import Component, Target
from plumbline.topology.graph import Topology
from plumbline.topology.routes import Route, join


def to_target(topology: Topology, target: Target) -> Route:
    """Return the path of a target, its client first, itself last.

    Raises:
        DocumentError: target and client are not connected, or in more than one way.
    """
    far = _through(topology, target.on, target.through)
    return (*join(topology.routes[target.client], far), target.name)


def storage_side(topology: Topology, target: Target) -> Route:
    """Return the path of a target without its client's own parts: what clients in plenty share.

    It begins where it leaves the client's way to the network; raises as ``to_target`` does.
    """
    path = to_target(topology, target)
    own = {name for way in topology.routes[target.client] for name in way}
    return path[max(index for index, name in enumerate(path) if name in own) :]


def to_device(topology: Topology, device: Component) -> Route:
    """Return the path of a raw device, its server first.

    Raises:
        DocumentError: no way of the device crosses a server, or several ways differ before it.
    """
    ways = []
    for way in topology.routes[device.name]:
        host = next((name for name in way if topology.components[name].is_host), None)
        if host:
            ways.append(tuple(reversed(way[: way.index(host) + 1])))
    if not ways:
        raise DocumentError(
            f"plumbline_topology: {device.name} has a device but feeds no server; "
            "correct feeds or leave device out"
        )
    if len(set(ways)) > 1:
        choices = " or ".join(" - ".join(way) for way in dict.fromkeys(ways))
        raise DocumentError(
            f"plumbline_topology: {device.name} is reached by {choices}; choose with through"
        )
    return ways[0]


def to_network(topology: Topology, host: Component) -> Route:
    """Return a host's own chain, itself first; raise DocumentError when it has several."""
    ways = topology.routes[host.name]
    if len(ways) > 1:
        choices = " or ".join(" - ".join(way) for way in ways)
        raise DocumentError(
            f"plumbline_topology: {host.name} reaches the network by {choices}; choose with through"
        )
    return ways[0]


def between(topology: Topology, component: Component, other: Component) -> Route:
    """Return the path of a pair of hosts; raise DocumentError when they are not connected."""
    return join([to_network(topology, component)], [to_network(topology, other)])


def host_of(topology: Topology, path: Route) -> str:
    """Return the host nearest to the end of ``path``: the one whose part is judged."""
    parts = topology.components
    return next(name for name in reversed(path) if name in parts and parts[name].is_host)


def _through(topology: Topology, name: str, waypoints: Sequence[str]) -> tuple[Route, ...]:
    chosen = tuple(way for way in topology.routes[name] if set(waypoints) <= set(way))
    if not chosen:
        raise DocumentError(
            f"plumbline_topology: no way of {name} leads through {' and '.join(waypoints)}; "
            "correct through or feeds"
        )
    return chosen
