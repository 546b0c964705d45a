"""Rates that are low while others used the component too: excused, but not for ever."""

from __future__ import annotations

from plumbline.judge.finding import Finding, Rule
from plumbline.judge.measured import contended as is_contended
from plumbline.judge.phrases import against_levels, figures
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.reason import Reason
from plumbline.model.state import State

if TYPE_CHECKING:
    from typing import Optional

    from plumbline.judge.measured import Measured
    from plumbline.model.series import Sample

_DAY_S = 86400.0


def contended_for_days(of: Measured) -> Optional[Finding]:
    """Low and contended, and so on each of the last days; no excuse lasts for ever."""
    if not (of.low(of.percent) and of.contended and _contended_each_day(of)):
        return None
    text = (
        f"{figures(of)}: cannot be judged, contended on each of the last "
        f"{of.limits.confirm_days} days; choose a quieter hour for the probe"
    )
    return Finding(State.UNKNOWN, Reason.CONTENDED_FOR_DAYS, text, counts=False)


def contended(of: Measured) -> Optional[Finding]:
    """Low while others used the component too; says nothing about it."""
    if not (of.low(of.percent) and of.contended):
        return None
    text = (
        f"{figures(of)}: contended (coverage {of.record.coverage:.2f}, "
        f"{of.limits.min_coverage:g} needed), does not count"
    )
    return Finding(State.OK, Reason.CONTENDED, text, counts=False)


def _contended_each_day(of: Measured) -> bool:
    days: dict[int, bool] = {}
    for sample in of.samples:
        if sample.rate_Bps is not None:
            day = int(sample.started_at // _DAY_S)
            days[day] = days.get(day, True) and _low_and_contended(of, sample)
    latest = sorted(days, reverse=True)[: of.limits.confirm_days]
    return len(latest) == of.limits.confirm_days and all(days[day] for day in latest)


def _low_and_contended(of: Measured, sample: Sample) -> bool:
    reference_Bps = of.baseline.median_Bps if of.baseline else sample.peers_Bps
    if not reference_Bps or sample.rate_Bps is None:
        return False
    low = of.low(100 * sample.rate_Bps / reference_Bps)
    return low and is_contended(sample.coverage, of.limits)


def _explain(of: Measured) -> str:
    coverage = of.record.coverage
    known = "coverage not known" if coverage is None else f"coverage {coverage:.2f}"
    return f"{known}, contended below {of.limits.min_coverage:g}; {against_levels(of)}"


def _explain_days(of: Measured) -> str:
    return f"{_explain(of)}; on each of {of.limits.confirm_days} days"


CONTENDED_FOR_DAYS = Rule(Reason.CONTENDED_FOR_DAYS, contended_for_days, _explain_days)
CONTENDED = Rule(Reason.CONTENDED, contended, _explain)
