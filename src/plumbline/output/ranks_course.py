"""What the curves of a parallel run tell, in sentences: who was late, and how the whole went."""

from __future__ import annotations

from math import sqrt
from typing import Any, Iterable, Iterator, Mapping

from plumbline.model.record import Record
from plumbline.units import format_duration, format_rate

_SHOWN = 5
"""Stragglers of one operation; a run with more has another trouble than stragglers."""

_TILTED = 0.2
_SAGGING = 0.3
_TRAILING = 0.1
"""Of the time."""
_TRAILING_S = 3

_SURE = 3.0
"""Standard errors of what single seconds scatter."""


def course_lines(records: Iterable[Record]) -> Iterator[str]:
    """Yield a line for each straggler, and one for each operation whose rate did not stay."""
    for record in records:
        details = record.details or {}
        if "stragglers" not in details:
            continue
        what, late = record.operation.value, details["stragglers"]
        for one in late[:_SHOWN]:
            yield f"{what}: {one['sentence']}"
        if len(late) > _SHOWN:
            yield f"{what}: {len(late) - _SHOWN} more were late; --json has all of them"
        shape = details.get("shape")
        words = list(_words(shape, len(record.profile_Bps))) if shape is not None else []
        if words:
            yield f"{what} of {record.component}: {', '.join(words)}"


def _words(shape: Mapping[str, Any], seconds: int) -> Iterator[str]:
    body = seconds - shape["tail_s"]
    # standard error of a line's rise over n points with the scatter s: s sqrt(12 / n)
    certain = max(_TILTED, _SURE * shape["spread"] * sqrt(12 / body))
    if abs(shape["decline"]) > certain:
        verb = "declines" if shape["decline"] > 0 else "rises"
        start, end = format_rate(shape["start_Bps"]), format_rate(shape["end_Bps"])
        yield f"{verb} from {start} to {end}"
    if shape["sag"] > max(_SAGGING, _SURE * shape["spread"]):
        at = format_duration(shape["sag_at_s"])
        yield f"sags by {100 * shape['sag']:.0f} % about {at} after the start"
    if shape["tail_s"] >= max(_TRAILING_S, _TRAILING * seconds):
        yield f"ends in a tail of {format_duration(shape['tail_s'])}"
