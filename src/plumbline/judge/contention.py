"""Rates that are low while others used the component too: excused, but not for ever."""

from __future__ import annotations

from typing import Optional

from plumbline.judge.finding import Finding, Rule
from plumbline.judge.measured import Measured
from plumbline.judge.measured import contended as is_contended
from plumbline.judge.phrases import against_levels, figures
from plumbline.model.others import Others, others_of
from plumbline.model.reason import Reason
from plumbline.model.record import Record
from plumbline.model.series import Sample
from plumbline.model.state import State
from plumbline.units import DAY_S

_DAYS = 3
"""In a row: an excuse that comes back each night is a wrong hour for the probe."""
_SERVER = "server"


def contended_for_days(measured: Measured) -> Optional[Finding]:
    """Low and contended, and so on each of the last days; no excuse lasts for ever."""
    if not (
        measured.low(measured.percent) and measured.contended and _contended_each_day(measured)
    ):
        return None
    text = (
        f"{figures(measured)}: cannot be judged, contended on each of the last "
        f"{_DAYS} days{job_words(measured.record)}; choose a quieter hour for the probe"
    )
    return Finding(State.UNKNOWN, Reason.CONTENDED_FOR_DAYS, text, counts=False)


def contended(measured: Measured) -> Optional[Finding]:
    """Low while others used the component too; says nothing about it."""
    if not (measured.low(measured.percent) and measured.contended):
        return None
    text = (
        f"{figures(measured)}: contended: coverage {measured.record.coverage:.2f} "
        f"({measured.limits.min_coverage:g} needed){job_words(measured.record)}; excluded"
    )
    return Finding(State.OK, Reason.CONTENDED, text, counts=False)


def job_words(record: Record) -> str:
    """Return the job that moved most meanwhile, with a comma before it; empty where none is known.

    Raises:
        DocumentError: what the record says of it is damaged.
    """
    others = others_of(record)
    return f", {others.job}" if others and others.job else ""


def coverage_words(record: Record) -> str:
    """Return what is known of others during a run, and by whom it was counted; why nothing is.

    Raises:
        DocumentError: what the record says of it is damaged.
    """
    others = others_of(record)
    if record.coverage is None:
        return _unknown(record, others)
    words = f"coverage {record.coverage:.2f}"
    if others is None:
        return words
    bounds = (bound for bound in (others.least, others.most) if bound is not None)
    known = " to ".join(f"{bound:.2f}" for bound in bounds)
    return f"{words} ({known}) by the counters of {others.server}{job_words(record)}"


def _unknown(record: Record, others: Optional[Others]) -> str:
    if others is not None:
        return f"contention unknown: {others.in_doubt()}{job_words(record)}"
    # a client of Lustre says of which version the server is, and cannot see what it moves
    if _SERVER in (record.versions or {}):
        return "contention unknown: no counters of its server"
    return "coverage unknown"


def _contended_each_day(measured: Measured) -> bool:
    days: dict[int, bool] = {}
    for sample in measured.samples:
        if sample.rate_Bps is not None:
            day = int(sample.started_at // DAY_S)
            days[day] = days.get(day, True) and _low_and_contended(measured, sample)
    latest = sorted(days, reverse=True)[:_DAYS]
    return len(latest) == _DAYS and all(days[day] for day in latest)


def _low_and_contended(measured: Measured, sample: Sample) -> bool:
    reference_Bps = measured.baseline.median_Bps if measured.baseline else sample.peers_Bps
    if not reference_Bps or sample.rate_Bps is None:
        return False
    low = measured.low(100 * sample.rate_Bps / reference_Bps)
    return low and is_contended(sample.coverage, measured.limits)


def _explain(measured: Measured) -> str:
    least = f"contended below {measured.limits.min_coverage:g}"
    return f"{coverage_words(measured.record)}, {least}; {against_levels(measured)}"


def _explain_days(measured: Measured) -> str:
    return f"{_explain(measured)}; on each of {_DAYS} days"


CONTENDED_FOR_DAYS = Rule(Reason.CONTENDED_FOR_DAYS, contended_for_days, _explain_days)
CONTENDED = Rule(Reason.CONTENDED, contended, _explain)
