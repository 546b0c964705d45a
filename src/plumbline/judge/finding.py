"""What the rules say about one operation, and which of several sayings decides."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.state import State, worst

if TYPE_CHECKING:
    from typing import Optional, Sequence

    from plumbline.judge.measured import Measured
    from plumbline.model.record import Operation, Outcome, Record, Scenario

RULE_FINE = 7


class Finding(NamedTuple):
    """The outcome of the first rule that applied: its number, state and words.

    ``text`` starts with the operation; ``counts`` is False where the sample must not count against
    the component; ``outcome`` is how the measurement ended, where that is what decided.
    """

    state: State
    rule: int
    text: str
    counts: bool = True
    outcome: Optional[Outcome] = None


class Ruling(NamedTuple):
    """One operation with its finding; ``measured`` is None where there is no rate to judge."""

    operation: Operation
    scenario: Scenario
    record: Optional[Record]
    measured: Optional[Measured]
    finding: Finding


def deciding(rulings: Sequence[Ruling]) -> Ruling:
    """Return the ruling that decides: the worst, among equals what is not plainly fine, then slow.

    There must be at least one.
    """
    state = worst(ruling.finding.state for ruling in rulings)
    return min((ruling for ruling in rulings if ruling.finding.state is state), key=_weight)


def _weight(ruling: Ruling) -> tuple[bool, float]:
    percent = ruling.measured.percent if ruling.measured else None
    return ruling.finding.rule == RULE_FINE, float("inf") if percent is None else percent
