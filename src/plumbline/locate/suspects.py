"""The answer: sets of components that explain slow measurements, and what nothing explains."""

from __future__ import annotations

from itertools import islice, product
from math import exp, inf
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.layers import PAIRED
from plumbline.locate.alike import find_alike
from plumbline.locate.hosts import find_hosts
from plumbline.locate.likelihood import EQUAL, expected, odds
from plumbline.locate.observation import NETWORK, SEGMENTS, Measurable, Observation, Vote
from plumbline.locate.parts import Part, find_parts, remaining
from plumbline.locate.solving import Alternatives, Weighing, fewest, solve
from plumbline.model.state import State, worst


class Loss(NamedTuple):
    """What a suspect has left in one lane, and the most that was asked of it, in B/s."""

    lane: str
    left_Bps: float
    needed_Bps: float


class Suspect(NamedTuple):
    """A component that may be at fault.

    ``explains`` are the bad observations that it explains, ``passes`` the good ones that cross it
    and that it would not have slowed, as indices.  ``alike`` are the devices behind it that are
    slow alike, each of whose streams gets what is left, alone or together; empty for all others.
    """

    name: str
    losses: tuple[Loss, ...]
    explains: tuple[int, ...]
    passes: tuple[int, ...]
    alike: tuple[str, ...] = ()

    @property
    def drops(self) -> bool:
        """Return whether it loses segments, which slows each connection by another amount."""
        return any(loss.lane.startswith(SEGMENTS) for loss in self.losses)

    def leaves(self, measurable: Measurable) -> float:
        """Return what it leaves of a measurement, in B/s; infinite where it does not slow it."""
        left = {loss.lane: loss.left_Bps for loss in self.losses}
        before = ""
        if measurable.layer in PAIRED and any(lane.startswith(NETWORK) for lane in left):
            before = NETWORK
        elif measurable.layer in PAIRED and self.alike:
            return inf
        return min(
            (
                # who runs beside it takes nothing from a stream that is slowed alike
                left[before + lane] / (1 if self.alike else flows)
                for name, lanes, flows in measurable.crossings()
                for lane in lanes
                if name == self.name and before + lane in left
            ),
            default=inf,
        )


class AmbiguitySet(NamedTuple):
    """Sets of components that explain the same observations equally well: one of them is true.

    Mostly each alternative is one component; where faults cannot be told apart it is several.  What
    slows all of its devices alike comes first, before the two faults that it may also be.
    ``suspects`` has every component of them once, ``explains`` the bad observations (indices).
    """

    alternatives: tuple[tuple[str, ...], ...]
    suspects: tuple[Suspect, ...]
    explains: tuple[int, ...]

    @property
    def certain(self) -> bool:
        """Return whether there is one alternative alone."""
        return len(self.alternatives) == 1


class Located(NamedTuple):
    """All that follows from observations.

    ``unexplained`` are the bad observations that no component explains (indices); ``complete`` is
    False where a search was cut short and there may be other or smaller sets.
    """

    observations: tuple[Observation, ...]
    sets: tuple[AmbiguitySet, ...]
    unexplained: tuple[int, ...]
    complete: bool = True

    def state(self, ambiguity: AmbiguitySet) -> State:
        """Return the worst state among the alarms that an ambiguity set explains."""
        return worst(self.observations[index].state for index in ambiguity.explains)


def locate(observations: Sequence[Observation], equal: float = EQUAL) -> Located:
    """Return the smallest sets of components that explain all bad observations.

    Of sets of one size those remain whose odds are within ``equal`` (a natural logarithm) of the
    best.  Parts that slow all of their devices alike count where they make the sets smaller.  The
    order of the observations decides nothing.
    """
    observations = tuple(observations)
    parts = _likely(find_parts(observations), observations)
    bad = frozenset(index for index, one in enumerate(observations) if one.vote is Vote.BAD)
    weighing = Weighing(parts, observations, equal)
    sets: list[AmbiguitySet] = []
    left = bad
    for names, alike in _shared(weighing, bad):
        explained = alike[names[0]].explains
        pairs = _coincidences(weighing, left & explained, alike, names)
        sets.append(_set([*((name,) for name in names), *pairs], {**parts, **alike}))
        left -= explained
    solved = solve(weighing, left)
    sets += [_set(sorted(tuple(sorted(one)) for one in found), parts) for found in solved.sets]
    sets.sort(key=lambda ambiguity: (-len(ambiguity.explains), ambiguity.alternatives))
    unexplained = bad.difference(*(one.explains for one in sets))
    return Located(observations, tuple(sets), tuple(sorted(unexplained)), solved.complete)


def _shared(
    weighing: Weighing, bad: frozenset[int]
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Part]]]:
    """Yield parts that with a loss of another kind explain what takes several capacities.

    Those that explain the same are yielded together, what explains most first.
    """
    if any(part.explains == bad for part in weighing.parts.values()):
        return
    alike = _likely(find_alike(weighing.observations), weighing.observations)
    alike.update(_likely(dict(find_hosts(weighing.observations, alike)), weighing.observations))
    classes: dict[frozenset[int], list[str]] = {}
    for name, part in alike.items():
        classes.setdefault(part.explains, []).append(name)
    if not classes:
        return
    faults = fewest(weighing.parts, bad)
    for explains in sorted(classes, key=len, reverse=True):
        here = explains & bad
        if here and faults > 1 + (others := fewest(weighing.parts, bad - here)):
            bad, faults = bad - here, others
            yield weighing._replace(parts=alike).likely(tuple(classes[explains])), alike


def _coincidences(
    weighing: Weighing, explained: frozenset[int], alike: Mapping[str, Part], names: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the pairs of faults that two devices which are slow alike may be; of more none are."""
    shared = alike[names[0]]
    apart = any(lane.name.startswith(NETWORK) for lane in shared.lanes)
    if apart or len(shared.alike) != _TWO:
        return
    solved = solve(weighing, explained)
    for chosen in islice(product(*solved.sets), _MOST_PAIRS):
        pair = tuple(sorted(name for one in chosen for name in one))
        done = (weighing.parts[name].explains for name in pair)
        if alike.keys().isdisjoint(pair) and explained <= frozenset().union(*done):
            yield pair


_TWO = 2
_MOST_PAIRS = 16


def _likely(parts: Mapping[str, Part], observations: Sequence[Observation]) -> dict[str, Part]:
    """Return the parts with whose loss all that crosses them is likelier than while all is fine."""
    return {
        name: part
        for name, part in parts.items()
        if all(len(lane.blamed) == len(lane.members) for lane in part.lanes)
        or odds([expected(part)], observations) > 0
    }


def _set(alternatives: Alternatives, parts: Mapping[str, Part]) -> AmbiguitySet:
    names = dict.fromkeys(name for one in alternatives for name in one)
    suspects = tuple(_suspect(parts[name]) for name in names)
    explains = {index for suspect in suspects for index in suspect.explains}
    return AmbiguitySet(tuple(alternatives), suspects, tuple(sorted(explains)))


def _suspect(part: Part) -> Suspect:
    losses, passes = [], set()
    for lane in part.lanes:
        left = remaining(lane)
        needed = exp(max(one.needed for one in lane.members))
        losses.append(Loss(lane.name, left, needed))
        passes |= {one.observation for one in lane.members}
    passes -= part.explains
    explains, passed = tuple(sorted(part.explains)), tuple(sorted(passes))
    return Suspect(part.name, tuple(losses), explains, passed, part.alike)
