"""Recurrence beyond chance of a symptom that a run shows or not, such as retransmits.

A healthy component shows it now and then, and then probably in the next run too; a faulty one shows
it in nearly every run.  The ratio of the two probabilities of each run is a Bayes factor, and
alarms follow from it and from the budget of false alarms as those of rates do (judge/recursion.py).
"""

from __future__ import annotations

from math import exp, inf, log, log1p
from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import date_of, number, odds
from plumbline.judge.runs import FADES, IN_ONE_GO_S, PEER_NOISE
from plumbline.model.units import HOUR_S

Shown = tuple[float, bool]
"""Start of a run, in epoch seconds, and whether it showed the symptom."""

_BY_CHANCE = 0.05
"""Share of a healthy component's runs that show it: unknown, so a share that no healthy site has
for long.  A site with more has limits that do not suit it."""
_AT_FAULT = 0.9
"""Share of a faulty component's runs that show it."""
_MIN_RUNS = 2
"""Runs that an alarm needs, as for rates (judge/runs.py)."""


class Recurrence(NamedTuple):
    """A symptom in ``shown`` of ``runs`` runs since a moment, in epoch seconds.

    ``odds`` is the natural logarithm of the odds against chance; ``alarm`` is whether one was
    raised and stands.
    """

    odds: float
    alarm: bool
    since: float
    shown: int
    runs: int

    @property
    def words(self) -> str:
        """Return the number of runs that showed it, and the odds."""
        if self.runs < _MIN_RUNS:
            return "one run is no evidence yet"
        return (
            f"seen in {self.shown} of {number(self.runs, 'run')} since {date_of(self.since)}, odds "
            f"{odds(self.odds)} to 1 against chance"
        )


NEVER = Recurrence(0.0, alarm=False, since=0.0, shown=0, runs=0)


def recurrence(runs: Sequence[Shown], alarm_odds: float) -> Recurrence:
    """Return the recurrence in runs in the order of time.

    The statistic is that of Shiryaev and Roberts, whose threshold bounds how often an alarm is
    false; it stands until the odds that the component is healthy again are as high.
    """
    needed = log(alarm_odds)
    current, before, healthy = NEVER, None, -inf
    for run in runs:
        factor = _factor(run, before)
        before = run
        if current.alarm:
            healthy = -factor + log1p(exp(healthy))
            if healthy >= needed:
                current = NEVER
                continue
        current = _with(current, run, factor)
        if not current.alarm and current.odds >= needed and current.shown >= _MIN_RUNS:
            current, healthy = current._replace(alarm=True), -inf
    return current


def in_moments(shares: Sequence[Sequence[tuple[float, float]]], limit: float) -> Iterator[Shown]:
    """Yield for each moment whether more than half of some sources were above a limit.

    Each source has pairs of a run's start and its share; measurements in one go are one moment.
    """
    runs = sorted((at, number, share) for number, pairs in enumerate(shares) for at, share in pairs)
    start = -inf
    shares_of_moment: dict[int, float] = {}
    for at, source, share in runs:
        if shares_of_moment and (source in shares_of_moment or at - start > IN_ONE_GO_S):
            yield start, lower_median(tuple(shares_of_moment.values())) > limit
            shares_of_moment = {}
        start = start if shares_of_moment else at
        shares_of_moment[source] = share
    if shares_of_moment:
        yield start, lower_median(tuple(shares_of_moment.values())) > limit


def lower_median(values: Sequence[float]) -> float:
    """Return the median of some values, the lower of two; there must be one."""
    return sorted(values)[(len(values) - 1) // 2]


def _with(current: Recurrence, run: Shown, factor: float) -> Recurrence:
    """Return the recurrence after one more run; it restarts if chance explains all runs."""
    # one more possible start, at even odds
    odds = factor + (log1p(exp(current.odds)) if current.runs else 0.0)
    if odds <= 0 and not current.alarm:
        return NEVER
    since = current.since if current.runs else run[0]
    return Recurrence(odds, current.alarm, since, current.shown + run[1], current.runs + 1)


def _factor(run: Shown, before: Optional[Shown]) -> float:
    """Return the logarithm of the Bayes factor of a run: at fault against chance."""
    at, shown = run
    chance = _BY_CHANCE
    if before and before[1]:
        # a disturbance tends to go on, the more the sooner the next run follows
        goes_on: float = PEER_NOISE.again * (1 + max(0.0, at - before[0]) / HOUR_S) ** -FADES
        chance = max(chance, goes_on)
    return log(_AT_FAULT / chance) if shown else log((1 - _AT_FAULT) / (1 - chance))
