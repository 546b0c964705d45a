"""Suspects: the smallest sets of parts that explain what is slow, the likelier ones kept.

Rows are what must be explained, columns what explains them.  The search deepens one column at a
time, so the first size with a cover is the smallest and all covers of that size are found, each
once: rows with one column left take it, then it branches on a row with the fewest columns, and what
one branch has tried the next ones leave out.  Two bounds cut it: rows that have no column in common
need one each, which is also the size to begin with, and no column covers more rows than the
largest.

Storage trees take a few steps.  ``MOST_VISITS`` and ``MOST_COVERS`` end a search that no real
system needs, and the answer then says that it is not complete.

The bad measurements are divided into pieces that share no part, so that each piece is small.
"""

from __future__ import annotations

from itertools import islice, product
from math import exp, inf
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.locate.observation import NETWORK, SEGMENTS, Measurable, Observation, Vote
from plumbline.locate.parts import (
    EQUAL,
    Part,
    expected,
    find_alike,
    find_hosts,
    find_parts,
    odds,
    remaining,
)
from plumbline.model.layers import LAYERS
from plumbline.model.verdict import State, worst

MOST_VISITS = 1_000_000
"""Rows looked at; each step of the search looks at all that are left: about a second."""
MOST_COVERS = 500


class Covers(NamedTuple):
    """Sets of columns, each of the smallest size; ``complete`` is False where there may be more.

    A search that was cut before the first smallest one gives one that need not be the smallest.
    """

    sets: tuple[tuple[int, ...], ...]
    complete: bool


class _Cut(Exception):
    """The search took more than it may."""


class _Search:
    """One search; sets of rows are the bits of whole numbers."""

    def __init__(self, rows: Sequence[Sequence[int]]) -> None:
        self._rows = rows
        covered: dict[int, list[int]] = {}
        for row, columns in enumerate(rows):
            for column in columns:
                covered.setdefault(column, []).append(row)
        self._columns = {
            column: _bits(rows_of_column) for column, rows_of_column in covered.items()
        }
        self._largest = max((len(rows_of_column) for rows_of_column in covered.values()), default=1)
        self._visits = 0
        self.found: list[tuple[int, ...]] = []

    def run(
        self, uncovered: int, size: int, chosen: tuple[int, ...], banned: frozenset[int]
    ) -> None:
        """Find all covers of the rows ``uncovered`` by ``size`` more columns; raise _Cut."""
        if not uncovered:
            self.found.append(tuple(sorted(chosen)))
            if len(self.found) > MOST_COVERS:
                raise _Cut
            return
        count = _size(uncovered)
        self._visits += count
        if self._visits > MOST_VISITS:
            raise _Cut
        if count > size * self._largest:
            return
        choices = self.choices(uncovered, banned)
        if apart(choices) > size:
            return
        forced = {choice[0] for choice in choices if len(choice) == 1}
        if forced:
            for column in forced:
                uncovered &= ~self._columns[column]
            self.run(uncovered, size - len(forced), (*chosen, *forced), banned)
            return
        for column in choices[0]:
            self.run(uncovered & ~self._columns[column], size - 1, (*chosen, column), banned)
            banned |= {column}

    def choices(self, uncovered: int, banned: frozenset[int]) -> list[list[int]]:
        """Return for each uncovered row its columns that are not banned, the fewest first."""
        choices = []
        for row, bit in enumerate(reversed(bin(uncovered))):
            if bit == "1":
                choices.append([column for column in self._rows[row] if column not in banned])
        choices.sort(key=len)
        return choices

    def greedy(self) -> tuple[int, ...]:
        """Return a cover that takes the column with the most rows each time."""
        uncovered = _bits(range(len(self._rows)))
        chosen = []
        while uncovered:
            best = max(self._columns, key=lambda column: _size(self._columns[column] & uncovered))
            chosen.append(best)
            uncovered &= ~self._columns[best]
        return tuple(sorted(chosen))


def smallest_covers(rows: Sequence[Sequence[int]]) -> Covers:
    """Return all smallest sets of columns that cover the rows.

    A row is given as the numbers of the columns that cover it, of which it has one at least.
    """
    if not rows:
        return Covers(((),), True)
    search = _Search(rows)
    try:
        everything = _bits(range(len(rows)))
        for size in range(apart(search.choices(everything, frozenset())), len(rows) + 1):
            search.run(everything, size, (), frozenset())
            if search.found:
                break
    except _Cut:
        return Covers(tuple(sorted(search.found)) or (search.greedy(),), False)
    return Covers(tuple(sorted(search.found)), True)


def apart(choices: Sequence[Sequence[int]]) -> int:
    """Return a number of rows that have no column in common; a row without columns ends all."""
    if not choices[0]:
        return len(choices) + 1
    used: set[int] = set()
    count = 0
    for columns in choices:
        if used.isdisjoint(columns):
            count += 1
            used.update(columns)
    return count


def _bits(rows: Sequence[int]) -> int:
    """Return a set of ascending rows; by bytes, for sums of bits take the square of their time."""
    bits = bytearray(rows[-1] // 8 + 1)
    for row in rows:
        bits[row // 8] |= 1 << row % 8
    return int.from_bytes(bits, "little")


def _size(rows: int) -> int:
    return bin(rows).count("1")


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
        alternatives, whole = _solve(piece, weighing)
        sets += alternatives
        complete &= whole
    return Solved(tuple(sets), complete)


def fewest(parts: Mapping[str, Part], bad: frozenset[int]) -> int:
    """Return the fewest parts that explain ``bad``; an unexplained observation counts as one."""
    explained = frozenset().union(*(part.explains for part in parts.values()))
    sizes = (len(smallest_covers(_rows(piece)).sets[0]) for piece in _pieces(parts, bad))
    return len(bad - explained) + sum(sizes)


def _pieces(parts: Mapping[str, Part], bad: frozenset[int]) -> Iterator[_Piece]:
    """Yield the pieces that share no component and no bad observation."""
    classes: dict[frozenset[int], list[str]] = {}
    for name, part in parts.items():
        if not bad.isdisjoint(part.explains):
            classes.setdefault(part.explains & bad, []).append(name)
    roots: dict[int, int] = {}
    for explains in classes:
        first, *roots_after = (_root(roots, index) for index in explains)
        for other in roots_after:
            roots[_root(roots, other)] = _root(roots, first)
    pieces: dict[int, list[frozenset[int]]] = {}
    for explains in classes:
        pieces.setdefault(_root(roots, next(iter(explains))), []).append(explains)
    for joined in pieces.values():
        within = tuple(sorted(frozenset().union(*joined)))
        yield _Piece(within, {column: tuple(sorted(classes[column])) for column in joined})


def _root(roots: dict[int, int], index: int) -> int:
    """Return the root of all that is joined with ``index``, and shorten the path to it."""
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
    solutions: list[Alternatives] = [
        [(name,) for name in likely[column]] for column in sorted(shared)
    ]
    rest = [tuple(column for column in cover if column not in shared) for cover in kept]
    complete = covers.complete
    if rest[0]:
        spelled = [
            names_of_cover
            for cover in rest
            for names_of_cover in product(*(likely[c] for c in cover))
        ]
        complete &= len(spelled) <= MOST_COVERS
        solutions.append(spelled[:MOST_COVERS])
    return solutions, complete


def _rows(piece: _Piece) -> list[tuple[int, ...]]:
    """Return the classes that explain each bad observation, equal rows once."""
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
        odds_of = {name: odds([expected(self.parts[name])], self.observations) for name in names}
        best = max(odds_of.values())
        return tuple(name for name in names if odds_of[name] >= best - self.equal)

    def most_likely(
        self, covers: Sequence[tuple[int, ...]], likely: Mapping[int, Class]
    ) -> list[tuple[int, ...]]:
        """Return the covers that explain the rates equally well."""
        if len(covers) == 1:
            return list(covers)
        ranges = {column: expected(self.parts[names[0]]) for column, names in likely.items()}
        scores = [odds([ranges[name] for name in cover], self.observations) for cover in covers]
        return [cover for cover, score in zip(covers, scores) if score >= max(scores) - self.equal]


class Loss(NamedTuple):
    """Rate that a suspect has left in one lane, and the most that was asked of it, in B/s."""

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
        """Return the rate that it leaves of a measurement, in B/s, or infinity."""
        rates = {loss.lane: loss.left_Bps for loss in self.losses}
        before = ""
        if LAYERS[measurable.layer].paired and any(lane.startswith(NETWORK) for lane in rates):
            before = NETWORK
        elif LAYERS[measurable.layer].paired and self.alike:
            return inf
        return min(
            (
                # who runs beside it takes nothing from a stream that is slowed alike
                rates[before + lane] / (1 if self.alike else flows)
                for name, lanes, flows in measurable.crossings()
                for lane in lanes
                if name == self.name and before + lane in rates
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
    bad = frozenset(
        index for index, observation in enumerate(observations) if observation.vote is Vote.BAD
    )
    weighing = Weighing(parts, observations, equal)
    sets: list[AmbiguitySet] = []
    open_rows = bad
    for names, alike in _shared(weighing, bad):
        explained = alike[names[0]].explains
        pairs = _coincidences(weighing, open_rows & explained, alike, names)
        sets.append(_set([*((name,) for name in names), *pairs], {**parts, **alike}))
        open_rows -= explained
    solved = solve(weighing, open_rows)
    sets += [
        _set(sorted(tuple(sorted(alternative)) for alternative in alternatives), parts)
        for alternatives in solved.sets
    ]
    sets.sort(key=lambda ambiguity: (-len(ambiguity.explains), ambiguity.alternatives))
    unexplained = bad.difference(*(ambiguity_set.explains for ambiguity_set in sets))
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
        pair = tuple(sorted(name for alternative in chosen for name in alternative))
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
    names = dict.fromkeys(name for alternative in alternatives for name in alternative)
    suspects = tuple(_suspect(parts[name]) for name in names)
    explains = {index for suspect in suspects for index in suspect.explains}
    return AmbiguitySet(tuple(alternatives), suspects, tuple(sorted(explains)))


def _suspect(part: Part) -> Suspect:
    losses, passes = [], set()
    for lane in part.lanes:
        rate_left = remaining(lane)
        needed = exp(max(member.needed for member in lane.members))
        losses.append(Loss(lane.name, rate_left, needed))
        passes |= {member.observation for member in lane.members}
    passes -= part.explains
    explains, passed = tuple(sorted(part.explains)), tuple(sorted(passes))
    return Suspect(part.name, tuple(losses), explains, passed, part.alike)
