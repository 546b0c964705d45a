"""Suspects: the smallest sets of parts that explain the slow measurements, the likelier ones kept.

Rows are the measurements to explain, columns the parts that explain them.  The search deepens one
column at a time, so the first size with a cover is the smallest and all covers of that size are
found, each once: rows with one remaining column take it, then it branches on a row with the fewest
columns, and columns that one branch has tried are excluded from the next ones.  Two bounds cut it:
rows without a common column need one each, which is also the initial size, and no column covers
more rows than the largest.

Storage trees take a few steps.  ``MAX_VISITS`` and ``MAX_COVERS`` end a search that no real
system needs, and the answer is then marked incomplete.

The bad measurements are divided into pieces without common parts, so that each piece is small.
"""

from __future__ import annotations

from itertools import islice, product
from math import exp, inf
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.layers import LAYERS
from plumbline.model.suspects import SlowRun
from plumbline.model.verdict import State, worst
from plumbline.parts.locate.observation import (
    NETWORK,
    SEGMENTS,
    SERVER,
    Measurable,
    Observation,
    Vote,
)
from plumbline.parts.locate.parts import (
    EQUAL,
    Part,
    expected,
    find_alike,
    find_hosts,
    find_parts,
    odds,
    remaining,
)

MAX_VISITS = 1_000_000
"""Rows visited; each step of the search visits all remaining ones: about a second."""
MAX_COVERS = 500


class Covers(NamedTuple):
    """Sets of columns, each of the smallest size; ``complete`` is False if there may be more.

    A search cut before the first smallest set gives one that need not be the smallest.
    """

    sets: tuple[tuple[int, ...], ...]
    complete: bool


class _Cut(Exception):
    """The search exceeded its limit."""


class _Search:
    """One search; sets of rows are the bits of integers."""

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
        self.covers: list[tuple[int, ...]] = []

    def run(
        self, uncovered: int, size: int, chosen: tuple[int, ...], banned: frozenset[int]
    ) -> None:
        """Find all covers of the rows ``uncovered`` by ``size`` more columns; raise _Cut."""
        if not uncovered:
            self.covers.append(tuple(sorted(chosen)))
            if len(self.covers) > MAX_COVERS:
                raise _Cut
            return
        count = _size(uncovered)
        self._visits += count
        if self._visits > MAX_VISITS:
            raise _Cut
        if count > size * self._largest:
            return
        choices = self.choices(uncovered, banned)
        if disjoint_rows(choices) > size:
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

    A row is given as the numbers of the columns that cover it, at least one.
    """
    if not rows:
        return Covers(((),), True)
    search = _Search(rows)
    try:
        everything = _bits(range(len(rows)))
        for size in range(disjoint_rows(search.choices(everything, frozenset())), len(rows) + 1):
            search.run(everything, size, (), frozenset())
            if search.covers:
                break
    except _Cut:
        return Covers(tuple(sorted(search.covers)) or (search.greedy(),), False)
    return Covers(tuple(sorted(search.covers)), True)


def disjoint_rows(choices: Sequence[Sequence[int]]) -> int:
    """Return a number of rows without a common column; more than all if one has no column."""
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
    """Return a set of ascending rows; bytes, as sums of single bits take quadratic time."""
    bits = bytearray(rows[-1] // 8 + 1)
    for row in rows:
        bits[row // 8] |= 1 << row % 8
    return int.from_bytes(bits, "little")


def _size(rows: int) -> int:
    return bin(rows).count("1")


Class = tuple[str, ...]
Alternatives = Sequence[tuple[str, ...]]


class Solution(NamedTuple):
    """Alternatives for each set of indistinguishable faults, and whether these are all."""

    sets: tuple[Alternatives, ...]
    complete: bool


class _Piece(NamedTuple):
    """Bad observations with common explanations, and the classes of these."""

    bad: tuple[int, ...]
    classes: Mapping[frozenset[int], Class]


def solve(weighing: Weighing, bad: frozenset[int]) -> Solution:
    """Return the smallest sets of parts that explain ``bad`` (indices), as far as parts do."""
    sets: list[Alternatives] = []
    complete = True
    for piece in _pieces(weighing.parts, bad):
        alternatives, all_found = _solve(piece, weighing)
        sets += alternatives
        complete &= all_found
    return Solution(tuple(sets), complete)


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
    for members in pieces.values():
        observations = tuple(sorted(frozenset().union(*members)))
        yield _Piece(observations, {column: tuple(sorted(classes[column])) for column in members})


def _root(roots: dict[int, int], index: int) -> int:
    """Return the root of the set of ``index``, and shorten the path to it."""
    path = []
    while roots.setdefault(index, index) != index:
        path.append(index)
        index = roots[index]
    roots.update(dict.fromkeys(path, index))
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
    remainders = [tuple(column for column in cover if column not in shared) for cover in kept]
    complete = covers.complete
    if remainders[0]:
        alternatives = [
            names_of_cover
            for cover in remainders
            for names_of_cover in product(*(likely[c] for c in cover))
        ]
        complete &= len(alternatives) <= MAX_COVERS
        solutions.append(alternatives[:MAX_COVERS])
    return solutions, complete


def _rows(piece: _Piece) -> list[tuple[int, ...]]:
    """Return the classes that explain each bad observation, equal rows once."""
    explaining: dict[int, list[int]] = {index: [] for index in piece.bad}
    for number, explains in enumerate(piece.classes):
        for index in explains:
            explaining[index].append(number)
    return list(dict.fromkeys(tuple(numbers) for numbers in explaining.values()))


class Weighing(NamedTuple):
    """Parts and observations, to compare explanations of equal size."""

    parts: Mapping[str, Part]
    observations: Sequence[Observation]
    equal: float

    def likely(self, names: Class) -> Class:
        """Return those parts that explain the rates equally well, of a class."""
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
    """Remaining rate of a suspect in one lane, and the most that it had to carry, in B/s."""

    lane: str
    left_Bps: float
    needed_Bps: float


class Suspect(NamedTuple):
    """A component that may be at fault.

    ``explains`` are the bad observations that it explains, ``passes`` the good ones that cross it
    and that it would not have slowed, as indices.  ``alike`` are the devices behind it that are
    slow by one share, alone or together; empty for all others.
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
        """Return the rate that it leaves to a measurement, in B/s, or infinity."""
        rates = {loss.lane: loss.left_Bps for loss in self.losses}
        prefix = ""
        if LAYERS[measurable.layer].of_hosts and any(lane.startswith(NETWORK) for lane in rates):
            prefix = NETWORK
        elif LAYERS[measurable.layer].of_hosts and self.alike:
            return inf
        # a target that is slow for clients may be slow on its server too
        return min(
            (
                # concurrent streams take nothing from one that is slowed by a share
                rates[key] / (1 if self.alike else flows)
                for name, lanes, flows in measurable.crossings()
                for lane in lanes
                for key in {prefix + lane, prefix + lane.replace(SERVER, "")}
                if name == self.name and key in rates
            ),
            default=inf,
        )


class AmbiguitySet(NamedTuple):
    """Sets of components that explain the same observations equally well: one of them is true.

    Mostly each alternative is one component; it is several if faults cannot be told apart.  A part
    that slows all of its devices by one share comes first, before the two faults that it may also
    be.  ``suspects`` has each component once, ``explains`` the bad observations (indices).
    """

    alternatives: tuple[tuple[str, ...], ...]
    suspects: tuple[Suspect, ...]
    explains: tuple[int, ...]

    @property
    def certain(self) -> bool:
        """Return whether there is only one alternative."""
        return len(self.alternatives) == 1


class Located(NamedTuple):
    """The result of locating.

    ``unexplained`` are the bad observations that no component explains (indices); ``complete`` is
    False if a search was cut short and there may be other or smaller sets.
    """

    observations: tuple[Observation, ...]
    sets: tuple[AmbiguitySet, ...]
    unexplained: tuple[int, ...]
    complete: bool = True

    def state(self, ambiguity: AmbiguitySet) -> State:
        """Return the worst state among the alarms that an ambiguity set explains."""
        return worst(self.observations[index].state for index in ambiguity.explains)

    def slow_runs(self) -> list[SlowRun]:
        """Return the slow runs, the slowest first; those of an unknown time are left out."""
        slow = (
            SlowRun(low.of.layer, low.of.component, low.of.operation, low.ratio, low.at)
            for low in self.observations
            if low.vote is Vote.BAD and low.at > 0
        )
        return sorted(slow, key=lambda run: run.share)


def locate(observations: Sequence[Observation], equal: float = EQUAL) -> Located:
    """Return the smallest sets of components that explain all bad observations.

    Of sets of one size those remain whose odds are within ``equal`` (a natural logarithm) of the
    best.  Parts that slow all of their devices by one share count if they make the sets smaller.
    The order of the observations has no effect.
    """
    observations = tuple(observations)
    parts = _likely(find_parts(observations), observations)
    bad = frozenset(
        index for index, observation in enumerate(observations) if observation.vote is Vote.BAD
    )
    weighing = Weighing(parts, observations, equal)
    sets: list[AmbiguitySet] = []
    remaining_bad = bad
    for names, alike in _shared(weighing, bad):
        explained = alike[names[0]].explains
        pairs = _coincidences(weighing, remaining_bad & explained, alike, names)
        sets.append(_set([*((name,) for name in names), *pairs], {**parts, **alike}))
        remaining_bad -= explained
    solution = solve(weighing, remaining_bad)
    sets += [
        _set(sorted(tuple(sorted(alternative)) for alternative in alternatives), parts)
        for alternatives in solution.sets
    ]
    sets.sort(key=lambda ambiguity: (-len(ambiguity.explains), ambiguity.alternatives))
    unexplained = bad.difference(*(ambiguity_set.explains for ambiguity_set in sets))
    return Located(observations, tuple(sets), tuple(sorted(unexplained)), solution.complete)


def _shared(
    weighing: Weighing, bad: frozenset[int]
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Part]]]:
    """Yield parts that with another kind of loss explain measurements that take several capacities.

    Those that explain the same are yielded together, the largest explanation first.
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
        explained = explains & bad
        if explained and faults > 1 + (fewer := fewest(weighing.parts, bad - explained)):
            bad, faults = bad - explained, fewer
            yield weighing._replace(parts=alike).likely(tuple(classes[explains])), alike


def _coincidences(
    weighing: Weighing, explained: frozenset[int], alike: Mapping[str, Part], names: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the pairs of faults that two similarly slow devices may be; none for more devices."""
    shared = alike[names[0]]
    on_network = any(lane.name.startswith(NETWORK) for lane in shared.lanes)
    if on_network or len(shared.alike) != _TWO:
        return
    solution = solve(weighing, explained)
    for chosen in islice(product(*solution.sets), _MAX_PAIRS):
        pair = tuple(sorted(name for alternative in chosen for name in alternative))
        covered = (weighing.parts[name].explains for name in pair)
        if alike.keys().isdisjoint(pair) and explained <= frozenset().union(*covered):
            yield pair


_TWO = 2
_MAX_PAIRS = 16


def _likely(parts: Mapping[str, Part], observations: Sequence[Observation]) -> dict[str, Part]:
    """Return the parts whose loss makes the measurements across them likelier than health does."""
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
