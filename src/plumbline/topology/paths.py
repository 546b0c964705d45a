"""Paths: the components that the bytes of a measurement cross, and which paths share them.

The parts that paths share follow from the paths; nobody types them.
"""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.errors import DocumentError
from plumbline.topology.document import HOSTS
from plumbline.topology.graph import Component, Route, Target, Topology, join


def to_target(topology: Topology, target: Target) -> Route:
    """Return the path of a target, its client first, itself last.

    Raises:
        DocumentError: target and client are not connected, or in more than one way.
    """
    far = _through(topology, target.on, target.through)
    return (*join(topology.routes[target.client], far), target.name)


def storage_side(topology: Topology, target: Target) -> Route:
    """Return the path of a target without its client's own parts, as many clients share it.

    It begins at the end of the client's way to the network; raises as ``to_target`` does.
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
    """Return the host nearest to the end of ``path``, whose part is judged."""
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


class Sharing(NamedTuple):
    """Flows of one kind that meet in a part, or all there are.

    ``flows`` is ``targets``, ``clients`` or ``servers``; ``of`` the part they meet in, or, where
    they are all (``whole``), the file system, the site, or ``flows`` once more.  ``paths`` begin at
    the network.
    """

    flows: str
    of: str
    whole: bool
    paths: Mapping[str, Route]


def sharings(topology: Topology) -> Iterator[Sharing]:
    """Yield the sets, small ones first: targets on the storage side, then clients, then servers.

    Of parts that the same flows cross the last one counts, which is the nearest to storage, or to
    the hosts.  A host with several ways to the network is left out.
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
            # a target is no part, so it shares nothing
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
    # of equal sets the later part is nearer to their end, and the earlier whole the smaller one
    shared = {tuple(crossers): name for name, crossers in crossing.items() if len(crossers) > 1}
    whole: dict[tuple[str, ...], str] = {}
    for name, crossers in wholes:
        if len(crossers) > 1:
            whole.setdefault(tuple(crossers), name)
    for members, name in sorted({**shared, **whole}.items(), key=lambda item: len(item[0])):
        yield Sharing(flows, name, members in whole, {flow: paths[flow] for flow in members})
