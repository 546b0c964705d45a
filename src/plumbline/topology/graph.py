"""Parts of a site with their links, and the client that measures each target.

Clients measure independently, so all targets that share a server, an adapter, a controller or any
other part of the storage are measured by one client.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import chain, product
from types import MappingProxyType
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.names import (
    ADDRESS,
    DEVICE,
    NAME,
    PATH,
    RDMA_PORT,
    SCRATCH,
    SITE,
    Allowed,
    several,
)
from plumbline.topology.document import (
    HOSTS,
    NETWORK,
    AnyFileSystem,
    Document,
    Part,
    ServedTargets,
    Targets,
    Zone,
    load,
)
from plumbline.topology.names import expand, meet, repeat


class Component(NamedTuple):
    """One part that can be slow.

    ``read_Bps`` and ``write_Bps`` are its capacities in bytes per second, None if it never limits.
    ``feeds`` are its neighbours nearer to the network, ``through`` parts that its route to the
    network must cross.  ``address`` and ``device`` may be empty.  ``among`` is its name in the
    document, which may be a range.  ``flash`` is True for a device whose small random reads are
    measured, and ``iops`` their number per second in its data sheet, None if unknown.
    """

    name: str
    kind: str
    read_Bps: Optional[float]
    write_Bps: Optional[float]
    feeds: tuple[str, ...]
    through: tuple[str, ...]
    address: str
    device: str
    among: str
    flash: bool = False
    iops: Optional[int] = None
    rdma: str = ""
    """RDMA device and port of an adapter, ``mlx5_0/1``; empty if it is not measured."""
    verbs_Bps: Optional[float] = None
    """Bytes per second of RDMA; None if they are those of its capacities."""
    negotiated: str = ""
    """Width and speed that its port should have, in the kernel's words; empty if unknown."""

    @property
    def is_host(self) -> bool:
        """True for a client or a server, which run programs."""
        return self.kind in HOSTS


class Target(NamedTuple):
    """One storage target: its component, the client that measures it, and the keys to reach it.

    ``reach`` has ``kind`` and the keys of that kind, as in an expectation's ``target``.  ``among``
    is its name in the document, which may be a range.  ``metadata`` is True if it keeps the names
    and attributes of files instead of their content.  ``server_folder`` is the folder in which its
    server measures beside it, empty without one.
    """

    name: str
    file_system: str
    on: str
    through: tuple[str, ...]
    client: str
    reach: Mapping[str, str]
    retired: bool
    among: str
    metadata: bool = False
    server_folder: str = ""


Route = tuple[str, ...]
"""Names of parts from one part to the network, a part that feeds nothing."""

_MAX_ROUTES = 256
_MAX_ROUTE = 100
"""Most parts of one route; storage systems have fewer than a tenth."""
_MAX_STEPS = 3_000_000
"""Most parts of all routes: 15 times those of 10,000 targets with two routes of ten parts."""


def find_routes(
    feeds: Mapping[str, Sequence[str]], through: Mapping[str, Sequence[str]]
) -> dict[str, tuple[Route, ...]]:
    """Return all routes of each part along ``feeds`` that cross its ``through``.

    Raises:
        DocumentError: parts feed one another in a ring, no route crosses ``through``, a part has
            more than 256 routes, or routes are too long or too many.
    """
    try:
        order = list(TopologicalSorter(feeds).static_order())
    except CycleError as error:
        ring = " -> ".join(reversed(error.args[1]))
        raise DocumentError(
            f"plumbline_topology: the parts {ring} feed one another in a ring; "
            "a part feeds its neighbour nearer to the network"
        ) from error
    routes: dict[str, tuple[Route, ...]] = {}
    steps = 0
    for name in order:
        ways = tuple((name, *way) for other in feeds[name] for way in routes[other]) or ((name,),)
        routes[name] = _routes_through(name, ways, through.get(name, ()))
        steps += _steps(name, routes[name])
        if steps > _MAX_STEPS:
            raise DocumentError(
                f"plumbline_topology: the ways to the network have more than {_MAX_STEPS} parts "
                "together; choose some with through"
            )
    return routes


def _steps(name: str, part_routes: Sequence[Route]) -> int:
    longest = max(map(len, part_routes))
    if longest > _MAX_ROUTE:
        raise DocumentError(
            f"plumbline_topology: a way of {name} to the network leads over {longest} parts, more "
            f"than {_MAX_ROUTE}; a part feeds its neighbour nearer to the network, correct "
            "feeds"
        )
    return sum(map(len, part_routes))


def _routes_through(
    name: str, part_routes: tuple[Route, ...], waypoints: Sequence[str]
) -> tuple[Route, ...]:
    chosen = tuple(route for route in part_routes if set(waypoints).issubset(route))
    if not chosen:
        raise DocumentError(
            f"plumbline_topology: no way of {name} to the network leads through "
            f"{' and '.join(waypoints)}; correct through or feeds"
        )
    if len(chosen) > _MAX_ROUTES:
        raise DocumentError(
            f"plumbline_topology: {name} has more than {_MAX_ROUTES} ways to the network; "
            "choose one with through"
        )
    return chosen


def join(near: Sequence[Route], far: Sequence[Route]) -> Route:
    """Return the only path from the start of the ``near`` routes to the start of the ``far`` ones.

    It follows a near route to the first part that is also on a far route, then that one back.

    Raises:
        DocumentError: the two ends are not connected, or by several paths, listed in the message.
    """
    start, end = near[0][0], far[0][0]
    pairs = product(near, far)
    paths = dict.fromkeys(path for pair in pairs for path in _joined(*pair))
    if not paths:
        raise DocumentError(
            f"plumbline_topology: {end} is not connected to {start}; "
            "follow feeds from both: they must come to the same part"
        )
    if len(paths) > 1:
        raise DocumentError(
            f"plumbline_topology: from {start} to {end} there are {len(paths)} ways, by "
            f"{' or by '.join(_differences(list(paths)))}; choose with through"
        )
    return next(iter(paths))


def connected(near: Sequence[Route], far: Sequence[Route]) -> bool:
    """Return whether any of the near routes meets one of the far ones."""
    return any(not set(route).isdisjoint(other) for route in near for other in far)


def _joined(route: Route, other: Route) -> list[Route]:
    for index, name in enumerate(route):
        if name in other:
            return [route[: index + 1] + tuple(reversed(other[: other.index(name)]))]
    return []


def _differences(paths: list[Route]) -> list[str]:
    shared = set(paths[0]).intersection(*paths[1:])
    return [", ".join(name for name in path if name not in shared) or "none" for path in paths]


def in_blocks(names: tuple[str, ...], text: str) -> dict[str, str]:
    """Return the client of each target; two clients would halve each other's rates."""
    partners = dict(zip(names, meet(names, expand(text))))
    for name, clients in partners.items():
        if len(clients) > 1:
            raise DocumentError(
                f"target {name} would be measured by {' and '.join(clients)}, which halve each "
                "other's rates; name one client, or at most as many as there are targets"
            )
    return {name: clients[0] for name, clients in partners.items()}


def dealt(
    targets: Mapping[str, Target],
    components: Mapping[str, Component],
    routes: Mapping[str, tuple[Route, ...]],
) -> dict[str, Target]:
    """Return the targets in order, with one client for all that share a part of the storage.

    The targets of each file system are dealt to its clients in order, as evenly as the parts allow;
    a part keeps its client from an earlier file system.
    """
    assigned = dict(targets)
    systems = _by_file_system(targets.values())
    if all(len({target.client for target in members}) == 1 for members in systems):
        return assigned
    owner: dict[str, str] = {}
    for members in systems:
        clients = tuple(dict.fromkeys(target.client for target in members))
        network = _network(clients, components, routes)
        parts = {target.name: _parts(target, routes) - network for target in members}
        if len(clients) > 1:
            for name, client in _deal(members, parts, clients, owner):
                assigned[name] = assigned[name]._replace(client=client)
        for name, crossed in parts.items():
            owner.update({part: assigned[name].client for part in crossed if part not in owner})
    return assigned


def _by_file_system(targets: Iterable[Target]) -> list[list[Target]]:
    systems: dict[str, list[Target]] = {}
    for target in targets:
        systems.setdefault(target.file_system, []).append(target)
    return list(systems.values())


def _network(
    clients: Sequence[str],
    components: Mapping[str, Component],
    routes: Mapping[str, tuple[Route, ...]],
) -> set[str]:
    """Return the parts shared by many servers: network parts, and the routes of clients."""
    clients_only = [name for name in clients if components[name].kind == "client"]
    client_routes = {name for client in clients_only for route in routes[client] for name in route}
    return client_routes | {name for name, part in components.items() if part.kind in NETWORK}


def _parts(target: Target, routes: Mapping[str, tuple[Route, ...]]) -> set[str]:
    target_routes = (route for route in routes[target.on] if set(target.through) <= set(route))
    return {name for route in target_routes for name in route}


def _deal(
    members: Sequence[Target],
    parts: Mapping[str, set[str]],
    clients: Sequence[str],
    owner: Mapping[str, str],
) -> Iterator[tuple[str, str]]:
    """Yield each target with its client; targets that share a part have the same client."""
    measured = {target.name for target in members if not target.retired}
    done = 0
    for group in _sets(members, parts):
        weight = len(measured.intersection(group.names))
        owners = [owner[part] for part in group.parts if owner.get(part) in clients]
        # choose the client whose share of all targets contains the middle of this group
        middle = (2 * done + weight) * len(clients) // (2 * len(measured) or 1)
        done += weight
        client = min(owners) if owners else clients[min(middle, len(clients) - 1)]
        yield from ((name, client) for name in group.names)


class _Set(NamedTuple):
    """Targets that share parts, directly or indirectly, and these parts."""

    names: list[str]
    parts: set[str]


def _sets(members: Sequence[Target], parts: Mapping[str, set[str]]) -> list[_Set]:
    """Return the sets of targets that share parts, in the order of their first targets."""
    set_of_part: dict[str, _Set] = {}
    groups: dict[int, _Set] = {}
    for member in members:
        single = _Set([member.name], set(parts[member.name]))
        near = {id(group): group for part in single.parts if (group := set_of_part.get(part))}
        # merge small sets into the largest, so no name moves often
        ranked = sorted([single, *near.values()], key=lambda group: len(group.names), reverse=True)
        largest = ranked[0]
        for group in ranked[1:]:
            groups.pop(id(group), None)
            largest.names.extend(group.names)
            largest.parts.update(group.parts)
            set_of_part.update(dict.fromkeys(group.parts, largest))
        if largest is single:
            set_of_part.update(dict.fromkeys(single.parts, single))
        groups[id(largest)] = largest
    place = {member.name: number for number, member in enumerate(members)}
    return sorted(groups.values(), key=lambda group: min(map(place.__getitem__, group.names)))


_MAX_PARTS = 200_000


class Topology(NamedTuple):
    """Topology of a site: components in the order of the document, their routes, targets."""

    site: str
    components: Mapping[str, Component]
    routes: Mapping[str, tuple[Route, ...]]
    """Routes of each component to the network, itself first."""
    targets: Mapping[str, Target]
    ways: Mapping[str, tuple[Route, ...]] = MappingProxyType({})
    """All routes of each client with ``through``, which chooses the network of its address."""
    metadata: Mapping[str, Target] = MappingProxyType({})
    """The metadata targets of all file systems."""

    def hosts(self) -> tuple[Component, ...]:
        """Return the clients and servers in the order of the document."""
        return tuple(part for part in self.components.values() if part.is_host)

    def devices(self) -> tuple[Component, ...]:
        """Return the parts that are raw devices, in the order of the document."""
        return tuple(part for part in self.components.values() if part.device)

    def with_rate(self, names: Sequence[str], rate_Bps: float) -> Topology:
        """Return the same site with another rate of some components, in both directions.

        Raises:
            DocumentError: there is no such component.
        """
        unknown = [name for name in names if name not in self.components]
        if unknown:
            raise DocumentError(
                f"plumbline_topology has no part {several(unknown)}; plumbline topology check "
                "--json lists its parts"
            )
        parts = {
            name: self.components[name]._replace(
                read_Bps=rate_Bps, write_Bps=rate_Bps, verbs_Bps=None
            )
            for name in names
        }
        return self._replace(components={**self.components, **parts})


def build(raw: object, zone: Zone = Zone.FASTEST) -> Topology:
    """Build the topology from its document, with the rates of disks in ``zone``.

    Raises:
        DocumentError: the document is not understood, or its parts do not fit together; the
            message names the part.
    """
    document = load(raw)
    SITE.refuse("plumbline_topology: site", document.site)
    components: dict[str, Component] = {}
    for part in document.parts:
        for component in _components(part, zone):
            if component.name in components:
                raise DocumentError(
                    f"plumbline_topology: the name {component.name!r} is given twice; "
                    "every part needs a name of its own"
                )
            components[component.name] = component
            if len(components) > _MAX_PARTS:
                raise DocumentError(f"plumbline_topology has more than {_MAX_PARTS} parts")
    _refuse_dangling(components)
    routes = find_routes(
        {name: part.feeds for name, part in components.items()},
        {name: part.through for name, part in components.items() if part.through},
    )
    every = _targets(document, components)
    metadata = {name: target for name, target in every.items() if target.metadata}
    storage = {name: target for name, target in every.items() if not target.metadata}
    targets = dealt(storage, components, routes)
    ways = {
        part.name: tuple((part.name, *way) for other in part.feeds for way in routes[other])
        for part in components.values()
        if part.kind == "client" and part.through
    }
    return Topology(document.site, components, routes, targets, ways, metadata)


def _refuse_unsafe(names: Iterable[str]) -> None:
    for name in names:
        NAME.refuse("the name", name)


def _components(part: Part, zone: Zone) -> Iterator[Component]:
    try:
        names = expand(part.name)
        _refuse_unsafe(names)
        feeds = _neighbours(names, part.feeds)
        through = _neighbours(names, part.through)
        addresses = _values(names, part.address, "address", ADDRESS)
        devices = _values(names, part.device, "device", DEVICE)
        adapters = _values(names, _with_port(part.rdma), "rdma", RDMA_PORT)
    except DocumentError as error:
        raise DocumentError(f"plumbline_topology: parts {part.name!r}: {error}") from error
    if part.address and len(set(addresses)) < len(names):
        raise DocumentError(
            f"plumbline_topology: parts {part.name!r}: {len(names)} hosts need as many addresses"
        )
    read, write = part.capacity(zone)
    for index, name in enumerate(names):
        yield Component(
            name,
            part.kind,
            read,
            write,
            feeds[index],
            through[index],
            addresses[index],
            devices[index],
            part.name,
            part.media == "flash",
            part.iops,
            adapters[index],
            part.verbs_capacity(),
            part.negotiated,
        )


def _with_port(adapter: Optional[str]) -> Optional[str]:
    """Return an RDMA device with its port, by default the first one."""
    return adapter if adapter is None or "/" in adapter else f"{adapter}/1"


def _neighbours(names: tuple[str, ...], ranges: list[str]) -> list[tuple[str, ...]]:
    columns = [meet(names, expand(text)) for text in ranges]
    return [tuple(chain.from_iterable(row)) for row in zip(*columns)] or [()] * len(names)


def _values(names: tuple[str, ...], text: Optional[str], noun: str, allowed: Allowed) -> list[str]:
    if text is None:
        return [""] * len(names)
    written = repeat(names, expand(text))
    values = [value.replace("{name}", name) for name, value in zip(names, written)]
    for value in dict.fromkeys(values):
        allowed.refuse(noun, value)
    return values


def _refuse_dangling(components: Mapping[str, Component]) -> None:
    for component in components.values():
        for key, neighbours in (("feeds", component.feeds), ("through", component.through)):
            for neighbour in neighbours:
                if neighbour not in components:
                    raise DocumentError(
                        f"plumbline_topology: {component.name} {key} {neighbour!r}, "
                        "which is no part; correct the name or add the part"
                    )


def _targets(document: Document, components: Mapping[str, Component]) -> dict[str, Target]:
    targets: dict[str, Target] = {}
    for file_system in document.file_systems:
        place = f"plumbline_topology: file_systems {file_system.name!r}"
        try:
            entries = [*_of_file_system(file_system), *_metadata_of(file_system)]
        except DocumentError as error:
            raise DocumentError(f"{place}: {error}") from error
        for target in entries:
            if target.name in targets or target.name in components:
                raise DocumentError(
                    f"{place}: the name {target.name!r} is given twice; "
                    "every target and part needs a name of its own"
                )
            targets[target.name] = target
            if len(targets) > _MAX_PARTS:
                raise DocumentError(f"{place}: there are more than {_MAX_PARTS} targets")
            _refuse_unknown(place, target, components)
    return targets


def _refuse_unknown(place: str, target: Target, components: Mapping[str, Component]) -> None:
    for name in (target.on, *target.through):
        if name not in components:
            raise DocumentError(
                f"{place}: target {target.name} lies on {name!r}, which is no part; "
                "correct the name or add the part"
            )
    if target.client not in components or not components[target.client].is_host:
        raise DocumentError(
            f"{place}: {target.client!r} is no client or server; "
            "name a host among the parts that mounts the file system"
        )


def _of_file_system(file_system: AnyFileSystem) -> Iterator[Target]:
    named = [(targets, file_system.expand(targets.name)) for targets in file_system.targets]
    retired = {name for text in file_system.retired for name in file_system.expand(text)}
    names = tuple(name for _, members in named for name in members)
    _refuse_unsafe((file_system.name, *names))
    unknown = sorted(retired - set(names))
    if unknown:
        raise DocumentError(f"retired {unknown[0]!r} is none of its targets; correct the name")
    clients = in_blocks(names, file_system.client) if names else {}
    for targets, members in named:
        kinds: list[str] = [file_system.kind] * len(members)
        common = {"kind": kinds, **file_system.reach(members)}
        for target in _placed(file_system.name, targets, members, common):
            client = clients[target.name]
            yield target._replace(client=client, retired=target.name in retired)


def _metadata_of(file_system: AnyFileSystem) -> Iterator[Target]:
    """Yield the metadata targets, all with the first client: calls on one take few seconds."""
    for targets in file_system.metadata:
        names = file_system.expand_metadata(targets.name)
        _refuse_unsafe(names)
        for target in _placed(file_system.name, targets, names, file_system.reach_metadata(names)):
            yield target._replace(client=expand(file_system.client)[0], metadata=True)


def _placed(
    system: str, targets: Targets, names: tuple[str, ...], common: Mapping[str, list[str]]
) -> Iterator[Target]:
    """Yield targets without their client; ``common`` are columns of keys that lead to them."""
    on = _single(meet(names, expand(targets.part)), targets)
    through = _neighbours(names, targets.through)
    folders = _server_folders(targets, names)
    for index, reach in enumerate(_reach(targets, names, common)):
        place = system, on[index], through[index]
        target = Target(names[index], *place, "", reach, retired=False, among=targets.name)
        yield target._replace(server_folder=folders[index])


def _server_folders(targets: Targets, names: tuple[str, ...]) -> list[str]:
    """Return the folder of each target on its server; several servers may have the same."""
    folder = targets.server_folder if isinstance(targets, ServedTargets) else None
    folders = _values(names, folder, "server_folder", PATH)
    for path in dict.fromkeys(filter(None, folders)):
        SCRATCH.refuse("server_folder", path)
    return folders


def _single(partners: list[tuple[str, ...]], targets: Targets) -> list[str]:
    if any(len(parts) > 1 for parts in partners):
        raise DocumentError(
            f"there are fewer targets {targets.name!r} ({len(partners)}) than parts "
            f"{targets.part!r}; "
            "a target lies on one part (give the part a count where many disks make one)"
        )
    return [parts[0] for parts in partners]


Reach = dict[str, str]


def _reach(
    targets: Targets, names: tuple[str, ...], common: Mapping[str, list[str]]
) -> list[Reach]:
    """Return the keys that lead to each target: ``kind``, and the keys of that kind."""
    columns = dict(common)
    for key, text, allowed in targets.leading():
        columns[key] = _values(names, text, key, allowed)
        if len(set(columns[key])) < len(names):
            raise DocumentError(
                f"{len(names)} targets {targets.name!r} need as many values of {key}"
            )
    return [dict(zip(columns, values)) for values in zip(*columns.values())]
