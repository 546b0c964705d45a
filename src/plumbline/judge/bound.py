"""What odds can be at most: from bounds of what each run adds, before any factor is found.

Where a bound is too low for an alarm, the factors, which take a hundred times as long, are not
looked for.  Most components are healthy, so that is the case at most moments.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Sequence

from plumbline.judge.noise import Run

SLACK = 1.0
"""A start's bound is raised by so much, a logarithm.  What a run adds is bounded as if it stood
alone, while a disturbance that goes on moves both likelihoods, so a factor against a slow component
may be above its bound.  The odds, a sum over starts, were not: of 800 drawn histories, half of
whose runs are disturbed for days, no odds for one came closer to their bound, without this, than
1.7, and those from 20 to 1 on not closer than 3.5."""


class Bound:
    """Bounds of the logarithms of one claim's factors."""

    def __init__(self, runs: Sequence[Run], surprises: Sequence[float]) -> None:
        """Take the runs in the order of time, and what each adds at most."""
        self._runs = runs
        self._sums = [*accumulate(surprises, initial=0.0)]
        self._from_best = [*accumulate(surprises, _or_nothing, initial=0.0)]

    def at_ends(self, ends: Sequence[float]) -> list[float]:
        """Return the bound of the best start before each end, in epoch seconds."""
        return [self._from_best[bisect_left(self._runs, (end,))] for end in ends]

    def from_starts(self, starts: Sequence[float], end: float) -> Sequence[float]:
        """Return the bound of each start's factor, of the runs until an end."""
        total = self._sums[bisect_left(self._runs, (end,))] + SLACK
        return [total - self._sums[bisect_left(self._runs, (start,))] for start in starts]


def _or_nothing(total: float, added: float) -> float:
    return max(0.0, total + added)
