"""Evidence of several runs about a component or a group: how likely it is slow, how much."""

from __future__ import annotations

from plumbline.model.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.units import DAY_S, LARGEST
from plumbline.model.validation import counts, texts, times, within

if TYPE_CHECKING:
    from typing import Any, Mapping, Optional

MONTH_S = 30.44 * DAY_S

LEAST_ODDS = 20.0
"""However large the budget, nobody is woken by what chance makes of one run in so many."""

_TWO = 2

WORTH_A_WORD = 3.0
"""Odds of 20 to 1, a logarithm: less is not reported."""
WORTH_A_RUN = 2.3
"""Odds of 10 to 1: one moment that lost two fifths or more comes to that."""


class Evidence(NamedTuple):
    """Evidence of the last runs of a component, or of a group as one, all operations together.

    ``odds`` is the natural logarithm of the odds that it is slow against chance, ``needed`` what an
    alarm takes; ``alarm`` says whether one was raised and stands.  ``since`` is the start of the
    first slow run in epoch seconds, ``moments`` how often it was measured from then on.  ``what``
    is the operation that has lost most, ``ratio`` its measured / reference in the middle of these
    runs, None where there are none, and ``against`` what that reference is, in words.  ``shared``
    says that the whole group has lost as much, which has the alarm.  ``also`` are the other
    operations that have lost enough to look for, each with its measured / reference.  ``more`` is
    how many more runs like the last one raise the alarm, or end it, None where that is unknown.
    ``low`` is in how many of the moments it was slow, None where that was not counted; where these
    are few, ``ratio`` is that of the low ones.
    """

    odds: float
    needed: float
    alarm: bool
    since: float
    moments: int
    what: str
    ratio: Optional[float]
    against: str
    shared: bool = False
    also: tuple[tuple[str, float], ...] = ()
    more: Optional[int] = None
    low: Optional[int] = None

    @property
    def comes_and_goes(self) -> bool:
        """Return whether it was slow in less than half of the moments, and in two at least."""
        return self.low is not None and _TWO <= self.low < self.moments / 2

    @property
    def worth_a_word(self) -> bool:
        """Return whether the odds are high enough to tell anybody."""
        return self.alarm or self.odds >= WORTH_A_WORD

    @property
    def in_question(self) -> bool:
        """Return whether it is worth measuring again: sooner than anybody is told."""
        return self.alarm or self.odds >= WORTH_A_RUN

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Evidence:
        """Build from the document form.

        Raises:
            DocumentError: a value is missing or wrong.
        """
        try:
            evidence = cls(**raw)
            evidence = evidence._replace(also=tuple((what, ratio) for what, ratio in evidence.also))
            texts(
                "evidence", (evidence.what, evidence.against, *(what for what, _ in evidence.also))
            )
            times(since=evidence.since)
            counts(moments=evidence.moments, more=evidence.more or 0, low=evidence.low or 0)
            within(0, LARGEST, odds=evidence.odds, needed=evidence.needed)
            if evidence.ratio is not None:
                within(0, LARGEST, ratio=evidence.ratio)
            for _, ratio in evidence.also:
                within(0, LARGEST, ratio=ratio)
            if type(evidence.alarm) is not bool or type(evidence.shared) is not bool:
                raise TypeError("alarm or shared is no yes or no")
        except (TypeError, ValueError) as error:
            raise DocumentError(
                f"what the runs of a component say is damaged ({error}); run the probe again to "
                "rewrite it"
            ) from error
        return evidence


def odds_within(budget: float, questions: float) -> float:
    """Return the odds against chance that an alarm takes.

    ``budget`` is the number of false alarms that a site may have in a month, ``questions`` how
    often it asks in a month whether something is slow.  Answers that take odds of T are false once
    in T questions in the mean.
    """
    return min(LARGEST, max(LEAST_ODDS, questions / budget))


Subject = tuple[str, str, bool]
"""Layer, name, and whether it is a group and no component."""
