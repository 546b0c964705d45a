"""A device is slow if its latency is repeatedly higher than its throughput explains."""

from __future__ import annotations

from math import exp, log
from random import Random
from typing import Callable, Iterator

import pytest

from plumbline.judge.recurring import NEVER
from plumbline.model.statistics import deviation
from plumbline.parts.facts.latency import Load, compare

HOUR_S = 3600.0
ODDS = 10_000.0
DEVICES = [f"disk{number}" for number in range(1, 13)]
Slower = Callable[[str, int], float]


def loads(
    windows: int,
    slower: Slower = lambda _device, _window: 1.0,
    devices: int = 12,
    noise: float = 0.05,
) -> Iterator[Load]:
    """Yield the load of devices hour by hour: latency grows with the cube root of throughput."""
    random = Random(5)
    for window in range(windows):
        for device in DEVICES[:devices]:
            rate = random.uniform(20e6, 80e6)
            latency = 1e-4 * (rate / 20e6) ** 0.33 * (1 + random.gauss(0, noise))
            yield Load(window * HOUR_S, device, rate, latency * slower(device, window))


def slow(loads_: Iterator[Load], limit: float = 0.1, odds: float = ODDS) -> list[str]:
    return [comparison.device for comparison in compare(loads_, limit, odds) if comparison.slow]


def only(device: str, factor: float, since: int = 0) -> Slower:
    return lambda name, window: factor if name == device and window >= since else 1.0


def test_a_device_that_stays_slow_is_suspected_and_no_other() -> None:
    comparisons = compare(loads(24, only("disk3", 2.0, since=8)), 0.1, ODDS)
    first = comparisons[0]
    assert [comparison.device for comparison in comparisons if comparison.slow] == ["disk3"]
    assert first.ratio == pytest.approx(2.0, rel=0.1)
    assert first.recurrence.since == pytest.approx(8 * HOUR_S, abs=HOUR_S)
    assert first.windows == 24


def test_healthy_devices_are_never_suspected() -> None:
    assert slow(loads(300)) == []


def test_a_busy_device_has_the_latency_of_its_throughput() -> None:
    """Three times the throughput of its peers, all day."""
    busy = [
        load._replace(rate_Bps=load.rate_Bps * 3, latency_s=load.latency_s * 3**0.33)
        if load.device == "disk3"
        else load
        for load in loads(24)
    ]
    ratio = {item.device: item.ratio for item in compare(busy, 0.1, ODDS) if not item.slow}
    assert ratio["disk3"] == pytest.approx(1.0, rel=0.02)


def test_a_busy_hour_is_no_evidence() -> None:
    assert (
        slow(loads(48, lambda name, window: 5.0 if name == "disk3" and window < 4 else 1.0)) == []
    )


def test_latency_that_rises_everywhere_accuses_none() -> None:
    assert slow(loads(48, lambda _name, window: 4.0 if window > 20 else 1.0)) == []


def test_a_recovered_device_is_no_suspect() -> None:
    recovered = lambda name, window: 2.0 if name == "disk3" and window < 24 else 1.0  # noqa: E731
    assert slow(loads(24, recovered)) == ["disk3"]
    assert slow(loads(48, recovered)) == []


@pytest.mark.parametrize(("factor", "expected"), [(1.10, []), (1.13, ["disk3"])])
def test_only_losses_beyond_the_limit_are_suspected(factor: float, expected: list[str]) -> None:
    """A loss of a tenth of the speed is a latency of 1 / 0.9."""
    assert slow(loads(96, only("disk3", factor), noise=0.001)) == expected


@pytest.mark.parametrize(("devices", "compared"), [(4, 0), (5, 5)])
def test_four_devices_are_too_few_to_compare(devices: int, compared: int) -> None:
    comparisons = compare(loads(48, only("disk3", 3.0), devices=devices), 0.1, ODDS)
    assert len(comparisons) == compared


def test_higher_odds_need_more_windows() -> None:
    windows = [
        next(n for n in range(2, 48) if slow(loads(n, only("disk3", 2.0)), odds=odds))
        for odds in (1e3, 1e6)
    ]
    assert windows[0] < windows[1]


def test_a_device_without_load_is_not_compared() -> None:
    some = [load for load in loads(12) if load.device != "disk1"]
    assert "disk1" not in {comparison.device for comparison in compare(some, 0.1, ODDS)}


def test_without_any_load_nothing_is_compared() -> None:
    assert compare([], 0.1, ODDS) == []


def test_equal_devices_do_not_differ() -> None:
    equal = [Load(at * HOUR_S, device, 50e6, 1e-3) for at in range(9) for device in DEVICES]
    assert [log(comparison.ratio) for comparison in compare(equal, 0.0, ODDS)] == [0.0] * 12
    assert {comparison.recurrence for comparison in compare(equal, 0.0, ODDS)} == {NEVER}


def evenly(spread: float, excess: float) -> Iterator[Load]:
    """Yield windows of equal throughput: ten devices around the median, and one above it."""
    around = [-spread] * 5 + [0.0] + [spread] * 4
    for window in range(30):
        for device, off in zip(DEVICES, [*around, excess]):
            yield Load(window * HOUR_S, device, 50e6, 1e-3 * exp(off))


@pytest.mark.parametrize(("deviations", "expected"), [(2.9, []), (3.1, ["disk11"])])
def test_a_window_counts_beyond_three_deviations_of_the_peers(
    deviations: float, expected: list[str]
) -> None:
    excess = deviations * deviation([-0.1] * 5 + [0.0] + [0.1] * 5, 0.0)
    assert slow(evenly(0.1, excess), limit=0.01) == expected


@pytest.mark.parametrize("varying", [0.0, 0.01])
def test_low_throughput_does_not_explain_high_latency(varying: float) -> None:
    """A line through the slow device and its peers would excuse it."""
    few = [
        load._replace(rate_Bps=12e6, latency_s=3e-3)
        if load.device == "disk3"
        else load._replace(rate_Bps=50e6 + varying * load.rate_Bps, latency_s=1e-3)
        for load in loads(24)
    ]
    first = compare(few, 0.1, ODDS)[0]
    assert (first.device, first.slow) == ("disk3", True)
    assert first.ratio == pytest.approx(3.0)


@pytest.mark.parametrize(("rate_Bps", "noise"), [(100e6, 0.02), (200e6, 0.1)])
def test_a_slow_device_does_not_bend_the_line_of_its_peers(rate_Bps: float, noise: float) -> None:
    bent = [
        load._replace(rate_Bps=rate_Bps, latency_s=3e-4 * (rate_Bps / 20e6) ** 0.33)
        if load.device == "disk3"
        else load
        for load in loads(48, noise=noise)
    ]
    first = compare(bent, 0.1, ODDS)[0]
    assert (first.device, first.slow) == ("disk3", True)
    assert first.ratio == pytest.approx(3.0, rel=0.05)


def test_the_ratio_is_that_of_the_slow_windows() -> None:
    first = compare(loads(24, only("disk3", 2.0, since=16)), 0.1, 100.0)[0]
    assert first.slow
    assert first.ratio == pytest.approx(2.0, rel=0.1)
