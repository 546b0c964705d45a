"""Robust statistics: medians, spreads, and losses compared with peers.

The factors hold for normal distributions (Rousseeuw and Croux, J. Am. Stat. Assoc. 88, 1993, 1273).

Peers of one host share their noise, so each is compared with the others of the same run.
"""

from __future__ import annotations

from math import exp, log, sqrt
from statistics import median
from typing import Iterable, Mapping, NamedTuple, Optional, Sequence

MAD_FACTOR = 1.4826
"""Standard deviation / median absolute deviation (MAD)."""

MEDIAN_FACTOR = 1.2533
"""Standard error of a median / of a mean, of many values: the square root of pi / 2."""


def deviation(values: Iterable[float], middle: Optional[float] = None) -> float:
    """Return the robust standard deviation of the values from ``middle``, else their median."""
    samples = tuple(values)
    centre = median(samples) if middle is None else middle
    return MAD_FACTOR * median([abs(value - centre) for value in samples])


def error_of_median(spread: float, count: int) -> float:
    """Return the standard error of the median of ``count`` values with normal noise ``spread``."""
    return MEDIAN_FACTOR * spread / sqrt(count)


class Day(NamedTuple):
    """Comparison of a component with its peers over the runs of one day.

    ``loss`` is the natural logarithm of peers' rate / own rate, in the middle of the day's runs:
    positive is slower.  ``peers`` is the number of peers.
    """

    loss: float
    peers: int


Rates = Mapping[str, float]
"""Rates of the members of a group in one run, in bytes per second."""


def compare_day(runs: Iterable[Rates]) -> dict[str, Day]:
    """Return the comparison of each member over the runs of one day; empty without peers."""
    losses: dict[str, list[float]] = {}
    for rates in runs:
        for name, loss in _losses(rates).items():
            losses.setdefault(name, []).append(loss)
    peers = len(losses) - 1
    return {name: Day(round(midmean(samples), 5), peers) for name, samples in losses.items()}


def _losses(rates: Rates) -> dict[str, float]:
    """Return log(median of the others / own rate) of each member of a run."""
    logs = {name: log(rate) for name, rate in rates.items() if rate > 0}
    if len(logs) < 2:
        return {}
    others = MediansWithout(logs.values())
    return {name: others.of(own) - own for name, own in logs.items()}


class MediansWithout:
    """Medians of at least two values without one of them; sorts only once."""

    def __init__(self, values: Iterable[float]) -> None:
        """Find the three possible medians: without a lower, the middle, or a higher value."""
        ordered = sorted(values)
        last = len(ordered) - 1
        self._middle = ordered[last // 2]
        self._lower, self._same, self._higher = (
            median_without(ordered, place) for place in (0, last // 2, last)
        )

    def of(self, own: float) -> float:
        """Return the median without one occurrence of a value."""
        if own < self._middle:
            return self._lower
        return self._higher if own > self._middle else self._same


def median_without(ordered: Sequence[float], index: int) -> float:
    """Return the median of at least two ascending values, without the one at ``index``."""
    count = len(ordered) - 1
    upper = count // 2
    value = ordered[upper + (upper >= index)]
    if count % 2:
        return value
    lower = upper - 1
    return (ordered[lower + (lower >= index)] + value) / 2


def midmean(values: Sequence[float]) -> float:
    """Return the mean of the middle half: nearly as precise as a mean, as robust as a median.

    One or two values give their mean, three their median.
    """
    if len(values) == 1:
        return values[0]
    ordered = sorted(values)
    cut = (len(ordered) + 1) // 4
    middle = ordered[cut : len(ordered) - cut]
    return sum(middle) / len(middle)


class Summary(NamedTuple):
    """Median in bytes per second, relative spread as a fraction, number of runs."""

    median: float
    spread: float
    runs: int


def summarize(rates: Sequence[float]) -> Summary:
    """Return median and spread of positive rates, both computed from natural logarithms.

    Rates vary by factors: in logarithms half and double are equally far from the median.
    """
    logarithms = [log(rate) for rate in rates]
    middle = median(logarithms)
    return Summary(exp(middle), deviation(logarithms, middle), len(logarithms))
