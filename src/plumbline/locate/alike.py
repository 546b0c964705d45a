"""Parts behind which every stream is slow alike, whether it runs alone or beside others.

A controller that writes through, a degraded adapter, a server that saves power or a wrong firmware
leave each stream the same share, and do not fill up as a part does that has lost capacity.  From
outside that looks like one fault of each device, all of one size; so a part explains it only where
two devices or more behind it are slow, none that was measured is healthy, and one share fits all.

What each stream gets is compared as capacities are (``parts``), in units of what its device gives
while healthy, and whoever runs beside it does not count.  Tests of the network end in the host and
say nothing about it.
"""

from __future__ import annotations

from math import hypot
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.layers import ON_DEVICES, ON_TARGETS, PAIRED
from plumbline.locate.observation import BOTH, Measurable, Observation, Vote
from plumbline.locate.parts import Lane, Part, make_lane

_DIFFER = 0.02
"""What one cause takes from several devices differs by so much, a standard deviation."""


class _Stream(NamedTuple):
    """What an observation (an index) says of a device, in one lane."""

    observation: int
    device: str


_Streams = dict[str, dict[str, list[_Stream]]]
_Most = dict[tuple[str, str], float]


def find_alike(observations: Sequence[Observation]) -> dict[str, Part]:
    """Return the parts that slow all devices behind them alike, by name, in the order of paths.

    Each is a host of devices or lies behind one: beyond it the tests of the network tell.
    """
    hosts = {one.of.component for one in observations if one.of.layer in PAIRED}
    hosts |= {one.of.node for one in observations if one.of.layer in ON_DEVICES}
    slow: dict[str, set[str]] = {}
    for one in observations:
        if one.vote is Vote.BAD:
            for name in between(one.of, hosts):
                slow.setdefault(name, set()).add(device_of(one.of) or "")
    suspected = [name for name, devices in slow.items() if len(devices) > 1]
    if not suspected:
        return {}
    observations = [one._replace(error=hypot(one.error, _DIFFER)) for one in observations]
    streams, most = _streams(observations, hosts, suspected)
    found = {}
    for name in suspected:
        lanes = tuple(_lanes(streams[name], most, observations))
        if lanes:
            explains = frozenset(one.observation for lane in lanes for one in lane.blamed)
            found[name] = Part(name, lanes, explains, _devices(explains, observations))
    return found


def device_of(measurable: Measurable) -> Optional[str]:
    """Return the device that a measurement of storage ends in, None for any other."""
    if measurable.layer not in (*ON_DEVICES, *ON_TARGETS) or not set(
        measurable.lanes[0] if measurable.lanes else ()
    ) <= set(BOTH):
        return None
    on_it = (
        measurable.layer not in ON_DEVICES
        and measurable.path[-1] == measurable.component
        and len(measurable.path) > 1
    )
    return measurable.path[-2] if on_it else measurable.path[-1]


def between(measurable: Measurable, hosts: set[str]) -> Sequence[str]:
    """Return the parts from the host of the device on up to the device, none for any other."""
    device = device_of(measurable)
    if device is None:
        return ()
    path = measurable.path[: measurable.path.index(device)]
    last = max((place for place, name in enumerate(path) if name in hosts), default=None)
    # a client is no host of devices
    if last is None or (measurable.layer not in ON_DEVICES and last == 0):
        return ()
    return path[last:]


def _streams(
    observations: Sequence[Observation], hosts: set[str], suspected: Sequence[str]
) -> tuple[_Streams, _Most]:
    """Return by part and lane what is measured behind it, and the most that each device gives."""
    streams: _Streams = {name: {} for name in suspected}
    most: _Most = {}
    for index, one in enumerate(observations):
        if one.vote is Vote.NONE or streams.keys().isdisjoint(one.of.path):
            continue
        device = device_of(one.of)
        if device is None:
            continue
        lane = one.of.lanes[0][0] if one.of.lanes else one.of.operation
        most[lane, device] = max(most.get((lane, device), 0.0), one.of.expected_Bps)
        for name in between(one.of, hosts):
            if name in streams:
                streams[name].setdefault(lane, []).append(_Stream(index, device))
    return streams, most


def _lanes(
    streams: Mapping[str, Sequence[_Stream]], most: _Most, observations: Sequence[Observation]
) -> Iterator[Lane]:
    """Yield the lanes in which one share fits all devices; nothing unless it fits two in one."""
    made = []
    several = False
    for name, found in sorted(streams.items()):
        devices = {one.device for one in found}
        largest = max(most[name, device] for device in devices)
        scaled = [(one.observation, largest / most[name, one.device]) for one in found]
        lane = make_lane(name, scaled, observations)
        blamed = {one.observation for one in lane.blamed}
        slow = {one.device for one in found if one.observation in blamed}
        if slow == devices:
            made.append(lane)
            several |= len(devices) > 1
    yield from made if several else ()


def _devices(explains: frozenset[int], observations: Sequence[Observation]) -> tuple[str, ...]:
    found = (device_of(observations[index].of) or "" for index in sorted(explains))
    return tuple(dict.fromkeys(found))
