"""The smallest sets of columns that cover all rows: exact, by branch and bound.

Rows are what must be explained, columns what explains them.  The search deepens one column at a
time, so the first size with a cover is the smallest and all covers of that size are found, each
once: rows with one column left take it, then it branches on a row with the fewest columns, and what
one branch has tried the next ones leave out.  Two bounds cut it: rows that have no column in common
need one each, which is also the size to begin with, and no column covers more rows than the
largest.

Storage trees take a few steps.  ``MOST_VISITS`` and ``MOST_COVERS`` end a search that no real
system needs, and the answer then says that it is not complete.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

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
        self._columns = {column: _bits(found) for column, found in covered.items()}
        self._largest = max((len(found) for found in covered.values()), default=1)
        self._visits = 0
        self.found: list[tuple[int, ...]] = []

    def run(self, left: int, size: int, chosen: tuple[int, ...], banned: frozenset[int]) -> None:
        """Find all covers of the rows ``left`` by ``size`` more columns; raise _Cut."""
        if not left:
            self.found.append(tuple(sorted(chosen)))
            if len(self.found) > MOST_COVERS:
                raise _Cut
            return
        count = _size(left)
        self._visits += count
        if self._visits > MOST_VISITS:
            raise _Cut
        if count > size * self._largest:
            return
        choices = self.choices(left, banned)
        if apart(choices) > size:
            return
        forced = {one[0] for one in choices if len(one) == 1}
        if forced:
            for column in forced:
                left &= ~self._columns[column]
            self.run(left, size - len(forced), (*chosen, *forced), banned)
            return
        for column in choices[0]:
            self.run(left & ~self._columns[column], size - 1, (*chosen, column), banned)
            banned |= {column}

    def choices(self, left: int, banned: frozenset[int]) -> list[list[int]]:
        """Return for each row that is left its columns that are, the fewest first."""
        found = []
        for row, bit in enumerate(reversed(bin(left))):
            if bit == "1":
                found.append([one for one in self._rows[row] if one not in banned])
        found.sort(key=len)
        return found

    def greedy(self) -> tuple[int, ...]:
        """Return a cover that takes the column with the most rows each time."""
        left = _bits(range(len(self._rows)))
        chosen = []
        while left:
            best = max(self._columns, key=lambda column: _size(self._columns[column] & left))
            chosen.append(best)
            left &= ~self._columns[best]
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
    found = bytearray(rows[-1] // 8 + 1)
    for row in rows:
        found[row // 8] |= 1 << row % 8
    return int.from_bytes(found, "little")


def _size(rows: int) -> int:
    return bin(rows).count("1")
