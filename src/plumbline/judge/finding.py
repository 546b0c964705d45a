"""What the rules say about one operation, and which of several sayings decides."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.reason import Reason
from plumbline.model.state import State, worst

if TYPE_CHECKING:
    from typing import Callable, Optional, Sequence

    from plumbline.judge.measured import Measured
    from plumbline.model.record import Operation, Record, Scenario


class Finding(NamedTuple):
    """The outcome of the first rule that applied: state, reason and words.

    ``text`` starts with the operation; ``counts`` is False where the sample must not count against
    the component.
    """

    state: State
    reason: Reason
    text: str
    counts: bool = True


class Rule(NamedTuple):
    """A finding that a rate can give: for what reason, when, and by which numbers.

    ``applies`` gives the finding, None where the rule has nothing to say; ``explain`` puts the
    numbers that it goes by into words, whether or not it applies.
    """

    reason: Reason
    applies: Callable[[Measured], Optional[Finding]]
    explain: Callable[[Measured], str]


class Ruling(NamedTuple):
    """One operation with its finding; ``measured`` is None where there is no rate to judge."""

    operation: Operation
    scenario: Scenario
    record: Optional[Record]
    measured: Optional[Measured]
    finding: Finding


def deciding(rulings: Sequence[Ruling]) -> Ruling:
    """Return the ruling that decides: the worst, among equals what is not plainly fine, then slow.

    There must be at least one.  What is below its floor needs no baseline: the lack of one in
    another operation does not hide it.
    """
    found = _with_floors(rulings)
    state = worst(ruling.finding.state for ruling in found)
    return min((ruling for ruling in found if ruling.finding.state is state), key=_weight)


def _with_floors(rulings: Sequence[Ruling]) -> Sequence[Ruling]:
    """Return the rulings, without those that lack a reference where another is below its floor."""
    if not any(ruling.finding.reason.low_from_the_start for ruling in rulings):
        return rulings
    return [one for one in rulings if one.finding.reason is not Reason.NO_REFERENCE]


def _weight(ruling: Ruling) -> tuple[bool, float]:
    percent = ruling.measured.percent if ruling.measured else None
    return ruling.finding.reason.fine, float("inf") if percent is None else percent
