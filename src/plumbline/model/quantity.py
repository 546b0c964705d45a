"""Quantities: the unit of an operation's result, and whether more or less is better.

All comparisons take rates, of which more is better.  Seconds, of which less is better, are inverted
to calls per second, and converted back for output.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import NamedTuple, Optional

from plumbline.model.errors import DocumentError
from plumbline.model.units import LARGEST, format_amount, format_seconds, parse_amount, parse_rate


class Quantity(NamedTuple):
    """Quantity of an operation.

    ``unit`` follows its figures; ``suffix`` ends its labels in performance data, and ``metric`` the
    names of its metrics.  Charts show multiples of ``scale`` in the unit ``axis``.
    ``less_is_better`` is True for seconds: their rate is the inverse.
    """

    unit: str
    suffix: str
    metric: str
    axis: str
    scale: float = 1.0
    less_is_better: bool = False

    def figure(self, rate: float) -> float:
        """Convert a rate, or a limit without an end, to a figure in the unit."""
        if not self.less_is_better:
            return rate
        return 1 / rate if rate > 0 else inf

    def format(self, rate: float) -> str:
        """Format a rate with its unit for messages, e.g. ``80.3 MB/s``."""
        figure = self.figure(rate)
        return format_seconds(figure) if self.less_is_better else format_amount(figure, self.unit)

    def text(self, rate: float) -> str:
        """Format a rate for documents, with five digits: ``115.2 MB/s``."""
        figure = self.figure(rate)
        for prefix, least, factor in (("G", 1e10, 1e9), ("M", 1e5, 1e6), ("k", 1e2, 1e3)):
            if figure >= least and not self.less_is_better:
                return f"{figure / factor:.5g} {prefix}{self.unit}"
        return f"{figure:.5g} {self.unit}"

    def parse(self, text: str) -> float:
        """Return the rate of a figure with its unit; raise DocumentError for anything else."""
        figure = 0.0
        if not text.strip().startswith("-"):
            in_bytes = self == BYTES_PER_S
            figure = parse_rate(text) if in_bytes else parse_amount(text, self.unit)
        if figure < 1 / LARGEST:
            raise DocumentError(f"{text!r} is not above zero")
        return self.figure(figure)

    def pictured(self, rate: Optional[float]) -> Optional[float]:
        """Convert a rate to the unit of charts; None if there is none."""
        if rate is None or not isfinite(rate):
            return None
        return round(self.figure(rate) / self.scale, 3)


BYTES_PER_S = Quantity("B/s", "Bps", "bytes_per_second", "MB/s", 1e6)
OPERATIONS_PER_S = Quantity("ops/s", "ops", "operations_per_second", "ops/s")
SECONDS = Quantity("s", "s", "seconds", "ms", 1e-3, less_is_better=True)

LATENCIES = ("mean", "p50", "p99", "max")
"""Names of the times of single calls: mean, median, 99 % of them, and the longest."""
