"""Verdict on a host from its network pairs, with retransmits."""

from __future__ import annotations

from typing import Callable, Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.absence import never, unfinished
from plumbline.judge.component import rule, unmeasured, verdict
from plumbline.judge.floor import host_below
from plumbline.judge.operations import label, operations
from plumbline.judge.phrases import Finding, Ruling, deciding, measured_ago, several, summary
from plumbline.judge.recurring import Recurrence, in_moments, lower_median, recurrence
from plumbline.judge.service import by_evidence, evidence, figure, with_runs
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Operation, Scenario, segments_retransmitted
from plumbline.model.series import Running, Series
from plumbline.model.verdict import Figure, Reason, State, Verdict, worst


class Tests(NamedTuple):
    """One operation of a host, in words, with all partners that gave a rate."""

    what: str
    rulings: Sequence[Ruling]

    @property
    def share(self) -> Optional[float]:
        """Return the lower median over the partners of retransmitted segments / segments."""
        shares = [
            segments_retransmitted(ruling.record.retransmits, ruling.record.bytes)
            for ruling in self.rulings
            if ruling.record
        ]
        counted = [share for share in shares if share is not None]
        return lower_median(counted) if counted else None


def in_last_run(tests: Sequence[Tests], limits: Limits) -> Optional[Finding]:
    """Return the finding on the first operation with too many retransmits in its last run."""
    for operation in tests:
        share = operation.share
        if share is not None and share > limits.retransmit_share:
            text = f"{_words(operation.what, share, limits)}, bad cable?"
            return Finding(State.WARNING, Reason.RETRANSMITS, text)
    return None


def over_runs(tests: Sequence[Tests], limits: Limits) -> Optional[Finding]:
    """Return the finding on retransmits over the last runs; a single bad run is watched."""
    watched = None
    for operation in tests:
        share, recurring = operation.share, _recurrence(operation, limits)
        if share is None or (share <= limits.retransmit_share and not recurring.alarm):
            continue
        text = f"{_words(operation.what, share, limits)}, {recurring.words}; bad cable?"
        if recurring.alarm:
            return Finding(State.WARNING, Reason.RETRANSMITS, text)
        watched = watched or Finding(State.OK, Reason.WATCHED, f"watching: {text}")
    return watched


def _recurrence(tests: Tests, limits: Limits) -> Recurrence:
    shares = [
        [
            (sample.started_at, sample.retransmitted)
            for sample in ruling.measured.samples
            if sample.retransmitted is not None
        ]
        for ruling in tests.rulings
        if ruling.measured
    ]
    return recurrence(tuple(in_moments(shares, limits.retransmit_share)), limits.alarm_odds)


def _words(what: str, share: float, limits: Limits) -> str:
    return (
        f"{100 * share:.2f} % of the segments of {what} retransmitted (limit "
        f"{100 * limits.retransmit_share:g} %)"
    )


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
    def tests(self) -> Tests:
        """Return the tests that gave a rate."""
        return Tests(label(self.operation, self.scenario), [ruling for _, ruling in self.usable])

    @property
    def ruling(self) -> Ruling:
        """Return the ruling of the chosen partner, or the host's floor if it is below with all."""
        chosen = self.chosen[1]
        finding = chosen.finding
        if finding.state is not State.OK and finding.reason is not Reason.NO_REFERENCE:
            return chosen
        below = host_below([ruling.measured for _, ruling in self.usable if ruling.measured])
        return chosen._replace(finding=below) if below else chosen


class _Basis(NamedTuple):
    """Basis of a verdict on a host, its last run or its last runs: rates, and retransmits."""

    rulings: Callable[[Sequence[Ruling]], Sequence[Ruling]]
    retransmits: Callable[[Sequence[Tests], Limits], Optional[Finding]]


def judge_pair_host(
    expectation: Expectation, series: Sequence[Series], running: Sequence[Running], now: float
) -> Verdict:
    """Return the verdict on the last run of a host with each partner."""
    return _judge(expectation, series, running, now, _Basis(tuple, in_last_run))


def judge_pair_service(
    expectation: Expectation,
    series: Sequence[Series],
    running: Sequence[Running],
    now: float,
    weighed: Optional[Evidence],
) -> Verdict:
    """Return the verdict on a host by the evidence of its runs, as a service shows it."""
    basis = _Basis(lambda rulings: by_evidence(rulings, weighed), over_runs)
    return with_runs(_judge(expectation, series, running, now, basis), weighed)


def _judge(
    expectation: Expectation,
    series: Sequence[Series],
    running: Sequence[Running],
    now: float,
    basis: _Basis,
) -> Verdict:
    pairs = tuple(
        _pairs(expectation, place, series, now) for place in operations(expectation, series)
    )
    hang, remark = unfinished([expectation], running, now)
    finding = hang or (None if pairs and expectation.partners else _nothing(expectation))
    decided = (
        unmeasured(expectation, finding) if finding else _decide(expectation, pairs, basis, now)
    )
    return decided._replace(
        sentence=decided.sentence + remark,
        evidence=tuple(line for pair in pairs for line in _lines(pair, now)),
        figures=tuple(_figures(expectation, pairs)),
    )


def rulings_on_host(
    expectation: Expectation, series: Sequence[Series], now: float
) -> Iterator[tuple[Ruling, Optional[float]]]:
    """Yield for each operation the ruling of the chosen partner, and the share of lost segments.

    The share is the lower median over the partners, None if unknown.
    """
    for place in operations(expectation, series):
        pairs = _pairs(expectation, place, series, now)
        if pairs.rulings:
            yield pairs.chosen[1], pairs.tests.share


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
) -> _Pairs:
    rulings = tuple(
        (partner.name, _rule(expectation, partner, step, series, now))
        for partner in expectation.partners
    )
    usable = [pair for pair in rulings if pair[1].finding.reason.measured]
    usable.sort(key=_rate)
    return _Pairs(*step, rulings, tuple(usable))


def _rule(
    expectation: Expectation,
    partner: Partner,
    step: tuple[Operation, Scenario],
    series: Sequence[Series],
    now: float,
) -> Ruling:
    own = with_partner(expectation, partner, step)
    for measured_series in series:
        latest = measured_series.latest
        if (latest.operation, latest.scenario, latest.partner) == (*step, partner.name):
            return rule(own, step, measured_series, now)
    return rule(own, step, None, now)


def with_partner(
    expectation: Expectation, partner: Partner, step: tuple[Operation, Scenario]
) -> Expectation:
    """Return the reference of one pair: the host's baseline, the pair's own ceiling."""
    operation, scenario = step
    reference = Reference(partner.ceiling, expectation.reference(operation, scenario).baseline)
    return expectation._replace(references={f"{operation.value}/{scenario.value}": reference})


_MOST = 1.05
"""No healthy rate, and no baseline, is further above its ceiling (``invalid_above``)."""


def of_pair(entry: Expectation, partner: Partner, reference: Reference) -> Reference:
    """Return the reference of a host with one partner; the host's baseline covers all partners.

    If their ceilings differ, the baseline is taken for that of pairs with the lowest ceiling that
    allows it, and this pair should give the same share of its own.
    """
    baseline = reference.baseline
    rates = {other.ceiling.rate for other in entry.partners}
    if baseline is None or len(rates) == 1:
        return Reference(partner.ceiling, baseline)
    allowing = [rate for rate in rates if rate * _MOST >= baseline.median]
    share = partner.ceiling.rate / min(allowing, default=max(rates))
    return Reference(partner.ceiling, baseline._replace(median=baseline.median * share))


def _decide(
    expectation: Expectation,
    pairs: Sequence[_Pairs],
    basis: _Basis,
    now: float,
) -> Verdict:
    chosen = basis.rulings(tuple(pair.ruling for pair in pairs))
    decided = by_rate = deciding(chosen)
    fine = decided.finding.reason.fine
    text = summary([ruling.measured for ruling in chosen if ruling.measured]) if fine else ""
    text = text or decided.finding.text
    retransmits = basis.retransmits([pair.tests for pair in pairs], expectation.limits)
    if retransmits:
        text += f"; {retransmits.text}"
        if decided.finding.state is State.OK:
            decided = decided._replace(finding=retransmits)
    tested = pairs[[ruling.operation for ruling in chosen].index(decided.operation)]
    text += _remarks(tested, pairs, by_rate)
    text += measured_ago(chosen if fine else (by_rate,), now)
    return verdict(expectation, decided, text)


def _remarks(tested: _Pairs, pairs: Sequence[_Pairs], chosen: Ruling) -> str:
    """Return the remarks on the partners of a figure."""
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
        share = pair.tests.share
        yield Figure(
            f"{label(pair.operation, pair.scenario).replace(' ', '_')}_retransmits",
            None if share is None else 100 * share,
            "%",
            limit,
        )


def _rate(pair: tuple[str, Ruling]) -> float:
    measured = pair[1].measured
    return measured.rate if measured else 0.0


def _severity(state: State) -> int:
    return sum(worst((state, other)) is state for other in State)
