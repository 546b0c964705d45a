"""Robust statistics of rates: one bad run in ten does not move them."""

from __future__ import annotations

from math import exp, log
from statistics import median
from typing import NamedTuple, Sequence

_NORMAL = 1.4826
"""Makes the median absolute deviation of a normal distribution its standard deviation.

Rousseeuw and Croux, J. Am. Stat. Assoc. 88 (1993) 1273.
"""


class Summary(NamedTuple):
    """``median_Bps`` in bytes per second; ``spread`` relative, a fraction; number of ``runs``."""

    median_Bps: float
    spread: float
    runs: int


def summarize(rates_Bps: Sequence[float]) -> Summary:
    """Return median and spread of positive rates; both come from their natural logarithms.

    Rates err by factors: half and double are as far from the median in logarithms.
    """
    logarithms = [log(rate) for rate in rates_Bps]
    middle = median(logarithms)
    deviation = median(abs(value - middle) for value in logarithms)
    return Summary(exp(middle), _NORMAL * deviation, len(logarithms))
