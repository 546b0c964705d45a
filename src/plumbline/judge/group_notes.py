"""Remarks on members of a group that its median does not show: broken, unreachable, in alarm."""

from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple, Sequence

from plumbline.judge.finding import Ruling
from plumbline.judge.phrases import several
from plumbline.model.expectation import Expectation
from plumbline.model.reason import Reason
from plumbline.model.state import State

_BROKEN = (Reason.BROKEN, Reason.HUNG)


class Note(NamedTuple):
    """What the median does not show: a member that is broken, or what keeps several from theirs."""

    state: State
    reason: Reason
    text: str


def notes_on(ruled: Sequence[tuple[Expectation, Sequence[Ruling]]]) -> Iterator[Note]:
    """Yield what is wrong beside speed, once each.

    A server or mount has no service of its own on the node that misses it: this is its alarm.  A
    member that is broken has one, so the group only shows it.
    """
    behind: dict[tuple[Reason, str], dict[str, None]] = {}
    broken: dict[str, Reason] = {}
    for member, rulings in ruled:
        for ruling in rulings:
            cause = _cause(member, ruling)
            if cause:
                place = ruling.finding.reason, cause
                behind.setdefault(place, {})[member.component] = None
            elif ruling.finding.reason in _BROKEN:
                broken.setdefault(member.component, ruling.finding.reason)
    for (reason, cause), names in behind.items():
        text = f"{cause}: no figure of {several(tuple(names))}"
        yield Note(State.CRITICAL, reason, text)
    if broken:
        reason = Reason.BROKEN if Reason.BROKEN in broken.values() else Reason.HUNG
        yield Note(State.WARNING, reason, f"broken or hung: {several(tuple(broken))}")


def _cause(member: Expectation, ruling: Ruling) -> str:
    """Return what keeps a member from being measured, empty where nothing before it does."""
    if ruling.finding.reason is Reason.UNREACHABLE:
        return f"server {member.host} does not answer"
    if ruling.finding.reason is Reason.NO_MOUNT and ruling.record is not None:
        return ruling.record.reason
    return ""


def alarms_of(ruled: Iterable[tuple[Expectation, Sequence[Ruling]]]) -> Iterator[Note]:
    """Yield the members that are CRITICAL and measured, with the reason of the first.

    They have alarms of their own, so a group without a figure only shows them.
    """
    found = {
        member.component: ruling.finding
        for member, rulings in ruled
        for ruling in reversed(rulings)
        if ruling.finding.state is State.CRITICAL and ruling.finding.reason not in _BROKEN
    }
    for name, finding in list(found.items())[:1]:
        first = f", first {name}: {finding.text}" if len(found) > 1 else f": {finding.text}"
        yield Note(State.WARNING, finding.reason, f"CRITICAL {several(list(found))}{first}")
