"""Two tools in turn until their ratio is steady, on a machine that others use as well.

Others can only take away: on a target of a fixed rate a tool that was disturbed is slower, never
faster.  So of each tool its best third of turns counts (Chen and Revels, "Robust benchmarking in
noisy environments", HPEC 2016, take the very best), and it is steady when these agree.  Turns
follow one another in the order A B, B A, so that what changes slowly meets both.  Where they do not
become steady nothing is claimed.
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

LEAST = 6
_FEWEST = 3
STEADY = 0.02

Rates = dict[str, float]
"""Bytes per second of each operation in one turn."""

Tool = Callable[[], Rates]


class Ratio(NamedTuple):
    """``value`` is A / B; ``apart`` the larger scatter of the two tools' best turns, a fraction."""

    rates_Bps: tuple[float, float]
    value: float
    apart: float
    turns: int

    def verdict(self, low: float, high: float) -> str:
        """Return whether an aim is met; what scatters too much to say so is undecided."""
        if self.apart > STEADY:
            return "undecided, others use the machine too much"
        return "met" if low <= self.value <= high else "missed"


def compared(tools: tuple[Tool, Tool], most: int) -> dict[str, Ratio]:
    """Return the ratio of each operation after LEAST turns, or up to ``most`` while it scatters.

    A turn of each goes before, which does not count: it finds everything for the first time.
    """
    for tool in tools:
        tool()
    turns: list[tuple[Rates, Rates]] = []
    while len(turns) < max(_FEWEST, most):
        first, second = tools
        if len(turns) % 2:
            theirs, mine = second(), first()
        else:
            mine, theirs = first(), second()
        turns.append((mine, theirs))
        found = {operation: _ratio(turns, operation) for operation in mine}
        if len(turns) >= LEAST and all(one.apart <= STEADY for one in found.values()):
            break
    return found


def _ratio(turns: Sequence[tuple[Rates, Rates]], operation: str) -> Ratio:
    mine, theirs = (_best([turn[side][operation] for turn in turns]) for side in (0, 1))
    rates = (sum(mine) / len(mine), sum(theirs) / len(theirs))
    apart = max(1 - best[-1] / best[0] for best in (mine, theirs))
    return Ratio(rates, rates[0] / rates[1], apart, len(turns))


def _best(rates: Sequence[float]) -> list[float]:
    """Return the best third, the best first."""
    return sorted(rates, reverse=True)[: max(_FEWEST, len(rates) // 3)]
