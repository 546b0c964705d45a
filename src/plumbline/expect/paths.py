"""What check_path says: one service a file system, one a component that several paths share.

A component is shared when two or more measured things lie behind it.  Of two that lie on exactly
the same paths, such as a server and its only adapter, each has its service: tests between hosts and
raw reads may tell them apart.
"""

from __future__ import annotations

from typing import Sequence

from plumbline.layers import ON_TARGETS
from plumbline.model.path_service import PathService
from plumbline.model.service import NODE, Service
from plumbline.plan.assignment import Assignment
from plumbline.topology.graph import Topology

_SYSTEM = "file system"

Members = dict[str, list[int]]
"""Places of services in the plan, by name of a file system or component."""


def path_services(
    topology: Topology, measured: Sequence[Assignment], services: Sequence[Service]
) -> tuple[PathService, ...]:
    """Return the services of file systems, then those of components in the topology's order."""
    systems, crossing = _members(measured, services)
    site = site_host(topology)
    found = [
        PathService(site, f"{_SYSTEM} {name}", f"PATH {_SYSTEM} {name}", "", name, tuple(places))
        for name, places in systems.items()
    ]
    above = _above(topology)
    for component in topology.components.values():
        places = tuple(crossing.get(component.name, ()))
        behind = {services[place].component for place in places} - {"", component.name}
        if len(behind) > 1:
            name = f"{component.kind} {component.name}"
            host = _owner(topology, component.name, above.get(component.name, ())) or site
            found.append(PathService(host, name, f"PATH {name}", component.name, "", places))
    return tuple(found)


def site_host(topology: Topology) -> str:
    """Return the name of the host object that has what no host has alone: that of the site."""
    taken = {host.name for host in topology.hosts()}
    name = topology.site
    while name in taken:
        name += "-site"
    return name


def parents(topology: Topology) -> dict[str, list[str]]:
    """Return for each host the hosts that every way of it to the network crosses, nearest first.

    Hosts that cross none are left out.
    """
    found = {}
    for host in topology.hosts():
        ways = topology.routes[host.name]
        crossed = [
            name
            for name in ways[0][1:]
            if topology.components[name].is_host and all(name in way for way in ways)
        ]
        if crossed:
            # Nagios goes on from parent to parent
            found[host.name] = crossed[:1]
    return found


def _members(
    measured: Sequence[Assignment], services: Sequence[Service]
) -> tuple[Members, Members]:
    """Return the services of each file system, and those whose bytes cross each component.

    A group crosses what all of its members cross.
    """
    judged: dict[tuple[str, str, str, str], list[Assignment]] = {}
    for one in measured:
        judged.setdefault((one.node, one.layer, one.component, ""), []).append(one)
        judged.setdefault((one.node, one.layer, "", one.group), []).append(one)
    systems: Members = {}
    crossing: Members = {}
    for place, service in enumerate(services):
        if service.layer == NODE:
            continue
        of = judged[service.node, service.layer, service.component, service.group]
        for name in frozenset(of[0].path).intersection(*(one.path for one in of)):
            crossing.setdefault(name, []).append(place)
        if service.layer in ON_TARGETS:
            systems.setdefault(of[0].group, []).append(place)
    return systems, crossing


def _above(topology: Topology) -> dict[str, list[str]]:
    """Return the hosts whose way to the network crosses a component, by its name."""
    found: dict[str, list[str]] = {}
    for host in topology.hosts():
        crossed = {name for way in topology.routes[host.name] for name in way}
        for name in crossed - {host.name}:
            found.setdefault(name, []).append(host.name)
    return found


def _owner(topology: Topology, name: str, above: Sequence[str]) -> str:
    """Return the one host that a component is part of, or that it is a part of; else nothing."""
    if topology.components[name].is_host:
        return name
    ways = topology.routes[name]
    below = {each for way in ways for each in way if topology.components[each].is_host}
    for owners in (above, sorted(below)):
        if len(owners) == 1:
            return owners[0]
    return ""
