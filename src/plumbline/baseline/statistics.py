"""Robust statistics of rates: one bad run in ten does not move them."""

from __future__ import annotations

from math import exp, log
from statistics import median
from typing import NamedTuple, Sequence

from plumbline.robust import deviation


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
    return Summary(exp(middle), deviation(logarithms, middle), len(logarithms))
