"""What a parallel run gave, as a table: each target, and all of them together."""

from __future__ import annotations

from statistics import median
from typing import Iterator

from plumbline.model.record import Operation
from plumbline.output.ranks_course import course_lines
from plumbline.output.table import render
from plumbline.site.measure import Result
from plumbline.units import format_rate

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
