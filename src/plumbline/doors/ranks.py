"""A parallel run as a table, with stragglers in sentences."""

from __future__ import annotations

from math import sqrt
from statistics import median
from typing import Any, Iterable, Iterator, Mapping

from plumbline.doors.table import render
from plumbline.model.record import Operation, Record
from plumbline.model.units import format_duration, format_rate
from plumbline.site.measure import Result

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


_OPERATIONS = (Operation.WRITE, Operation.READ, Operation.REREAD)
_HEADERS = ("target", "write", "of others", "read", "of others", "reread", "of others", "state")


def table(result: Result, whole: str) -> str:
    """Return rates and how they compare with those of the other targets, verdicts below.

    Where the whole is judged with its targets, that is said alone.
    """
    states = {verdict.component: verdict.state.name for verdict in result.verdicts}
    names = dict.fromkeys(record.component for record in result.records)
    rates = render(_HEADERS, [_row(result, name, whole, states.get(name, "")) for name in names])
    judged = [verdict for verdict in result.verdicts if verdict.group] or result.verdicts
    sentences = [f"{verdict.state.name} {verdict.sentence}" for verdict in judged]
    return "\n".join([rates, *sentences, *course_lines(result.records)])


def _row(result: Result, name: str, whole: str, state: str) -> tuple[str, ...]:
    rates = [_rates(result, name, operation, whole) for operation in _OPERATIONS]
    return (name, *(word for pair in rates for word in pair), state)


def _rates(result: Result, component: str, operation: Operation, whole: str) -> Iterator[str]:
    """Yield the rate and its ratio to the median of the other targets."""
    rates = {
        record.component: record.rate_Bps
        for record in result.records
        if record.operation is operation and record.rate_Bps is not None
    }
    own = rates.pop(component, None)
    others = [] if component == whole else [r for name, r in rates.items() if name != whole]
    yield "none" if own is None else format_rate(own)
    yield "" if own is None or not others else f"{own / median(others):.0%}"
