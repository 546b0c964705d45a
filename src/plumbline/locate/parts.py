"""Parts that could have slowed the slow measurements, each with one remaining capacity.

Sets of one size that all explain what is bad need not be equally likely: good measurements
may all be a little slow, or bad ones differ by more than one remaining capacity makes likely.  A
set is scored against the claim that everything is healthy: by each measurement that it crosses,
with a normal error of its logarithm.  No measurement may count for more than ``MOST_ERRORS``
standard errors either way, because real errors have long tails.

The model: a part with the capacity R left slows a flow that needs more than R to R, and no other.
So one R must explain all rates that a part is blamed for, and no measurement, good or bad, may
have passed it faster than R.  Whatever R is, the smallest that the measurements allow explains the
most: what a part can explain is found without search.

Four things soften the comparison of two rates, and nothing else does:

- noise: a rate is known within some of its standard errors.  ``reach`` takes so many that rates of
  one and the same truth overlap in at least 999 of 1000 cases, however many there are.
- overhead: what a file system moves is less than what its disks do, and it may fall in the same
  proportion (Red Storm: 179.84 of 196.23 MB/s, its section III-B).  A flow of a layer whose highest
  healthy rate is below that of another layer that crosses the same part may be slowed below R in
  that proportion, down to 1 / ``OVERHEAD`` of R.
- chance: a part that drops segments slows each connection by another amount, and some not at all.
  No rate clears it, and it explains all that are bad.
- time: a good measurement from before the trouble says nothing about it.

A controller that writes through, a degraded adapter, a server that saves power or a wrong firmware
leave each stream the same share, and do not fill up as a part does that has lost capacity.  From
outside that looks like one fault of each device, all of one size; so a part explains it only where
two devices or more behind it are slow, none that was measured is healthy, and one share fits all.

What each stream gets is compared as capacities are (``parts``), in units of what its device gives
while healthy, and whoever runs beside it does not count.  Tests of the network end in the host and
say nothing about it.

A wire or an adapter has one capacity; a host that saves power, swaps or is overloaded is slow in
tests of the network, which end in it, and in what its devices give, which crosses it, and nothing
says that one rate is left for both.  So what it has left is shown for each of them.  As with what
slows devices alike (``alike``), that counts only where capacities alone take more faults.
"""

from __future__ import annotations

from math import exp, hypot, log, log2
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.locate.observation import BOTH, NETWORK, SEGMENTS, Measurable, Observation, Vote
from plumbline.model.layers import LAYERS

Expected = Mapping[int, tuple[float, float]]

EQUAL = log(1000)
"""Sets whose odds differ by less than 1000 to 1 are ambiguous."""

MOST_ERRORS = 6.0

_LEAST_REMAINING_BPS = 1.0


def expected(part: Part) -> dict[int, tuple[float, float]]:
    """Return the range that a part leaves of each measurement that it slows, by index.

    A range of the logarithm of B/s of one flow: from what overhead may take away to all that the
    part has left.
    """
    bounds: dict[int, tuple[float, float]] = {}
    for lane in part.lanes:
        for index, (low, high) in _of_lane(lane).items():
            before = bounds.get(index, (low, high))
            bounds[index] = (min(low, before[0]), min(high, before[1]))
    return bounds


def _of_lane(lane: Lane) -> dict[int, tuple[float, float]]:
    remaining_log = log(remaining(lane))
    bounds = {}
    for member in lane.members:
        low = remaining_log - member.room
        if low < member.needed:
            share = log(member.flows)
            bounds[member.observation] = (low - share, min(remaining_log, member.needed) - share)
    return bounds


def odds(parts: Iterable[Expected], observations: Sequence[Observation]) -> float:
    """Return the logarithm of the odds of these parts together against a healthy system.

    A measurement that several of them slow is as slow as the slowest of them makes it.
    """
    merged: dict[int, tuple[float, float]] = {}
    for ranges in parts:
        for index, (low, high) in ranges.items():
            before = merged.get(index, (low, high))
            merged[index] = (min(low, before[0]), min(high, before[1]))
    return sum(_gain(observations[index], *range_) for index, range_ in merged.items())


def _gain(observation: Observation, low: float, high: float) -> float:
    measured = log(max(observation.measured, _LEAST_REMAINING_BPS))
    healthy = abs(measured - log(observation.of.expected))
    off = max(low - measured, measured - high, 0.0)
    return (_square(healthy / observation.error) - _square(off / observation.error)) / 2


def _square(errors: float) -> float:
    return min(errors, MOST_ERRORS) ** 2


OVERHEAD = 1.25
"""The largest factor between R and the rate of a flow that R limits."""

_ANY = log(1e12)
"""Room of a measurement that a part slows by chance."""

_LEAST_BPS = 1.0
"""A measurement that hung moved this much at most; it keeps logarithms finite."""


class Member(NamedTuple):
    """One vote in one lane: what the part carried and carries while healthy, as logarithms of B/s.

    Flows that share the part evenly count as often as there are, since each got its share.
    ``room`` is the logarithm of what overhead may explain.  Of measurements that
    are slow alike (``alike``) the ``flows`` are the most that a device gives / what this one gives.
    """

    observation: int
    carried: float
    needed: float
    room: float
    error: float
    flows: float


class Lane(NamedTuple):
    """One direction of a part, all its votes, and the least that it must have left (log B/s).

    ``blamed`` are the bad ones that a part with this much left explains.
    """

    name: str
    members: tuple[Member, ...]
    floor: float
    blamed: tuple[Member, ...]


class Part(NamedTuple):
    """A component that bad measurements cross, with what it explains (indices).

    ``alike`` are the devices behind it where each stream gets the same share, whoever runs beside
    it; empty where the component has so much left for all together.
    """

    name: str
    lanes: tuple[Lane, ...]
    explains: frozenset[int]
    alike: tuple[str, ...] = ()


def reach(count: int) -> float:
    """Return the standard errors by which ``count`` rates of one truth may be off, each way.

    A line through half of the range that holds 999 of 1000 samples of ``count`` normal values:
    2.33 for 2, 2.99 for 10, 3.67 for 100.
    """
    return 2.4 + 0.23 * log2(max(count, 2) / 2)


def find_parts(observations: Sequence[Observation]) -> dict[str, Part]:
    """Return each component that explains a bad observation, by name, in the order of the paths.

    Takes time in proportion to the summed length of the paths.
    """
    suspected = {
        name: None
        for observation in observations
        if observation.vote is Vote.BAD
        for name in observation.of.path
    }
    parts = {}
    for name, crossed in _crossed(observations, suspected).items():
        lanes = tuple(_part_lanes(crossed, observations))
        if lanes:
            blamed = frozenset(member.observation for lane in lanes for member in lane.blamed)
            parts[name] = Part(name, lanes, blamed)
    return parts


def _part_lanes(
    crossed: Mapping[str, Sequence[tuple[int, int]]], observations: Sequence[Observation]
) -> Iterator[Lane]:
    """Yield the lanes of a part that explain something, those of segments last."""
    segments = [
        make_lane(key, members, observations)
        for key, members in sorted(crossed.items())
        if key.startswith(SEGMENTS)
    ]
    dropping = [lane for lane in segments if lane.blamed]
    for key, members in sorted(crossed.items()):
        if not key.startswith(SEGMENTS):
            lane = make_lane(key, members, observations, _ANY if dropping else log(OVERHEAD))
            if lane.blamed:
                yield lane
    yield from dropping


_Crossed = dict[str, dict[str, list[tuple[int, int]]]]


def _crossed(observations: Sequence[Observation], suspected: Mapping[str, None]) -> _Crossed:
    """Return by component and lane the voters that cross it, and how many flows shared it."""
    crossed: _Crossed = {name: {} for name in suspected}
    names = suspected.keys()
    for index, each in enumerate(observations):
        if each.vote is Vote.NONE or names.isdisjoint(each.of.path):
            continue
        for name, lanes, flows in each.of.crossings():
            if name in crossed:
                for lane in lanes:
                    crossed[name].setdefault(lane, []).append((index, flows))
    return crossed


def make_lane(
    name: str,
    crossing: Sequence[tuple[int, float]],
    observations: Sequence[Observation],
    room: float = log(OVERHEAD),
) -> Lane:
    """Return a lane of what crosses it: indices with their ``flows``.

    ``room`` is the logarithm of what overhead may explain at most.
    """
    begun = max(
        (observations[index].since for index, _ in crossing if _bad(observations[index])),
        default=0.0,
    )
    valid = [
        (index, flows)
        for index, flows in crossing
        if _bad(observations[index]) or observations[index].at >= begun
    ]
    members = tuple(_members(valid, observations, room))
    width = reach(len(members))
    floor = max((member.carried - width * member.error for member in members), default=0.0)
    blamed = tuple(
        member
        for member in members
        if _bad(observations[member.observation])
        and member.carried + member.room + width * member.error >= floor
    )
    return Lane(name, members, floor, blamed)


def _members(
    crossing: Sequence[tuple[int, float]], observations: Sequence[Observation], room: float
) -> Iterator[Member]:
    most: dict[str, float] = {}
    for index, flows in crossing:
        of = observations[index].of
        most[of.layer] = max(most.get(of.layer, 0.0), of.expected * flows)
    rooms = dict.fromkeys(most, room)
    if room != _ANY:
        highest = max(most.values(), default=1.0)
        rooms = {layer: min(log(highest / rate), room) for layer, rate in most.items()}
    for index, flows in crossing:
        each = observations[index]
        yield Member(
            index,
            log(max(each.measured * flows, _LEAST_BPS)),
            log(each.of.expected * flows),
            rooms[each.of.layer],
            each.error,
            flows,
        )


def _bad(observation: Observation) -> bool:
    return observation.vote is Vote.BAD


def remaining(lane: Lane) -> float:
    """Return the most likely capacity left, in bytes per second.

    The one from which the blamed rates, and the good ones that passed faster, are off least, by
    weighted squares of logarithms.  Each rate pulls from where it is to the nearest place that it
    allows, so a few rounds of the mean settle it.
    """
    blamed = {member.observation for member in lane.blamed}
    mean_log = _mean([(member.carried, member.error) for member in lane.blamed])
    for _ in range(_ROUNDS):
        pulls = [
            (min(max(mean_log, member.carried), member.carried + member.room), member.error)
            for member in lane.blamed
        ]
        pulls += [
            (member.carried, member.error)
            for member in lane.members
            if member.observation not in blamed
            and member.needed > mean_log
            and member.carried > mean_log
        ]
        before, mean_log = mean_log, _mean(pulls)
        if mean_log == before:
            break
    return exp(mean_log)


_ROUNDS = 8


def _mean(values: Sequence[tuple[float, float]]) -> float:
    weights = [error**-2 for _, error in values]
    return sum(value * weight for (value, _), weight in zip(values, weights)) / sum(weights)


_DIFFER = 0.02
"""Standard deviation of the losses that one cause brings to several devices."""


class _Stream(NamedTuple):
    """An observation (by index) of a device in one lane."""

    observation: int
    device: str


_Streams = dict[str, dict[str, list[_Stream]]]
_Most = dict[tuple[str, str], float]


def find_alike(observations: Sequence[Observation]) -> dict[str, Part]:
    """Return the parts that slow all devices behind them alike, by name, in the order of paths.

    Each is a host of devices or lies behind one: beyond it the tests of the network tell.
    """
    hosts = {each.of.component for each in observations if LAYERS[each.of.layer].paired}
    hosts |= {each.of.node for each in observations if LAYERS[each.of.layer].on_devices}
    slow: dict[str, set[str]] = {}
    for observation in observations:
        if observation.vote is Vote.BAD:
            for name in between(observation.of, hosts):
                slow.setdefault(name, set()).add(device_of(observation.of) or "")
    suspected = [name for name, devices in slow.items() if len(devices) > 1]
    if not suspected:
        return {}
    observations = [each._replace(error=hypot(each.error, _DIFFER)) for each in observations]
    streams, most = _streams(observations, hosts, suspected)
    parts = {}
    for name in suspected:
        lanes = tuple(_lanes(streams[name], most, observations))
        if lanes:
            explains = frozenset(member.observation for lane in lanes for member in lane.blamed)
            parts[name] = Part(name, lanes, explains, _devices(explains, observations))
    return parts


def device_of(measurable: Measurable) -> Optional[str]:
    """Return the device that a measurement of storage ends in, None for any other."""
    if not LAYERS[measurable.layer].of_storage or not set(
        measurable.lanes[0] if measurable.lanes else ()
    ) <= set(BOTH):
        return None
    on_it = (
        not LAYERS[measurable.layer].on_devices
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
    if last is None or (not LAYERS[measurable.layer].on_devices and last == 0):
        return ()
    return path[last:]


def _streams(
    observations: Sequence[Observation], hosts: set[str], suspected: Sequence[str]
) -> tuple[_Streams, _Most]:
    """Return by part and lane what is measured behind it, and the most that each device gives."""
    streams: _Streams = {name: {} for name in suspected}
    most: _Most = {}
    for index, observation in enumerate(observations):
        if observation.vote is Vote.NONE or streams.keys().isdisjoint(observation.of.path):
            continue
        device = device_of(observation.of)
        if device is None:
            continue
        lane = observation.of.lanes[0][0] if observation.of.lanes else observation.of.operation
        most[lane, device] = max(most.get((lane, device), 0.0), observation.of.expected)
        for name in between(observation.of, hosts):
            if name in streams:
                streams[name].setdefault(lane, []).append(_Stream(index, device))
    return streams, most


def _lanes(
    streams: Mapping[str, Sequence[_Stream]], most: _Most, observations: Sequence[Observation]
) -> Iterator[Lane]:
    """Yield the lanes in which one share fits all devices; nothing unless it fits two in one."""
    lanes = []
    several = False
    for name, members in sorted(streams.items()):
        devices = {stream.device for stream in members}
        largest = max(most[name, device] for device in devices)
        scaled = [(stream.observation, largest / most[name, stream.device]) for stream in members]
        lane = make_lane(name, scaled, observations)
        blamed = {member.observation for member in lane.blamed}
        slow = {stream.device for stream in members if stream.observation in blamed}
        if slow == devices:
            lanes.append(lane)
            several |= len(devices) > 1
    yield from lanes if several else ()


def _devices(explains: frozenset[int], observations: Sequence[Observation]) -> tuple[str, ...]:
    devices = (device_of(observations[index].of) or "" for index in sorted(explains))
    return tuple(dict.fromkeys(devices))


_Crossing = dict[str, list[tuple[int, float]]]


def find_hosts(
    observations: Sequence[Observation], alike: Mapping[str, Part]
) -> Iterator[tuple[str, Part]]:
    """Yield by name the hosts that explain slow tests of the network and slow devices.

    ``alike`` are the parts that slow all of their devices alike.
    """
    suspected = {
        name: None
        for observation in observations
        if observation.vote is Vote.BAD
        and observation.of.is_rate
        and LAYERS[observation.of.layer].paired
        for name in _ends(observation.of)
    }
    for name, (tests, streams) in _crossing(observations, suspected).items():
        network = list(_slow(tests, observations))
        capacities = _part(name, [*network, *_slow(streams, observations)], ())
        part = capacities
        if name in alike:
            shares = _part(name, [*network, *alike[name].lanes], alike[name].alike)
            part = max(capacities, shares, key=lambda candidate: len(candidate.explains))
        if network and len(part.lanes) > len(network):
            yield name, part


def _ends(measurable: Measurable) -> tuple[str, str]:
    return measurable.path[0], measurable.path[-1]


def _crossing(
    observations: Sequence[Observation], hosts: Mapping[str, None]
) -> dict[str, tuple[_Crossing, _Crossing]]:
    """Return by host and lane the tests of the network that end in it, and all else."""
    crossings: dict[str, tuple[_Crossing, _Crossing]] = {name: ({}, {}) for name in hosts}
    for index, observation in enumerate(observations if hosts else ()):
        if (
            observation.vote is Vote.NONE
            or not observation.of.is_rate
            or hosts.keys().isdisjoint(observation.of.path)
        ):
            continue
        for name, lanes, flows in observation.of.crossings():
            if name not in hosts:
                continue
            ends = LAYERS[observation.of.layer].paired and name in _ends(observation.of)
            for lane in lanes:
                into, key = (0, NETWORK + lane) if ends else (1, lane)
                crossings[name][into].setdefault(key, []).append((index, flows))
    return crossings


def _slow(crossing: _Crossing, observations: Sequence[Observation]) -> Iterator[Lane]:
    for key, members in sorted(crossing.items()):
        lane = make_lane(key, members, observations)
        if lane.blamed:
            yield lane


def _part(name: str, lanes: Sequence[Lane], alike: tuple[str, ...]) -> Part:
    explains = frozenset(member.observation for lane in lanes for member in lane.blamed)
    return Part(name, tuple(lanes), explains, alike)
