"""Paths: the components that a measurement's bytes cross, and the paths that share them.

Shared parts follow from the paths; the topology document does not list them.
"""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.errors import DocumentError
from plumbline.topology.document import HOSTS
from plumbline.topology.graph import Component, Route, Target, Topology, connected, join


def to_target(topology: Topology, target: Target) -> Route:
    """Return the path of a target, from its client to itself.

    Raises:
        DocumentError: target and client are not connected, or by several paths.
    """
    far = _through(topology, target.on, target.through)
    near = topology.routes[target.client]
    # a client in two networks has its address in one, and targets in both
    if not connected(near, far):
        near = topology.ways.get(target.client, near)
    return (*join(near, far), target.name)


def storage_side(topology: Topology, target: Target) -> Route:
    """Return the path of a target without its client's own parts; many clients share it.

    It begins at the end of the client's route to the network; raises as ``to_target`` does.
    """
    path = to_target(topology, target)
    routes = (*topology.routes[target.client], *topology.ways.get(target.client, ()))
    client_parts = {name for route in routes for name in route}
    return path[max(index for index, name in enumerate(path) if name in client_parts) :]


def to_device(topology: Topology, device: Component) -> Route:
    """Return the path of a raw device, from its server.

    Raises:
        DocumentError: no route of the device crosses a server, or routes to a server differ.
    """
    server_paths = []
    for route in topology.routes[device.name]:
        host = next((name for name in route if topology.components[name].is_host), None)
        if host:
            server_paths.append(tuple(reversed(route[: route.index(host) + 1])))
    if not server_paths:
        raise DocumentError(
            f"plumbline_topology: {device.name} has a device but feeds no server; "
            "correct feeds or leave device out"
        )
    if len(set(server_paths)) > 1:
        choices = " or ".join(" - ".join(route) for route in dict.fromkeys(server_paths))
        raise DocumentError(
            f"plumbline_topology: {device.name} is reached by {choices}; choose with through"
        )
    return server_paths[0]


def to_network(topology: Topology, host: Component) -> Route:
    """Return a host's route to the network; raise DocumentError if it has several."""
    routes = topology.routes[host.name]
    if len(routes) > 1:
        choices = " or ".join(" - ".join(route) for route in routes)
        raise DocumentError(
            f"plumbline_topology: {host.name} reaches the network by {choices}, and hosts with an "
            "address are tested in pairs; choose the way of its address with through, or take its "
            "address away"
        )
    return routes[0]


def between(topology: Topology, component: Component, other: Component) -> Route:
    """Return the path of a pair of hosts; raise DocumentError if they are not connected."""
    return join([to_network(topology, component)], [to_network(topology, other)])


def host_of(topology: Topology, path: Route) -> str:
    """Return the last host on a path: the Nagios host of the measured component."""
    parts = topology.components
    return next(name for name in reversed(path) if name in parts and parts[name].is_host)


def _through(topology: Topology, name: str, waypoints: Sequence[str]) -> tuple[Route, ...]:
    routes = tuple(route for route in topology.routes[name] if set(waypoints) <= set(route))
    if not routes:
        raise DocumentError(
            f"plumbline_topology: no way of {name} leads through {' and '.join(waypoints)}; "
            "correct through or feeds"
        )
    return routes


def next_to_hosts(topology: Topology) -> dict[str, list[Component]]:
    """Return the parts that each host feeds, then those that feed it, without devices."""
    components = topology.components
    parts = {host.name: [components[name] for name in host.feeds] for host in topology.hosts()}
    for part in components.values():
        for name in parts.keys() & set(part.feeds) if not part.device else ():
            parts[name].append(part)
    return parts


class Sharing(NamedTuple):
    """Flows of one kind that share a part, or all flows of that kind.

    ``flows`` is ``targets``, ``clients`` or ``servers``; ``of`` is the shared part or, for all
    flows (``whole``), the file system, the site, or ``flows`` again.  ``paths`` begin at the
    network.
    """

    flows: str
    of: str
    whole: bool
    paths: Mapping[str, Route]


def sharings(topology: Topology) -> Iterator[Sharing]:
    """Yield sets of flows, small ones first: targets on the storage side, clients, servers.

    If the same flows share several parts, the last one counts: the nearest to storage, or to the
    hosts.  A host with several routes to the network is left out.
    """
    yield from _of_targets(topology)
    for kind in HOSTS:
        paths = {
            host.name: tuple(reversed(topology.routes[host.name][0]))
            for host in topology.hosts()
            if host.kind == kind and len(topology.routes[host.name]) == 1
        }
        yield from _shared(f"{kind}s", paths, [(f"{kind}s", list(paths))])


def _of_targets(topology: Topology) -> Iterator[Sharing]:
    paths: dict[str, Route] = {}
    systems: dict[str, list[str]] = {}
    for target in topology.targets.values():
        if not target.retired:
            # a target itself is no part
            paths[target.name] = storage_side(topology, target)[:-1]
            systems.setdefault(target.file_system, []).append(target.name)
    yield from _shared("targets", paths, [*systems.items(), (topology.site, list(paths))])


def _shared(
    flows: str, paths: Mapping[str, Route], wholes: Sequence[tuple[str, Sequence[str]]]
) -> Iterator[Sharing]:
    crossing: dict[str, list[str]] = {}
    for flow, path in paths.items():
        for name in path:
            crossing.setdefault(name, []).append(flow)
    # for equal sets the last part is nearest to the end, and the first whole is the smallest
    shared = {tuple(crossers): name for name, crossers in crossing.items() if len(crossers) > 1}
    whole: dict[tuple[str, ...], str] = {}
    for name, crossers in wholes:
        if len(crossers) > 1:
            whole.setdefault(tuple(crossers), name)
    for members, name in sorted({**shared, **whole}.items(), key=lambda item: len(item[0])):
        yield Sharing(flows, name, members in whole, {flow: paths[flow] for flow in members})
