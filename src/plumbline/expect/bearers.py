"""Which service bears the alarm where a device and a target that lies on it are both slow.

It is the target's.  A slow device slows its target, so both say the same fault; the target has been
measured earlier in the night and with writes, so it mostly alarms first, and it is what users feel.
The other way round a small loss of a device would hide a target that cannot be reached at all.

The same holds for what all devices of a server and all targets of their file system have lost: of a
site that never reached its floor, the file system notifies and not each of its servers.
"""

from __future__ import annotations

from typing import Iterable, Mapping, Sequence

from plumbline.layers import ON_DEVICES, SINGLE_TARGETS
from plumbline.model.service import Service
from plumbline.plan.assignment import Assignment

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
    for target in (one for one in measured if one.layer in SINGLE_TARGETS):
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
    found: dict[str, dict[str, Assignment]] = {}
    for one in measured:
        for name in one.path if one.layer in ON_DEVICES else ():
            found.setdefault(name, {})[one.component] = one
    return found


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
