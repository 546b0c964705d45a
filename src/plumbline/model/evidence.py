"""Evidence of several runs about a component or a group: how likely it is slow, how much."""

from __future__ import annotations

from plumbline.model.codec import read
from plumbline.model.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.units import DAY_S, LARGEST
from plumbline.model.validation import amounts, counts, times

if TYPE_CHECKING:
    from typing import Annotated, Any, Optional

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
    def from_json(cls, raw: Any) -> Evidence:
        """Build from the document form.

        Raises:
            DocumentError: a value is missing or wrong.
        """
        try:
            return read(cls, raw)
        except (KeyError, TypeError) as error:
            raise DocumentError(
                f"what the runs of a component say is damaged ({error}); run the probe again to "
                "rewrite it"
            ) from error


def odds_within(budget: float, questions: float) -> float:
    """Return the odds against chance that an alarm takes.

    ``budget`` is the number of false alarms that a site may have in a month, ``questions`` how
    often it asks in a month whether something is slow.  Answers that take odds of T are false once
    in T questions in the mean.
    """
    return min(LARGEST, max(LEAST_ODDS, questions / budget))


Subject = tuple[str, str, bool]
"""Layer, name, and whether it is a group and no component."""
