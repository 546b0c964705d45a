from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.parallel.profile import SHORTEST, Shape, shape
from tests.package.parallel.curves import MB, declining, flat, noisy


def shaped(curve: list[float]) -> Shape:
    result = shape(curve)
    assert result is not None
    return result


def test_a_read_after_a_write_declines_from_full_speed() -> None:
    result = shaped(declining(200))
    assert result.start_Bps == pytest.approx(1600 * MB, rel=0.05)
    assert result.end_Bps == pytest.approx(400 * MB, rel=0.2)
    assert result.decline == pytest.approx(0.75)
    assert (result.sag, result.spread, result.tail_s) == pytest.approx((0, 0, 0), abs=1e-6)


def test_a_reread_is_flat_after_its_initial_drop() -> None:
    result = shaped(flat(200))
    assert result.start_Bps > 1.2 * result.end_Bps
    assert abs(result.decline) < 0.01
    assert result.tail_s == 0


@pytest.mark.parametrize("seed", range(5))
def test_zigzag_shows_as_spread_and_not_as_decline(seed: int) -> None:
    level, steep = shaped(noisy(flat(120), 0.2, seed)), shaped(noisy(declining(120), 0.2, seed))
    assert level.spread == pytest.approx(0.2, rel=0.4)
    assert abs(level.decline) < 0.2
    assert steep.decline == pytest.approx(0.75, abs=0.12)


def test_a_sag_is_found_where_it_is() -> None:
    curve = [100.0] * 400
    curve[250:300] = [40.0] * 50
    result = shaped(curve)
    assert result.sag == pytest.approx(0.6)
    assert result.sag_at_s == pytest.approx(275, abs=10)
    assert result.decline == pytest.approx(0, abs=0.01)
    assert result.tail_s == 0


@pytest.mark.parametrize("tail", [1, 5, 60])
def test_what_goes_on_after_most_have_finished_is_a_tail(tail: int) -> None:
    result = shaped([680.0] * 30 + [80.0] * tail)
    assert result.tail_s == tail
    assert (result.start_Bps, result.end_Bps, result.decline) == (680, 680, 0)


def test_a_decline_to_almost_nothing_is_no_tail() -> None:
    result = shaped(declining(100, first_MBps=1600, last_MBps=50))
    assert result.tail_s == 0
    assert result.decline > 0.9


def test_a_rate_that_rises_declines_by_less_than_nothing() -> None:
    assert shaped([10.0, 20.0, 30.0, 40.0, 50.0]).decline == pytest.approx(-0.8)


@given(st.lists(st.floats(0, 1e9), min_size=SHORTEST, max_size=80), st.floats(0.01, 100))
def test_every_shape_is_of_possible_numbers_and_scales(curve: list[float], factor: float) -> None:
    result = shape(curve)
    if sum(curve) == 0:
        assert result is None
        return
    assert result is not None
    assert 0 <= result.end_Bps <= max(curve)
    assert -1 <= result.decline <= 1
    assert 0 <= result.sag <= 1
    assert 0 <= result.sag_at_s <= len(curve)
    assert result.spread >= 0
    assert 0 <= result.tail_s <= len(curve) - SHORTEST


def test_the_document_form_is_rounded() -> None:
    raw = shaped(noisy(flat(60), 0.1, 1)).to_json()
    assert isinstance(raw["start_Bps"], int)
    assert raw["spread"] == round(raw["spread"], 3)


@pytest.mark.parametrize("curve", [[], [5.0] * (SHORTEST - 1), [0.0] * 30])
def test_what_is_too_short_or_moved_nothing_has_no_shape(curve: list[float]) -> None:
    assert shape(curve) is None
