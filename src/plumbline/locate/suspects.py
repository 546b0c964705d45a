"""The answer: sets of components that explain what is slow, and what nothing explains."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import exp

from plumbline.locate.cover import MOST_COVERS, smallest_covers
from plumbline.locate.likelihood import EQUAL, expected, odds
from plumbline.locate.observation import SEGMENTS, Vote
from plumbline.locate.parts import find_parts, remaining
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Iterator, Mapping, Sequence

    from plumbline.locate.observation import Observation
    from plumbline.locate.parts import Part

    Class = tuple[str, ...]


class Loss(NamedTuple):
    """What a suspect has left in one lane, and the most that was asked of it, in B/s."""

    lane: str
    left_Bps: float
    needed_Bps: float


class Suspect(NamedTuple):
    """A component that may be at fault.

    ``explains`` are the bad observations that it explains, ``passes`` the good ones that cross it
    and that it would not have slowed, as indices.
    """

    name: str
    losses: tuple[Loss, ...]
    explains: tuple[int, ...]
    passes: tuple[int, ...]

    @property
    def drops(self) -> bool:
        """Return whether it loses segments, which slows each connection by another amount."""
        return any(loss.lane.startswith(SEGMENTS) for loss in self.losses)


class AmbiguitySet(NamedTuple):
    """Sets of components that explain the same observations equally well: one of them is true.

    Mostly each alternative is one component; where faults cannot be told apart it is several.
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


class _Piece(NamedTuple):
    """Bad observations that share components which explain them, and these, by what they do."""

    bad: tuple[int, ...]
    classes: Mapping[frozenset[int], Class]


def locate(observations: Sequence[Observation], equal: float = EQUAL) -> Located:
    """Return the smallest sets of components that explain all bad observations.

    Of sets of one size those remain whose odds are within ``equal`` (a natural logarithm) of the
    best.  The order of the observations decides nothing.
    """
    observations = tuple(_borne_out(observations))
    parts = {
        name: part for name, part in find_parts(observations).items() if _likely(part, observations)
    }
    explained = {index for part in parts.values() for index in part.explains}
    bad = [index for index, one in enumerate(observations) if one.vote is Vote.BAD]
    sets: list[AmbiguitySet] = []
    complete = True
    for piece in _pieces(parts):
        found, whole = _solve(piece, _Weighing(parts, observations, equal))
        sets += found
        complete &= whole
    unexplained = tuple(index for index in bad if index not in explained)
    sets.sort(key=lambda one: (-len(one.explains), one.alternatives))
    return Located(observations, tuple(sets), unexplained, complete)


def _likely(part: Part, observations: Sequence[Observation]) -> bool:
    """Return whether what crosses a part is more likely with its loss than while all is healthy."""
    if all(len(lane.blamed) == len(lane.members) for lane in part.lanes):
        return True
    return odds([expected(part)], observations) > 0


def _borne_out(observations: Sequence[Observation]) -> Iterator[Observation]:
    """Yield observations; a loss that siblings share votes only if it is bad for enough of them.

    A fault that all share is as bad for all of them; of many on busy days chance makes some bad.
    """
    sharing = Counter(one.shared for one in observations)
    bad = Counter(one.shared for one in observations if one.vote is Vote.BAD)
    for one in observations:
        alone = one.shared and bad[one.shared] < _SHARING * sharing[one.shared]
        yield one._replace(vote=Vote.NONE) if alone and one.vote is Vote.BAD else one


_SHARING = 0.25


def _pieces(parts: Mapping[str, Part]) -> Iterator[_Piece]:
    """Yield what has no component and no bad observation in common with anything else."""
    classes: dict[frozenset[int], list[str]] = {}
    for name, part in parts.items():
        classes.setdefault(part.explains, []).append(name)
    roots: dict[int, int] = {}
    for explains in classes:
        first, *others = (_root(roots, index) for index in explains)
        for other in others:
            roots[_root(roots, other)] = _root(roots, first)
    pieces: dict[int, list[frozenset[int]]] = {}
    for explains in classes:
        pieces.setdefault(_root(roots, next(iter(explains))), []).append(explains)
    for joined in pieces.values():
        bad = tuple(sorted(frozenset().union(*joined)))
        yield _Piece(bad, {one: tuple(sorted(classes[one])) for one in joined})


def _root(roots: dict[int, int], index: int) -> int:
    """Return what stands for all that is joined with ``index``, and shorten the way to it."""
    way = []
    while roots.setdefault(index, index) != index:
        way.append(index)
        index = roots[index]
    roots.update(dict.fromkeys(way, index))
    return index


def _solve(piece: _Piece, weighing: _Weighing) -> tuple[list[AmbiguitySet], bool]:
    """Return the ambiguity sets of a piece, and whether the search was complete."""
    covers = smallest_covers(_rows(piece))
    names = list(piece.classes.values())
    used = {column for cover in covers.sets for column in cover}
    likely = {column: weighing.likely(names[column]) for column in used}
    kept = weighing.most_likely(covers.sets, likely)
    shared = frozenset(kept[0]).intersection(*kept)
    found = [_set([(one,) for one in likely[column]], weighing.parts) for column in sorted(shared)]
    rest = [tuple(column for column in cover if column not in shared) for cover in kept]
    complete = covers.complete
    if rest[0]:
        spelled = [one for cover in rest for one in product(*(likely[c] for c in cover))]
        complete &= len(spelled) <= MOST_COVERS
        found.append(_set(spelled[:MOST_COVERS], weighing.parts))
    return found, complete


def _rows(piece: _Piece) -> list[tuple[int, ...]]:
    """Return which classes explain each bad observation, equal ones once."""
    explaining: dict[int, list[int]] = {index: [] for index in piece.bad}
    for number, explains in enumerate(piece.classes):
        for index in explains:
            explaining[index].append(number)
    return list(dict.fromkeys(tuple(numbers) for numbers in explaining.values()))


class _Weighing(NamedTuple):
    """Parts and observations, to compare what explains the same number of bad ones."""

    parts: Mapping[str, Part]
    observations: Sequence[Observation]
    equal: float

    def likely(self, names: Class) -> Class:
        """Return those that explain the rates equally well, of parts that explain the same."""
        if len(names) == 1:
            return names
        found = {name: odds([expected(self.parts[name])], self.observations) for name in names}
        best = max(found.values())
        return tuple(name for name in names if found[name] >= best - self.equal)

    def most_likely(
        self, covers: Sequence[tuple[int, ...]], likely: Mapping[int, Class]
    ) -> list[tuple[int, ...]]:
        """Return the covers that explain the rates equally well."""
        if len(covers) == 1:
            return list(covers)
        ranges = {column: expected(self.parts[names[0]]) for column, names in likely.items()}
        found = [odds([ranges[one] for one in cover], self.observations) for cover in covers]
        return [one for one, score in zip(covers, found) if score >= max(found) - self.equal]


def _set(alternatives: Sequence[tuple[str, ...]], parts: Mapping[str, Part]) -> AmbiguitySet:
    ordered = tuple(sorted(tuple(sorted(one)) for one in alternatives))
    names = dict.fromkeys(name for one in ordered for name in one)
    suspects = tuple(_suspect(parts[name]) for name in names)
    explains = {index for suspect in suspects for index in suspect.explains}
    return AmbiguitySet(ordered, suspects, tuple(sorted(explains)))


def _suspect(part: Part) -> Suspect:
    losses, passes = [], set()
    for lane in part.lanes:
        left = remaining(lane)
        needed = exp(max(one.needed for one in lane.members))
        losses.append(Loss(lane.name, left, needed))
        passes |= {one.observation for one in lane.members}
    passes -= part.explains
    return Suspect(part.name, tuple(losses), tuple(sorted(part.explains)), tuple(sorted(passes)))
