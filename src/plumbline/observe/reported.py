"""What the nodes of a site have said of themselves, as far as it still holds."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional

from plumbline.model.errors import DocumentError
from plumbline.model.units import format_duration
from plumbline.model.validation import whole_text as whole
from plumbline.observe.symptom import Report, Symptom

HOLDS_S = 3600.0
"""How long a look holds: six times the period at which the role symptoms looks.

A rebuild that a timer saw before it was stopped, or a node before it died, may be over by now.
"""

TROUBLE = "trouble"
"""The key of a document that stands for one that a node could not give: why, in a sentence."""


class Said(NamedTuple):
    """The symptoms that hold, and of each node whose document was left out which it is and why."""

    symptoms: tuple[Symptom, ...] = ()
    left_out: tuple[str, ...] = ()


def said(documents: Mapping[str, Any], now: Mapping[str, float]) -> Said:
    """Return what holds of what nodes have said, by their names.

    ``now`` is for each node of the site the time by its own clock, in seconds since the epoch.  No
    symptom is required, so a document that is not understood is left out as one that is old.
    """
    found = [_of(node, document, now.get(node)) for node, document in documents.items()]
    return Said(
        tuple(symptom for one in found for symptom in one.symptoms),
        tuple(reason for one in found for reason in one.left_out),
    )


def _of(node: str, document: Any, now: Optional[float]) -> Said:
    try:
        return Said(_holding(document, now))
    except DocumentError as error:
        return Said(left_out=(f"{node} ({error})",))


def _holding(document: Any, now: Optional[float]) -> tuple[Symptom, ...]:
    """Return what a document says; raise DocumentError with the reason where that does not hold."""
    if now is None:
        raise DocumentError("it is no node of the plan")
    if isinstance(document, dict) and TROUBLE in document:
        raise DocumentError(whole(f"{document[TROUBLE]!s:.300}"))
    report = Report.from_json(document)
    age_s = now - report.looked_at
    if age_s > HOLDS_S:
        raise DocumentError(f"its last look is {format_duration(age_s)} old")
    return report.symptoms
