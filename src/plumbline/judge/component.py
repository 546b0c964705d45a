"""Verdict on one target or disk, and its explanation rule by rule.

A run by hand is judged alone; what a service says follows the evidence of several runs.
"""

from __future__ import annotations

from typing import Optional, Sequence

from plumbline.judge.absence import Last, absence, hung_run, interruption, never
from plumbline.judge.measured import measured
from plumbline.judge.operations import label, operations
from plumbline.judge.phrases import Finding, Ruling, deciding, measured_ago, summary
from plumbline.judge.rules import apply
from plumbline.judge.service import figure
from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation, Scenario
from plumbline.model.series import Running, Series
from plumbline.model.verdict import Verdict


def rulings_on(
    expectation: Expectation, series: Sequence[Series], now: float
) -> tuple[Ruling, ...]:
    """Return the ruling on each operation of a component.

    Raises:
        DocumentError: a reference is no rate, or an operation is unknown.
    """
    return tuple(
        rule(expectation, place, _of(series, place), now)
        for place in operations(expectation, series)
    )


def decide(
    expectation: Expectation, rulings: Sequence[Ruling], running: Sequence[Running], now: float
) -> Verdict:
    """Return the verdict that follows from the rulings on a component, without the evidence."""
    data = tuple(figure(ruling) for ruling in rulings)
    hang = hung_run(expectation, running, now)
    remark = interruption(expectation, running)
    if hang or not rulings:
        finding = hang or never("it", expectation.layer)
        return alone(expectation, finding, remark)._replace(figures=data)
    decided = deciding(rulings)
    fine = decided.finding.reason.fine
    text = _all_fine(rulings) if fine else decided.finding.text
    text += measured_ago(rulings if fine else (decided,), now)
    return verdict(expectation, decided, text + remark)._replace(figures=data)


def rule(
    expectation: Expectation,
    step: tuple[Operation, Scenario],
    series: Optional[Series],
    now: float,
) -> Ruling:
    """Return the ruling on one operation; ``series`` is None when it was never measured."""
    operation, scenario = step
    what = label(operation, scenario)
    if series is None:
        return Ruling(operation, scenario, None, None, never(what, expectation.layer))
    record, limits = series.latest, expectation.limits
    absent = absence(Last(record, what, limits, now))
    if absent:
        return Ruling(operation, scenario, record, None, absent)
    of = measured(series, expectation.reference(operation, scenario), limits)
    return Ruling(operation, scenario, record, of, apply(of))


def firmly(ruling: Ruling) -> Ruling:
    """Return the ruling without a provisional reference."""
    of = ruling.measured
    if of is None or of.provisional is None:
        return ruling
    firm = of._replace(provisional=None)
    return ruling._replace(measured=firm, finding=apply(firm))


def _of(series: Sequence[Series], step: tuple[Operation, Scenario]) -> Optional[Series]:
    for measured_series in series:
        if (measured_series.latest.operation, measured_series.latest.scenario) == step:
            return measured_series
    return None


def alone(expectation: Expectation, finding: Finding, remark: str = "") -> Verdict:
    """Return the verdict of a finding that rests on no measurement, with a remark behind it."""
    return Verdict(
        layer=expectation.layer,
        component=expectation.component,
        state=finding.state,
        reason=finding.reason,
        sentence=f"{expectation.component} {finding.text}{remark}",
    )


def verdict(expectation: Expectation, decided: Ruling, text: str) -> Verdict:
    """Return the verdict of the ruling that decides, still without evidence and figures."""
    of = decided.measured
    return alone(expectation, decided.finding)._replace(
        sentence=f"{expectation.component} {text}",
        ratio_ceiling=of and of.ratio_ceiling,
        ratio_baseline=of and of.ratio_baseline,
        ratio_peers=of and of.ratio_peers,
        counts=decided.finding.counts,
    )


def _all_fine(rulings: Sequence[Ruling]) -> str:
    return summary([ruling.measured for ruling in rulings if ruling.measured])
