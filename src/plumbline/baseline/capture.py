"""Records become candidates: only sound measurements under the newest conditions count."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone
from statistics import median
from typing import Iterable, Mapping, NamedTuple, Sequence

from plumbline.baseline.document import Candidate, Key, rate_text
from plumbline.baseline.statistics import summarize
from plumbline.model.expectation import Expectation
from plumbline.model.record import Flag, Operation, Outcome, Record, Scenario
from plumbline.model.reference import Baseline
from plumbline.units import format_rate

LAST_RUNS = 12
"""How many of the newest runs make a baseline, unless told."""

_SIBLING_SHARE = 0.90
"""A median below this share of its siblings' median is an outlier: a slow disk, not a reference."""

_UNSOUND = (Flag.DEGRADED, Flag.FAILED_OVER, Flag.SHORT)

Expected = Mapping[tuple[str, str], Expectation]
"""What is expected of each layer and component."""


class Captured(NamedTuple):
    """The candidates, and how many records were left out for each reason."""

    candidates: Mapping[Key, Candidate]
    left_out: Mapping[str, int]


def capture(records: Iterable[Record], expected: Expected, last: int = LAST_RUNS) -> Captured:
    """Return a candidate for each operation that has sound records, from its ``last`` runs."""
    left_out: Counter[str] = Counter()
    sound: dict[Key, list[Record]] = {}
    for record in {record.id: record for record in records}.values():
        reason = unsound(record, expected)
        if reason:
            left_out[reason] += 1
        else:
            sound.setdefault(_key(record), []).append(record)
    baselines = {}
    for key, found in sorted(sound.items()):
        newest = _newest_conditions(found)
        left_out["taken under earlier conditions"] += len(found) - len(newest)
        left_out["older than the last runs"] += max(0, len(newest) - last)
        baselines[key] = _baseline(newest[-last:])
    groups = _groups(baselines, expected)
    candidates = {
        key: Candidate(baseline, _outlier(baseline.median_Bps, groups[_siblings(key, expected)]))
        for key, baseline in baselines.items()
    }
    return Captured(candidates, {reason: count for reason, count in left_out.items() if count})


def unsound(record: Record, expected: Expected) -> str:
    """Return why a record says nothing of what its component can give; empty when it does."""
    expectation = expected.get((record.layer, record.component))
    if expectation is None:
        return "of a component that the topology does not have"
    if record.outcome is not Outcome.OK or record.rate_Bps is None:
        return "without a rate"
    if record.spec_hash != expectation.spec.hash():
        return "taken on other terms than the policy's"
    flags = [flag.value for flag in record.flags if flag in _UNSOUND]
    if flags:
        return f"flagged {flags[0]}"
    if record.coverage is not None and record.coverage < expectation.limits.min_coverage:
        return "contended"
    if _above_ceiling(record.rate_Bps, record, expectation):
        return "above the ceiling"
    return ""


def _above_ceiling(rate_Bps: float, record: Record, expectation: Expectation) -> bool:
    ceiling = expectation.reference(record.operation, record.scenario).ceiling
    return ceiling is not None and rate_Bps > expectation.limits.invalid_above * ceiling.rate_Bps


def _key(record: Record) -> Key:
    return Key(record.layer, record.component, record.operation.value, record.scenario.value)


def _newest_conditions(records: Sequence[Record]) -> list[Record]:
    """Return the records, oldest first, whose specification and versions are the newest one's."""
    ordered = sorted(records, key=lambda record: record.started_at)
    newest = ordered[-1]
    return [
        record
        for record in ordered
        if (record.spec_hash, record.versions) == (newest.spec_hash, newest.versions)
    ]


def _baseline(records: Sequence[Record]) -> Baseline:
    """Return the statistics of records of equal conditions, oldest first."""
    summary = summarize([record.rate_Bps for record in records if record.rate_Bps is not None])
    newest = records[-1]
    return Baseline(
        summary.median_Bps,
        summary.spread,
        summary.runs,
        _date(records[0].started_at),
        _date(newest.started_at),
        newest.spec_hash,
        dict(newest.versions or {}),
        accepted_by="",
        reason="",
    )


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).date().isoformat()


Siblings = tuple[str, str, str, str, str]
"""Layer, group, operation, scenario and ceiling, which siblings have in common."""


def _siblings(key: Key, expected: Expected) -> Siblings:
    """Return who is compared: a slower kind of hardware in a group is no slow sibling."""
    expectation = expected[key.layer, key.component]
    ceiling = expectation.reference(Operation(key.operation), Scenario(key.scenario)).ceiling
    rate = rate_text(ceiling.rate_Bps) if ceiling else "unknown"
    return (key.layer, expectation.group, key.operation, key.scenario, rate)


def _groups(baselines: Mapping[Key, Baseline], expected: Expected) -> dict[Siblings, list[float]]:
    """Return the medians of all siblings, sorted."""
    groups: dict[Siblings, list[float]] = {}
    for key, baseline in baselines.items():
        groups.setdefault(_siblings(key, expected), []).append(baseline.median_Bps)
    return {siblings: sorted(medians) for siblings, medians in groups.items()}


def _outlier(own_Bps: float, medians_Bps: Sequence[float]) -> str:
    """Return what sets one of ``medians_Bps`` apart from the others; empty where nothing does."""
    others = list(medians_Bps)
    others.remove(own_Bps)
    if not others or own_Bps >= _SIBLING_SHARE * median(others):
        return ""
    middle = median(others)
    share = f"{100 * own_Bps / middle:.0f} %"
    return f"{format_rate(own_Bps)} is {share} of its siblings' {format_rate(middle)}"
