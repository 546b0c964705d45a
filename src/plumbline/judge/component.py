"""Judge one target or disk: its rulings, and the verdict that follows.

A run by hand is judged alone; a service goes by the evidence of several runs.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Optional, Sequence

from plumbline.judge.absence import absence, never, unfinished
from plumbline.judge.measured import measured
from plumbline.judge.operations import label, operations, series_of
from plumbline.judge.phrases import Finding, Ruling, deciding, measured_ago, summary
from plumbline.judge.rules import apply
from plumbline.judge.service import figure
from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation, Scenario
from plumbline.model.series import Running, Series
from plumbline.model.verdict import Figure, Verdict


class Detail(Enum):
    """Parts of a verdict that are put into words; each level has those of the one before."""

    STATE = auto()
    """State and reason, and the sentence of what is not fine."""
    SENTENCE = auto()
    EVIDENCE = auto()

    @property
    def in_words(self) -> bool:
        """Return whether fine results have words."""
        return self is not Detail.STATE

    @property
    def with_evidence(self) -> bool:
        """Return whether each operation has lines that show how it was judged."""
        return self is Detail.EVIDENCE


Step = tuple[Operation, Scenario]
"""One operation of a component."""


def rulings_on(
    expectation: Expectation, series: Sequence[Series], now: float
) -> tuple[Ruling, ...]:
    """Return the ruling on each operation of a component.

    Raises:
        DocumentError: a reference is no rate, or an operation is unknown.
    """
    return tuple(
        rule(expectation, place, series_of(series, *place), now)
        for place in operations(expectation, series)
    )


def decide(
    expectation: Expectation,
    rulings: Sequence[Ruling],
    running: Sequence[Running],
    now: float,
    *,
    in_words: bool = True,
) -> Verdict:
    """Return the verdict from the rulings on a component, without the evidence.

    If not ``in_words`` it has no figures either, and a fine one no sentence.
    """
    figures = tuple(figure(ruling) for ruling in rulings if in_words)
    hang, remark = unfinished([expectation], running, now)
    if hang or not rulings:
        finding = hang or never("it", expectation)
        return unmeasured(expectation, finding, remark, figures)
    decided = deciding(rulings)
    fine = decided.finding.reason.fine
    if fine and not in_words:
        return verdict(expectation, decided, remark)
    text = _all_fine(rulings) if fine else decided.finding.text
    text += measured_ago(rulings if fine else (decided,), now)
    return verdict(expectation, decided, text + remark, figures)


def rule(
    expectation: Expectation,
    step: Step,
    series: Optional[Series],
    now: float,
    *,
    in_words: bool = True,
) -> Ruling:
    """Return the ruling on one operation; ``series`` is None if it was never measured.

    If not ``in_words`` a fine one has no text.
    """
    operation, scenario = step
    if series is None:
        finding = never(label(operation, scenario), expectation)
        return Ruling(operation, scenario, None, None, finding)
    record, limits = series.latest, expectation.limits
    absent = absence(record, limits, now)
    if absent:
        return Ruling(operation, scenario, record, None, absent)
    current = measured(series, expectation.reference(operation, scenario), limits)
    return Ruling(operation, scenario, record, current, apply(current, in_words=in_words))


def without_provisional(ruling: Ruling) -> Ruling:
    """Return the ruling without a provisional reference."""
    current = ruling.measured
    if current is None or current.provisional is None:
        return ruling
    firm = current._replace(provisional=None)
    return ruling._replace(measured=firm, finding=apply(firm))


def with_requests(ruling: Ruling, words: str) -> Ruling:
    """Return the ruling with words on the time of its requests; it must have a rate."""
    assert ruling.measured is not None
    current = ruling.measured._replace(requests=words)
    return ruling._replace(measured=current, finding=apply(current))


def unmeasured(
    expectation: Expectation, finding: Finding, remark: str = "", figures: tuple[Figure, ...] = ()
) -> Verdict:
    """Return the verdict for a finding without a measurement, followed by a remark."""
    return Verdict(
        layer=expectation.layer,
        component=expectation.component,
        state=finding.state,
        reason=finding.reason,
        sentence=f"{expectation.component} {finding.text}{remark}",
        figures=figures,
    )


def verdict(
    expectation: Expectation, decided: Ruling, text: str, figures: tuple[Figure, ...] = ()
) -> Verdict:
    """Return the verdict for the deciding ruling, without evidence."""
    measured, finding = decided.measured, decided.finding
    return Verdict(
        layer=expectation.layer,
        component=expectation.component,
        state=finding.state,
        reason=finding.reason,
        sentence=f"{expectation.component} {text}",
        ratio_ceiling=measured and measured.ratio_ceiling,
        ratio_baseline=measured and measured.ratio_baseline,
        ratio_peers=measured and measured.ratio_peers,
        counts=finding.counts,
        figures=figures,
    )


def _all_fine(rulings: Sequence[Ruling]) -> str:
    return summary([ruling.measured for ruling in rulings if ruling.measured])
