"""The course of a sweep: point after point, while the budget lasts.

What a point is worth is known only when it has ended; what has ended is kept before the next
begins.
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Protocol, Sequence

from plumbline.errors import BusyError, PrivilegeError
from plumbline.sweep.estimate import Load, estimate
from plumbline.sweep.grid import Point
from plumbline.sweep.ledger import Done, Ledger
from plumbline.units import format_bytes, format_duration

_FAILURES = 3


class Keeper(Protocol):
    """Keeps the state of a sweep; its file does."""

    def save(self, ledger: Ledger) -> None:
        """Keep it for good."""
        ...


class Budget(NamedTuple):
    """What a sweep may spend in all, also when it is carried out in parts."""

    bytes: int
    seconds: float


class Ending(NamedTuple):
    """How far a sweep came; ``reason`` says why it ended before its last point."""

    ledger: Ledger
    reason: str = ""


class Sweep(NamedTuple):
    """Points in order, what each of them does, and what all of them may cost."""

    points: tuple[Point, ...]
    load: Load
    budget: Budget
    keeper: Keeper

    def work_off(self, ledger: Ledger, measure: Callable[[Point], Done]) -> Ending:
        """Measure the points that are left; raise what ``measure`` and ``keeper`` raise."""
        failed = 0
        for point in ledger.left(self.points):
            spent = self.spent(ledger, point)
            if spent:
                return Ending(ledger, spent)
            self.keeper.save(ledger.begun(estimate(point, self.load, ledger).seconds))
            try:
                done = measure(point)
            except (BusyError, PrivilegeError):
                # it has not begun
                self.keeper.save(ledger)
                raise
            ledger = ledger.ended(done)
            self.keeper.save(ledger)
            failed = failed + 1 if not done.rates else 0
            if failed == _FAILURES:
                return Ending(
                    ledger, f"{failed} points in a row gave no figure, the last: {done.reason}"
                )
        return Ending(ledger)

    def spent(self, ledger: Ledger, point: Point) -> str:
        """Return why a point does not fit into what is left of the budget; nothing if it does."""
        if ledger.written + ledger.point_bytes > self.budget.bytes:
            remedy = (
                "raise --budget to go on" if ledger.done else "raise --budget, or lower --bytes"
            )
            return (
                f"{format_bytes(ledger.written)} of the budget of {format_bytes(self.budget.bytes)}"
                f" are written and a point writes {format_bytes(ledger.point_bytes)}; {remedy}"
            )
        expected = estimate(point, self.load, ledger)
        if ledger.seconds + expected.seconds > self.budget.seconds:
            remedy = (
                "raise --limit to go on" if ledger.done else "raise --limit, or lower --seconds"
            )
            return (
                f"{format_duration(ledger.seconds)} of the {format_duration(self.budget.seconds)} "
                f"are used and a point takes {'up to ' if expected.at_most else ''}"
                f"{format_duration(expected.seconds)}; {remedy}"
            )
        return ""


def planned(sweep: Sweep, ledger: Ledger) -> Sequence[tuple[Point, str]]:
    """Return the points that are left, each with the reason why the budget would not reach it."""
    found = []
    reason = ""
    for point in ledger.left(sweep.points):
        reason = reason or sweep.spent(ledger, point)
        found.append((point, reason))
        ledger = ledger.begun(estimate(point, sweep.load, ledger).seconds)
    return found
