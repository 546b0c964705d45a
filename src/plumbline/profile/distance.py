"""How far the course of a rate is from another's, where rate and duration do not matter.

Each curve becomes a cumulative share: what part of its bytes had been moved after which part of its
time.  The distance is the largest difference of two such shares, as in the test of Kolmogorov and
Smirnov.  It is 0 for one course at any rate and over any time; noise of single seconds cancels out
of the sums, which it would not do in a comparison second by second.
"""

from __future__ import annotations

from itertools import accumulate
from math import sqrt
from typing import NamedTuple, Optional, Sequence

POINTS = 20
"""Of a form; each is a twentieth of the time."""

SHORTEST = 5
"""Whole seconds; a shorter curve has no form."""

_CHANCE = 1.63
"""Quantile of a Brownian bridge's largest value that chance exceeds in 1 % of cases.

Smirnov, Ann. Math. Stat. 19 (1948) 279.
"""


class Distance(NamedTuple):
    """How two courses differ most: all values are fractions.

    After ``at`` of its time the curve had moved ``own`` of its bytes, the reference ``reference``;
    ``share`` is the difference without its sign.  ``noise`` is what the curve's own scatter makes
    of a difference by chance, in one of a hundred cases.
    """

    share: float
    at: float
    own: float
    reference: float
    noise: float

    def beyond(self, limit: float) -> bool:
        """Return whether the difference exceeds ``limit``, a fraction, and is not chance."""
        return self.share > max(limit, self.noise)

    @property
    def sentence(self) -> str:
        """Return the difference in words."""
        return (
            f"{100 * self.own:.0f} % of the bytes were moved in the first {100 * self.at:.0f} % of "
            f"the time, {100 * self.reference:.0f} % in the baseline's profile"
        )


def form(curve: Sequence[float], points: Optional[int] = None) -> tuple[float, ...]:
    """Return the rates of equal parts of the time, each relative to the mean of all.

    ``curve`` holds bytes of whole seconds.  There are ``points`` parts, unless told POINTS or, in a
    shorter curve, one a second; their mean is 1.  A curve that is shorter than SHORTEST, or moved
    nothing, has no form: the result is empty.
    """
    if len(curve) < SHORTEST or not sum(curve) > 0:
        return ()
    parts = points or min(POINTS, len(curve))
    shares = _shares(curve)
    reached = [_after(shares, part / parts) for part in range(parts + 1)]
    return tuple(parts * (after - before) for before, after in zip(reached, reached[1:]))


def distance(curve: Sequence[float], reference: Sequence[float]) -> Distance:
    """Return the distance of two curves of any length, each of equal parts of its time.

    Both may be bytes of whole seconds, or forms.  D = max |F(t) - G(t)| with F and G the cumulative
    shares of the bytes and t the share of the time; a rate that falls along a line from 1 + d of
    its mean to 1 - d is d / 4 away from a constant one.

    ``noise`` is 1.63 s / sqrt(n): n parts with the relative scatter s, which comes from successive
    differences, so that a trend does not count (von Neumann, Ann. Math. Stat. 12 (1941) 367).

    Raises:
        ValueError: a curve without any bytes has no course.
    """
    own, other = _shares(curve), _shares(reference)
    knots = {place / len(curve) for place in range(len(curve))}
    knots |= {place / len(reference) for place in range(len(reference))}
    # the earliest of equal differences, whatever the order of a set
    at = max(sorted(knots), key=lambda knot: abs(_after(own, knot) - _after(other, knot)))
    here, there = _after(own, at), _after(other, at)
    return Distance(abs(here - there), at, here, there, _noise(curve))


def _shares(curve: Sequence[float]) -> tuple[float, ...]:
    """Return the share of the bytes at the begin and after each part."""
    total = sum(curve)
    if not total > 0:
        raise ValueError("a curve without any bytes has no course")
    return (0.0, *(done / total for done in accumulate(curve)))


def _after(shares: Sequence[float], at: float) -> float:
    """Return the share of the bytes after a share of the time, within a part by proportion."""
    place = at * (len(shares) - 1)
    whole = min(int(place), len(shares) - 2)
    return shares[whole] + (place - whole) * (shares[whole + 1] - shares[whole])


def _noise(curve: Sequence[float]) -> float:
    steps = [(after - before) ** 2 for before, after in zip(curve, curve[1:])]
    if not steps:
        return 0.0
    mean = sum(curve) / len(curve)
    scatter = sqrt(sum(steps) / len(steps) / 2) / mean
    return _CHANCE * scatter / sqrt(len(curve))
