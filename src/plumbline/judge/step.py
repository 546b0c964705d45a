"""A lasting change in a component's own runs, which needs neither baseline nor siblings.

A change point in few and noisy runs: the newest are held against those before them.  That every
newest run is below the level before makes up for not knowing how the noise is distributed; two,
three or four low runs in a row happen to healthy systems.
"""

from __future__ import annotations

from plumbline.judge.finding import Finding, Rule
from plumbline.judge.phrases import figures, moment
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.reason import Reason
from plumbline.model.state import State

if TYPE_CHECKING:
    from typing import Optional, Sequence

    from plumbline.judge.measured import Measured
    from plumbline.model.limits import Limits
    from plumbline.model.series import Sample

BEFORE = 8
"""Runs before a step that stand for the level before it."""

_DAY_S = 86400.0
_COVERAGE_HALVED = 0.5


class Step(NamedTuple):
    """A lasting change in a component's own runs: level after / before, and since when."""

    ratio: float
    since: float
    highest: float
    """The best of the runs after / the level before."""
    coverage: float
    """Coverage after / before, 1 where it is not known."""


def step_of(samples: Sequence[Sample], limits: Limits) -> Optional[Step]:
    """Return the newest runs over those before them, None where the history is too short.

    ``samples`` are newest first.  The newest are ``change_runs``, or more where these do not reach
    over ``confirm_days`` different days.
    """
    rated = [sample for sample in samples if sample.rate_Bps]
    count = _reach(rated, limits)
    if count is None or len(rated) < count + BEFORE:
        return None
    relative = all(sample.peers_Bps for sample in rated[: count + BEFORE])
    values = [_value(sample, relative) for sample in rated[: count + BEFORE]]
    level = _median(values[count:])
    return Step(
        ratio=_median(values[:count]) / level,
        since=rated[count - 1].started_at,
        highest=max(values[:count]) / level,
        coverage=_coverage_ratio(rated[:count], rated[count : count + BEFORE]),
    )


def step_down(of: Measured) -> Optional[Finding]:
    """See whether the last runs are below those before, and their middle beyond a level of these.

    Where coverage has halved meanwhile, others explain the loss.
    """
    step = of.step
    if step is None or not of.low(100 * step.ratio) or of.accepted:
        return None
    if step.highest > 1 - of.limits.peer_loss or step.coverage < _COVERAGE_HALVED:
        return None
    text = (
        f"{figures(of)}: stepped down on {moment(step.since)}, to {100 * step.ratio:.0f} % of the "
        f"{BEFORE} runs before"
    )
    return Finding(State.WARNING, Reason.STEP_DOWN, text)


def _reach(rated: Sequence[Sample], limits: Limits) -> Optional[int]:
    days: set[int] = set()
    for count, sample in enumerate(rated, start=1):
        days.add(int(sample.started_at // _DAY_S))
        if count >= limits.change_runs and len(days) >= limits.confirm_days:
            return count
    return None


def _value(sample: Sample, relative: bool) -> float:
    rate_Bps = sample.rate_Bps or 0.0
    return rate_Bps / sample.peers_Bps if relative and sample.peers_Bps else rate_Bps


def _coverage_ratio(after: Sequence[Sample], before: Sequence[Sample]) -> float:
    """Return median coverage after / before: where it has halved, others explain the loss."""
    known = [
        [sample.coverage for sample in part if sample.coverage is not None]
        for part in (after, before)
    ]
    if not all(known) or not _median(known[1]):
        return 1.0
    return _median(known[0]) / _median(known[1])


def _median(values: Sequence[float]) -> float:
    ordered, middle = sorted(values), len(values) // 2
    return (ordered[middle] + ordered[~middle]) / 2


def _explain(of: Measured) -> str:
    step = of.step
    if step is None:
        return "too few runs of its own"
    return (
        f"since {moment(step.since)} {100 * step.ratio:.0f} % of the runs before, the best "
        f"{100 * step.highest:.0f} %, coverage {100 * step.coverage:.0f} %"
        f"{'; as accepted with the baseline' if of.accepted else ''}"
    )


STEP_DOWN = Rule(Reason.STEP_DOWN, step_down, _explain)
