"""Tables of baselines: changes to review, and baselines to renew."""

from __future__ import annotations

from collections import Counter
from typing import Iterable, Iterator, Sequence

from plumbline.doors.table import render
from plumbline.model.limits import Baseline
from plumbline.plan.baseline import Baselines, Change, OperationSummary, Review, review
from plumbline.plan.capture import Aged, Ages

_SENTENCES = 10
"""Number of outliers shown in full; the table marks all of them."""

_REASONS = 2
"""Number of reasons per baseline that fit into a line; JSON has all of them."""

_CHANGES = (
    *("layer", "component", "operation", "old", "new", "change", "spread", "runs"),
    *("conditions", "note"),
)
_AGES = ("layer", "component", "operation", "median", "until", "age", "why")


def change_lines(changes: Sequence[Change]) -> Iterator[str]:
    """Yield a summary, the conditions that changed, and a table with a row for each change."""
    if not changes:
        yield "no candidates; capture some first"
        return
    reviewed = review(changes)
    old = [change.old for change in changes if change.old]
    older = f", beside {len(old)} baselines of {_dates(old)}" if old else ""
    yield f"{len(changes)} candidates of {_dates([change.new for change in changes])}{older}"
    if len(old) < len(changes):
        yield f"without a baseline so far: {len(changes) - len(old)}"
    yield from map(_moved, reviewed.moved)
    for condition in reviewed.conditions:
        yield f"condition {condition.mark}: {condition.text} ({condition.number})"
    yield from _outliers([change for change in changes if change.outlier])
    yield from floor_lines({change.key: change.new for change in changes})
    yield from weak_lines(change.weak for change in changes)
    yield ""
    yield render(_CHANGES, [_row(change, reviewed) for change in changes])


def weak_lines(weaknesses: Iterable[str]) -> Iterator[str]:
    """Yield the number of baselines too weak to alarm, by reason; ignore empty reasons."""
    for weakness, number in sorted(Counter(filter(None, weaknesses)).items()):
        yield f"{number} too weak to alarm: {weakness}"


def floor_lines(baselines: Baselines) -> Iterator[str]:
    """Yield the first baselines below their floor, and the number of the rest."""
    low = [
        f"{key}: {baseline.below_floor}"
        for key, baseline in sorted(baselines.items())
        if baseline.below_floor
    ]
    yield from (f"below its floor: {line}" for line in low[:_SENTENCES])
    if len(low) > _SENTENCES:
        yield f"below their floor: {len(low) - _SENTENCES} more"


def _dates(baselines: Sequence[Baseline]) -> str:
    first = min(baseline.first for baseline in baselines)
    return f"{first} to {max(baseline.last for baseline in baselines)}"


def _moved(moved: OperationSummary) -> str:
    change = f"{moved.layer} {moved.operation}: {moved.number} changed by {_percent(moved.ratio)}"
    if moved.number == 1:
        return change
    least, most = moved.least, moved.most
    return (
        f"{change} (median), from {_percent(least.ratio or 1)} ({least.key.component}) "
        f"to {_percent(most.ratio or 1)} ({most.key.component})"
    )


def _outliers(outliers: Sequence[Change]) -> Iterator[str]:
    for change in outliers[:_SENTENCES]:
        yield f"to be accepted by name: {change.key}: {change.outlier}"
    if len(outliers) > _SENTENCES:
        yield f"to be accepted by name: {len(outliers) - _SENTENCES} more, see the notes"


def _row(change: Change, reviewed: Review) -> tuple[str, ...]:
    key, old, new = change.key, change.old, change.new
    notes = (
        "outlier" if change.outlier else "",
        "below floor" if new.below_floor else "",
        "weak" if change.weak else "",
    )
    return (
        key.layer,
        key.component,
        key.step,
        key.quantity.format(old.median) if old else "none",
        key.quantity.format(new.median),
        _percent(change.ratio) if change.ratio else "new",
        f"{_spread(old)} -> {_spread(new)} %" if old else f"{_spread(new)} %",
        f"{old.runs} -> {new.runs}" if old else str(new.runs),
        reviewed.marks.get(key, ""),
        ", ".join(note for note in notes if note),
    )


def _spread(baseline: Baseline) -> str:
    return f"{100 * baseline.spread:.1f}"


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def age_lines(ages: Ages, compared: bool) -> Iterator[str]:
    """Yield the baselines to renew; the first line has the form of a check.

    ``compared`` is False without records, which have the current conditions.
    """
    yield _first_line(ages)
    if ages.aged:
        yield render(_AGES, [_aged(aged) for aged in ages.aged])
    for remedy, number in Counter(aged.remedy for aged in ages.aged).items():
        yield f"remedy for {number}: {remedy}"
    for low in ages.below_floor[:_SENTENCES]:
        yield f"accepted below its floor: {low.key}: {low.text}"
    if len(ages.below_floor) > _SENTENCES:
        yield f"accepted below their floor: {len(ages.below_floor) - _SENTENCES} more"
    if ages.total and ages.missing:
        yield f"{len(ages.missing)} measurements have no baseline, such as {ages.missing[0]}"
    if ages.total and not compared:
        yield "versions and settings were not compared: give --records"


def _first_line(ages: Ages) -> str:
    if not ages.total:
        return "BASELINES OK - there are none yet; verdicts rest on ceilings and peers"
    if not ages.aged:
        return f"BASELINES OK - {ages.total} hold"
    reasons = Counter(reason for aged in ages.aged for reason in aged.reasons)
    ((reason, number),) = reasons.most_common(1)
    return (
        f"BASELINES WARNING - {len(ages.aged)} of {ages.total} are to be renewed, "
        f"most often: {reason} ({number})"
    )


def _aged(aged: Aged) -> tuple[str, ...]:
    key = aged.key
    rate, age = key.quantity.format(aged.baseline.median), f"{aged.age_days} d"
    hidden = len(aged.reasons) - _REASONS
    reasons = "; ".join([*aged.reasons[:_REASONS], *([f"{hidden} more"] if hidden > 0 else [])])
    return (key.layer, key.component, key.step, rate, aged.baseline.last, age, reasons)
