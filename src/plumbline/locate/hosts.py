"""Hosts that have lost their network and their devices at once, each by a share of its own.

A wire or an adapter has one capacity; a host that saves power, swaps or is overloaded is slow in
tests of the network, which end in it, and in what its devices give, which crosses it, and nothing
says that one rate is left for both.  So what it has left is shown for each of them.  As with what
slows devices alike (``alike``), that counts only where capacities alone take more faults.
"""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

from plumbline.layers import PAIRED
from plumbline.locate.observation import NETWORK, Measurable, Observation, Vote
from plumbline.locate.parts import Lane, Part, make_lane

_Crossing = dict[str, list[tuple[int, float]]]


def find_hosts(
    observations: Sequence[Observation], alike: Mapping[str, Part]
) -> Iterator[tuple[str, Part]]:
    """Yield by name the hosts that explain slow tests of the network and slow devices.

    ``alike`` are the parts that slow all of their devices alike.
    """
    suspected = {
        name: None
        for one in observations
        if one.vote is Vote.BAD and one.of.is_rate and one.of.layer in PAIRED
        for name in _ends(one.of)
    }
    for name, (tests, streams) in _crossing(observations, suspected).items():
        network = list(_slow(tests, observations))
        capacities = _part(name, [*network, *_slow(streams, observations)], ())
        found = capacities
        if name in alike:
            shares = _part(name, [*network, *alike[name].lanes], alike[name].alike)
            found = max(capacities, shares, key=lambda candidate: len(candidate.explains))
        if network and len(found.lanes) > len(network):
            yield name, found


def _ends(measurable: Measurable) -> tuple[str, str]:
    return measurable.path[0], measurable.path[-1]


def _crossing(
    observations: Sequence[Observation], hosts: Mapping[str, None]
) -> dict[str, tuple[_Crossing, _Crossing]]:
    """Return by host and lane the tests of the network that end in it, and all else."""
    found: dict[str, tuple[_Crossing, _Crossing]] = {name: ({}, {}) for name in hosts}
    for index, one in enumerate(observations if hosts else ()):
        if one.vote is Vote.NONE or not one.of.is_rate or hosts.keys().isdisjoint(one.of.path):
            continue
        for name, lanes, flows in one.of.crossings():
            if name not in hosts:
                continue
            ends = one.of.layer in PAIRED and name in _ends(one.of)
            for lane in lanes:
                into, key = (0, NETWORK + lane) if ends else (1, lane)
                found[name][into].setdefault(key, []).append((index, flows))
    return found


def _slow(crossing: _Crossing, observations: Sequence[Observation]) -> Iterator[Lane]:
    for key, members in sorted(crossing.items()):
        lane = make_lane(key, members, observations)
        if lane.blamed:
            yield lane


def _part(name: str, lanes: Sequence[Lane], alike: tuple[str, ...]) -> Part:
    explains = frozenset(one.observation for lane in lanes for one in lane.blamed)
    return Part(name, tuple(lanes), explains, alike)
