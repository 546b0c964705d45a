"""What the last records of a series show beside their rates: segments retransmitted, profiles."""

from __future__ import annotations

from typing import Any, Iterator, Optional, Sequence

from plumbline.model.record import segments_retransmitted
from plumbline.model.series import SAMPLES
from plumbline.model.validation import numbers
from plumbline.profile.distance import distance
from plumbline.store.history import History, SeriesKey

Shares = list[Optional[float]]
"""One for each record, newest first; None where it is not known, or an old record is damaged."""


def retransmitted(history: History, key: SeriesKey) -> Shares:
    """Return which share of the segments each run of a pair retransmitted."""
    said = history.documents(key, SAMPLES)
    pairs: Iterator[tuple[Any, Any]] = ((one.get("retransmits"), one.get("bytes")) for one in said)
    return [
        segments_retransmitted(segments, moved) if _all_numbers([segments, moved]) else None
        for segments, moved in pairs
    ]


def apart(history: History, key: SeriesKey, profile: Sequence[float]) -> Shares:
    """Return how far each run's profile is from that of the baseline, 0 within its own scatter."""
    details = (said.get("details") for said in history.documents(key, SAMPLES))
    forms = (found.get("form") if isinstance(found, dict) else None for found in details)
    return [_apart(form, profile) for form in forms]


def _apart(form: object, profile: Sequence[float]) -> Optional[float]:
    if not isinstance(form, list) or not _all_numbers(form) or min(form, default=-1) < 0:
        return None
    if not sum(form) > 0:
        return None
    found = distance(form, profile)
    return found.share if found.share > found.noise else 0.0


def _all_numbers(values: Sequence[object]) -> bool:
    try:
        for value in values:
            numbers(value=value)
    except TypeError:
        return False
    return True
