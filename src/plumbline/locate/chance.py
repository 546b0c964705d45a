"""How much more likely runs are under a loss that lasts than by chance, as logarithms of odds.

Runs of a healthy component differ by what they normally differ by, and some lose more for a reason
of their own.  So no single low run says much, however low it is, and one that is as fast as ever
says a lot against a loss that lasts: hardly anything makes a run faster than its part is.
"""

from __future__ import annotations

from math import exp, inf, log, pi, sqrt

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Sequence

_LOWER = 0.1
"""The share of runs that lose more than runs normally differ by: 2 % lose a fifth and more, and 8 %
meet others of which a client knows nothing (simulate/noise.py)."""
_FASTER = 0.01
"""The share of runs that are faster by as much."""
_BY = 0.25
"""By so much in the mean, a logarithm: a fifth and a further 21 %."""
_STEPS = 24
"""So finely is looked for the most likely of what all runs are off by together."""


class Odds(NamedTuple):
    """Logarithms of the odds of a lasting loss against none: of all runs, and of each."""

    together: float
    each: tuple[float, ...]


def odds(losses: Sequence[float], spreads: Sequence[float], loss: float, fixed: float) -> Odds:
    """Return the odds of a lasting loss against what all runs may be off by together.

    ``losses`` and ``loss`` are logarithms of measured / expected, below 0 for what is slower;
    ``spreads`` the standard deviations of runs, ``fixed`` that of what all are off by.
    """
    slow = _log_densities(losses, spreads, loss)
    total, best = -inf, slow
    for step in range(_STEPS + 1):
        off = loss * step / _STEPS
        fine = _log_densities(losses, spreads, off)
        likely = sum(fine) - (off / fixed) ** 2 / 2
        if likely > total:
            total, best = likely, fine
    each = tuple(one - other for one, other in zip(slow, best))
    return Odds(sum(slow) - total, each)


def _log_densities(losses: Sequence[float], spreads: Sequence[float], off: float) -> list[float]:
    return [_log_density(one - off, spread) for one, spread in zip(losses, spreads)]


def _log_density(off: float, spread: float) -> float:
    normal = exp(-((off / spread) ** 2) / 2) / (spread * _ROOT)
    share = _LOWER if off < 0 else _FASTER
    return log((1 - _LOWER - _FASTER) * normal + share * exp(-abs(off) / _BY) / _BY)


_ROOT = sqrt(2 * pi)
