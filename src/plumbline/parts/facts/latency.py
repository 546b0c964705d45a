"""Devices that are slow under their ordinary load: latency at equal throughput.

As Perseus does (Lu et al., FAST 2023): the latency of a group's devices is regressed on their
throughput, and a device is slow in a window if its latency exceeds the regression of its peers at
its throughput.  One such window is no evidence.  It has to recur beyond the chance of a healthy
device (judge/recurring.py), so the budget of false alarms decides.
"""

from __future__ import annotations

from math import exp, log
from statistics import median
from typing import Iterable, Mapping, NamedTuple, Sequence

from plumbline.judge.kinds import MIN_SIZE
from plumbline.judge.recurring import Recurrence, recurrence
from plumbline.model.record import Operation
from plumbline.model.statistics import deviation

_BEYOND = 3.0
"""Standard deviations among peers: a healthy device seldom exceeds them, even with long tails."""
_TRIMS = 3
"""Rounds that leave out the points far from the line: two are too few for a slow device with four
times the throughput of its peers."""


class Load(NamedTuple):
    """Load of a device in a window that begins at ``at``, in epoch seconds.

    ``rate_Bps`` is its throughput, ``latency_s`` the mean time of an operation; both are positive.
    """

    at: float
    device: str
    rate_Bps: float
    latency_s: float


Loads = Mapping[str, Mapping[Operation, Sequence[Load]]]
"""Loads by layer and operation."""


class Latency(NamedTuple):
    """Latency of a device over its windows.

    ``ratio`` is its latency / that of its peers at equal throughput, the median of the windows
    since it was first slow, of all windows if it never was; ``windows`` is the number compared.
    """

    device: str
    ratio: float
    windows: int
    recurrence: Recurrence

    @property
    def slow(self) -> bool:
        """Return whether it is a suspect."""
        return self.recurrence.alarm


def compare(loads: Iterable[Load], limit: float, alarm_odds: float) -> list[Latency]:
    """Return the latency of each device of one group, the highest first.

    A window counts if five devices or more had load.  ``limit`` is the smallest loss to look for, a
    fraction of the speed; ``alarm_odds`` are the odds that a suspicion needs.
    """
    windows = _windows(loads)
    if not windows:
        return []
    slope = _slope([point for window in windows.values() for point in window.values()])
    by_device: dict[str, list[_Comparison]] = {}
    for at, window in windows.items():
        for device, comparison in _comparisons(at, window, slope).items():
            by_device.setdefault(device, []).append(comparison)
    compared = [
        _latency(device, comparisons, limit, alarm_odds)
        for device, comparisons in by_device.items()
    ]
    return sorted(compared, key=lambda latency: (not latency.slow, -latency.ratio))


class _Point(NamedTuple):
    """Logarithms of throughput and latency, less their medians in the window."""

    rate: float
    latency: float


class _Comparison(NamedTuple):
    """A window of a device: the logarithm of its latency / its peers', and their spread."""

    at: float
    excess: float
    spread: float


def _windows(loads: Iterable[Load]) -> Mapping[float, Mapping[str, _Point]]:
    """Return the windows in which enough devices had load, in the order of time."""
    windows: dict[float, list[Load]] = {}
    for load in loads:
        windows.setdefault(load.at, []).append(load)
    return {
        at: _centred(window) for at, window in sorted(windows.items()) if len(window) >= MIN_SIZE
    }


def _centred(window: Sequence[Load]) -> dict[str, _Point]:
    points = {load.device: _Point(log(load.rate_Bps), log(load.latency_s)) for load in window}
    rate = median(point.rate for point in points.values())
    latency = median(point.latency for point in points.values())
    return {
        device: _Point(point.rate - rate, point.latency - latency)
        for device, point in points.items()
    }


def _slope(points: Sequence[_Point]) -> float:
    """Return the slope of latency over throughput, both logarithms, never below 0.

    A slow device has high latency at low throughput, so its points are left out.
    """
    slope = _through_middle(points)
    for _ in range(_TRIMS):
        residuals = [abs(point.latency - slope * point.rate) for point in points]
        limit = _BEYOND * deviation(residuals, 0.0)
        slope = _through_middle([point for point, off in zip(points, residuals) if off <= limit])
    return slope


def _through_middle(points: Sequence[_Point]) -> float:
    square = sum(point.rate**2 for point in points)
    product = sum(point.rate * point.latency for point in points)
    return max(0.0, product / square) if square else 0.0


def _comparisons(at: float, window: Mapping[str, _Point], slope: float) -> dict[str, _Comparison]:
    residuals = {device: point.latency - slope * point.rate for device, point in window.items()}
    middle = median(residuals.values())
    spread = deviation(residuals.values(), middle)
    return {device: _Comparison(at, rest - middle, spread) for device, rest in residuals.items()}


def _latency(
    device: str, comparisons: Sequence[_Comparison], limit: float, alarm_odds: float
) -> Latency:
    least = -log(1 - limit)
    shown = [
        (comparison.at, comparison.excess > max(least, _BEYOND * comparison.spread))
        for comparison in comparisons
    ]
    recurring = recurrence(shown, alarm_odds)
    ratio = exp(
        median(comparison.excess for comparison in comparisons if comparison.at >= recurring.since)
    )
    return Latency(device, ratio, len(comparisons), recurring)
