"""Rates of targets compared with their peers, and stragglers of a parallel run."""

from __future__ import annotations

from math import sqrt
from statistics import median
from typing import Any, Iterable, Iterator, Mapping, Sequence

from plumbline.doors.table import render
from plumbline.model.record import Operation, Record
from plumbline.model.units import format_duration, format_rate
from plumbline.model.verdict import Verdict
from plumbline.site.measure import Result

_SHOWN = 5
"""Stragglers shown per operation; a run with more has another problem."""

_TILTED = 0.2
_SAGGING = 0.3
_TRAILING = 0.1
"""Share of the time."""
_TRAILING_S = 3

_SURE = 3.0
"""Number of standard errors, from the scatter of single seconds."""


def course_lines(records: Iterable[Record]) -> Iterator[str]:
    """Yield a line for each straggler, and for each operation whose rate was not constant."""
    for record in records:
        details = record.details or {}
        if "stragglers" not in details:
            continue
        operation, stragglers = record.operation.value, details["stragglers"]
        for straggler in stragglers[:_SHOWN]:
            yield f"{operation}: {straggler['sentence']}"
        if len(stragglers) > _SHOWN:
            yield f"{operation}: {len(stragglers) - _SHOWN} more were late; --json has all of them"
        shape = details.get("shape")
        words = list(_words(shape, len(record.profile))) if shape is not None else []
        if words:
            yield f"{operation} of {record.component}: {', '.join(words)}"


def _words(shape: Mapping[str, Any], seconds: int) -> Iterator[str]:
    body = seconds - shape["tail_s"]
    # standard error of a line's rise over n points with the scatter s: s sqrt(12 / n)
    least_decline = max(_TILTED, _SURE * shape["spread"] * sqrt(12 / body))
    if abs(shape["decline"]) > least_decline:
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


def table(result: Result, whole: str) -> list[str]:
    """Return a table of rates and their ratio to the other targets, with verdicts below.

    If there is a verdict on the whole, it is the only one shown.
    """
    states = {verdict.component: verdict.state.name for verdict in result.verdicts}
    names = dict.fromkeys(record.component for record in result.records)
    rows = [
        (name, *_rates(result, name, _OPERATIONS, whole), states.get(name, "")) for name in names
    ]
    judged = [verdict for verdict in result.verdicts if verdict.group] or result.verdicts
    return [render(_HEADERS, rows), *_sentences(judged), *course_lines(result.records)]


_DIRECTORY_HEADERS = ("directory", "write", "of peers", "read", "of peers", "state")


def comparison(result: Result) -> list[str]:
    """Return a table of rates of directories and their ratio to the others, with verdicts below."""
    rows = [
        (verdict.component, *_rates(result, verdict.component, _OPERATIONS[:2]), verdict.state.name)
        for verdict in result.verdicts
    ]
    return [render(_DIRECTORY_HEADERS, rows), *_sentences(result.verdicts)]


def _sentences(verdicts: Iterable[Verdict]) -> Iterator[str]:
    return (f"{verdict.state.name} {verdict.sentence}" for verdict in verdicts)


def _rates(
    result: Result, component: str, operations: Sequence[Operation], whole: str = ""
) -> Iterator[str]:
    """Yield the rate of each operation, and its ratio to the median of the other targets."""
    for operation in operations:
        rates = {
            record.component: record.rate
            for record in result.records
            if record.operation is operation and record.rate is not None
        }
        rate = rates.pop(component, None)
        peers = [] if component == whole else [r for name, r in rates.items() if name != whole]
        yield "none" if rate is None else format_rate(rate)
        yield "" if rate is None or not peers else f"{rate / median(peers):.0%}"
