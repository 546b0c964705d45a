"""Who measures what: every component of a site in each layer, on one node, in measuring order."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from plumbline.errors import DocumentError
from plumbline.model.expectation import Limits
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec
from plumbline.plan.policy import Policy, hung_after_given, limits_of, spec_of
from plumbline.plan.rounds import span
from plumbline.topology.graph import Component, Topology
from plumbline.topology.paths import host_of, to_device, to_network, to_target

Step = tuple[Operation, Scenario]
"""One operation in one scenario."""

_ALONE = Scenario.SINGLE
_STEPS = {
    "ost": ((Operation.WRITE, _ALONE), (Operation.READ, _ALONE)),
    "raw": ((Operation.READ, _ALONE),),
    "net": ((Operation.SEND, _ALONE), (Operation.RECEIVE, _ALONE)),
}
_BLOCK_OF_DEVICES = 512
_SPARE_S = 60.0


class Assignment(NamedTuple):
    """One component in one layer: an expectation before its references are known.

    ``node`` measures, ``host`` has the part that is judged; ``steps`` are in measuring order.
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


class _Place(NamedTuple):
    """Where a component is measured, before the policy is applied."""

    component: str
    node: str
    host: str
    group: str
    target: Mapping[str, Any]
    path: tuple[str, ...]
    steps: tuple[Step, ...]


def assignments(topology: Topology, policy: Policy) -> tuple[Assignment, ...]:
    """Return all measurements of a site, layer by layer, in the order of the documents.

    A retired target has none, neither has the network of a site with fewer than two addresses.

    Raises:
        DocumentError: parts are not connected, or the policy names what is not measured.
    """
    found = []
    for layer, places in (
        ("ost", _targets(topology)),
        ("raw", _devices(topology)),
        ("net", _hosts(topology, policy)),
    ):
        _refuse_unknown_names(policy, layer, places)
        found += [_assignment(policy, layer, place, len(places)) for place in places]
    return tuple(found)


def net_hosts(topology: Topology) -> tuple[Component, ...]:
    """Return the hosts that are paired: those with an address, sorted by name; none or several."""
    hosts = sorted((host for host in topology.hosts() if host.address), key=lambda host: host.name)
    return tuple(hosts) if len(hosts) > 1 else ()


def _targets(topology: Topology) -> list[_Place]:
    places = []
    for target in topology.targets.values():
        path = to_target(topology, target)
        if not target.retired:
            host = host_of(topology, path)
            places.append(
                _Place(
                    target.name,
                    target.client,
                    host,
                    target.file_system,
                    target.reach,
                    path,
                    _STEPS["ost"],
                )
            )
    return places


def _devices(topology: Topology) -> list[_Place]:
    paths = {device.name: to_device(topology, device) for device in topology.devices()}
    devices = Counter(path[0] for path in paths.values())
    return [_device(device, paths[device.name], devices) for device in topology.devices()]


def _device(device: Component, path: tuple[str, ...], devices: Mapping[str, int]) -> _Place:
    server = path[0]
    steps: tuple[Step, ...] = _STEPS["raw"]
    if devices[server] > 1:
        steps += ((Operation.READ, Scenario.TOGETHER),)
    target = {"kind": "device", "device": device.device, "block_size": _BLOCK_OF_DEVICES}
    return _Place(device.name, server, server, server, target, path, steps)


def _hosts(topology: Topology, policy: Policy) -> list[_Place]:
    hosts = net_hosts(topology)
    rules = policy.layers.net
    common = {
        "hosts": [host.name for host in hosts],
        "slot_s": rules.schedule.slot,
        "window_s": rules.schedule.window,
        "port": rules.port,
    }
    return [
        _Place(
            host.name,
            host.name,
            host.name,
            "net",
            {"kind": "pair", "address": host.address, **common},
            to_network(topology, host),
            _STEPS["net"],
        )
        for host in hosts
    ]


def _assignment(policy: Policy, layer: str, place: _Place, members: int) -> Assignment:
    names = (layer, place.group, place.component)
    spec = spec_of(policy, *names)
    limits = limits_of(policy, *names)._replace(stale_after_s=stale_after_s(policy, layer, members))
    if not hung_after_given(policy, *names):
        # each repeat may take its whole time, and so may the preparation of a file
        limits = limits._replace(
            hung_after_s=(len(place.steps) * spec.repeats + 1) * spec.seconds + _SPARE_S
        )
    _refuse_contradiction(limits, layer, place.component)
    return Assignment(layer, *place, spec=spec, limits=limits)


def stale_after_s(policy: Policy, layer: str, members: int) -> float:
    """Return the age in seconds at which a layer's last record is too old.

    A host is judged by its tests with several of ``members`` hosts, which takes several slots.
    """
    if layer == "net":
        slots = policy.layers.net.schedule
        return slots.stale_after or 1.5 * span(members) * slots.slot
    timed = policy.layers.ost if layer == "ost" else policy.layers.raw
    return timed.schedule.stale_after_s()


def _refuse_contradiction(limits: Limits, layer: str, component: str) -> None:
    if limits.critical.start > limits.warning.start:
        raise DocumentError(
            f"plumbline_policy: {layer} {component}: critical {limits.critical} begins above "
            f"warning {limits.warning}; a rate that warns must be the better one"
        )


def _refuse_unknown_names(policy: Policy, layer: str, places: Sequence[_Place]) -> None:
    rules = policy.layer(layer)
    groups, components = {p.group for p in places}, {p.component for p in places}
    for key, given, known in (
        ("group", rules.groups, groups),
        ("component", rules.components, components),
    ):
        unknown = sorted(set(given) - known)
        if unknown:
            raise DocumentError(
                f"plumbline_policy: layer {layer} has no {key} {unknown[0]!r}; "
                f"correct the name, or remove what it overrides"
            )


def by_server(found: Sequence[Assignment]) -> Iterator[list[Assignment]]:
    """Yield the raw measurements of each server that is measured with all devices together."""
    raw = [one for one in found if one.layer == "raw" and len(one.steps) > 1]
    for _, members in groupby(sorted(raw, key=lambda one: one.group), key=lambda one: one.group):
        yield list(members)
