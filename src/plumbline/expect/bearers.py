"""Which service bears the alarm where a device and a target that lies on it are both slow.

It is the target's.  A slow device slows its target, so both say the same fault; the target has been
measured earlier in the night and with writes, so it mostly alarms first, and it is what users feel.
The other way round a small loss of a device would hide a target that cannot be reached at all.
"""

from __future__ import annotations

from typing import Mapping, Sequence

from plumbline.layers import ON_DEVICES, SINGLE_TARGETS
from plumbline.model.service import Service
from plumbline.plan.assignment import Assignment


def with_bearers(
    measured: Sequence[Assignment], services: Sequence[Service]
) -> tuple[Service, ...]:
    """Return the services; that of a device is behind those of all targets that lie on it."""
    places = {
        (one.layer, one.component): place for place, one in enumerate(services) if one.component
    }
    devices = _devices(measured)
    behind: dict[int, list[int]] = {}
    for target in (one for one in measured if one.layer in SINGLE_TARGETS):
        bearer = places[target.layer, target.component]
        for name in _below(target, devices):
            behind.setdefault(places[devices[name][name], name], []).append(bearer)
    return tuple(
        one._replace(behind=tuple(behind.get(place, ()))) for place, one in enumerate(services)
    )


def _devices(measured: Sequence[Assignment]) -> dict[str, dict[str, str]]:
    """Return the devices that are read through each part, themselves included, and their layer."""
    found: dict[str, dict[str, str]] = {}
    for one in measured:
        for name in one.path if one.layer in ON_DEVICES else ():
            found.setdefault(name, {})[one.component] = one.layer
    return found


def _below(target: Assignment, devices: Mapping[str, Mapping[str, str]]) -> dict[str, None]:
    """Return the devices that a target lies on, and those of the array that it lies on.

    What lies on a host lies on none of its devices in particular.
    """
    part = target.path[-2]
    own = (name for name in target.path if name in devices.get(name, ()))
    of_array = devices.get(part, {}) if part != target.host else {}
    return dict.fromkeys((*own, *of_array))
