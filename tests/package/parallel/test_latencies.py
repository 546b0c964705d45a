from __future__ import annotations

import pytest

from plumbline.parallel.profile import Calls, durations_of, latency, together


def calls_of(*durations: float) -> Calls:
    calls = Calls(len(durations) + 1)
    for duration in durations:
        calls.add(0.0, duration, 1)
    calls.add(0.0, 99.0, 0)
    return calls


def test_quantiles_are_right_within_a_class_and_waiting_does_not_count() -> None:
    times = latency(durations_of(calls_of(*(number / 1000 for number in range(1, 1001)))))
    assert times is not None
    assert times.mean_s == pytest.approx(0.5005, rel=1e-6)
    assert times.p50_s == pytest.approx(0.5, rel=0.011)
    assert times.p99_s == pytest.approx(0.99, rel=0.011)
    assert times.max_s == pytest.approx(1.0)


def test_ranks_add_up_as_if_they_had_been_one() -> None:
    apart = together([durations_of(calls_of(0.001, 0.002)), durations_of(calls_of(0.5))])
    whole = durations_of(calls_of(0.001, 0.002, 0.5))
    assert (apart.classes, apart.longest_s) == (whole.classes, whole.longest_s)
    assert apart.total_s == pytest.approx(whole.total_s)


def test_no_calls_have_no_latency() -> None:
    assert latency(durations_of(calls_of())) is None


def test_a_call_that_the_clock_could_not_see_has_a_class() -> None:
    times = latency(durations_of(calls_of(0.0)))
    assert times is not None
    assert times.max_s == 0.0
