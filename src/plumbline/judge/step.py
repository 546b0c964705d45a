"""A lasting change in a component's own runs, which needs neither baseline nor siblings.

A change point in few and noisy runs: the newest are held against those before them.  That every
newest run is below the level before makes up for not knowing how the noise is distributed; two,
three or four low runs in a row happen to healthy systems.
"""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Optional, Sequence

    from plumbline.model.limits import Limits
    from plumbline.model.series import Sample

BEFORE = 8
"""Runs before a step that stand for the level before it."""

_DAY_S = 86400.0


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
