"""Places: the components that a layer measures, each on its node, and the values of an assignment.

Here are those of layers that measure targets and devices one at a time, and the parts of storage
at which such measurements of several nodes meet.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import (
    Any,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    TypeVar,
)

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.layers.layer import Layer
from plumbline.model.limits import Limits
from plumbline.model.record import Operation, Scenario
from plumbline.model.service import SitePart
from plumbline.model.spec import ProbeSpec
from plumbline.topology.ceiling import Limit
from plumbline.topology.document import NETWORK
from plumbline.topology.graph import Component, Topology
from plumbline.topology.paths import host_of, to_device, to_target

Step = tuple[Operation, Scenario]
"""One operation in one scenario."""

_Key = TypeVar("_Key")


class Place(NamedTuple):
    """The part of an assignment that does not depend on the policy."""

    component: str
    node: str
    host: str
    group: str
    target: Mapping[str, Any]
    path: tuple[str, ...]
    steps: tuple[Step, ...]


class Assignment(NamedTuple):
    """One component in one layer: an expectation without references.

    ``node`` measures, ``host`` has the judged part; ``steps`` are in measuring order.  Of their
    runs ``quantities`` are judged besides the rates.
    """

    layer: str
    component: str
    node: str
    host: str
    group: str
    target: Mapping[str, Any]
    path: tuple[str, ...]
    steps: tuple[Step, ...]
    spec: ProbeSpec
    limits: Limits
    quantities: tuple[Step, ...] = ()


StepLimits = Mapping[tuple[str, str, Step], Optional[Limit]]
"""By layer, component and step; None if no part on the path has a rate."""


def system_of(place: Place) -> str:
    """Return the group whose rules apply to a component; a whole has the rules of its members."""
    return str(place.target.get("file_system", place.group))


_PEERS = 5
"""Metadata targets that are each other's peers.  Among fewer each has its own level, as the first
one has the root and most users, and is compared with its own runs alone."""


def targets(topology: Topology, layer: Layer, chosen: Collection[str] = ()) -> list[Place]:
    """Return the targets of a layer in all file systems, except retired ones.

    Those of the ``chosen`` file systems have the layer's chosen operations too.

    Raises:
        DocumentError: a layer of metadata targets is named, and there are none.
    """
    if layer.of_metadata and not topology.metadata:
        raise DocumentError(
            f"plumbline_policy names layer {layer.name}, but no file system of plumbline_topology "
            "has metadata; list its metadata targets there, or remove the layer"
        )
    places = []
    members = topology.metadata if layer.of_metadata else topology.targets
    sizes = Counter(target.file_system for target in members.values())
    for target in members.values():
        path = to_target(topology, target)
        if target.retired:
            continue
        host, group, reach = host_of(topology, path), target.file_system, target.reach
        if target.metadata:
            reach = {**reach, "file_system": group}
            group = group if sizes[group] >= _PEERS else target.name
        steps = layer.steps(chosen=target.file_system in chosen)
        places.append(Place(target.name, target.client, host, group, reach, path, steps))
    return places


def devices(topology: Topology, layer: Layer) -> list[Place]:
    """Return the devices that servers read raw; refuse a device with two names on one server."""
    paths = {device.name: to_device(topology, device) for device in topology.devices()}
    refuse_duplicates(
        [
            ((paths[component.name][0], component.device), component.name)
            for component in topology.devices()
        ],
        "the device {0[1]} of {0[0]}",
    )
    counts = Counter(path[0] for path in paths.values())
    return [_device(layer, device, paths[device.name], counts) for device in topology.devices()]


def refuse_duplicates(pairs: Iterable[tuple[_Key, str]], description: str) -> None:
    """Refuse two names with the same key; ``description`` is a format of the key."""
    names: dict[_Key, str] = {}
    for key, name in pairs:
        if names.setdefault(key, name) != name:
            raise DocumentError(
                f"plumbline_topology: {names[key]} and {name} both have {description.format(key)}; "
                "give each its own"
            )


def _device(
    layer: Layer, device: Component, path: tuple[str, ...], counts: Mapping[str, int]
) -> Place:
    server = path[0]
    steps = layer.steps(alone=counts[server] == 1, chosen=device.flash)
    target = {"kind": "device", "device": device.device}
    return Place(device.name, server, server, server, target, path, steps)


_NO_STORAGE = (*NETWORK, "client", "target")


class Meeting(NamedTuple):
    """Nodes that measure targets through the same parts of the storage."""

    nodes: tuple[str, ...]
    parts: tuple[str, ...]


def meetings(
    nodes: Mapping[str, Sequence[Expectation]], parts: Mapping[str, SitePart]
) -> Iterator[Meeting]:
    """Yield the nodes that share parts of the storage, in the order of their paths.

    A part of the network counts if its rate is less than what one target of each node asks for.
    """
    crossed: dict[str, dict[str, float]] = {}
    for node, entries in nodes.items():
        for entry in entries:
            if LAYERS[entry.layer].per_target:
                rate = _highest_ceiling(entry)
                for name in entry.path:
                    by_node = crossed.setdefault(name, {})
                    by_node[node] = max(by_node.get(node, 0.0), rate)
    names_by_nodes: dict[tuple[str, ...], list[str]] = {}
    for name, by_node in crossed.items():
        part = parts[name]
        rates = [rate for rate in (part.read_Bps, part.write_Bps) if rate is not None]
        narrow = part.kind in NETWORK and min(rates, default=inf) < sum(by_node.values())
        if len(by_node) > 1 and (narrow or part.kind not in _NO_STORAGE):
            names_by_nodes.setdefault(tuple(by_node), []).append(name)
    for nodes_of_parts, names in names_by_nodes.items():
        yield Meeting(nodes_of_parts, tuple(names))


def _highest_ceiling(entry: Expectation) -> float:
    """Return the most bytes per second that a measurement asks for, 0 if nothing limits it."""
    ceilings = (reference.ceiling for reference in entry.references.values())
    return max((ceiling.rate for ceiling in ceilings if ceiling), default=0.0)
