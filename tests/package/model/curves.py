"""Synthetic curves and ranks like those in the reports."""

from __future__ import annotations

from random import Random
from typing import Callable, Sequence

from plumbline.model.record import Operation
from plumbline.parts.parallel.job import Result, State
from plumbline.parts.parallel.stragglers import Track

MB = 1e6
Rate = Callable[[float], float]
"""Bytes per second at a moment."""


def declining(seconds: int, first_MBps: float = 1600, last_MBps: float = 400) -> list[float]:
    """Return a read after a write, Edison figure 7, upper plot: full speed, then a decline."""
    step = (last_MBps - first_MBps) / (seconds - 1)
    return [MB * (first_MBps + step * second) for second in range(seconds)]


def flat(seconds: int, mean_MBps: float = 1000, spike: float = 1.6) -> list[float]:
    """Return the re-read, lower plot: nearly constant after an initial drop; the same mean."""
    spiked = max(1, seconds // 20)
    rest = (seconds - spiked * spike) / (seconds - spiked)
    return [MB * mean_MBps * (spike if second < spiked else rest) for second in range(seconds)]


def noisy(curve: Sequence[float], share: float, seed: int) -> list[float]:
    """Return a curve with independent noise per second, of a standard deviation ``share``."""
    random = Random(seed)
    return [max(0.0, rate * random.gauss(1, share)) for rate in curve]


def rank(number: int, rate: Rate, size: float, **places: str) -> Track:
    """Return a rank that moves ``size`` bytes at a varying rate."""
    return _moved(number, rate, size, float("inf"), places)


def walled(number: int, rate: Rate, seconds: float, **places: str) -> Track:
    """Return a rank that moves bytes until all ranks are stopped."""
    return _moved(number, rate, float("inf"), seconds, places)


def _moved(number: int, rate: Rate, size: float, seconds: float, places: dict[str, str]) -> Track:
    step, moment, moved, begin = 0.05, 0, 0.0, None
    curve: list[float] = []
    while moved < size and moment * step < seconds:
        part = min(rate(moment * step) * step, size - moved)
        if begin is None and part:
            begin = moment * step
        if moment % 20 == 0:
            curve.append(0.0)
        curve[-1] += part
        moved += part
        moment += 1
    client, server = places.get("client", "c1"), places.get("server", f"s{number}")
    target, write, done = places.get("target", f"t{number}"), Operation.WRITE, State.DONE
    result = Result(number, client, target, write, done, curve=tuple(curve))
    result = result._replace(begin_s=begin or 0.0, end_s=moment * step)
    return Track(result, server)
