"""Nagios services, and the rule which service notifies of a fault.

A slow device slows its target, so both services show the same fault, and the target's notifies: it
is measured earlier in the night and with writes, so it mostly alarms first, and users notice it.
If the device's notified instead, its small loss would hide a target that is unreachable.

A target on its own server is between them: the same target through a client notifies in its place.

The same applies to the group of a server's devices and the group of the targets: at a site that
never reached its floor, the file system notifies, not each server.

Services of symptoms are independent of targets: one service covers all parts of a kind in a host,
so a failed disk must not silence a slow target on another disk, nor the other way round.

A component has a path service if two or more measured components are behind it.  Two components on
exactly the same paths, such as a server and its only adapter, have one service each, because tests
between hosts and raw reads may distinguish them.

A file system driven at once has one service for the whole and its targets: one cause, one alarm.
Each node has one service that shows whether its probes run.
"""

from __future__ import annotations

import re
from typing import Iterable, Iterator, Mapping, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.layers import LAYERS, layer_of
from plumbline.model.names import anchor, group_anchor
from plumbline.model.service import NODE, SYMPTOMS, PathService, Service
from plumbline.model.symptom import LUSTRE, title
from plumbline.plan.file_systems import by_file_system
from plumbline.plan.looks import SymptomsPolicy, kinds_of
from plumbline.plan.places import Assignment
from plumbline.topology.graph import Topology

_Key = tuple[str, str, str, str]
"""Layer, component, group, and the node of the group."""


def with_dependencies(
    measured: Sequence[Assignment], services: Sequence[Service]
) -> tuple[Service, ...]:
    """Add to each service the services that notify in its place.

    A device is behind all targets on it, a group of devices behind the groups of these targets; a
    target on its server is behind the same target through a client.
    """
    index_by_key = {_key(service): index for index, service in enumerate(services)}
    behind: dict[int, dict[int, None]] = {}
    for lower, target in _pairs(measured):
        for lower_key, target_key in zip(_keys(lower), _keys(target)):
            if lower_key in index_by_key and target_key in index_by_key:
                behind.setdefault(index_by_key[lower_key], {})[index_by_key[target_key]] = None
    return tuple(
        service._replace(behind=tuple(behind.get(index, ())))
        for index, service in enumerate(services)
    )


def _pairs(measured: Sequence[Assignment]) -> Iterator[tuple[Assignment, Assignment]]:
    """Yield each device and each target on its server with a target whose service notifies."""
    devices = _devices(measured)
    local = {item.component: item for item in measured if LAYERS[item.layer].on_servers}
    for target in measured:
        layer = LAYERS[target.layer]
        if layer.per_target or layer.on_servers:
            yield from ((device, target) for device in _below(target, devices))
        if layer.per_target and target.component in local:
            yield local[target.component], target


def _key(service: Service) -> _Key:
    """Return the key of a service; a component has one service, a group one per node."""
    return service.layer, service.component, service.group, service.node if service.group else ""


def _keys(measured: Assignment) -> tuple[_Key, _Key]:
    return (
        (measured.layer, measured.component, "", ""),
        (measured.layer, "", measured.group, measured.node),
    )


def _devices(measured: Sequence[Assignment]) -> dict[str, dict[str, Assignment]]:
    """Return the devices read through each part, the device itself included, by name."""
    devices: dict[str, dict[str, Assignment]] = {}
    for assignment in measured:
        for name in assignment.path if LAYERS[assignment.layer].on_devices else ():
            devices.setdefault(name, {})[assignment.component] = assignment
    return devices


def _below(
    target: Assignment, devices: Mapping[str, Mapping[str, Assignment]]
) -> Iterable[Assignment]:
    """Return the devices below a target, and those of the array below it.

    A target directly on a host has no particular device.
    """
    part = target.path[-2]
    own = {name: devices[name][name] for name in target.path if name in devices.get(name, ())}
    array_devices = devices.get(part, {}) if part != target.host else {}
    return {**own, **array_devices}.values()


CHECK = "check_symptoms"


def symptom_services(
    rules: SymptomsPolicy, hosts: Sequence[str], measured: Sequence[Assignment]
) -> tuple[Service, ...]:
    """Return the symptom services of all hosts; a site without Lustre has none of kind lustre.

    Raises:
        DocumentError: the policy names an unknown host.
    """
    lustre = any(assignment.target.get("kind") == LUSTRE for assignment in measured)
    return tuple(
        service
        for host, kinds in kinds_of(rules, hosts).items()
        for service in _of_host(host, [kind for kind in kinds if kind != LUSTRE or lustre], rules)
    )


def _of_host(host: str, kinds: Sequence[str], rules: SymptomsPolicy) -> Iterator[Service]:
    terms = ("--node", host, "--stale-after", f"{rules.stale_after:.0f}", "-v")
    common = Service(host, host, "", "", CHECK, terms, SYMPTOMS, host, "", round(rules.stale_after))
    if kinds:
        yield common._replace(
            description=f"NODE {host} symptoms",
            command=f"plumbline_{SYMPTOMS}_looks",
            anchor=anchor(SYMPTOMS, host),
        )
    for kind in kinds:
        yield common._replace(
            description=f"SYMPTOMS {title(host, kind)}",
            command=f"plumbline_{SYMPTOMS}_{kind}",
            arguments=("--kind", kind, *terms),
            component=title(host, kind),
            anchor=anchor(SYMPTOMS, title(host, kind)),
        )


_SYSTEM = "file system"

ServiceIndices = dict[str, list[int]]
"""Indices of services in the plan, by name of a file system or component."""


def path_services(
    topology: Topology, measured: Sequence[Assignment], services: Sequence[Service]
) -> tuple[PathService, ...]:
    """Return the path services of file systems, then of components in the topology's order."""
    systems, crossing = _members(measured, services)
    site = site_host(topology)
    paths = [
        PathService(site, f"{_SYSTEM} {name}", f"PATH {_SYSTEM} {name}", "", name, tuple(indices))
        for name, indices in systems.items()
    ]
    above = _above(topology)
    for component in topology.components.values():
        indices = tuple(crossing.get(component.name, ()))
        behind = {services[index].component for index in indices} - {"", component.name}
        if len(behind) > 1:
            name = f"{component.kind} {component.name}"
            host = _owner(topology, component.name, above.get(component.name, ())) or site
            paths.append(PathService(host, name, f"PATH {name}", component.name, "", indices))
    return tuple(paths)


def site_host(topology: Topology) -> str:
    """Return the name of the Nagios host for services of the whole site."""
    hosts = {host.name for host in topology.hosts()}
    name = topology.site
    while name in hosts:
        name += "-site"
    return name


def parents(topology: Topology) -> dict[str, list[str]]:
    """Return the parent of each host: the nearest host on all its routes to the network.

    Hosts without a parent are left out.
    """
    gateways = {}
    for host in topology.hosts():
        routes = topology.routes[host.name]
        crossed = [
            name
            for name in routes[0][1:]
            if topology.components[name].is_host and all(name in route for route in routes)
        ]
        if crossed:
            # Nagios follows the chain of parents
            gateways[host.name] = crossed[:1]
    return gateways


def _members(
    measured: Sequence[Assignment], services: Sequence[Service]
) -> tuple[ServiceIndices, ServiceIndices]:
    """Return the services of each file system, and those behind each component.

    A group is behind the components that are on the paths of all its members.
    """
    judged: dict[tuple[str, str, str, str], list[Assignment]] = {}
    for assignment in measured:
        judged.setdefault((assignment.node, assignment.layer, assignment.component, ""), []).append(
            assignment
        )
        judged.setdefault((assignment.node, assignment.layer, "", assignment.group), []).append(
            assignment
        )
    systems: ServiceIndices = {}
    crossing: ServiceIndices = {}
    for index, service in enumerate(services):
        if service.layer == NODE:
            continue
        entries = judged[service.node, service.layer, service.component, service.group]
        for name in frozenset(entries[0].path).intersection(*(entry.path for entry in entries)):
            crossing.setdefault(name, []).append(index)
        if LAYERS[service.layer].on_targets:
            systems.setdefault(_system(entries[0]), []).append(index)
    return systems, crossing


def _system(entry: Assignment) -> str:
    """Return the file system of a target, which may be in a group of its own."""
    return str(entry.target.get("file_system", entry.group))


def _above(topology: Topology) -> dict[str, list[str]]:
    """Return for each component the hosts whose routes to the network cross it."""
    hosts_above: dict[str, list[str]] = {}
    for host in topology.hosts():
        crossed = {name for route in topology.routes[host.name] for name in route}
        for name in crossed - {host.name}:
            hosts_above.setdefault(name, []).append(host.name)
    return hosts_above


def _owner(topology: Topology, name: str, above: Sequence[str]) -> str:
    """Return the only host that a component belongs to, or that is behind it, else empty."""
    if topology.components[name].is_host:
        return name
    routes = topology.routes[name]
    below = {part for route in routes for part in route if topology.components[part].is_host}
    for owners in (above, sorted(below)):
        if len(owners) == 1:
            return owners[0]
    return ""


_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


def services(measured: Sequence[Assignment]) -> tuple[Service, ...]:
    """Return the services of components, groups, whole file systems and nodes, in this order.

    Raises:
        DocumentError: two services of a node would have the same NRPE command.
    """
    single = [assignment for assignment in measured if not LAYERS[assignment.layer].whole]
    all_services = (
        *(_component_service(assignment) for assignment in single),
        *_group_services(single),
        *(_file_system_service(whole) for _, (whole, *_) in by_file_system(measured)),
        *_node_services(measured),
    )
    by_command: dict[tuple[str, str], Service] = {}
    for service in all_services:
        other = by_command.setdefault((service.node, service.command), service)
        if other is not service:
            raise DocumentError(
                f"plumbline_topology: services {other.description!r} and {service.description!r} "
                f"would both be the command {service.command}; rename one of them"
            )
    return with_dependencies(measured, all_services)


def _component_service(assignment: Assignment) -> Service:
    layer = layer_of(assignment.layer)
    operations = dict.fromkeys(operation.value for operation, _ in assignment.steps)
    return Service(
        assignment.host,
        assignment.node,
        " ".join([layer.title, assignment.component, *operations]),
        command_of(assignment.layer, assignment.component),
        layer.check,
        ("--component", assignment.component),
        assignment.layer,
        assignment.component,
        "",
        round(assignment.limits.stale_after_s),
        anchor(assignment.layer, assignment.component),
    )


def _group_services(measured: Sequence[Assignment]) -> Iterator[Service]:
    """Yield the services of groups, one for each node that measures at least two members."""
    members: dict[tuple[str, str, str], list[Assignment]] = {}
    for assignment in measured:
        if not LAYERS[assignment.layer].site_wide:
            members.setdefault((assignment.layer, assignment.group, assignment.node), []).append(
                assignment
            )
    for (_, group, _), assignments in members.items():
        if len(assignments) > 1:
            yield _group_service(assignments, group, f"group {group}", f"group_{group}")


def _file_system_service(whole: Assignment) -> Service:
    name = whole.component
    return _group_service([whole], name, f"{name} write read", name)


def _group_service(
    members: Sequence[Assignment], group: str, description: str, command: str
) -> Service:
    node, layer = members[0].node, layer_of(members[0].layer)
    return Service(
        node,
        node,
        f"{layer.title} {description}",
        command_of(layer.name, command),
        layer.check,
        ("--group", group),
        layer.name,
        "",
        group,
        round(max(member.limits.stale_after_s for member in members)),
        group_anchor(layer.name, group),
    )


def _node_services(measured: Sequence[Assignment]) -> Iterator[Service]:
    limits: dict[str, float] = {}
    for assignment in measured:
        limit = assignment.limits.stale_after_s
        limits[assignment.node] = min(limits.get(assignment.node, limit), limit)
    for node, freshness_s in limits.items():
        yield Service(
            node,
            node,
            f"NODE {node} probes",
            command_of(NODE, "probes"),
            "check_node",
            (),
            NODE,
            node,
            "",
            round(freshness_s),
        )


def command_of(layer: str, name: str) -> str:
    """Return the NRPE command of a service."""
    return f"plumbline_{layer}_{_UNSAFE.sub('_', name)}"
