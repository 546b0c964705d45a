"""Comparison of the rates of two tools in turn until it is certain, even on a busy machine.

Turns follow in the order A B, B A, so that slow changes affect both.  Each pair of turns gives a
ratio, and the median of ratios counts: a disturbed turn is only an outlier.  The confidence
interval needs no distribution: with n ratios the true median lies between the k-th least and the
k-th largest with the probability 1 - 2 P(B < k), B binomial with n and 1/2 (Conover, Practical
Nonparametric Statistics, 3.2).  A verdict needs the whole interval on one side of an aim, else it
is undecided.
"""

from __future__ import annotations

from math import comb
from statistics import median
from typing import Callable, NamedTuple, Sequence

LEAST = 6
CERTAIN = 0.95

Rates = dict[str, float]
"""Rate of each operation in a turn: bytes per second or another quantity."""

Tool = Callable[[], Rates]

Aim = tuple[float, float]
"""The least and the largest good ratio."""


class Ratio(NamedTuple):
    """``rates`` are the medians of both tools; ``value`` is the median of A / B.

    ``least`` and ``most`` are its confidence interval for CERTAIN; ``turns`` are the ratios of all
    turns, the least first.
    """

    rates: tuple[float, float]
    value: float
    least: float
    most: float
    turns: tuple[float, ...]

    def verdict(self, aim: Aim) -> str:
        """Return whether an aim is met, missed, or undecided by too much scatter."""
        low, high = aim
        if low <= self.least and self.most <= high:
            return "met"
        if self.most < low or self.least > high:
            return "missed"
        return "undecided"


def compared(tools: tuple[Tool, Tool], aim: Aim, most: int) -> dict[str, Ratio]:
    """Return the ratio of each operation after LEAST turns, or up to ``most`` while undecided.

    A first turn of each does not count, as caches are cold.
    """
    for tool in tools:
        tool()
    turns: list[tuple[Rates, Rates]] = []
    while len(turns) < max(LEAST, most):
        first, second = tools
        if len(turns) % 2:
            theirs, mine = second(), first()
        else:
            mine, theirs = first(), second()
        turns.append((mine, theirs))
        if len(turns) >= LEAST:
            ratios = {operation: ratio(turns, operation) for operation in mine}
            if all(result.verdict(aim) != "undecided" for result in ratios.values()):
                break
    return ratios


def ratio(turns: Sequence[tuple[Rates, Rates]], operation: str) -> Ratio:
    """Return the ratio of two tools in an operation; needs LEAST turns."""
    pairs = [(mine[operation], theirs[operation]) for mine, theirs in turns]
    rates = median(mine for mine, _ in pairs), median(theirs for _, theirs in pairs)
    return _ratio(rates, [mine / theirs for mine, theirs in pairs])


def together(ratios: Sequence[Ratio]) -> Ratio:
    """Return the ratio of two tools over all their comparisons, each turn counting once."""
    rates = median(r.rates[0] for r in ratios), median(r.rates[1] for r in ratios)
    return _ratio(rates, [turn for result in ratios for turn in result.turns])


def _ratio(rates: tuple[float, float], turns: Sequence[float]) -> Ratio:
    ordered = tuple(sorted(turns))
    outer = _outer(len(ordered))
    return Ratio(rates, median(ordered), ordered[outer], ordered[-1 - outer], ordered)


def _outer(number: int) -> int:
    """Return the number of values to leave out at each end of the confidence interval."""
    below = 0.0
    for outer in range(number):
        below += comb(number, outer) / 2**number
        if 2 * below > 1 - CERTAIN:
            return max(0, outer - 1)
    return 0
