"""The smallest sets of parts that explain what is bad, of which the likelier ones remain.

The bad measurements are divided into pieces that share no part, so that each piece is small.
"""

from __future__ import annotations

from itertools import product
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.locate.cover import MOST_COVERS, smallest_covers
from plumbline.locate.likelihood import expected, odds
from plumbline.locate.observation import Observation
from plumbline.locate.parts import Part

Class = tuple[str, ...]
Alternatives = Sequence[tuple[str, ...]]


class Solved(NamedTuple):
    """Alternatives for each set of faults that cannot be told apart, and whether these are all."""

    sets: tuple[Alternatives, ...]
    complete: bool


class _Piece(NamedTuple):
    """Bad observations that share components which explain them, and these, by what they do."""

    bad: tuple[int, ...]
    classes: Mapping[frozenset[int], Class]


def solve(weighing: Weighing, bad: frozenset[int]) -> Solved:
    """Return the smallest sets of parts that explain ``bad`` (indices), as far as parts do."""
    sets: list[Alternatives] = []
    complete = True
    for piece in _pieces(weighing.parts, bad):
        found, whole = _solve(piece, weighing)
        sets += found
        complete &= whole
    return Solved(tuple(sets), complete)


def fewest(parts: Mapping[str, Part], bad: frozenset[int]) -> int:
    """Return how many parts it takes to explain ``bad``; what none explains takes one each."""
    explained = frozenset().union(*(part.explains for part in parts.values()))
    sizes = (len(smallest_covers(_rows(piece)).sets[0]) for piece in _pieces(parts, bad))
    return len(bad - explained) + sum(sizes)


def _pieces(parts: Mapping[str, Part], bad: frozenset[int]) -> Iterator[_Piece]:
    """Yield what has no component and no bad observation in common with anything else."""
    classes: dict[frozenset[int], list[str]] = {}
    for name, part in parts.items():
        if not bad.isdisjoint(part.explains):
            classes.setdefault(part.explains & bad, []).append(name)
    roots: dict[int, int] = {}
    for explains in classes:
        first, *others = (_root(roots, index) for index in explains)
        for other in others:
            roots[_root(roots, other)] = _root(roots, first)
    pieces: dict[int, list[frozenset[int]]] = {}
    for explains in classes:
        pieces.setdefault(_root(roots, next(iter(explains))), []).append(explains)
    for joined in pieces.values():
        within = tuple(sorted(frozenset().union(*joined)))
        yield _Piece(within, {one: tuple(sorted(classes[one])) for one in joined})


def _root(roots: dict[int, int], index: int) -> int:
    """Return what stands for all that is joined with ``index``, and shorten the way to it."""
    way = []
    while roots.setdefault(index, index) != index:
        way.append(index)
        index = roots[index]
    roots.update(dict.fromkeys(way, index))
    return index


def _solve(piece: _Piece, weighing: Weighing) -> tuple[list[Alternatives], bool]:
    """Return the alternatives in a piece, and whether the search was complete."""
    covers = smallest_covers(_rows(piece))
    names = list(piece.classes.values())
    used = {column for cover in covers.sets for column in cover}
    likely = {column: weighing.likely(names[column]) for column in used}
    kept = weighing.most_likely(covers.sets, likely)
    shared = frozenset(kept[0]).intersection(*kept)
    found: list[Alternatives] = [[(one,) for one in likely[column]] for column in sorted(shared)]
    rest = [tuple(column for column in cover if column not in shared) for cover in kept]
    complete = covers.complete
    if rest[0]:
        spelled = [one for cover in rest for one in product(*(likely[c] for c in cover))]
        complete &= len(spelled) <= MOST_COVERS
        found.append(spelled[:MOST_COVERS])
    return found, complete


def _rows(piece: _Piece) -> list[tuple[int, ...]]:
    """Return which classes explain each bad observation, equal ones once."""
    explaining: dict[int, list[int]] = {index: [] for index in piece.bad}
    for number, explains in enumerate(piece.classes):
        for index in explains:
            explaining[index].append(number)
    return list(dict.fromkeys(tuple(numbers) for numbers in explaining.values()))


class Weighing(NamedTuple):
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
