"""Services that Nagios asks for, and which of them bears the alarm of a fault.

It is the target's.  A slow device slows its target, so both say the same fault; the target has been
measured earlier in the night and with writes, so it mostly alarms first, and it is what users feel.
The other way round a small loss of a device would hide a target that cannot be reached at all.

The same holds for what all devices of a server and all targets of their file system have lost: of a
site that never reached its floor, the file system notifies and not each of its servers.

They bear no alarm of a target and are behind none.  One is of all parts of its kind in a host: a
disk of it that fails must not silence the target on another one that is slow, nor the other way
round.

A component is shared when two or more measured things lie behind it.  Of two that lie on exactly
the same paths, such as a server and its only adapter, each has its service: tests between hosts and
raw reads may tell them apart.

Of what is driven at once there is one service a file system, which judges the whole and its targets
beside one another: one cause, one alarm.  Whether the probes of a node run is one service a node.
"""

from __future__ import annotations

import re
from typing import Iterable, Iterator, Mapping, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.layers import LAYERS, layer_of
from plumbline.model.names import anchor, group_anchor
from plumbline.model.service import NODE, SYMPTOMS, PathService, Service
from plumbline.observe.symptom import LUSTRE, title
from plumbline.plan.assignments import Assignment
from plumbline.plan.policy import SymptomsPolicy, kinds_of
from plumbline.plan.references import by_file_system
from plumbline.topology.graph import Topology

_Key = tuple[str, str, str, str]
"""Layer, component, group and the node of the group."""


def with_bearers(
    measured: Sequence[Assignment], services: Sequence[Service]
) -> tuple[Service, ...]:
    """Return the services, with those that each is behind.

    That of a device is behind those of all targets that lie on it, that of a group of devices
    behind those of the groups of these targets.
    """
    places = {_key(service): place for place, service in enumerate(services)}
    devices = _devices(measured)
    behind: dict[int, dict[int, None]] = {}
    for target in (assignment for assignment in measured if LAYERS[assignment.layer].per_target):
        for device in _below(target, devices):
            for own, bearer in zip(_keys(device), _keys(target)):
                if own in places and bearer in places:
                    behind.setdefault(places[own], {})[places[bearer]] = None
    return tuple(
        service._replace(behind=tuple(behind.get(place, ())))
        for place, service in enumerate(services)
    )


def _key(service: Service) -> _Key:
    """Return what a service judges; a component has one service, a group one on each node."""
    return service.layer, service.component, service.group, service.node if service.group else ""


def _keys(measured: Assignment) -> tuple[_Key, _Key]:
    """Return what the services of a component and of its group judge."""
    return (
        (measured.layer, measured.component, "", ""),
        (measured.layer, "", measured.group, measured.node),
    )


def _devices(measured: Sequence[Assignment]) -> dict[str, dict[str, Assignment]]:
    """Return the devices that are read through each part, themselves included, by their names."""
    devices: dict[str, dict[str, Assignment]] = {}
    for assignment in measured:
        for name in assignment.path if LAYERS[assignment.layer].on_devices else ():
            devices.setdefault(name, {})[assignment.component] = assignment
    return devices


def _below(
    target: Assignment, devices: Mapping[str, Mapping[str, Assignment]]
) -> Iterable[Assignment]:
    """Return the devices that a target lies on, and those of the array that it lies on.

    What lies on a host lies on none of its devices in particular.
    """
    part = target.path[-2]
    own = {name: devices[name][name] for name in target.path if name in devices.get(name, ())}
    of_array = devices.get(part, {}) if part != target.host else {}
    return {**own, **of_array}.values()


CHECK = "check_symptoms"


def symptom_services(
    rules: SymptomsPolicy, hosts: Sequence[str], measured: Sequence[Assignment]
) -> tuple[Service, ...]:
    """Return the services of all hosts in their order; a site without Lustre has none of it.

    Raises:
        DocumentError: the policy names a host that is none.
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

Members = dict[str, list[int]]
"""Places of services in the plan, by name of a file system or component."""


def path_services(
    topology: Topology, measured: Sequence[Assignment], services: Sequence[Service]
) -> tuple[PathService, ...]:
    """Return the services of file systems, then those of components in the topology's order."""
    systems, crossing = _members(measured, services)
    site = site_host(topology)
    paths = [
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
            paths.append(PathService(host, name, f"PATH {name}", component.name, "", places))
    return tuple(paths)


def site_host(topology: Topology) -> str:
    """Return the name of the host object that has what no host has alone: that of the site."""
    hosts = {host.name for host in topology.hosts()}
    name = topology.site
    while name in hosts:
        name += "-site"
    return name


def parents(topology: Topology) -> dict[str, list[str]]:
    """Return for each host the hosts that every way of it to the network crosses, nearest first.

    Hosts that cross none are left out.
    """
    gateways = {}
    for host in topology.hosts():
        ways = topology.routes[host.name]
        crossed = [
            name
            for name in ways[0][1:]
            if topology.components[name].is_host and all(name in way for way in ways)
        ]
        if crossed:
            # Nagios goes on from parent to parent
            gateways[host.name] = crossed[:1]
    return gateways


def _members(
    measured: Sequence[Assignment], services: Sequence[Service]
) -> tuple[Members, Members]:
    """Return the services of each file system, and those whose bytes cross each component.

    A group crosses what all of its members cross.
    """
    judged: dict[tuple[str, str, str, str], list[Assignment]] = {}
    for assignment in measured:
        judged.setdefault((assignment.node, assignment.layer, assignment.component, ""), []).append(
            assignment
        )
        judged.setdefault((assignment.node, assignment.layer, "", assignment.group), []).append(
            assignment
        )
    systems: Members = {}
    crossing: Members = {}
    for place, service in enumerate(services):
        if service.layer == NODE:
            continue
        of = judged[service.node, service.layer, service.component, service.group]
        for name in frozenset(of[0].path).intersection(*(entry.path for entry in of)):
            crossing.setdefault(name, []).append(place)
        if LAYERS[service.layer].on_targets:
            systems.setdefault(of[0].group, []).append(place)
    return systems, crossing


def _above(topology: Topology) -> dict[str, list[str]]:
    """Return the hosts whose way to the network crosses a component, by its name."""
    hosts_above: dict[str, list[str]] = {}
    for host in topology.hosts():
        crossed = {name for way in topology.routes[host.name] for name in way}
        for name in crossed - {host.name}:
            hosts_above.setdefault(name, []).append(host.name)
    return hosts_above


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


_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


def services(measured: Sequence[Assignment]) -> tuple[Service, ...]:
    """Return the services of components, of groups, of whole file systems, then those of nodes.

    Raises:
        DocumentError: two of them would have the same NRPE command on one node.
    """
    each = [assignment for assignment in measured if not LAYERS[assignment.layer].whole]
    described = (
        *(_of_component(assignment) for assignment in each),
        *_of_groups(each),
        *(_of_whole(whole) for _, (whole, *_) in by_file_system(measured)),
        *_of_nodes(measured),
    )
    by_command: dict[tuple[str, str], Service] = {}
    for service in described:
        other = by_command.setdefault((service.node, service.command), service)
        if other is not service:
            raise DocumentError(
                f"plumbline_topology: services {other.description!r} and {service.description!r} "
                f"would both be the command {service.command}; rename one of them"
            )
    return with_bearers(measured, described)


def _of_component(assignment: Assignment) -> Service:
    layer = layer_of(assignment.layer)
    operations = dict.fromkeys(operation.value for operation, _ in assignment.steps)
    return Service(
        assignment.host,
        assignment.node,
        " ".join([layer.title, assignment.component, *operations]),
        _command(assignment.layer, assignment.component),
        layer.check,
        ("--component", assignment.component),
        assignment.layer,
        assignment.component,
        "",
        round(assignment.limits.stale_after_s),
        anchor(assignment.layer, assignment.component),
    )


def _of_groups(measured: Sequence[Assignment]) -> Iterator[Service]:
    """Yield the services of groups: one for each node that measures two or more members."""
    members: dict[tuple[str, str, str], list[Assignment]] = {}
    for assignment in measured:
        if not LAYERS[assignment.layer].site_wide:
            members.setdefault((assignment.layer, assignment.group, assignment.node), []).append(
                assignment
            )
    for (layer, group, node), assignments in members.items():
        if len(assignments) > 1:
            yield Service(
                node,
                node,
                f"{layer_of(layer).title} group {group}",
                _command(layer, f"group_{group}"),
                layer_of(layer).check,
                ("--group", group),
                layer,
                "",
                group,
                round(max(member.limits.stale_after_s for member in assignments)),
                group_anchor(layer, group),
            )


def _of_whole(whole: Assignment) -> Service:
    name, layer = whole.component, layer_of(whole.layer)
    return Service(
        whole.host,
        whole.node,
        f"{layer.title} {name} write read",
        _command(layer.name, name),
        layer.check,
        ("--group", name),
        layer.name,
        "",
        name,
        round(whole.limits.stale_after_s),
        group_anchor(layer.name, name),
    )


def _of_nodes(measured: Sequence[Assignment]) -> Iterator[Service]:
    limits: dict[str, float] = {}
    for assignment in measured:
        limit = assignment.limits.stale_after_s
        limits[assignment.node] = min(limits.get(assignment.node, limit), limit)
    for node, freshness_s in limits.items():
        yield Service(
            node,
            node,
            f"NODE {node} probes",
            _command(NODE, "probes"),
            "check_node",
            (),
            NODE,
            node,
            "",
            round(freshness_s),
        )


def _command(layer: str, name: str) -> str:
    return f"plumbline_{layer}_{_UNSAFE.sub('_', name)}"
