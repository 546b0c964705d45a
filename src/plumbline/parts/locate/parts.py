"""Parts that could have slowed the slow measurements, each with one remaining capacity.

Sets of one size that all explain the bad measurements need not be equally likely: good measurements
may all be a little slow, or bad ones differ by more than one remaining capacity makes likely.  A
set is scored against the claim that everything is healthy: by each measurement that it crosses,
with a normal error of its logarithm.  No measurement may count for more than ``MAX_ERRORS``
standard errors either way, because real errors have long tails.

The model: a part with the remaining capacity R slows a flow that needs more than R to R, and no
other.  So one R must explain all rates that a part is blamed for, and no measurement, good or bad,
may have passed it faster than R.  The smallest R that the measurements allow explains the most, so
the measurements that a part can explain are found without search.

Four effects soften the comparison of two rates, and nothing else does:

- noise: a rate is known within some of its standard errors.  ``reach`` takes so many that rates of
  one and the same truth overlap in at least 999 of 1000 cases, for any number of them.
- overhead: a file system moves less than its disks do, and may fall in the same proportion (Red
  Storm: 179.84 of 196.23 MB/s, its section III-B).  A flow of a layer whose highest healthy rate is
  below that of another layer across the same part may be slowed below R in that proportion, down to
  1 / ``OVERHEAD`` of R.
- chance: a part that drops segments slows each connection by another amount, and some not at all.
  No rate clears it, and it explains all bad ones.
- time: a measurement from before a bad one began is no evidence on it.

A controller that writes through, a degraded adapter, a server that saves power or a wrong firmware
leave each stream the same share, and do not fill up like a part with a lost capacity.  From outside
that looks like one fault of each device, all of one size; so a part explains it only if two devices
or more behind it are slow, no measured one is healthy, and one share fits all.

The rates of streams are compared as capacities are (``parts``), in units of the healthy rate of
their device, and concurrent streams do not count.  Tests of the network end in the host and are no
evidence on these shares.

A wire or an adapter has one capacity; a host that saves power, swaps or is overloaded is slow in
tests of the network, which end in it, and in the rates of its devices, which cross it.  These two
need not have one remaining rate, so each has its own.  As for devices that are slow by the same
share (``alike``), that counts only if capacities alone take more faults.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from math import exp, hypot, inf, log, log2
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.layers import LAYERS
from plumbline.parts.locate.observation import (
    BOTH,
    NETWORK,
    SEGMENTS,
    Measurable,
    Observation,
    Vote,
)

Expected = Mapping[int, tuple[float, float]]

EQUAL = log(1000)
"""Sets whose odds differ by less than 1000 to 1 are ambiguous."""

MAX_ERRORS = 6.0

_MIN_REMAINING_BPS = 1.0


def expected(part: Part) -> dict[int, tuple[float, float]]:
    """Return the range that a part leaves to each measurement that it slows, by index.

    A range of the logarithm of B/s of one flow: from the most overhead to the whole remaining
    capacity.
    """
    return _slowest(map(_of_lane, part.lanes))


def _slowest(ranges: Iterable[Expected]) -> dict[int, tuple[float, float]]:
    """Return the ranges of several at once: a measurement is as slow as the slowest makes it."""
    bounds: dict[int, tuple[float, float]] = {}
    for expected_ranges in ranges:
        for index, (low, high) in expected_ranges.items():
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
    """Return the logarithm of the odds of these parts together against a healthy system."""
    together = _slowest(parts).items()
    return sum(_gain(observations[index], *range_) for index, range_ in together)


def _gain(observation: Observation, low: float, high: float) -> float:
    measured = log(max(observation.measured, _MIN_REMAINING_BPS))
    healthy = abs(measured - log(observation.of.expected))
    off = max(low - measured, measured - high, 0.0)
    return (_square(healthy / observation.error) - _square(off / observation.error)) / 2


def _square(errors: float) -> float:
    return min(errors, MAX_ERRORS) ** 2


OVERHEAD = 1.25
"""The largest factor between R and the rate of a flow that R limits."""

_ANY = log(1e12)
"""Room of a measurement that a part slows by chance."""

_MIN_BPS = 1.0
"""The most that a hung measurement moved; it keeps logarithms finite."""


class Member(NamedTuple):
    """One vote in one lane: the part's load now and while healthy, as logarithms of B/s.

    Flows that share the part evenly count with their number, since each got its share.  ``room`` is
    the logarithm of the possible overhead.  For measurements that are slow by one share (``alike``)
    ``flows`` is the most that a device gives / the rate of this one.
    """

    observation: int
    carried: float
    needed: float
    room: float
    error: float
    flows: float


class Lane(NamedTuple):
    """One direction of a part, all its votes, and its least remaining capacity (log B/s).

    ``blamed`` are the bad votes that a part with this capacity explains.
    """

    name: str
    members: tuple[Member, ...]
    floor: float
    blamed: tuple[Member, ...]


class Part(NamedTuple):
    """A component that bad measurements cross, and those that it explains (indices).

    ``alike`` are the devices behind it if each stream gets the same share, regardless of others;
    empty if the component has one remaining capacity for all together.
    """

    name: str
    lanes: tuple[Lane, ...]
    explains: frozenset[int]
    alike: tuple[str, ...] = ()


def reach(count: int) -> float:
    """Return the standard errors by which ``count`` rates of one truth may be off, each way.

    A line through half of the range that holds 999 of 1000 samples of ``count`` normal values: 2.33
    for 2, 2.99 for 10, 3.67 for 100.
    """
    return 2.4 + 0.23 * log2(max(count, 2) / 2)


def find_parts(observations: Sequence[Observation]) -> dict[str, Part]:
    """Return each component that explains a bad observation, by name, in the order of the paths.

    The time is proportional to the summed length of the paths.
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
            parts[name] = _part(name, lanes)
    return parts


def _part(name: str, lanes: Sequence[Lane], alike: tuple[str, ...] = ()) -> Part:
    explains = frozenset(member.observation for lane in lanes for member in lane.blamed)
    return Part(name, tuple(lanes), explains, alike)


def _part_lanes(crossed: _Crossing, observations: Sequence[Observation]) -> Iterator[Lane]:
    """Yield the lanes of a part that explain something, those of segments last."""
    segments = {key: members for key, members in crossed.items() if key.startswith(SEGMENTS)}
    dropping = list(_blamed_lanes(segments, observations))
    rates = {key: members for key, members in crossed.items() if key not in segments}
    yield from _blamed_lanes(rates, observations, _ANY if dropping else log(OVERHEAD))
    yield from dropping


def _blamed_lanes(
    crossed: _Crossing, observations: Sequence[Observation], room: float = log(OVERHEAD)
) -> Iterator[Lane]:
    for key, members in sorted(crossed.items()):
        lane = make_lane(key, members, observations, room)
        if lane.blamed:
            yield lane


_Crossing = dict[str, list[tuple[int, float]]]
"""Observations by lane: their indices, with the flows that shared it."""


def _crossed(
    observations: Sequence[Observation], suspected: Mapping[str, None]
) -> dict[str, _Crossing]:
    """Return the voters that cross each component, by lane, and how many flows shared it."""
    crossed: dict[str, _Crossing] = {name: {} for name in suspected}
    names = suspected.keys()
    for index, observation in enumerate(observations):
        if observation.vote is Vote.NONE or names.isdisjoint(observation.of.path):
            continue
        for name, lanes, flows in observation.of.crossings():
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
    """Return a lane of the measurements that cross it: indices with their ``flows``.

    A measurement is evidence on a bad one that began before it.  ``room`` is the logarithm of the
    largest possible overhead.
    """
    members = tuple(_members(crossing, observations, room))
    width = reach(len(members))
    passed = sorted(
        (observations[member.observation].at, member.carried - width * member.error)
        for member in members
    )
    fastest = [*accumulate((rate for _, rate in reversed(passed)), max, initial=0.0)]

    def floor_since(begun: float) -> float:
        return fastest[len(passed) - bisect_left(passed, (begun,))]

    blamed = tuple(
        member
        for member in members
        if _bad(bad := observations[member.observation])
        and member.carried + member.room + width * member.error >= floor_since(bad.since)
    )
    begun = min((observations[member.observation].since for member in blamed), default=inf)
    members = tuple(member for member in members if observations[member.observation].at >= begun)
    return Lane(name, members, floor_since(begun), blamed)


def _members(
    crossing: Sequence[tuple[int, float]], observations: Sequence[Observation], room: float
) -> Iterator[Member]:
    largest: dict[str, float] = {}
    for index, flows in crossing:
        test = observations[index].of
        largest[test.layer] = max(largest.get(test.layer, 0.0), test.expected * flows)
    rooms = dict.fromkeys(largest, room)
    if room != _ANY:
        highest = max(largest.values(), default=1.0)
        rooms = {layer: min(log(highest / rate), room) for layer, rate in largest.items()}
    for index, flows in crossing:
        observation = observations[index]
        yield Member(
            index,
            log(max(observation.measured * flows, _MIN_BPS)),
            log(observation.of.expected * flows),
            rooms[observation.of.layer],
            observation.error,
            flows,
        )


def _bad(observation: Observation) -> bool:
    return observation.vote is Vote.BAD


def remaining(lane: Lane) -> float:
    """Return the most likely remaining capacity, in bytes per second.

    It minimizes the weighted squares of the logarithmic distances to the blamed rates, and to the
    good ones that passed faster.  Each rate pulls from its value to the nearest place that it
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


_LOSS_SPREAD = 0.02
"""Standard deviation of the losses that one cause brings to several devices."""


class _Stream(NamedTuple):
    """An observation (by index) of a device in one lane."""

    observation: int
    device: str


_Streams = dict[str, dict[str, list[_Stream]]]
_Most = dict[tuple[str, str], float]


def find_alike(observations: Sequence[Observation]) -> dict[str, Part]:
    """Return the parts that slow all devices behind them by one share, by name, in path order.

    Each is a host of devices or lies behind one: farther parts show in the tests of the network.
    """
    hosts = {vote.of.component for vote in observations if LAYERS[vote.of.layer].of_hosts}
    hosts |= {vote.of.node for vote in observations if LAYERS[vote.of.layer].local}
    slow: dict[str, set[str]] = {}
    for vote in observations:
        if vote.vote is Vote.BAD:
            for name in between(vote.of, hosts):
                slow.setdefault(name, set()).add(device_of(vote.of) or "")
    suspected = [name for name, devices in slow.items() if len(devices) > 1]
    if not suspected:
        return {}
    observations = [vote._replace(error=hypot(vote.error, _LOSS_SPREAD)) for vote in observations]
    streams, most = _streams(observations, hosts, suspected)
    parts = {}
    for name in suspected:
        lanes = tuple(_lanes(streams[name], most, observations))
        if lanes:
            part = _part(name, lanes)
            parts[name] = part._replace(alike=_devices(part.explains, observations))
    return parts


def device_of(measurable: Measurable) -> Optional[str]:
    """Return the device at the end of a storage measurement, None for any other."""
    if not LAYERS[measurable.layer].of_storage or not set(
        measurable.lanes[0] if measurable.lanes else ()
    ) <= set(BOTH):
        return None
    on_device = (
        not LAYERS[measurable.layer].on_devices
        and measurable.path[-1] == measurable.component
        and len(measurable.path) > 1
    )
    return measurable.path[-2] if on_device else measurable.path[-1]


def between(measurable: Measurable, hosts: set[str]) -> Sequence[str]:
    """Return the parts from the device's host up to the device, empty for other measurements."""
    device = device_of(measurable)
    if device is None:
        return ()
    path = measurable.path[: measurable.path.index(device)]
    last = max((place for place, name in enumerate(path) if name in hosts), default=None)
    # a client is no host of devices
    if last is None or (not LAYERS[measurable.layer].local and last == 0):
        return ()
    return path[last:]


def _streams(
    observations: Sequence[Observation], hosts: set[str], suspected: Sequence[str]
) -> tuple[_Streams, _Most]:
    """Return the streams behind each part, by lane, and the most that each device gives."""
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
    """Yield the lanes in which one share fits all devices, if it fits two or more in one."""
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


def find_hosts(
    observations: Sequence[Observation], alike: Mapping[str, Part]
) -> Iterator[tuple[str, Part]]:
    """Yield by name the hosts that explain slow tests of the network and slow devices.

    ``alike`` are the parts that slow all of their devices by one share.
    """
    suspected = {
        name: None
        for observation in observations
        if observation.vote is Vote.BAD
        and observation.of.is_rate
        and LAYERS[observation.of.layer].of_hosts
        for name in _ends(observation.of)
    }
    for name, crossed in _crossed(observations, suspected).items():
        tests, streams = _tests_and_streams(name, crossed, observations)
        network = list(_blamed_lanes(tests, observations))
        capacities = _part(name, [*network, *_blamed_lanes(streams, observations)])
        part = capacities
        if name in alike:
            shares = _part(name, [*network, *alike[name].lanes], alike[name].alike)
            part = max(capacities, shares, key=lambda candidate: len(candidate.explains))
        if network and len(part.lanes) > len(network):
            yield name, part


def _ends(measurable: Measurable) -> tuple[str, str]:
    return measurable.path[0], measurable.path[-1]


def _tests_and_streams(
    host: str, crossed: _Crossing, observations: Sequence[Observation]
) -> tuple[_Crossing, _Crossing]:
    """Return the tests of the network that end in a host, and the other rates across it."""
    tests: _Crossing = {}
    streams: _Crossing = {}
    for lane, members in crossed.items():
        for index, flows in members if not lane.startswith(SEGMENTS) else ():
            of = observations[index].of
            if LAYERS[of.layer].of_hosts and host in _ends(of):
                tests.setdefault(NETWORK + lane, []).append((index, flows))
            else:
                streams.setdefault(lane, []).append((index, flows))
    return tests, streams
