"""How much slower than its siblings a component is over some days, and how certain that is.

One run says little about a loss of a tenth: noise is shared within a host and a day, so runs of one
day do not add up as independent ones would.  What removes false alarms is confirmation on other
days, and knowing how uncertain each day's figure is.
"""

from __future__ import annotations

from math import exp, log, sqrt

from plumbline.judge.finding import Finding, Rule
from plumbline.judge.phrases import figures
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.reason import Reason
from plumbline.model.state import State

if TYPE_CHECKING:
    from typing import Optional, Sequence

    from plumbline.judge.measured import Measured
    from plumbline.model.limits import Limits
    from plumbline.model.series import Day

_DAY_S = 86400.0
_PEERS_TO_SPREAD = 2

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


def within_noise(of: Measured) -> bool:
    """Return whether siblings differ so much in single runs that this one tells nothing.

    A component with a baseline is excused only while its siblings are below it as well: on a busy
    day all are low, each by another amount, but siblings at their best make it no less slow.
    """
    if not of.days or of.peers < _PEERS_TO_SPREAD or not of.low(of.percent):
        return False
    assert of.peers_Bps is not None
    assert of.ratio_peers is not None
    if of.baseline and of.peers_Bps > (1 - of.limits.peer_loss / 2) * of.baseline.median_Bps:
        return False
    gross = of.limits.critical.alerts(100 * of.ratio_peers)
    return -log(of.ratio_peers) < chance_loss(of.days, of.limits, gross=gross)


def uncertain(of: Measured) -> Optional[Finding]:
    """Below a level, but only the next days can tell."""
    if not within_noise(of):
        return None
    text = f"{figures(of)}, within what its siblings differ by among themselves"
    return Finding(State.OK, Reason.WITHIN_NOISE, text)


def lasting_loss(of: Measured) -> Optional[Finding]:
    """Slower than its siblings on each of the last days, beyond doubt."""
    recent = of.days[: of.limits.confirm_days]
    if not fresh(of, recent) or of.accepted or not slower_each_day(recent, of.limits):
        return None
    loss = certain_loss(of.days, of.limits)
    if loss is None:
        return None
    text = (
        f"{figures(of)}: slower than its {recent[0].peers} siblings on each of the last "
        f"{len(recent)} days, {loss.percent:.0f} % over {loss.days} days "
        f"(limit {100 * of.limits.peer_loss:g} %), fail-slow"
    )
    return Finding(State.WARNING, Reason.FAIL_SLOW, text)


def fresh(of: Measured, recent: Sequence[Day]) -> bool:
    """Return whether there are as many days with siblings as it takes, and the newest is new."""
    today = int(of.record.started_at // _DAY_S)
    wanted = of.limits.confirm_days
    return len(recent) == wanted and today - recent[0].day < wanted


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


def chance_words(of: Measured) -> str:
    """Return the loss beside the siblings, and what they differ by; empty where none are known."""
    if not of.days or not of.ratio_peers:
        return ""
    gross = of.limits.critical.alerts(100 * of.ratio_peers)
    chance = chance_loss(of.days, of.limits, gross=gross)
    loss = -log(of.ratio_peers)
    return f"loss beside siblings {loss:.3f}, up to {chance:.3f} they differ by chance"


def _explain_noise(of: Measured) -> str:
    return chance_words(of) or "no siblings known"


def _explain_lasting(of: Measured) -> str:
    limits = of.limits
    if len(of.days) < limits.confirm_days:
        return f"{len(of.days)} of {limits.confirm_days} days with siblings"
    each = ", ".join(f"{day.loss:+.3f}" for day in of.days[: limits.confirm_days])
    found = loss_over(of.days, limits.confirm_days)
    return (
        f"losses {each}, each above {limit_of(limits):.3f} needed; mean {found.loss:+.3f}, "
        f"{limits.certainty:g} standard errors are {limits.certainty * found.error:.3f}"
        f"{'; as accepted with the baseline' if of.accepted else ''}"
    )


FAIL_SLOW = Rule(Reason.FAIL_SLOW, lasting_loss, _explain_lasting)
WITHIN_NOISE = Rule(Reason.WITHIN_NOISE, uncertain, _explain_noise)
