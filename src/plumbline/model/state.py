"""States of a verdict: their Nagios exit codes and the one order of severity."""

from __future__ import annotations

from enum import IntEnum

from plumbline.model.named_tuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Iterable


class State(IntEnum):
    """Nagios plug-in states; the value is the exit code of a check."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3

    @property
    def alarm(self) -> bool:
        """Return whether this is WARNING or CRITICAL: something is wrong, and it was measured."""
        return self in (State.WARNING, State.CRITICAL)


# Nagios Core counts UNKNOWN above WARNING: what could not be measured outranks a mild loss,
# and never hides a gross one.
_SEVERITY = (State.OK, State.WARNING, State.UNKNOWN, State.CRITICAL)


def worst(states: Iterable[State]) -> State:
    """Return the most severe of ``states``; nothing judged is UNKNOWN, never OK."""
    return max(states, key=_SEVERITY.index, default=State.UNKNOWN)
