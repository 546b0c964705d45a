"""The points of a sweep and the order in which they are measured."""

from __future__ import annotations

import pytest

from plumbline.model.errors import UsageError
from plumbline.parallel.sweep import Grid, Layout, Point, layout, spread

MIB = 1 << 20


def test_the_ends_come_first_then_the_middle_then_the_quarters() -> None:
    writers = [point.writers for point in Grid((1, 2, 4, 8, 16), (MIB,)).points()]
    assert writers == [1, 16, 4, 2, 8]


def test_the_first_points_of_two_axes_are_the_corners_of_the_grid() -> None:
    points = Grid((1, 2, 4), (4096, 65536, MIB)).points()
    assert len(points) == len(set(points)) == 9
    assert {(point.writers, point.transfer) for point in points[:4]} == {
        *((1, 4096), (1, MIB), (4, 4096), (4, MIB)),
    }
    assert points[-1] == Point(2, 65536)


@pytest.mark.parametrize("number", range(1, 12))
def test_no_value_is_lost_whatever_their_number(number: int) -> None:
    points = Grid(tuple(range(1, number + 1)), (MIB,)).points()
    assert sorted(point.writers for point in points) == list(range(1, number + 1))


def test_a_value_given_twice_is_measured_once() -> None:
    grid = Grid((2, 1, 2), (MIB,))
    assert [point.writers for point in grid.points()] == [1, 2]
    assert grid.moving() == ("writers",)


@pytest.mark.parametrize(
    ("point", "alone", "expected"),
    [
        (Point(2, MIB), False, Layout(sets=8, stripes=1, ranks=2)),
        (Point(2, MIB), True, Layout(sets=1, stripes=1, ranks=2)),
        (Point(2, MIB, stripes=3), False, Layout(sets=2, stripes=3, ranks=2)),
        (Point(2, MIB, stripes=8), True, Layout(sets=1, stripes=8, ranks=2)),
        # as many ranks as without, on a quarter of the targets
        (Point(2, MIB, oversubscription=4), False, Layout(sets=2, stripes=1, ranks=8)),
    ],
)
def test_ranks_work_on_sets_of_targets(point: Point, alone: bool, expected: Layout) -> None:
    assert layout(point, 8, alone) == expected


@pytest.mark.parametrize(
    ("point", "sentence"),
    [
        (Point(1, MIB, stripes=9), "1 writer, 1 MiB, 9 stripes needs more than the 8 targets"),
        (Point(1, MIB, oversubscription=9), "9-fold over-subscription leaves 0 of them"),
        (Point(1, MIB, stripes=4, oversubscription=4), "leaves 2 of them"),
    ],
)
def test_a_point_that_needs_more_targets_than_there_are_is_refused(
    point: Point, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        layout(point, 8, alone=False)


def test_few_targets_lie_on_many_servers() -> None:
    servers = ["oss1", "oss1", "oss1", "oss2", "oss2", "oss3"]
    assert [servers[index] for index in spread(servers)] == [
        *("oss1", "oss2", "oss3", "oss1", "oss2", "oss1"),
    ]
