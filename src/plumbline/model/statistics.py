"""Robust statistics: medians, spreads, and each member of a group compared with its peers.

The factors hold for normal distributions (Rousseeuw and Croux, J. Am. Stat. Assoc. 88, 1993, 1273).

Peers of one host share their noise, so each is set against the others of its own run.
"""

from __future__ import annotations

from math import exp, log, sqrt
from statistics import median
from typing import Iterable, Mapping, NamedTuple, Optional, Sequence

OF_A_DEVIATION = 1.4826
"""Standard deviation / median absolute deviation."""

OF_A_MEDIAN = 1.2533
"""Standard error of a median / that of a mean: the square root of pi / 2, of many values."""


def deviation(values: Iterable[float], middle: Optional[float] = None) -> float:
    """Return the standard deviation of one value or more, from ``middle``, else their median."""
    samples = tuple(values)
    centre = median(samples) if middle is None else middle
    return OF_A_DEVIATION * median([abs(value - centre) for value in samples])


def error_of_median(spread: float, count: int) -> float:
    """Return the standard error of the median of ``count`` values with normal noise ``spread``."""
    return OF_A_MEDIAN * spread / sqrt(count)


_RUNS_TO_SPREAD = 4
"""Fewest runs whose spread means something."""


class Day(NamedTuple):
    """Comparison of a component with its peers on one day of runs.

    ``day`` counts from the epoch, in UTC.  ``loss`` is the natural logarithm of peers' rate / own
    rate, the middle of the day's ``runs``: positive is slower.  ``noise`` is the standard error of
    that middle by the component's own runs, 0 of too few; ``spread`` the standard deviation of the
    peers' losses on this day.  ``peers`` is their number.
    """

    day: int
    loss: float
    noise: float
    spread: float
    runs: int
    peers: int


Rates = Mapping[str, float]
"""The rate of each member of a group that gave one in a run, in bytes per second."""


def one_day(day: int, runs: Iterable[Rates]) -> dict[str, Day]:
    """Return what the runs of one day say about each member; nothing where no two ran together."""
    losses: dict[str, list[float]] = {}
    for rates in runs:
        for name, loss in _losses(rates).items():
            losses.setdefault(name, []).append(loss)
    if not losses:
        return {}
    middles = {name: midmean(samples) for name, samples in losses.items()}
    spread, peers = round(deviation(middles.values()), 5), len(losses) - 1
    return {
        name: Day(
            day,
            round(middle, 5),
            round(_own_error(losses[name]), 5),
            spread,
            len(losses[name]),
            peers,
        )
        for name, middle in middles.items()
    }


def _losses(rates: Rates) -> dict[str, float]:
    """Return log(median of the others / own) of each member of a run."""
    logs = {name: log(rate) for name, rate in rates.items() if rate > 0}
    if len(logs) < 2:
        return {}
    others = MediansWithout(logs.values())
    return {name: others.of(own) - own for name, own in logs.items()}


class MediansWithout:
    """Medians of all values but one, at least two of them, ordered once for all."""

    def __init__(self, values: Iterable[float]) -> None:
        """Find the three that there are: which of the lower ones is left out does not matter."""
        ordered = sorted(values)
        last = len(ordered) - 1
        self._middle = ordered[last // 2]
        self._lower, self._same, self._higher = (
            median_without(ordered, place) for place in (0, last // 2, last)
        )

    def of(self, own: float) -> float:
        """Return the median of the others of a value."""
        if own < self._middle:
            return self._lower
        return self._higher if own > self._middle else self._same


def median_without(ordered: Sequence[float], index: int) -> float:
    """Return the median of ascending values, at least two, less the one at ``index``."""
    count = len(ordered) - 1
    upper = count // 2
    value = ordered[upper + (upper >= index)]
    if count % 2:
        return value
    lower = upper - 1
    return (ordered[lower + (lower >= index)] + value) / 2


def midmean(values: Sequence[float]) -> float:
    """Return the mean of the middle half: nearly as steady as a mean, as hard to upset as a median.

    Of fewer than four values it is their mean, but for three the median.
    """
    if len(values) == 1:
        return values[0]
    ordered = sorted(values)
    cut = (len(ordered) + 1) // 4
    middle = ordered[cut : len(ordered) - cut]
    return sum(middle) / len(middle)


def _own_error(losses: Sequence[float]) -> float:
    """Return the standard error of the middle of a component's own runs; 0 of too few.

    That of a median; the midmean's is smaller.
    """
    if len(losses) < _RUNS_TO_SPREAD:
        return 0.0
    return error_of_median(deviation(losses), len(losses))


class Summary(NamedTuple):
    """``median`` in bytes per second; ``spread`` relative, a fraction; number of ``runs``."""

    median: float
    spread: float
    runs: int


def summarize(rates: Sequence[float]) -> Summary:
    """Return median and spread of positive rates; both come from their natural logarithms.

    Rates err by factors: half and double are as far from the median in logarithms.
    """
    logarithms = [log(rate) for rate in rates]
    middle = median(logarithms)
    return Summary(exp(middle), deviation(logarithms, middle), len(logarithms))
