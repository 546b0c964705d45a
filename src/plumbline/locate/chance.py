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


class Run(NamedTuple):
    """The loss of one run and the standard deviation of such runs, logarithms.

    ``of`` is the number of the measurement that it is a run of.
    """

    loss: float
    spread: float
    of: int = 0


class Odds(NamedTuple):
    """Logarithms of the odds of a lasting loss against none: of all nights, and of each."""

    together: float
    each: tuple[float, ...]


def odds(nights: Sequence[Sequence[Run]], losses: Sequence[float], fixed: Sequence[float]) -> Odds:
    """Return the odds of a lasting loss against what all runs may be off by together.

    What is measured of one component in one night meets the same others, so it is disturbed
    together.  Losses are logarithms of measured / expected, below 0 for what is slower; ``losses``
    are those that may last, of each measurement, ``fixed`` the standard deviations of what all
    runs of each are off by.
    """
    slow = [_log_density(night, losses) for night in nights]
    total, best = -inf, slow
    for step in range(_STEPS + 1):
        off = [loss * step / _STEPS for loss in losses]
        fine = [_log_density(night, off) for night in nights]
        likely = sum(fine) - sum((one / error) ** 2 / 2 for one, error in zip(off, fixed))
        if likely > total:
            total, best = likely, fine
    each = tuple(one - other for one, other in zip(slow, best))
    return Odds(sum(slow) - total, each)


def _log_density(night: Sequence[Run], off: Sequence[float]) -> float:
    """Return that of runs which are all undisturbed, or lower together, or faster together."""
    normal = lower = faster = 1.0
    for run in night:
        apart = run.loss - off[run.of]
        bell = exp(-((apart / run.spread) ** 2) / 2) / (run.spread * _ROOT)
        tail = exp(-abs(apart) / _BY) / _BY
        normal *= bell
        # of several only some may be disturbed
        lower *= tail if apart < 0 else bell + _FASTER * tail
        faster *= tail if apart > 0 else bell + _LOWER * tail
    return log((1 - _LOWER - _FASTER) * normal + _LOWER * lower + _FASTER * faster)


_ROOT = sqrt(2 * pi)
