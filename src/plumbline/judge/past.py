"""What was found at earlier moments, for who asks again day after day, as a simulation does.

An answer never rests on it: it only says which questions have the answer no, as they had before.
The runs are the same, but what references are off by is known a little better each day; by how much
that can move the odds is known as well.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import zip_longest
from math import inf
from typing import Hashable, NamedTuple, Optional, Sequence

from plumbline.judge.chance import healthy_offsets
from plumbline.judge.noise import IN_ONE_GO_S, Run

_Runs = tuple[Run, ...]


class Terms(NamedTuple):
    """What odds depend on beside the runs.

    ``begin`` is the first start, in epoch seconds; ``offs`` what the references of each claim are
    off by; ``change`` is when something has changed, and how much that counts for.
    """

    begin: float
    offs: tuple[tuple[float, ...], ...]
    limit: float
    change: Optional[tuple[float, float]]


class Found(NamedTuple):
    """The logarithm of odds at a moment."""

    terms: Terms
    odds: float


class Moments:
    """What was found of one component or group: ``slow``, and ``healthy`` while an alarm stood."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._runs: Sequence[_Runs] = ()
        self.slow: dict[float, Found] = {}
        self.healthy: dict[float, Found] = {}

    def take(self, claims: Sequence[_Runs]) -> None:
        """Forget what rests on runs that are others than they were.

        Moments before the first run that is another, or new, stay as they were.  Runs from before
        the first moment that is left may go: no start is among them.
        """
        begin = min((runs[0].at for runs in claims if runs), default=inf)
        pairs = zip_longest(self._runs, claims, fillvalue=())
        other = min((_first_other(*pair, begin) for pair in pairs), default=inf)
        for found in (self.slow, self.healthy):
            for moment in [one for one in found if one + IN_ONE_GO_S >= other]:
                del found[moment]
        self._runs = claims


class Past:
    """What was found of each component and group."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._of: dict[Hashable, Moments] = {}

    def of(self, subject: Hashable) -> Moments:
        """Return what was found of a subject."""
        return self._of.setdefault(subject, Moments())


def _first_other(before: _Runs, now: _Runs, begin: float) -> float:
    """Return when the first run from a moment on was made that is another, infinite where none."""
    pairs = zip_longest(before[bisect_left(before, (begin,)) :], now)
    return next((min(run.at for run in pair if run) for pair in pairs if pair[0] != pair[1]), inf)


def slow_at_most(found: Optional[Found], terms: Terms) -> float:
    """Return what the odds are at most under other terms, infinite where nobody knows.

    Fewer starts make less of a sum.
    """
    if found is None or found.terms.begin > terms.begin or found.terms[2:] != terms[2:]:
        return float("inf")
    return found.odds + _moved(found.terms.offs, terms.offs, terms.limit)


def healthy_at_most(found: Optional[Found], terms: Terms) -> float:
    """Return the same of the odds that an alarm ends by, a mean over starts."""
    if found is None or found.terms.begin != terms.begin or found.terms[2:] != terms[2:]:
        return float("inf")
    return found.odds + _moved(terms.offs, found.terms.offs, terms.limit)


def _moved(
    before: tuple[tuple[float, ...], ...], now: tuple[tuple[float, ...], ...], limit: float
) -> float:
    """Return by how much a factor can be larger where references are off by something else."""
    if before == now:
        return 0.0
    return max(
        sum(_thinned(one, other, limit) for one, other in zip(*pair)) for pair in zip(before, now)
    )


def _thinned(before: float, now: float, limit: float) -> float:
    """Return the most that the probability of any offset of a healthy component has lost."""
    pairs = zip(healthy_offsets(before, limit), healthy_offsets(now, limit))
    return max(one[0] - other[0] for one, other in pairs)
