"""Recurrence beyond chance of a symptom that a run shows or not, such as retransmits.

A healthy component shows it now and then, and then rather in the next run too; one that is at
fault shows it in nearly every run.  The ratio of the two chances of each run is a Bayes factor, and
alarms follow from it and from the budget of false alarms as those of rates do (judge/recursion.py).
"""

from __future__ import annotations

from math import exp, inf, log, log1p
from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import date_of, number, odds
from plumbline.judge.runs import BESIDE_PEERS, FADES, IN_ONE_GO_S
from plumbline.model.units import HOUR_S

Shown = tuple[float, bool]
"""Begin of a run, in epoch seconds, and whether it showed the symptom."""

_BY_CHANCE = 0.05
"""Runs of a healthy component that show it: nobody knows, so a share that no healthy site has for
long.  A site at which more do has limits that do not suit it."""
_AT_FAULT = 0.9
"""Runs of a component at fault that show it."""
_FEWEST = 2
"""Runs that an alarm rests on, as for rates (judge/runs.py)."""


class Recurrence(NamedTuple):
    """A symptom in ``shown`` of ``runs`` runs since a moment, in epoch seconds.

    ``odds`` is the natural logarithm of the odds against chance; ``alarm`` says whether one was
    raised and stands.
    """

    odds: float
    alarm: bool
    since: float
    shown: int
    runs: int

    @property
    def words(self) -> str:
        """Return the count of runs that showed it, and the odds."""
        if self.runs < _FEWEST:
            return "one run is no evidence yet"
        return (
            f"seen in {self.shown} of {number(self.runs, 'run')} since {date_of(self.since)}, odds "
            f"{odds(self.odds)} to 1 against chance"
        )


NEVER = Recurrence(0.0, alarm=False, since=0.0, shown=0, runs=0)


def recurrence(runs: Sequence[Shown], alarm_odds: float) -> Recurrence:
    """Return the recurrence in runs in the order of time.

    The statistic is that of Shiryaev and Roberts, whose threshold says how seldom an alarm is
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
        if not current.alarm and current.odds >= needed and current.shown >= _FEWEST:
            current, healthy = current._replace(alarm=True), -inf
    return current


def in_moments(shares: Sequence[Sequence[tuple[float, float]]], limit: float) -> Iterator[Shown]:
    """Yield for each moment whether more than half of some sources were above a limit.

    Each source has pairs of a run's begin and its share; what is measured in one go is a moment.
    """
    runs = sorted((at, number, share) for number, pairs in enumerate(shares) for at, share in pairs)
    begun = -inf
    shares_of_moment: dict[int, float] = {}
    for at, source, share in runs:
        if shares_of_moment and (source in shares_of_moment or at - begun > IN_ONE_GO_S):
            yield begun, lower_median(tuple(shares_of_moment.values())) > limit
            shares_of_moment = {}
        begun = begun if shares_of_moment else at
        shares_of_moment[source] = share
    if shares_of_moment:
        yield begun, lower_median(tuple(shares_of_moment.values())) > limit


def lower_median(values: Sequence[float]) -> float:
    """Return the middle of some values, the lower one of two; there is one at least."""
    return sorted(values)[(len(values) - 1) // 2]


def _with(current: Recurrence, run: Shown, factor: float) -> Recurrence:
    """Return the recurrence after one more run; it begins again if chance explains all runs."""
    # one more start, whose odds are even
    odds = factor + (log1p(exp(current.odds)) if current.runs else 0.0)
    if odds <= 0 and not current.alarm:
        return NEVER
    since = current.since if current.runs else run[0]
    return Recurrence(odds, current.alarm, since, current.shown + run[1], current.runs + 1)


def _factor(run: Shown, before: Optional[Shown]) -> float:
    """Return the logarithm of how much likelier a run is where the component is at fault."""
    at, shown = run
    chance = _BY_CHANCE
    if before and before[1]:
        # a disturbance tends to go on, the more the sooner the next run follows
        goes_on: float = BESIDE_PEERS.again * (1 + max(0.0, at - before[0]) / HOUR_S) ** -FADES
        chance = max(chance, goes_on)
    return log(_AT_FAULT / chance) if shown else log((1 - _AT_FAULT) / (1 - chance))
