"""Smallest covers: all of them, and none larger."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.parts.locate import suspects as cover
from plumbline.parts.locate.suspects import Covers, smallest_covers

ROWS = st.lists(
    st.lists(st.integers(0, 8), min_size=1, max_size=5, unique=True), min_size=1, max_size=9
)


def every_smallest(rows: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the smallest covers by trying all sets."""
    columns = sorted({column for row in rows for column in row})
    for size in range(1, len(columns) + 1):
        covers = [
            combination
            for combination in combinations(columns, size)
            if all({*combination} & {*r} for r in rows)
        ]
        if covers:
            return tuple(covers)
    raise AssertionError("each row has a column")


@given(ROWS)
def test_the_covers_equal_those_of_an_exhaustive_search(rows: list[list[int]]) -> None:
    assert smallest_covers(rows) == Covers(every_smallest(rows), True)


def test_no_rows_have_the_empty_cover() -> None:
    assert smallest_covers([]) == Covers(((),), True)


def test_many_independent_rows_take_no_search() -> None:
    rows = [[number] for number in range(3000)]
    assert smallest_covers(rows) == Covers((tuple(range(3000)),), True)


def test_an_endless_search_is_cut_short_and_marked() -> None:
    # 14 rows that any two of their own two columns cover: 16,384 smallest sets
    covers = smallest_covers([[2 * row, 2 * row + 1] for row in range(14)])
    assert not covers.complete
    assert len(covers.sets) == cover.MAX_COVERS + 1
    assert all(len(columns) == 14 for columns in covers.sets)


@pytest.mark.slow
def test_a_search_cut_short_still_gives_a_cover() -> None:
    chance = Random(1)
    rows = [chance.sample(range(60), 3) for _ in range(300)]
    covers = smallest_covers(rows)
    assert not covers.complete
    assert all({*covers.sets[0]} & {*row} for row in rows)
