"""What several runs say together about one component: the odds that it is slow, and the loss."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Optional

WORTH_A_WORD = 3.0
"""Odds of 20 to 1, a logarithm: nobody is to be told of less."""


class Evidence(NamedTuple):
    """What the last runs of a component say, all of its operations weighed together.

    ``odds`` is the natural logarithm of the odds that it is slow against chance, ``needed`` what an
    alarm takes; ``alarm`` says whether one was raised and stands.  ``since`` is the start of the
    first slow run in epoch seconds, ``moments`` how often it was measured from then on.  ``what``
    is the operation that has lost most, ``ratio`` its measured / reference in the middle of these
    runs, None where there are none, and ``against`` what that reference is, in words.
    """

    odds: float
    needed: float
    alarm: bool
    since: float
    moments: int
    what: str
    ratio: Optional[float]
    against: str

    @property
    def worth_a_word(self) -> bool:
        """Return whether the odds are high enough to tell anybody."""
        return self.alarm or self.odds >= WORTH_A_WORD
