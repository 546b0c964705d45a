"""Middle and spread of values of which a few may be odd.

The factors hold for normal distributions (Rousseeuw and Croux, J. Am. Stat. Assoc. 88, 1993, 1273).
"""

from __future__ import annotations

from math import sqrt
from statistics import median
from typing import Iterable, Optional

_OF_A_DEVIATION = 1.4826
"""Standard deviation / median absolute deviation."""

OF_A_MEDIAN = 1.2533
"""Standard error of a median / that of a mean: the square root of pi / 2, of many values."""


def deviation(values: Iterable[float], middle: Optional[float] = None) -> float:
    """Return the standard deviation of one value or more, from ``middle``, else their median."""
    found = tuple(values)
    centre = median(found) if middle is None else middle
    return _OF_A_DEVIATION * median([abs(value - centre) for value in found])


def error_of_median(spread: float, count: int) -> float:
    """Return the standard error of the median of ``count`` values with normal noise ``spread``."""
    return OF_A_MEDIAN * spread / sqrt(count)
