"""Evidence from several runs of a component or group: the odds that it is slow, and its loss."""

from __future__ import annotations

from typing import Annotated, NamedTuple, Optional

from plumbline.model.units import DAY_S, LARGEST
from plumbline.model.validation import amounts, counts, times

MONTH_S = 30.44 * DAY_S

MIN_ODDS = 20.0
"""Least odds of an alarm, even with a large alarm budget."""

_TWO = 2

REPORTED_ODDS = 3.0
"""Least logarithm of odds to be reported: 20 to 1."""
CONFIRMED_ODDS = 2.3
"""Least logarithm of odds to measure again: 10 to 1, as after one moment with a 40 % loss."""


class Evidence(NamedTuple):
    """Evidence from the last runs of a component or a group, over all operations.

    ``odds`` is the natural logarithm of the odds that it is slow against chance, ``needed`` the
    value that raises an alarm; ``alarm`` is True while an alarm is active.  ``since`` is the start
    of the first slow run in epoch seconds, ``moments`` the number of measurements since then.
    ``what`` is the operation with the largest loss, ``ratio`` its middle measured / reference in
    these runs, None without runs, and ``against`` the reference in words.  ``shared`` is True if
    the group lost as much, and the alarm is the group's.  ``also`` has other operations with a
    notable loss, each with measured / reference.  ``more`` is the number of further runs like the
    last one that would raise or end the alarm, None if unknown.  ``low`` is the number of slow
    moments, nearer to the loss than to health, None if not counted; if these are at most half,
    ``ratio`` of an alarm covers only them.  ``gross_since`` is the start of its last runs if all of
    these, a day apart at least, were beyond ``critical`` of the peers in the same run.
    ``slow_nights`` of ``nights`` had several runs, all of them slow; both are 0 with fewer than two
    slow runs.  ``borne_by`` is the group, file system or component, such as ``group scratch``,
    whose alarm is that of this one as well, because one change has slowed both; empty for others.
    ``bears`` has the names of those whose alarm is this one.
    """

    odds: Annotated[float, amounts]
    needed: Annotated[float, amounts]
    alarm: bool
    since: Annotated[float, times]
    moments: Annotated[int, counts]
    what: str
    ratio: Optional[Annotated[float, amounts]]
    against: str
    shared: bool = False
    also: tuple[tuple[str, Annotated[float, amounts]], ...] = ()
    more: Optional[Annotated[int, counts]] = None
    low: Optional[Annotated[int, counts]] = None
    gross_since: Optional[Annotated[float, times]] = None
    slow_nights: Annotated[int, counts] = 0
    nights: Annotated[int, counts] = 0
    borne_by: str = ""
    bears: tuple[str, ...] = ()

    @property
    def partial(self) -> bool:
        """True if it was slow in at least two moments, but not in all of them."""
        return self.low is not None and _TWO <= self.low < self.moments

    @property
    def reportable(self) -> bool:
        """True if the odds are high enough to be reported."""
        return self.alarm or self.odds >= REPORTED_ODDS

    @property
    def in_question(self) -> bool:
        """True if the odds are high enough to measure again, which takes less than a report."""
        return self.alarm or self.odds >= CONFIRMED_ODDS


def odds_within(budget: float, questions: float) -> float:
    """Return the odds against chance that raise an alarm.

    ``budget`` is the number of false alarms that a site accepts per month, ``questions`` the number
    of tests per month for slowness.  Tests that need odds of T are wrong once in T on average.
    """
    return min(LARGEST, max(MIN_ODDS, questions / budget))


Subject = tuple[str, str, bool]
"""Layer, name, and True for a group, False for a component."""
