"""Time slots in which hosts measure each other in pairs."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.rounds import Role, Turn, slot_at, turn


class Slot(NamedTuple):
    """Time slot by number, with the turn of this host; the turn is None for a bye."""

    number: int
    turn: Optional[Turn]

    def idle(self, host: str) -> str:
        """Return the reason for measuring nothing; empty if this host sends."""
        if self.turn is None:
            return f"{host} has no partner in slot {self.number}; nothing to measure"
        if self.turn.role is Role.RESPONDER:
            return (
                f"{host} is the receiving end of {self.turn.partner} in slot {self.number}; "
                "nothing to measure here"
            )
        return ""


def slot_of(entry: Expectation, now: float, number: Optional[int]) -> Slot:
    """Return the slot at ``now``, or the slot with the given number.

    Raises:
        DocumentError: the expectation lacks the pairing of hosts.
    """
    target = pair(entry)
    if number is None:
        number = slot_at(now, target["slot_s"])
    return Slot(number, turn(target["hosts"], entry.component, number))


def pair(entry: Expectation) -> Mapping[str, Any]:
    """Return the target of a host that is measured in pairs; raise DocumentError if it is not."""
    missing = [key for key in ("address", "hosts", "slot_s", "port") if key not in entry.target]
    if missing:
        raise DocumentError(
            f"expectations: {entry.layer} {entry.component} has no {missing[0]} in its target; "
            "deploy the role agent again"
        )
    return entry.target
