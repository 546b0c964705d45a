"""Judge for a service: watch one slow run, alarm on evidence, and show the evidence."""

from __future__ import annotations

from math import isinf
from typing import Iterator, Optional, Sequence

from plumbline.judge.floor import below_floor, below_goal, evidence_of_floor
from plumbline.judge.measured import Measured
from plumbline.judge.operations import label
from plumbline.judge.phrases import (
    Finding,
    Ruling,
    elsewhere,
    figures,
    figures_and_ceiling,
    likewise,
    limited,
    moment,
    more,
    number,
    over_runs,
    peers,
    repeats,
    slow_nights,
    so_far,
    weighed,
)
from plumbline.judge.rules import coverage_words, job_words, profile_over_runs, profile_words
from plumbline.model.ages import age
from plumbline.model.evidence import Evidence
from plumbline.model.limits import Limits, Range
from plumbline.model.quantity import Quantity
from plumbline.model.record import Record
from plumbline.model.series import Sample
from plumbline.model.verdict import Figure, Reason, State, Verdict

_MAX_SAMPLES = 10


def evidence(ruling: Ruling, now: float, name: str = "") -> Iterator[str]:
    """Yield the lines on one operation after ``name``, e.g. a partner's."""
    record, run = ruling.record, ruling.measured
    why = f"{ruling.finding.state.name}, {ruling.finding.reason.words}"
    if record is None or run is None:
        yield f"{name}{ruling.finding.text} [{why}]"
        return
    rate = run.shown(run.rate)
    yield f"{name}{run.what} {rate} {age(record.finished_at, now)}, repeats {repeats(run)} [{why}]"
    yield from (f"  {line}" for line in _references(run))
    yield f"  {_conditions(record)}"
    yield from (
        f"    {_earlier(record.operation.quantity, sample, now)}"
        for sample in run.samples[1 : _MAX_SAMPLES + 1]
    )


def figure(ruling: Ruling) -> Figure:
    """Return the performance datum of one operation, with its levels, in its quantity."""
    quantity = ruling.operation.quantity
    name = f"{label(ruling.operation, ruling.scenario)}_{quantity.suffix}".replace(" ", "_")
    measured = ruling.measured
    if measured is None:
        return Figure(name, None)
    levels = ("", "")
    if measured.reference_rate is not None:
        factor = measured.reference_rate / 100
        levels = (
            _level(quantity, measured.limits.warning.scaled(factor)),
            _level(quantity, measured.limits.critical.scaled(factor)),
        )
    maximum = measured.ceiling.rate if measured.ceiling and not quantity.less_is_better else None
    return Figure(name, quantity.figure(measured.rate), "", *levels, maximum)


def _level(quantity: Quantity, rates: Range) -> str:
    """Return a range of figures for one of rates: whole numbers, or seconds."""
    start, end, inside = rates
    if quantity.less_is_better:
        least, most = (float(f"{quantity.figure(rate):.4g}") for rate in (end, start))
        return str(Range(least, most, inside))
    return str(Range(_whole(start), _whole(end), inside))


def _whole(value: float) -> float:
    return value if isinf(value) else round(value)


def _references(measured: Measured) -> Iterator[str]:
    if measured.baseline:
        baseline = measured.baseline
        yield (
            f"baseline {measured.shown(baseline.median)}, spread {100 * baseline.spread:.1f} %, "
            f"{baseline.runs} runs {baseline.first} to {baseline.last}, accepted by "
            f"{baseline.accepted_by}: {baseline.reason}"
        )
    elif measured.doubt:
        yield f"baseline not used: {measured.doubt}"
    yield from evidence_of_floor(measured)
    profile = profile_words(measured)
    if profile:
        yield profile
    if measured.ceiling:
        reached = 100 * measured.rate / measured.ceiling.rate
        yield f"{limited(measured)}, reached to {reached:.0f} %"
    if measured.peers_rate:
        percent = 100 * measured.rate / measured.peers_rate
        yield f"{percent:.0f} % of {peers(measured)} in the same run"
    else:
        yield "no peers in the same run"


def _conditions(record: Record) -> str:
    tool = f"{record.tool.name} {record.tool.version}" if record.tool else "tool unknown"
    parts = [tool, f"specification {record.spec_hash or 'unknown'}"]
    parts += [f"{name} {version}" for name, version in sorted((record.versions or {}).items())]
    if record.fill is not None:
        parts.append(f"filled to {100 * record.fill:.0f} %")
    parts.append(coverage_words(record))
    if "p99" in record.quantities:
        parts.append(f"latency p99 {1e3 * record.quantities['p99']:.1f} ms")
    if record.retransmits is not None:
        parts.append(f"{record.retransmits} retransmits")
    return ", ".join(parts + [flag.value for flag in record.flags])


def _earlier(quantity: Quantity, sample: Sample, now: float) -> str:
    rate = "no rate" if sample.rate is None else quantity.format(sample.rate)
    line = f"{age(sample.started_at, now)} {rate}"
    if sample.peers_rate is not None:
        line += f", {sample.peers} peers {quantity.format(sample.peers_rate)}"
    return line if sample.coverage is None else f"{line}, coverage {sample.coverage:.2f}"


def by_evidence(rulings: Sequence[Ruling], weighed: Optional[Evidence]) -> tuple[Ruling, ...]:
    """Return the rulings on the last run as a service shows them.

    ``weighed`` is the evidence of the last runs, None if they cannot be compared.
    """
    alarming = _alarming(rulings, weighed) if weighed and weighed.alarm else None
    findings = (_finding(ruling, weighed, alarm=ruling is alarming) for ruling in rulings)
    return tuple(
        ruling if finding is ruling.finding else ruling._replace(finding=finding)
        for ruling, finding in zip(rulings, findings)
    )


def with_runs(verdict: Verdict, of_runs: Optional[Evidence]) -> Verdict:
    """Return the verdict of a service with the evidence of its last runs."""
    ratio = of_runs.ratio if of_runs else None
    note = slow_nights(of_runs) if verdict.state is State.OK else ""
    return verdict._replace(
        sentence=verdict.sentence + note,
        evidence=(*weighed(of_runs), *verdict.evidence),
        ratio_runs=ratio,
    )


def severity(ratio: Optional[float], limits: Limits) -> State:
    """Return the state of an alarm by the remaining share of the reference."""
    gross = ratio is not None and limits.critical.alerts(100 * ratio)
    return State.CRITICAL if gross else State.WARNING


def of_service(weighed: Optional[Evidence], run: State, limits: Limits) -> str:
    """Return the state of the service if it differs from that of the last run alone, else empty."""
    if weighed is None or weighed.shared:
        return ""
    if not weighed.alarm:
        runs = number(weighed.more, "more run") if weighed.more else ""
        text = f"; its service watches{runs and f': {runs} like this one for an alarm'}"
        return text if run.alarm else ""
    if not run.alarm:
        return f"; its service still has the alarm{more(weighed)}"
    service = severity(weighed.ratio, limits)
    return "" if service is run else f"; its runs together make its service {service.name}"


def _alarming(rulings: Sequence[Ruling], weighed: Evidence) -> Optional[Ruling]:
    """Return the ruling with the largest loss, or another if that has no figure today."""
    rated = [ruling for ruling in rulings if ruling.measured and ruling.finding.reason.measured]
    named = [ruling for ruling in rated if ruling.measured and ruling.measured.what == weighed.what]
    return next(iter([*named, *rated]), None)


def _finding(ruling: Ruling, weighed: Optional[Evidence], *, alarm: bool) -> Finding:
    measured, finding = ruling.measured, ruling.finding
    if measured is None or finding.reason is Reason.KNOWN_STATE:
        return finding
    if alarm and weighed:
        return _alarm(measured, weighed)
    if weighed and weighed.alarm and weighed.what != measured.what and finding.reason.single_run:
        # the operation with the largest loss has the alarm
        return _watched(measured, finding, weighed)
    if finding.reason.single_run and measured.is_low:
        other = below_goal(measured) or below_floor(measured) or profile_over_runs(measured)
        return other or _gross(measured, weighed) or _watched(measured, finding, weighed)
    if finding.reason is Reason.PROFILE or finding.reason.fine:
        profile = profile_over_runs(measured)
        if profile:
            return profile
    if weighed and finding.reason is Reason.NO_REFERENCE:
        return Finding(State.OK, Reason.FINE, figures(measured))
    if weighed and finding.reason.fine and weighed.reportable and weighed.what == measured.what:
        return _watched(measured, finding, weighed)
    return finding


def _alarm(measured: Measured, weighed: Evidence) -> Finding:
    """Return the finding on an alarm; OK if the alarm is another one's."""
    # another operation represents the one with the largest loss if that has no figure today
    lost = "" if measured.what == weighed.what else f"{weighed.what} "
    text = f"{figures_and_ceiling(measured)}: {lost}{over_runs(weighed)}{more(weighed)}"
    if not weighed.borne_by:
        text += likewise(weighed)
        return Finding(severity(weighed.ratio, measured.limits), Reason.SLOW, text)
    text += elsewhere(weighed)
    silent = Finding(State.OK, Reason.ALARM_ELSEWHERE, text)
    return below_goal(measured) or below_floor(measured) or silent


def _gross(measured: Measured, weighed: Optional[Evidence]) -> Optional[Finding]:
    """Return a warning if all runs of a day were beyond ``critical``, short of an alarm's odds.

    In rough nights chance may do that: without odds worth a report it is watched.
    """
    if weighed is None or weighed.gross_since is None or weighed.what != measured.what:
        return None
    if not weighed.reportable:
        return None
    text = (
        f"{figures_and_ceiling(measured)}: beyond the critical level {measured.limits.critical} in "
        f"all runs since {moment(weighed.gross_since)}; {so_far(weighed)}"
    )
    return Finding(State.WARNING, Reason.SLOW, text)


def _watched(measured: Measured, finding: Finding, weighed: Optional[Evidence]) -> Finding:
    """Return the finding that a slow run is no alarm yet, or none if its group is as slow.

    The job of others is named if they may have used the component an unknown amount.
    """
    text = f"watching: {finding.text}{job_words(measured.record)}; {so_far(weighed)}"
    return Finding(State.OK, Reason.WATCHED, text)
