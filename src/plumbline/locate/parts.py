"""Which components could have slowed the slow measurements, each with one remaining capacity.

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
"""

from __future__ import annotations

from math import exp, log, log2
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.locate.observation import SEGMENTS, Observation, Vote

OVERHEAD = 1.25
"""The largest factor between R and the rate of a flow that R limits."""

_ANY = log(1e12)
"""The room of what a part slows by chance."""

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
        name: None for each in observations if each.vote is Vote.BAD for name in each.of.path
    }
    found = {}
    for name, crossed in _crossed(observations, suspected).items():
        made = tuple(_lanes(crossed, observations))
        if made:
            blamed = frozenset(one.observation for lane in made for one in lane.blamed)
            found[name] = Part(name, made, blamed)
    return found


def _lanes(
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
    floor = max((one.carried - width * one.error for one in members), default=0.0)
    blamed = tuple(
        one
        for one in members
        if _bad(observations[one.observation])
        and one.carried + one.room + width * one.error >= floor
    )
    return Lane(name, members, floor, blamed)


def _members(
    crossing: Sequence[tuple[int, float]], observations: Sequence[Observation], room: float
) -> Iterator[Member]:
    most: dict[str, float] = {}
    for index, flows in crossing:
        of = observations[index].of
        most[of.layer] = max(most.get(of.layer, 0.0), of.expected_Bps * flows)
    rooms = dict.fromkeys(most, room)
    if room != _ANY:
        highest = max(most.values(), default=1.0)
        rooms = {layer: min(log(highest / rate), room) for layer, rate in most.items()}
    for index, flows in crossing:
        each = observations[index]
        yield Member(
            index,
            log(max(each.measured_Bps * flows, _LEAST_BPS)),
            log(each.of.expected_Bps * flows),
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
    blamed = {one.observation for one in lane.blamed}
    left = _mean([(one.carried, one.error) for one in lane.blamed])
    for _ in range(_ROUNDS):
        pulls = [
            (min(max(left, one.carried), one.carried + one.room), one.error) for one in lane.blamed
        ]
        pulls += [
            (one.carried, one.error)
            for one in lane.members
            if one.observation not in blamed and one.needed > left and one.carried > left
        ]
        before, left = left, _mean(pulls)
        if left == before:
            break
    return exp(left)


_ROUNDS = 8


def _mean(values: Sequence[tuple[float, float]]) -> float:
    weights = [error**-2 for _, error in values]
    return sum(value * weight for (value, _), weight in zip(values, weights)) / sum(weights)
