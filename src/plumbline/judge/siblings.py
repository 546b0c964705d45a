"""How much slower than its siblings a component is over some days, and how certain that is.

One run says little about a loss of a tenth: noise is shared within a host and a day, so runs of one
day do not add up as independent ones would.  What removes false alarms is confirmation on other
days, and knowing how uncertain each day's figure is.
"""

from __future__ import annotations

from math import exp, log, sqrt

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Optional, Sequence

    from plumbline.model.expectation import Limits
    from plumbline.model.series import Day

_LASTING_SHARE = 0.25
"""Share of the variance between healthy siblings that stays from day to day and that more days do
not average out: 0.0195^2 / (0.0195^2 + 0.0332^2) over 358 disks of 30 hosts."""

_LEAST_ERROR = 0.01
_FEW = 2.5
"""What few siblings on few days add to the uncertainty of a spread: a share of 2.5 / degrees of
freedom, after the quantiles of Student's t."""


class Loss(NamedTuple):
    """How much slower than its siblings over some days: logarithms, positive is slower."""

    days: int
    loss: float
    error: float

    @property
    def percent(self) -> float:
        """Return by how many percent the rate is below the siblings'."""
        return 100 * (1 - exp(-self.loss))


def slower_each_day(days: Sequence[Day], limits: Limits) -> bool:
    """Return whether each day's loss is above the limit."""
    return all(day.loss > limit_of(limits) for day in days)


def certain_loss(days: Sequence[Day], limits: Limits) -> Optional[Loss]:
    """Return the loss over as few of the last days as show beyond doubt that there is one."""
    for count in range(limits.confirm_days, len(days) + 1):
        found = loss_over(days, count)
        if found.loss > limit_of(limits) and found.loss > limits.certainty * found.error:
            return found
    return None


def loss_over(days: Sequence[Day], count: int) -> Loss:
    """Return the mean loss of the newest ``count`` of ``days``, at least one, with its error.

    The uncertainty of a day is taken over all days that are known.  It has two parts.  The noise of
    the runs shrinks with the number of days.  Of what siblings differ by beyond that noise, the
    share _LASTING_SHARE is the same every day and does not shrink.
    """
    mean = sum(day.loss for day in days[:count]) / count
    shrink = _LASTING_SHARE + (1 - _LASTING_SHARE) / count
    variance = sum(day.noise**2 / count + _beyond_noise(day) * shrink for day in days) / len(days)
    return Loss(count, mean, _error(variance, days))


def chance_loss(days: Sequence[Day], limits: Limits, *, gross: bool) -> float:
    """Return up to which loss a single run may be chance; ``days`` has one at least.

    A day's figure is the middle of its runs and by their square root less noisy than one.  Busy
    days are noisier than others: this day counts or the days that are known, whichever differ more.
    Nothing confirms a single run, so it must be twice as far from chance as what lasts for days,
    and further where siblings are few.  A gross loss is shown at once: once as far is enough.
    """
    variances = [day.noise**2 * day.runs + _beyond_noise(day) for day in days]
    variance = max(variances[0], sum(variances) / len(variances))
    if gross:
        return limits.certainty * max(_LEAST_ERROR, sqrt(variance))
    return 2 * limits.certainty * _error(variance, days)


def _beyond_noise(day: Day) -> float:
    """Return the variance of the siblings that the noise of their runs does not explain."""
    return max(0.0, day.spread**2 - day.noise**2)


def _error(variance: float, days: Sequence[Day]) -> float:
    freedom = sum(max(0, day.peers - 1) for day in days)
    if not freedom:
        return float("inf")
    return max(_LEAST_ERROR, sqrt(variance)) * (1 + _FEW / freedom)


def limit_of(limits: Limits) -> float:
    """Return the peer limit as a logarithm, as losses are."""
    return -log(1 - limits.peer_loss)
