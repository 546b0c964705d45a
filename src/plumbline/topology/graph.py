"""The parts of a document, one by one and linked: what the later stages know of a site."""

from __future__ import annotations

from typing import Iterable, Iterator, Mapping, NamedTuple, Optional

from plumbline.errors import DocumentError
from plumbline.model.allowed import (
    ADDRESS,
    BRICK,
    DEVICE,
    NAME,
    PATH,
    SITE,
    SOURCE,
    SUBVOLUME,
    Allowed,
)
from plumbline.topology.clients import dealt, in_blocks
from plumbline.topology.component import Component, Target
from plumbline.topology.document import (
    AnyFileSystem,
    Directory,
    Document,
    Lustre,
    Part,
    Targets,
    Zone,
    load,
    numbered,
)
from plumbline.topology.osts import refuse_no_ost
from plumbline.topology.ranges import expand, meet, repeat
from plumbline.topology.routes import Route, find_routes

_MOST_PARTS = 200_000


class Topology(NamedTuple):
    """A site: components in the order of the document, the ways between them, targets."""

    site: str
    components: Mapping[str, Component]
    routes: Mapping[str, tuple[Route, ...]]
    """The ways of each component to the network, itself first."""
    targets: Mapping[str, Target]

    def hosts(self) -> tuple[Component, ...]:
        """Return clients and servers in the order of the document."""
        return tuple(part for part in self.components.values() if part.is_host)

    def devices(self) -> tuple[Component, ...]:
        """Return the parts that a server can read raw, in the order of the document."""
        return tuple(part for part in self.components.values() if part.device)


def build(raw: object, zone: Zone = Zone.FASTEST) -> Topology:
    """Return the site that a topology document describes, with what its disks give in ``zone``.

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
            if len(components) > _MOST_PARTS:
                raise DocumentError(f"plumbline_topology has more than {_MOST_PARTS} parts")
    _refuse_dangling(components)
    routes = find_routes(
        {name: part.feeds for name, part in components.items()},
        {name: part.through for name, part in components.items() if part.through},
    )
    targets = dealt(_targets(document, components), components, routes)
    return Topology(document.site, components, routes, targets)


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
        )


def _neighbours(names: tuple[str, ...], ranges: list[str]) -> list[tuple[str, ...]]:
    """Return for each name those it meets in every one of ``ranges``."""
    met = [meet(names, expand(text)) for text in ranges]
    return [tuple(other for one in met for other in one[index]) for index in range(len(names))]


def _values(names: tuple[str, ...], text: Optional[str], what: str, allowed: Allowed) -> list[str]:
    if text is None:
        return [""] * len(names)
    written = repeat(names, expand(text))
    values = [value.replace("{name}", name) for name, value in zip(names, written)]
    for value in dict.fromkeys(values):
        allowed.refuse(what, value)
    return values


def _refuse_dangling(components: Mapping[str, Component]) -> None:
    for component in components.values():
        for key, others in (("feeds", component.feeds), ("through", component.through)):
            for other in others:
                if other not in components:
                    raise DocumentError(
                        f"plumbline_topology: {component.name} {key} {other!r}, which is no part; "
                        "correct the name or add the part"
                    )


def _targets(document: Document, components: Mapping[str, Component]) -> dict[str, Target]:
    targets: dict[str, Target] = {}
    for file_system in document.file_systems:
        where = f"plumbline_topology: file_systems {file_system.name!r}"
        try:
            found = list(_of_file_system(file_system))
        except DocumentError as error:
            raise DocumentError(f"{where}: {error}") from error
        for target in found:
            if target.name in targets or target.name in components:
                raise DocumentError(
                    f"{where}: the name {target.name!r} is given twice; "
                    "every target and part needs a name of its own"
                )
            targets[target.name] = target
            if len(targets) > _MOST_PARTS:
                raise DocumentError(f"{where}: there are more than {_MOST_PARTS} targets")
            _refuse_unknown(where, target, components)
    return targets


def _refuse_unknown(where: str, target: Target, components: Mapping[str, Component]) -> None:
    for name in (target.on, *target.through):
        if name not in components:
            raise DocumentError(
                f"{where}: target {target.name} lies on {name!r}, which is no part; "
                "correct the name or add the part"
            )
    if target.client not in components or not components[target.client].is_host:
        raise DocumentError(
            f"{where}: {target.client!r} is no client or server; "
            "name a host among the parts that mounts the file system"
        )


def _of_file_system(file_system: AnyFileSystem) -> Iterator[Target]:
    retired = {name for text in file_system.retired for name in numbered(file_system, text)}
    named = [(targets, numbered(file_system, targets.name)) for targets in file_system.targets]
    names = tuple(name for _, found in named for name in found)
    _refuse_unsafe((file_system.name, *names))
    if isinstance(file_system, Lustre):
        for targets, found in named:
            refuse_no_ost(targets.name, found)
    unknown = sorted(retired - set(names))
    if unknown:
        raise DocumentError(f"retired {unknown[0]!r} is none of its targets; correct the name")
    clients = in_blocks(names, file_system.client) if names else {}
    for targets, found in named:
        on = _single(meet(found, expand(targets.part)), targets)
        through = _neighbours(found, targets.through)
        reach = _reach(file_system, targets, found)
        for index, name in enumerate(found):
            yield Target(
                name,
                file_system.name,
                on[index],
                through[index],
                clients[name],
                reach[index],
                name in retired,
                targets.name,
            )


def _single(met: list[tuple[str, ...]], targets: Targets) -> list[str]:
    if any(len(others) > 1 for others in met):
        raise DocumentError(
            f"there are fewer targets {targets.name!r} ({len(met)}) than parts {targets.part!r}; "
            "a target lies on one part (give the part a count where many disks make one)"
        )
    return [others[0] for others in met]


Reach = dict[str, str]

_KEYS = {"subvolume": SUBVOLUME, "brick": BRICK, "directory": PATH, "source": SOURCE}
"""What says how one target is reached, and what may stand there."""


def _reach(file_system: AnyFileSystem, targets: Targets, names: tuple[str, ...]) -> list[Reach]:
    """Return how each target is reached: kind, and the keys of that kind."""
    columns: dict[str, list[str]] = {"kind": [file_system.kind] * len(names)}
    if not isinstance(file_system, Directory):
        PATH.refuse("mount", file_system.mount)
        columns["mount"] = [file_system.mount] * len(names)
    if isinstance(file_system, Lustre):
        columns["ost"] = list(names)
    for key in _KEYS:
        if getattr(targets, key, None) is not None:
            columns[key] = _one_each(names, targets, key)
    return [dict(zip(columns, values)) for values in zip(*columns.values())]


def _one_each(names: tuple[str, ...], targets: Targets, key: str) -> list[str]:
    values = _values(names, getattr(targets, key), key, _KEYS[key])
    if len(set(values)) < len(names):
        raise DocumentError(f"{len(names)} targets {targets.name!r} need as many values of {key}")
    return values
