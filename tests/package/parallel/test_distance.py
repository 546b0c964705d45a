from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.parallel.profile import POINTS, SHORTEST, distance, form
from tests.package.parallel.curves import declining, flat, noisy

LIMIT = 0.10
rates = st.floats(1, 1e6)
curves = st.lists(rates, min_size=SHORTEST, max_size=90)


def test_a_decline_is_told_from_a_flat_read_of_the_same_mean() -> None:
    steep, level = declining(200), flat(200)
    assert sum(steep) == pytest.approx(sum(level))
    difference = distance(steep, form(level))
    assert difference.beyond(LIMIT)
    assert difference.at == pytest.approx(0.5, abs=0.06)
    assert difference.own > difference.reference
    # 1 + d to 1 - d is d / 4 from a constant rate
    assert distance(steep, [1.0] * 20).share == pytest.approx(0.6 / 4, abs=0.001)


def test_an_initial_drop_alone_is_no_other_course() -> None:
    assert not distance(flat(200), [1.0] * POINTS).beyond(0.05)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("seconds", [15, 60, 200])
def test_zigzag_of_a_quarter_hides_no_decline_and_makes_none(seconds: int, seed: int) -> None:
    level = form(flat(seconds))
    assert distance(noisy(declining(seconds), 0.15, seed), level).beyond(LIMIT) or seconds < 60
    assert not distance(noisy(flat(seconds), 0.25, seed), level).beyond(LIMIT)


def test_what_chance_makes_of_a_few_scattered_seconds_counts_for_nothing() -> None:
    scattered = [1.0, 9.0, 1.0, 9.0, 9.0, 1.0]
    difference = distance(scattered, [1.0] * POINTS)
    assert difference.noise > difference.share > 0.10
    assert not difference.beyond(LIMIT)


def test_the_sentence_says_when_how_much_had_been_moved() -> None:
    assert distance([3.0, 1.0] + [1.0] * 6, [1.0] * POINTS).sentence == (
        "30 % of the bytes were moved in the first 12 % of the time, 12 % in the baseline's profile"
    )


@given(curves, st.floats(0.001, 1000))
def test_rate_and_duration_do_not_matter(curve: list[float], factor: float) -> None:
    slower = [rate * factor for rate in curve for _ in range(3)]
    assert distance(slower, curve).share == pytest.approx(0, abs=1e-9)


@given(curves, curves)
def test_a_distance_is_a_fraction_and_the_same_both_ways(
    first: list[float], other: list[float]
) -> None:
    difference = distance(first, other)
    assert 0 <= difference.share < 1
    assert difference.share == pytest.approx(distance(other, first).share)
    assert difference.share == pytest.approx(abs(difference.own - difference.reference))


@given(curves)
def test_a_form_has_the_mean_1_and_the_course_of_its_curve(curve: list[float]) -> None:
    points = form(curve)
    assert len(points) == min(POINTS, len(curve))
    assert sum(points) / len(points) == pytest.approx(1)
    if len(curve) % len(points) == 0:
        # their ends coincide, so that between them no more than one part can differ
        each = len(curve) // len(points)
        mean = sum(curve) / len(curve)
        first = sum(curve[:each]) / each / mean
        assert points[0] == pytest.approx(first, rel=1e-6)


@pytest.mark.parametrize("curve", [[], [1.0] * (SHORTEST - 1), [0.0] * 30])
def test_what_is_too_short_or_moved_nothing_has_no_form(curve: list[float]) -> None:
    assert form(curve) == ()


def test_a_curve_without_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="no course"):
        distance([0.0] * 9, [1.0] * 9)
