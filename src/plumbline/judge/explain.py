"""Explanation of a verdict: every rule with its figures, and the changes that would alter it.

The figures are those of the rules, and the changes are found by applying the same rules to a
measurement that differs in one thing.
"""

from __future__ import annotations

from typing import Iterator, Optional, Sequence

from plumbline.judge.component import rule
from plumbline.judge.measured import Measured, measured
from plumbline.judge.operations import operations, series_of
from plumbline.judge.pair import with_partner
from plumbline.judge.phrases import Ruling, flags
from plumbline.judge.rules import RULES, apply
from plumbline.model.expectation import Expectation
from plumbline.model.series import Series
from plumbline.model.verdict import Reason, State

_FACTORS = tuple(1.02**exponent for exponent in range(1, 150))
"""Factors at which a change of the outcome is looked for: up to 20 times, down to a 20th."""

_HALVINGS = 12


def explain(expectation: Expectation, series: Sequence[Series], now: float) -> Iterator[str]:
    """Yield lines on each operation of a component; for a host with each of its partners.

    Raises:
        DocumentError: a reference is no rate, or an operation is unknown.
    """
    for place in operations(expectation, series):
        for partner in expectation.partners or (None,):
            own = with_partner(expectation, partner, place) if partner else expectation
            name = partner.name if partner else None
            latest = series_of(series, *place, name)
            yield from _operation(rule(own, place, latest, now), latest, name)


def _operation(ruling: Ruling, series: Optional[Series], partner: Optional[str]) -> Iterator[str]:
    finding, measured = ruling.finding, ruling.measured
    prefix = f"with {partner}: " if partner else ""
    yield f"{prefix}{finding.text} [{finding.state.name}, {finding.reason.words}]"
    if measured is None or series is None:
        yield "  no rate: the rules on speed were not asked"
        return
    yield from (f"  {line}" for line in _rules(measured))
    changes = [*_rates(measured), *_conditions(measured, series)]
    yield "  what would have changed it:" if changes else "  nothing near would have changed it"
    yield from (f"    {line}" for line in changes)


def _rules(latest: Measured) -> Iterator[str]:
    decided = False
    for rule_of_speed in RULES:
        finding = rule_of_speed.applies(latest)
        mark = "not asked" if decided else "applies" if finding else "no"
        yield f"rule {rule_of_speed.reason.words}: {mark} ({rule_of_speed.explain(latest)})"
        decided = decided or finding is not None


def _rates(latest: Measured) -> Iterator[str]:
    """Yield the nearest rate below and above that changes the outcome."""
    present = _outcome(latest)
    for word, factors in (
        ("below", tuple(1 / factor for factor in _FACTORS)),
        ("above", _FACTORS),
    ):
        same = 1.0
        for factor in factors:
            if _outcome(_at(latest, factor)) != present:
                edge = _edge(latest, same, factor)
                yield f"{word} {latest.shown(latest.rate * edge)}: {_words(_at(latest, factor))}"
                break
            same = factor


def _edge(latest: Measured, same: float, other: float) -> float:
    """Return the factor between ``same`` and ``other`` at which the outcome changes."""
    present = _outcome(latest)
    for _ in range(_HALVINGS):
        middle = (same * other) ** 0.5
        if _outcome(_at(latest, middle)) == present:
            same = middle
        else:
            other = middle
    return other


def _at(latest: Measured, factor: float) -> Measured:
    """Return the same measurement at ``factor`` times its speed."""
    rate = latest.rate * factor
    record = latest.record._replace(
        rate=rate, repeats=tuple(repeat * factor for repeat in latest.record.repeats)
    )
    samples = list(latest.samples)
    samples[:1] = [sample._replace(rate=rate) for sample in samples[:1]]
    return latest._replace(record=record, rate=rate, samples=samples)


def _conditions(latest: Measured, series: Series) -> Iterator[str]:
    """Yield the conditions whose absence would change the outcome."""
    present = _outcome(latest)
    for words, changed in _variations(latest, series):
        if _outcome(changed) != present:
            yield f"{words}: {_words(changed)}"


def _variations(latest: Measured, series: Series) -> Iterator[tuple[str, Measured]]:
    record, given = latest.record, latest.given
    if latest.contended:
        quiet = record._replace(coverage=1.0)
        yield "had nobody else used it", latest._replace(record=quiet)
    if record.flags:
        yield f"without {flags(latest)}", latest._replace(record=record._replace(flags=()))
    agreed = record._replace(repeats=(latest.rate,))
    yield "had the repeats agreed", latest._replace(record=agreed)
    if latest.doubt and given.baseline:
        trusted = latest._replace(baseline=given.baseline, doubt="")
        yield f"but for the doubt ({latest.doubt})", trusted
    if latest.baseline:
        without = measured(series, given._replace(baseline=None), latest.limits)
        yield "without its baseline", without


def _outcome(latest: Measured) -> tuple[State, Optional[Reason]]:
    finding = apply(latest)
    return finding.state, None if finding.reason.fine else finding.reason


def _words(latest: Measured) -> str:
    state, reason = _outcome(latest)
    return f"{state.name}, {reason.words}" if reason else state.name
