"""Profiles: calls, rates by second, latencies, distance and shape."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model.errors import DocumentError
from plumbline.model.profile import (
    CALL_BYTES,
    MAGIC,
    POINTS,
    SHORTEST,
    Block,
    Calls,
    Shape,
    added,
    distance,
    durations_of,
    form,
    latencies,
    pack,
    per_second,
    shape,
    together,
    unpack,
    whole_seconds,
)
from tests.package.model.curves import MB, declining, flat, noisy


def calls_of(*calls: tuple[float, float, int]) -> Calls:
    calls_made = Calls(len(calls))
    for call in calls:
        calls_made.add(*call)
    return calls_made


@pytest.mark.parametrize(
    ("calls", "curve"),
    [
        ([], ()),
        ([(0.0, 0.5, 100)], (100.0,)),
        ([(0.5, 1.0, 100)], (50.0, 50.0)),
        ([(0.75, 2.0, 800)], (100.0, 400.0, 300.0)),
        ([(2.25, 0.25, 7)], (0.0, 0.0, 7.0)),
        ([(0.0, 0.5, 10), (0.5, 3.0, 0)], (10.0, 0.0, 0.0, 0.0)),
        ([(1.0, 0.0, 5)], (0.0, 5.0)),
    ],
)
def test_a_call_counts_in_each_second_by_its_share_of_time(
    calls: list[tuple[float, float, int]], curve: tuple[float, ...]
) -> None:
    assert per_second(calls_of(*calls)) == pytest.approx(curve)


@given(
    st.lists(
        st.tuples(st.floats(0, 50), st.floats(0, 20, width=32), st.integers(0, 2**32 - 1)),
        max_size=30,
    )
)
def test_no_byte_is_lost_or_counted_twice(calls: list[tuple[float, float, int]]) -> None:
    assert sum(per_second(calls_of(*calls))) == pytest.approx(sum(call[2] for call in calls))


def test_curves_add_up_second_by_second() -> None:
    assert added([(1.0, 2.0), (10.0,), ()]) == (11.0, 2.0)


def test_the_second_in_which_a_run_ends_is_no_rate() -> None:
    assert whole_seconds((5.0, 5.0, 1.0), 2.2) == (5.0, 5.0)
    assert whole_seconds((5.0,), 0.4) == ()


def filled(*calls: tuple[float, float, int]) -> Calls:
    calls_made = Calls(len(calls) + 2)
    for call in calls:
        calls_made.add(*call)
    return calls_made


def blocks() -> list[Block]:
    return [
        Block(0, "client1", "a", "write", filled((0.0, 0.25, 10_000), (0.25, 1.5, 0))),
        Block(1, "client2", "b", "write", filled((0.125, 0.5, 1 << 20))),
    ]


def test_a_profile_file_is_read_back_unchanged() -> None:
    profile = unpack(pack({"run_id": "run-1", "test": "ost"}, blocks()))
    assert profile.about == {"run_id": "run-1", "test": "ost"}
    first, second = profile.blocks
    assert first[:4] == (0, "client1", "a", "write")
    assert list(first.calls.starts) == [0.0, 0.25]
    assert list(first.calls.durations) == [0.25, 1.5]
    assert list(first.calls.sizes) == [10_000, 0]
    assert (second.calls.count, second.calls.bytes) == (1, 1 << 20)


def test_the_layout_of_the_file_is_as_documented() -> None:
    """Check the bytes by hand, for readers in other languages."""
    data = pack({}, blocks()[1:])
    length = int.from_bytes(data[20:28], "little")
    assert data[:20] == MAGIC == b"plumbline profile 1\n"
    calls = data[28 + length :]
    assert calls.hex() == "000000000000c03f" + "0000003f" + "00001000"
    assert len(calls) == CALL_BYTES


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda data: b"", "no call profile"),
        (lambda data: data[:24], "no call profile"),
        (lambda data: b"x" + data[1:], "no call profile"),
        (lambda data: data[:-1], "was cut or changed"),
        (lambda data: data + b"x", "was cut or changed"),
        (lambda data: data[:30] + b"\xff" + data[31:], "header"),
        (lambda data: data[:60], "header"),
        (lambda data: data.replace(b'"ranks"', b'"rinks"'), "header"),
    ],
)
def test_a_damaged_file_is_refused(damage: object, sentence: str) -> None:
    assert callable(damage)
    with pytest.raises(DocumentError, match=sentence):
        unpack(damage(pack({}, blocks())))


def test_there_is_space_for_the_requested_calls_only() -> None:
    calls = Calls(1)
    calls.add(0.0, 1.0, 1)
    with pytest.raises(IndexError):
        calls.add(1.0, 1.0, 1)
    assert (calls.count, calls.bytes) == (1, 1)


def lasting(*durations: float) -> Calls:
    calls = Calls(len(durations) + 1)
    for duration in durations:
        calls.add(0.0, duration, 1)
    calls.add(0.0, 99.0, 0)
    return calls


def test_quantiles_are_accurate_within_a_class_and_waits_do_not_count() -> None:
    times = latencies(durations_of(lasting(*(number / 1000 for number in range(1, 1001)))))
    assert times.pop("mean") == pytest.approx(0.5005, rel=1e-6)
    assert times == pytest.approx({"p50": 0.5, "p99": 0.99, "max": 1.0}, rel=0.011)


def test_durations_of_ranks_add_up_like_those_of_one_rank() -> None:
    apart = together([durations_of(lasting(0.001, 0.002)), durations_of(lasting(0.5))])
    whole = durations_of(lasting(0.001, 0.002, 0.5))
    assert (apart.classes, apart.longest_s) == (whole.classes, whole.longest_s)
    assert apart.total_s == pytest.approx(whole.total_s)


def test_no_calls_have_no_latency() -> None:
    assert latencies(durations_of(lasting())) == {}


def test_a_call_too_short_for_the_clock_has_a_class() -> None:
    assert latencies(durations_of(lasting(0.0)))["max"] == 0.0


LIMIT = 0.10
rates = st.floats(1, 1e6)
curves = st.lists(rates, min_size=SHORTEST, max_size=90)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("seconds", [15, 60, 200])
def test_noise_of_a_quarter_neither_hides_nor_fakes_a_decline(seconds: int, seed: int) -> None:
    level = form(flat(seconds))
    assert distance(noisy(declining(seconds), 0.15, seed), level).beyond(LIMIT) or seconds < 60
    assert not distance(noisy(flat(seconds), 0.25, seed), level).beyond(LIMIT)


def test_chance_differences_of_a_few_scattered_seconds_do_not_count() -> None:
    scattered = [1.0, 9.0, 1.0, 9.0, 9.0, 1.0]
    difference = distance(scattered, [1.0] * POINTS)
    assert difference.noise > difference.share > 0.10
    assert not difference.beyond(LIMIT)


def test_the_sentence_has_share_of_bytes_and_time() -> None:
    assert distance([3.0, 1.0] + [1.0] * 6, [1.0] * POINTS).sentence == (
        "30 % of the bytes were moved in the first 12 % of the time, 12 % in the baseline's profile"
    )


@given(curves, curves)
def test_a_distance_is_a_symmetric_fraction(first: list[float], other: list[float]) -> None:
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
        # each point covers whole seconds
        size = len(curve) // len(points)
        mean = sum(curve) / len(curve)
        first = sum(curve[:size]) / size / mean
        assert points[0] == pytest.approx(first, rel=1e-6)


@pytest.mark.parametrize("curve", [[], [1.0] * (SHORTEST - 1), [0.0] * 30])
def test_a_short_or_empty_curve_has_no_form(curve: list[float]) -> None:
    assert form(curve) == ()


def test_a_curve_without_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="no course"):
        distance([0.0] * 9, [1.0] * 9)


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
def test_noise_is_spread_and_no_decline(seed: int) -> None:
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
def test_bytes_after_most_ranks_have_finished_are_a_tail(tail: int) -> None:
    result = shaped([680.0] * 30 + [80.0] * tail)
    assert result.tail_s == tail
    assert (result.start_Bps, result.end_Bps, result.decline) == (680, 680, 0)


def test_a_decline_to_almost_nothing_is_no_tail() -> None:
    result = shaped(declining(100, first_MBps=1600, last_MBps=50))
    assert result.tail_s == 0
    assert result.decline > 0.9


def test_a_rising_rate_has_a_negative_decline() -> None:
    assert shaped([10.0, 20.0, 30.0, 40.0, 50.0]).decline == pytest.approx(-0.8)


@given(st.lists(st.floats(0, 1e9), min_size=SHORTEST, max_size=80), st.floats(0.01, 100))
def test_shapes_have_possible_figures(curve: list[float], factor: float) -> None:
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


@pytest.mark.parametrize("curve", [[], [5.0] * (SHORTEST - 1), [0.0] * 30])
def test_a_short_or_empty_curve_has_no_shape(curve: list[float]) -> None:
    assert shape(curve) is None
