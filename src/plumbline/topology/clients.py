"""Which client measures which target where a file system has several of them.

Nothing tells clients of one another when they measure, so what shares a server, an adapter, a
controller or any other part of the storage goes to one of them.
"""

from __future__ import annotations

from typing import Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.errors import DocumentError
from plumbline.topology.component import Component, Target
from plumbline.topology.document import NETWORK
from plumbline.topology.ranges import expand, meet
from plumbline.topology.routes import Route


def in_blocks(names: tuple[str, ...], text: str) -> dict[str, str]:
    """Return the client of each target; with several, they would halve each other's rates."""
    met = dict(zip(names, meet(names, expand(text))))
    for name, clients in met.items():
        if len(clients) > 1:
            raise DocumentError(
                f"target {name} would be measured by {' and '.join(clients)}, which halve each "
                "other's rates; name one client, or at most as many as there are targets"
            )
    return {name: clients[0] for name, clients in met.items()}


def dealt(
    targets: Mapping[str, Target],
    components: Mapping[str, Component],
    routes: Mapping[str, tuple[Route, ...]],
) -> dict[str, Target]:
    """Return targets, in their order, so that what shares a part of the storage has one client.

    Each file system is dealt out to its own clients, as evenly as its parts allow, in its order;
    a part that an earlier one has given to a client stays with that client.
    """
    found = dict(targets)
    systems = _by_file_system(targets.values())
    if all(len({one.client for one in members}) == 1 for members in systems):
        return found
    owner: dict[str, str] = {}
    for members in systems:
        clients = tuple(dict.fromkeys(one.client for one in members))
        network = _network(clients, components, routes)
        parts = {one.name: _parts(one, routes) - network for one in members}
        if len(clients) > 1:
            for name, client in _deal(members, parts, clients, owner):
                found[name] = found[name]._replace(client=client)
        for name, crossed in parts.items():
            owner.update({part: found[name].client for part in crossed if part not in owner})
    return found


def _by_file_system(targets: Iterable[Target]) -> list[list[Target]]:
    found: dict[str, list[Target]] = {}
    for one in targets:
        found.setdefault(one.file_system, []).append(one)
    return list(found.values())


def _network(
    clients: Sequence[str],
    components: Mapping[str, Component],
    routes: Mapping[str, tuple[Route, ...]],
) -> set[str]:
    """Return what many servers share: switches and their like, and the ways of mere clients."""
    mere = [name for name in clients if components[name].kind == "client"]
    ways = {name for client in mere for way in routes[client] for name in way}
    return ways | {name for name, part in components.items() if part.kind in NETWORK}


def _parts(target: Target, routes: Mapping[str, tuple[Route, ...]]) -> set[str]:
    ways = (way for way in routes[target.on] if set(target.through) <= set(way))
    return {name for way in ways for name in way}


def _deal(
    members: Sequence[Target],
    parts: Mapping[str, set[str]],
    clients: Sequence[str],
    owner: Mapping[str, str],
) -> Iterator[tuple[str, str]]:
    """Yield the client of each target: of those that share a part, the same."""
    measured = {one.name for one in members if not one.retired}
    done = 0
    for one in _sets(members, parts):
        weight = len(measured.intersection(one.names))
        owners = [owner[part] for part in one.parts if owner.get(part) in clients]
        # the client in whose share of all targets the middle of these lies
        middle = (2 * done + weight) * len(clients) // (2 * len(measured) or 1)
        done += weight
        client = min(owners) if owners else clients[min(middle, len(clients) - 1)]
        yield from ((name, client) for name in one.names)


class _Set(NamedTuple):
    """Targets that share parts, directly or by others, and these parts."""

    names: list[str]
    parts: set[str]


def _sets(members: Sequence[Target], parts: Mapping[str, set[str]]) -> list[_Set]:
    """Return the sets of targets that share parts, in the order of the first of each."""
    of_part: dict[str, _Set] = {}
    found: dict[int, _Set] = {}
    for member in members:
        own = _Set([member.name], set(parts[member.name]))
        near = {id(one): one for part in own.parts if (one := of_part.get(part))}
        # the few go to the many, so that no name moves often
        ranked = sorted([own, *near.values()], key=lambda route: len(route.names), reverse=True)
        largest = ranked[0]
        for one in ranked[1:]:
            found.pop(id(one), None)
            largest.names.extend(one.names)
            largest.parts.update(one.parts)
            of_part.update(dict.fromkeys(one.parts, largest))
        if largest is own:
            of_part.update(dict.fromkeys(own.parts, own))
        found[id(largest)] = largest
    place = {member.name: number for number, member in enumerate(members)}
    return sorted(found.values(), key=lambda route: min(map(place.__getitem__, route.names)))
