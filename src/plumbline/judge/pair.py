"""Verdict on a host from its network pairs, with retransmits."""

from __future__ import annotations

from math import isnan
from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.absence import never, unfinished
from plumbline.judge.component import Detail, rule, unmeasured, verdict
from plumbline.judge.floor import host_below
from plumbline.judge.memory import Memory
from plumbline.judge.operations import label, operations, series_of
from plumbline.judge.phrases import Finding, Ruling, deciding, measured_ago, summary
from plumbline.judge.recurring import NEVER, Recurrence, in_moments, lower_median, recurrence
from plumbline.judge.service import by_evidence, evidence, figure
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Limits, Reference
from plumbline.model.names import several
from plumbline.model.quantity import BYTES_PER_S
from plumbline.model.record import Operation, Scenario, segments_retransmitted
from plumbline.model.series import Series, column
from plumbline.model.verdict import Figure, Reason, State, Verdict, worst


class _Pairs(NamedTuple):
    """One operation with every partner; ``usable`` ascends by rate."""

    operation: Operation
    scenario: Scenario
    rulings: tuple[tuple[str, Ruling], ...]
    usable: tuple[tuple[str, Ruling], ...]

    @property
    def chosen(self) -> tuple[str, Ruling]:
        """Return the partner with the upper median; without a rate the mildest finding."""
        if self.usable:
            return self.usable[len(self.usable) // 2]
        return min(self.rulings, key=lambda pair: _severity(pair[1].finding.state))

    @property
    def what(self) -> str:
        return label(self.operation, self.scenario)

    @property
    def share(self) -> Optional[float]:
        """Return the lower median over the partners of retransmitted segments / segments."""
        shares = [
            segments_retransmitted(ruling.record.retransmits, ruling.record.bytes)
            for _, ruling in self.usable
            if ruling.record
        ]
        counted = [share for share in shares if share is not None]
        return lower_median(counted) if counted else None

    @property
    def ruling(self) -> Ruling:
        """Return the ruling of the chosen partner, or the host's floor if it is below with all."""
        chosen = self.chosen[1]
        finding = chosen.finding
        if finding.state is not State.OK and finding.reason is not Reason.NO_REFERENCE:
            return chosen
        below = host_below([ruling.measured for _, ruling in self.usable if ruling.measured])
        return chosen._replace(finding=below) if below else chosen


class Form(NamedTuple):
    """Form of a verdict: of the last run, or ``over_runs``; and its detail."""

    over_runs: bool = False
    detail: Detail = Detail.EVIDENCE


_LAST_RUN = Form()


def judge_pair_host(
    expectation: Expectation,
    memory: Memory,
    now: float,
    weighed: Optional[Evidence] = None,
    form: Form = _LAST_RUN,
) -> Verdict:
    """Return the verdict on the last run of a host with each partner.

    Over runs it is that of its service, by ``weighed``, the evidence of its last runs.
    """
    series = memory.of(expectation.layer, expectation.component)
    pairs = tuple(
        _pairs(expectation, place, series, now, in_words=form.detail.in_words)
        for place in operations(expectation, series)
    )
    hang, remark = unfinished([expectation], memory.running, now)
    finding = hang or (None if pairs and expectation.partners else _nothing(expectation))
    if finding:
        decided = unmeasured(expectation, finding)
    else:
        rulings = tuple(pair.ruling for pair in pairs)
        retransmits = _retransmits(pairs, expectation.limits, over_runs=form.over_runs)
        chosen = by_evidence(rulings, weighed) if form.over_runs else rulings
        decided = _decide(expectation, pairs, chosen, retransmits, now)
    shown = pairs if form.detail.with_evidence else ()
    return decided._replace(
        sentence=decided.sentence + remark,
        evidence=tuple(line for pair in shown for line in _lines(pair, now)),
        figures=tuple(_figures(expectation, pairs)) if form.detail.in_words else (),
    )


def _retransmits(pairs: Sequence[_Pairs], limits: Limits, *, over_runs: bool) -> Optional[Finding]:
    """Return the finding on the first operation with too many retransmits.

    That is in its last run or, ``over_runs``, again and again: there a single bad run is watched.
    """
    watched = None
    for pair in pairs:
        share, recurring = pair.share, _recurrence(pair, limits) if over_runs else NEVER
        if share is None or (share <= limits.retransmit_share and not recurring.alarm):
            continue
        text = (
            f"{100 * share:.2f} % of the segments of {pair.what} retransmitted (limit "
            f"{100 * limits.retransmit_share:g} %), "
        )
        text += f"{recurring.words}; bad cable?" if over_runs else "bad cable?"
        if recurring.alarm or not over_runs:
            return Finding(State.WARNING, Reason.RETRANSMITS, text)
        watched = watched or Finding(State.OK, Reason.WATCHED, f"watching: {text}")
    return watched


def _recurrence(pairs: _Pairs, limits: Limits) -> Recurrence:
    shares = [
        [
            (at, share)
            for at, share in zip(column(samples, "started_at"), column(samples, "retransmitted"))
            if not isnan(share)
        ]
        for _, ruling in pairs.usable
        for samples in (ruling.measured.samples if ruling.measured else (),)
    ]
    return recurrence(tuple(in_moments(shares, limits.retransmit_share)), limits.alarm_odds)


def rulings_on_host(
    expectation: Expectation, series: Sequence[Series], now: float
) -> Iterator[tuple[Ruling, Optional[float]]]:
    """Yield for each operation the ruling of the chosen partner, and the share of lost segments.

    The share is the lower median over the partners, None if unknown.
    """
    for place in operations(expectation, series):
        pairs = _pairs(expectation, place, series, now)
        if pairs.rulings:
            yield pairs.chosen[1], pairs.share


def _nothing(expectation: Expectation) -> Finding:
    if expectation.partners:
        return never("it", expectation)
    text = "has no partner to be measured with; add one to its group in the inventory"
    return Finding(State.UNKNOWN, Reason.NO_PARTNER, text)


def _pairs(
    expectation: Expectation,
    step: tuple[Operation, Scenario],
    series: Sequence[Series],
    now: float,
    *,
    in_words: bool = True,
) -> _Pairs:
    rulings = tuple(
        (
            partner.name,
            rule(
                with_partner(expectation, partner, step),
                step,
                series_of(series, *step, partner.name),
                now,
                in_words=in_words,
            ),
        )
        for partner in expectation.partners
    )
    usable = [pair for pair in rulings if pair[1].finding.reason.measured]
    usable.sort(key=_share_of_ceiling)
    return _Pairs(*step, rulings, tuple(usable))


def with_partner(
    expectation: Expectation, partner: Partner, step: tuple[Operation, Scenario]
) -> Expectation:
    """Return the expectation of one pair: its share of the host's baseline, its own ceiling."""
    operation, scenario = step
    own = expectation.reference(operation, scenario)
    reference = of_pair(expectation, partner, operation, own)
    return expectation._replace(references={f"{operation.value}/{scenario.value}": reference})


_MAX_ABOVE_CEILING = 1.05
"""No healthy rate, and no baseline, is further above its ceiling (``invalid_above``)."""


def of_pair(
    entry: Expectation, partner: Partner, operation: Operation, reference: Reference
) -> Reference:
    """Return the reference of a host with one partner; the host's baseline covers all partners.

    The ceiling of a pair is in bytes; other operations have none.  If the ceilings of the pairs
    differ, the baseline is taken for that of pairs with the lowest ceiling that allows it, and this
    pair should give the same share of its own.
    """
    if operation.quantity != BYTES_PER_S:
        return reference
    baseline = reference.baseline
    rates = {other.ceiling.rate for other in entry.partners}
    if baseline is None or len(rates) == 1:
        return Reference(partner.ceiling, baseline)
    allowing = [rate for rate in rates if rate * _MAX_ABOVE_CEILING >= baseline.median]
    share = partner.ceiling.rate / min(allowing, default=max(rates))
    return Reference(partner.ceiling, baseline._replace(median=baseline.median * share))


def _decide(
    expectation: Expectation,
    pairs: Sequence[_Pairs],
    chosen: Sequence[Ruling],
    retransmits: Optional[Finding],
    now: float,
) -> Verdict:
    decided = by_rate = deciding(chosen)
    fine = decided.finding.reason.fine
    text = summary([ruling.measured for ruling in chosen if ruling.measured]) if fine else ""
    text = text or decided.finding.text
    if retransmits:
        text += f"; {retransmits.text}"
        if decided.finding.state is State.OK:
            decided = decided._replace(finding=retransmits)
    tested = pairs[[ruling.operation for ruling in chosen].index(decided.operation)]
    text += _remarks(tested, pairs, by_rate)
    text += measured_ago(chosen if fine else (by_rate,), now)
    return verdict(expectation, decided, text)


def _remarks(tested: _Pairs, pairs: Sequence[_Pairs], chosen: Ruling) -> str:
    name = tested.chosen[0]
    if not tested.usable:
        total = len(tested.rulings)
        return f" (with {name}{f'; no figure with any of {total} partners' if total > 1 else ''})"
    remarks = ""
    if len(tested.usable) == 1 and chosen.finding.state is not State.OK:
        remarks = f"; measured with {tested.usable[0][0]} alone, either end may be the cause"
    elif chosen.finding.state is not State.OK:
        word = "with each" if chosen.finding.reason is Reason.BELOW_FLOOR else "upper median"
        remarks = f"; {word} of {len(tested.usable)} partners"
    slow = dict.fromkeys(text for pair in pairs for text in _slow_alone(pair))
    remarks += "".join(f"; {text}" for text in slow)
    missing = dict.fromkeys(
        name for pair in pairs for name, ruling in pair.rulings if ruling.measured is None
    )
    return f"{remarks}; no figure with {several(tuple(missing))}" if missing else remarks


def _slow_alone(pairs: _Pairs) -> Iterator[str]:
    """Yield the partners that are slow while this host is not."""
    if pairs.chosen[1].finding.state is not State.OK:
        return
    for name, ruling in pairs.usable:
        if ruling.finding.state is not State.OK and ruling.measured:
            rate = ruling.measured.shown(ruling.measured.rate)
            yield f"{ruling.measured.what} with partner {name} {rate}"


def _lines(pairs: _Pairs, now: float) -> Iterator[str]:
    for name, ruling in pairs.rulings:
        yield from evidence(ruling, now, f"with {name}: ")


def _figures(expectation: Expectation, pairs: Sequence[_Pairs]) -> Iterator[Figure]:
    limit = f"{100 * expectation.limits.retransmit_share:g}"
    for pair in pairs:
        if not pair.rulings:
            continue
        yield figure(pair.chosen[1])
        if not LAYERS[expectation.layer].more_than_rates:
            continue
        share = pair.share
        yield Figure(
            f"{pair.what.replace(' ', '_')}_retransmits",
            None if share is None else 100 * share,
            "%",
            limit,
        )


def _share_of_ceiling(pair: tuple[str, Ruling]) -> float:
    """Return rate / ceiling of a pair: the rates of pairs with different links do not compare."""
    measured = pair[1].measured
    return measured.rate / measured.ceiling.rate if measured and measured.ceiling else 0.0


def _severity(state: State) -> int:
    return sum(worst((state, other)) is state for other in State)
