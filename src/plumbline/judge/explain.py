"""Why a verdict is what it is: every rule with its numbers, and what would have changed it.

The numbers are those the rules use, and what would have changed is found by asking the same rules
about a measurement that differs in one thing.
"""

from __future__ import annotations

from math import log

from plumbline.judge.component import operations, rule
from plumbline.judge.course import course_words
from plumbline.judge.finding import RULE_FINE
from plumbline.judge.measured import measured
from plumbline.judge.pair import with_partner
from plumbline.judge.phrases import limited, moment, peers, provisionally, repeats
from plumbline.judge.rules import RULES, apply, fine
from plumbline.judge.siblings import chance_loss, limit_of, loss_over
from plumbline.judge.step import step_of
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.units import format_rate

if TYPE_CHECKING:
    from typing import Callable, Iterator, Optional, Sequence

    from plumbline.judge.finding import Finding, Ruling
    from plumbline.judge.measured import Measured
    from plumbline.model.expectation import Expectation
    from plumbline.model.record import Operation, Scenario
    from plumbline.model.reference import Reference
    from plumbline.model.series import Series

_FACTORS = tuple(1.02**exponent for exponent in range(1, 150))
"""How far up and down a change of the outcome is looked for: to 20 times and a 20th."""

_HALVINGS = 12


def explain(expectation: Expectation, series: Sequence[Series], now: float) -> Iterator[str]:
    """Yield lines on each operation of a component, of a host on each of its partners.

    Raises:
        DocumentError: a reference is no rate, or an operation is unknown.
    """
    for place in operations(expectation, series):
        for partner in expectation.partners or (None,):
            own = with_partner(expectation, partner, place) if partner else expectation
            name = partner.name if partner else None
            one = next((each for each in series if _is(each, place, name)), None)
            yield from _operation(rule(own, place, one, now), one, own.reference(*place), name)


def _is(series: Series, place: tuple[Operation, Scenario], partner: Optional[str]) -> bool:
    latest = series.latest
    return (latest.operation, latest.scenario, latest.partner) == (*place, partner)


def _operation(
    ruling: Ruling, series: Optional[Series], reference: Reference, partner: Optional[str]
) -> Iterator[str]:
    finding, of = ruling.finding, ruling.measured
    beside = f"with {partner}: " if partner else ""
    yield f"{beside}{finding.text} [{finding.state.name}, rule {finding.rule}]"
    if of is None or series is None:
        yield "  no rate: the rules on speed were not asked"
        return
    yield from (f"  {line}" for line in _rules(of))
    changes = [*_rates(of), *_conditions(of, series, reference)]
    yield "  what would have changed it:" if changes else "  nothing near would have changed it"
    yield from (f"    {line}" for line in changes)


def _rules(of: Measured) -> Iterator[str]:
    decided = False
    for asked in (*RULES, fine):
        found = asked(of)
        mark = "not asked" if decided else "applies" if found else "no"
        number, name = _place(asked)
        yield f"rule {number} {name}: {mark} ({NUMBERS[asked](of)})"
        decided = decided or found is not None


def _place(asked: Callable[[Measured], Optional[Finding]]) -> tuple[int, str]:
    """Return the number of a rule, which stands at the head of its description, and its name."""
    word = (asked.__doc__ or "").split()[1]
    return int(word.strip(":,.")), asked.__name__.replace("_", " ")


def _invalid(of: Measured) -> str:
    if of.ceiling is None:
        return "no ceiling is known"
    return f"{of.ratio_ceiling:.2f} of {limited(of.ceiling)}, limit {of.limits.invalid_above:g}"


def _state(of: Measured) -> str:
    return ", ".join(flag.value for flag in of.record.flags) or "no flag"


def _even(of: Measured) -> str:
    if of.ceiling is None or of.ceiling.even_Bps is None:
        return "is not one of several that share what is there"
    even_Bps = of.ceiling.even_Bps
    return f"{100 * of.rate_Bps / even_Bps:.0f} % of the even share {format_rate(even_Bps)}"


def _contention(of: Measured) -> str:
    coverage = of.record.coverage
    known = "coverage not known" if coverage is None else f"coverage {coverage:.2f}"
    return f"{known}, contended below {of.limits.min_coverage:g}; {_low(of)}"


def _contention_for_days(of: Measured) -> str:
    return f"{_contention(of)}; on each of {of.limits.confirm_days} days"


def _shared(of: Measured) -> str:
    if of.baseline is None or of.peers_Bps is None:
        return "needs a baseline and peers"
    share = 100 * of.peers_Bps / of.baseline.median_Bps
    own = 100 * (of.ratio_peers or 0)
    return f"{peers(of)} is {share:.0f} % of this baseline; this {own:.0f} % of it"


def _reference(of: Measured) -> str:
    if of.baseline:
        return f"baseline {format_rate(of.baseline.median_Bps)}"
    if of.peers_Bps:
        return f"{of.doubt}; {peers(of)}"
    if of.provisional:
        return f"{of.doubt}; no peers; {provisionally(of)}"
    return f"{of.doubt}; no peers; {'own earlier runs' if of.step else 'too few runs of its own'}"


def _low(of: Measured) -> str:
    percent = (
        "nothing to compare with" if of.percent is None else f"{of.percent:.1f} % of reference"
    )
    return f"{percent}, levels {of.limits.warning} and {of.limits.critical}"


def _level(of: Measured) -> str:
    return f"{_low(of)}; repeats {repeats(of)}{_noise(of)}"


def _noise(of: Measured) -> str:
    if not of.days or not of.ratio_peers:
        return ""
    gross = of.limits.critical.alerts(100 * of.ratio_peers)
    chance = chance_loss(of.days, of.limits, gross=gross)
    loss = -log(of.ratio_peers)
    return f"; loss beside siblings {loss:.3f}, up to {chance:.3f} they differ by chance"


def _uncertain(of: Measured) -> str:
    return _noise(of).lstrip("; ") or "no siblings known"


def _lasting(of: Measured) -> str:
    limits = of.limits
    if len(of.days) < limits.confirm_days:
        return f"{len(of.days)} of {limits.confirm_days} days with siblings"
    each = ", ".join(f"{day.loss:+.3f}" for day in of.days[: limits.confirm_days])
    found = loss_over(of.days, limits.confirm_days)
    return (
        f"losses {each}, each above {limit_of(limits):.3f} needed; mean {found.loss:+.3f}, "
        f"{limits.certainty:g} standard errors are {limits.certainty * found.error:.3f}"
        f"{'; as accepted with the baseline' if of.accepted else ''}"
    )


def _step(of: Measured) -> str:
    step = of.step
    if step is None:
        return "too few runs of its own"
    return (
        f"since {moment(step.since)} {100 * step.ratio:.0f} % of the runs before, the best "
        f"{100 * step.highest:.0f} %, coverage {100 * step.coverage:.0f} %"
        f"{'; as accepted with the baseline' if of.accepted else ''}"
    )


def _course(of: Measured) -> str:
    return course_words(of) or "no profile to compare, or none of its baseline"


def _fine(_of: Measured) -> str:
    return "no other rule applies"


NUMBERS = dict(
    zip(
        (*RULES, fine),
        (
            _invalid,
            _state,
            _even,
            _contention_for_days,
            _contention,
            _shared,
            _reference,
            _level,
            _lasting,
            _step,
            _uncertain,
            _course,
            _fine,
        ),
    )
)
"""What to say of each rule, in the order in which they are asked."""


def _rates(of: Measured) -> Iterator[str]:
    """Yield the nearest rate below and above with which the outcome were another."""
    here = _outcome(of)
    for word, factors in (
        ("below", tuple(1 / factor for factor in _FACTORS)),
        ("above", _FACTORS),
    ):
        same = 1.0
        for factor in factors:
            if _outcome(_at(of, factor)) != here:
                edge = _edge(of, same, factor)
                yield f"{word} {format_rate(of.rate_Bps * edge)}: {_words(_at(of, factor))}"
                break
            same = factor


def _edge(of: Measured, same: float, other: float) -> float:
    """Return the factor at which the outcome changes, between ``same`` and ``other``."""
    here = _outcome(of)
    for _ in range(_HALVINGS):
        middle = (same * other) ** 0.5
        if _outcome(_at(of, middle)) == here:
            same = middle
        else:
            other = middle
    return other


def _at(of: Measured, factor: float) -> Measured:
    """Return the same measurement had it been ``factor`` times as fast."""
    rate_Bps = of.rate_Bps * factor
    record = of.record._replace(
        rate_Bps=rate_Bps, repeats_Bps=tuple(rate * factor for rate in of.record.repeats_Bps)
    )
    samples = (of.samples[0]._replace(rate_Bps=rate_Bps), *of.samples[1:]) if of.samples else ()
    newest = of.days[:1] if of.days else ()
    days = (*(day._replace(loss=day.loss - log(factor)) for day in newest), *of.days[1:])
    return of._replace(
        record=record,
        rate_Bps=rate_Bps,
        samples=samples,
        days=days,
        step=step_of(samples, of.limits),
    )


def _conditions(of: Measured, series: Series, reference: Reference) -> Iterator[str]:
    """Yield the conditions without which the outcome were another."""
    here = _outcome(of)
    for words, changed in _variations(of, series, reference):
        if _outcome(changed) != here:
            yield f"{words}: {_words(changed)}"


def _variations(
    of: Measured, series: Series, reference: Reference
) -> Iterator[tuple[str, Measured]]:
    record = of.record
    if of.contended:
        quiet = record._replace(coverage=1.0)
        yield "had nobody else used it", of._replace(record=quiet)
    if record.flags:
        yield f"without {_state(of)}", of._replace(record=record._replace(flags=()))
    if len(record.repeats_Bps) > 1:
        agreed = record._replace(repeats_Bps=(of.rate_Bps,))
        yield "had the repeats agreed", of._replace(record=agreed)
    if of.doubt and reference.baseline:
        yield f"but for the doubt ({of.doubt})", of._replace(baseline=reference.baseline, doubt="")
    if of.baseline:
        without = measured(series, reference._replace(baseline=None), of.limits)
        yield "without its baseline", without
    if of.days:
        yield "without the days before", of._replace(days=of.days[:1])


def _outcome(of: Measured) -> tuple[int, int]:
    finding = apply(of)
    return finding.state, finding.rule


def _words(of: Measured) -> str:
    finding = apply(of)
    rule = "" if finding.rule == RULE_FINE else f" by rule {finding.rule}"
    return f"{finding.state.name}{rule}"
