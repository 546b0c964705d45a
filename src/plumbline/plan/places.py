"""Where each component is measured one by one, before the policy is applied."""

from __future__ import annotations

from collections import Counter
from typing import Any, Iterable, Mapping, NamedTuple, TypeVar

from plumbline.errors import DocumentError
from plumbline.layers.net import NET
from plumbline.layers.ost import OST
from plumbline.layers.raw import RAW
from plumbline.model.record import Operation, Scenario
from plumbline.plan.policy import Policy
from plumbline.topology.component import Component
from plumbline.topology.graph import Topology
from plumbline.topology.paths import host_of, to_device, to_network, to_target

Step = tuple[Operation, Scenario]
"""One operation in one scenario."""

_BLOCK_OF_DEVICES = 512

_Key = TypeVar("_Key")


class Place(NamedTuple):
    """Where a component is measured: the part of an assignment that the policy does not change."""

    component: str
    node: str
    host: str
    group: str
    target: Mapping[str, Any]
    path: tuple[str, ...]
    steps: tuple[Step, ...]


def targets(topology: Topology) -> list[Place]:
    """Return the targets of all file systems, less those that are retired."""
    places = []
    for target in topology.targets.values():
        path = to_target(topology, target)
        if not target.retired:
            host = host_of(topology, path)
            places.append(
                Place(
                    target.name,
                    target.client,
                    host,
                    target.file_system,
                    target.reach,
                    path,
                    OST.steps(),
                )
            )
    return places


def devices(topology: Topology) -> list[Place]:
    """Return the devices that their servers read raw; refuse one that two parts of a server are."""
    paths = {device.name: to_device(topology, device) for device in topology.devices()}
    _refuse_twice(
        [((paths[one.name][0], one.device), one.name) for one in topology.devices()],
        "the device {0[1]} of {0[0]}",
    )
    counts = Counter(path[0] for path in paths.values())
    return [_device(device, paths[device.name], counts) for device in topology.devices()]


def _refuse_twice(found: Iterable[tuple[_Key, str]], what: str) -> None:
    """Refuse two names that share what must be one part's own; ``what`` says it of the key."""
    names: dict[_Key, str] = {}
    for key, name in found:
        if names.setdefault(key, name) != name:
            raise DocumentError(
                f"plumbline_topology: {names[key]} and {name} both have {what.format(key)}; "
                "give each its own"
            )


def _device(device: Component, path: tuple[str, ...], counts: Mapping[str, int]) -> Place:
    server = path[0]
    steps = RAW.steps(alone=counts[server] == 1)
    target = {"kind": "device", "device": device.device, "block_size": _BLOCK_OF_DEVICES}
    return Place(device.name, server, server, server, target, path, steps)


def net_hosts(topology: Topology) -> tuple[Component, ...]:
    """Return the hosts that are paired: those with an address, sorted by name; none or several."""
    hosts = sorted((host for host in topology.hosts() if host.address), key=lambda host: host.name)
    return tuple(hosts) if len(hosts) > 1 else ()


def paired(topology: Topology, policy: Policy) -> list[Place]:
    """Return the hosts that meet in pairs."""
    hosts = net_hosts(topology)
    _refuse_twice([(host.address, host.name) for host in hosts], "the address {0}")
    rules = policy.layers.net
    common = {
        "hosts": [host.name for host in hosts],
        "slot_s": rules.schedule.slot,
        "window_s": rules.schedule.window,
        "port": rules.port,
    }
    return [
        Place(
            host.name,
            host.name,
            host.name,
            NET.name,
            {"kind": "pair", "address": host.address, **common},
            to_network(topology, host),
            NET.steps(),
        )
        for host in hosts
    ]
