"""Join symptoms with suspects and verdicts: what speaks for or against a component, in words."""

from __future__ import annotations

from enum import Enum

from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.state import State
from plumbline.symptoms.symptom import Direction

if TYPE_CHECKING:
    from typing import Iterable

    from plumbline.symptoms.symptom import Symptom

MOST_QUOTED = 2

ORDER = (State.CRITICAL, State.WARNING, State.UNKNOWN, State.OK)
"""Severities, the gravest first."""


class Suspicion(str, Enum):
    """What all symptoms of a component come to."""

    RAISED = "raised"
    LOWERED = "lowered"
    NONE = "none"


def about(component: str, symptoms: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """Return the symptoms of one component, the gravest first and each sentence once."""
    found = {one.sentence: one for one in symptoms if one.component == component}
    return gravest(found.values())


def gravest(symptoms: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """Return symptoms in the order of their weight: those that raise a suspicion come first."""
    return tuple(sorted(symptoms, key=_weight))


def suspicion(component: str, symptoms: Iterable[Symptom]) -> Suspicion:
    """Return what the symptoms of a component come to: a fault outweighs a reason to be slow.

    Without any there is NONE: nothing found is no proof of health.
    """
    directions = {one.direction for one in about(component, symptoms)}
    if Direction.RAISES in directions:
        return Suspicion.RAISED
    return Suspicion.LOWERED if directions else Suspicion.NONE


def phrase(component: str, symptoms: Iterable[Symptom], most: int = MOST_QUOTED) -> str:
    """Return what is appended to a sentence about a component, empty where there is nothing.

    For example ``; kernel: I/O errors of sdb (14 times) since 2026-11-20 02:13 UTC``.
    """
    found = about(component, symptoms)
    if not found:
        return ""
    quoted = ", ".join(map(quote, found[:most]))
    left = len(found) - most
    more = f" and {left} more symptom{'s' if left > 1 else ''}" if left > 0 else ""
    return f"; {quoted}{more}"


def quote(symptom: Symptom) -> str:
    """Return the sentence of a symptom with the time since when it holds."""
    if symptom.since is None:
        return symptom.sentence
    # what has nothing to date does not pay for it
    from datetime import datetime, timezone

    since = datetime.fromtimestamp(symptom.since, timezone.utc)
    return f"{symptom.sentence} since {since:%Y-%m-%d %H:%M} UTC"


def _weight(symptom: Symptom) -> tuple[bool, int, str]:
    lowers = symptom.direction is Direction.LOWERS
    return lowers, ORDER.index(symptom.severity), symptom.sentence
