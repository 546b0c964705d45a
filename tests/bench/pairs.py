"""Two tools in turn until it is certain how their rates compare, whatever else the machine does.

Turns follow one another in the order A B, B A, so that what changes slowly meets both.  Each pair
of turns gives a ratio, and their median counts: a turn that was disturbed is one outlier and no
more.  How certain it is, their order says, whatever their distribution: with n ratios the median of
all that there could be lies between the k-th least and the k-th largest with the probability
1 - 2 P(B < k), B binomial with n and 1/2 (Conover, Practical Nonparametric Statistics, 3.2).
A verdict needs all of that range on one side of an aim; where it is not reached nothing is claimed.
"""

from __future__ import annotations

from math import comb
from statistics import median
from typing import Callable, NamedTuple, Sequence

LEAST = 6
CERTAIN = 0.95

Rates = dict[str, float]
"""Of each operation in one turn: bytes per second, or what else two tools are compared by."""

Tool = Callable[[], Rates]

Aim = tuple[float, float]
"""The least and the largest ratio that is as it should be."""


class Ratio(NamedTuple):
    """``rates`` are the medians of both tools; ``value`` is the median of A / B.

    ``least`` and ``most`` are where it lies with the probability CERTAIN; ``turns`` are the ratios
    of all turns, the least first.
    """

    rates: tuple[float, float]
    value: float
    least: float
    most: float
    turns: tuple[float, ...]

    def verdict(self, aim: Aim) -> str:
        """Return whether an aim is met; what scatters too much to say so is undecided."""
        low, high = aim
        if low <= self.least and self.most <= high:
            return "met"
        if self.most < low or self.least > high:
            return "missed"
        return "undecided"


def compared(tools: tuple[Tool, Tool], aim: Aim, most: int) -> dict[str, Ratio]:
    """Return the ratio of each operation after LEAST turns, or up to ``most`` while undecided.

    A turn of each goes before, which does not count: it finds everything for the first time.
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
            found = {operation: ratio(turns, operation) for operation in mine}
            if all(one.verdict(aim) != "undecided" for one in found.values()):
                break
    return found


def ratio(turns: Sequence[tuple[Rates, Rates]], operation: str) -> Ratio:
    """Return how two tools compare in an operation; of at least LEAST turns."""
    pairs = [(mine[operation], theirs[operation]) for mine, theirs in turns]
    rates = median(mine for mine, _ in pairs), median(theirs for _, theirs in pairs)
    return _ratio(rates, [mine / theirs for mine, theirs in pairs])


def together(found: Sequence[Ratio]) -> Ratio:
    """Return how two tools compare in all that they were compared in, each turn counting once."""
    rates = median(one.rates[0] for one in found), median(one.rates[1] for one in found)
    return _ratio(rates, [turn for one in found for turn in one.turns])


def _ratio(rates: tuple[float, float], turns: Sequence[float]) -> Ratio:
    ordered = tuple(sorted(turns))
    outer = _outer(len(ordered))
    return Ratio(rates, median(ordered), ordered[outer], ordered[-1 - outer], ordered)


def _outer(number: int) -> int:
    """Return how many values at each end may be left out of so many."""
    below = 0.0
    for outer in range(number):
        below += comb(number, outer) / 2**number
        if 2 * below > 1 - CERTAIN:
            return max(0, outer - 1)
    return 0
