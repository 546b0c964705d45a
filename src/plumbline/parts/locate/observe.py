"""Observations that vote, from measurements and their verdicts.

A mild loss may be within the noise of each of several measurements and yet be certain: chance does
not make all of them low in the same nights.

The judge weighs the runs.  A measurement is bad if its component, its pair of hosts or a shared
part has an alarm and its own runs are low since the alarm began; it is good if its last runs are
not low.  A loss of the whole group shows only against the baseline.

Earlier runs never vote: an old good measurement must not clear a part that has become slow since.

A verdict excuses a component if all of its peers are as slow; here that loss votes, because it
incriminates a shared part.  Contended, invalid, degraded and missing measurements do not vote.
"""

from __future__ import annotations

from math import exp, hypot, log, sqrt
from statistics import median
from typing import Hashable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.component import rule, without_provisional
from plumbline.judge.judging import Judging
from plumbline.judge.kinds import FEW_APART, MIN_SPREAD
from plumbline.judge.measured import CERTAIN, Measured, clearing
from plumbline.judge.memory import Memory
from plumbline.judge.operations import label, series_of
from plumbline.judge.pair import of_pair
from plumbline.judge.phrases import Ruling
from plumbline.judge.references import Comparison, with_baseline
from plumbline.judge.runs import AT, RATIO, SPREAD, Rows
from plumbline.judge.runs import since as runs_since
from plumbline.judge.service import severity
from plumbline.judge.weighing import Weighing
from plumbline.model.conditions import differences, of_record
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.layers import LAYERS
from plumbline.model.record import Scenario, segments_retransmitted
from plumbline.model.rounds import cycle, span
from plumbline.model.series import Running, Sample, Series
from plumbline.model.statistics import MEDIAN_FACTOR
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, State
from plumbline.parts.locate.observation import (
    SEGMENTS,
    Measurable,
    Nodes,
    Observation,
    PlannedMeasurement,
    Vote,
)


def correlated(measured: Sequence[PlannedMeasurement]) -> list[tuple[int, ...]]:
    """Return sets of measurements that one node makes (indices), each of two or more.

    All measurements of one component, or between two hosts; and joint reads of devices, for each
    part that they share.
    """
    streams: dict[Hashable, list[int]] = {}
    for index, plan in enumerate(measured):
        test = plan.of
        streams.setdefault((test.node, test.layer, test.component, plan.partner), []).append(index)
        if LAYERS[test.layer].on_devices and plan.scenario is Scenario.TOGETHER:
            for part in test.path[:-1]:
                streams.setdefault((test.node, part), []).append(index)
    return list(dict.fromkeys(tuple(indices) for indices in streams.values() if len(indices) > 1))


_MIN_RUNS = 3
"""Runs of a measurement that show today's speed; two of a young history."""
_MAX_RUNS = 9
"""Runs that show its usual speed; most must be low for a slow group, not just a busy one."""
_TWO = 2


def votes(placed: Sequence[PlannedMeasurement], weighing: Weighing) -> list[Optional[Observation]]:
    """Return the vote of the last runs of each measurement, None if they are too few.

    ``since`` is the start of these runs; neither time nor reason is given.

    All measurements of a site in one call take a tenth of the time of one node after another.
    """
    comparisons = {index: _comparison(item, weighing) for index, item in enumerate(placed)}
    since = [_own_alarm(measurement, weighing) for measurement in placed]
    for begun, index in _shared_alarms(_groups(placed), comparisons, weighing):
        if since[index] is None:
            since[index] = begun
    return [_weighed_vote(*vote, weighing) for vote in zip(placed, comparisons.values(), since)]


def any_alarm(placed: Sequence[PlannedMeasurement], weighing: Weighing) -> bool:
    """Return whether any component, group or shared part has an alarm: else no vote is bad."""
    if any(evidence.alarm for evidence in weighing.all().values()):
        return True
    groups = _groups(placed)
    grouped = {index for group in groups for index in group}
    comparisons = {index: _comparison(placed[index], weighing) for index in grouped}
    return any(True for _ in _shared_alarms(groups, comparisons, weighing))


def _groups(placed: Sequence[PlannedMeasurement]) -> list[tuple[int, ...]]:
    """Return the correlated measurements, but those of one component.

    The judge has weighed these together.
    """
    return [
        group
        for group in correlated(placed)
        if not _of_one_component([placed[index] for index in group])
    ]


def _of_one_component(group: Sequence[PlannedMeasurement]) -> bool:
    """Return whether a group has the measurements of one component, not of a pair of hosts."""
    return (
        group[0].partner is None
        and len({measurement.expectation.subject for measurement in group}) == 1
    )


def _comparison(placed: PlannedMeasurement, weighing: Weighing) -> Optional[Comparison]:
    """Return a measurement with its reference, None without one."""
    expectation = placed.expectation
    what = label(placed.operation, placed.scenario)
    partner = placed.partner.name if placed.partner else ""
    for comparison in weighing.compared((expectation.layer, expectation.component)):
        if (comparison.measurement.what, comparison.measurement.partner) == (what, partner):
            return comparison
    return None


def _own_alarm(placed: PlannedMeasurement, weighing: Weighing) -> Optional[float]:
    """Return when the alarm of the component began, in epoch seconds, None without one."""
    evidence = weighing.evidence(placed.expectation.subject)
    return evidence.since if evidence and evidence.alarm else None


def _shared_alarms(
    groups: Sequence[Sequence[int]],
    comparisons: Mapping[int, Optional[Comparison]],
    weighing: Weighing,
) -> Iterator[tuple[float, int]]:
    """Yield when correlated measurements became slow together, for each of them."""
    parts: list[dict[int, Comparison]] = []
    for group in groups:
        compared = {index: comparison for index in group if (comparison := comparisons[index])}
        if len(compared) > 1:
            parts.append(compared)
    weighed = weighing.weigh([list(compared.values()) for compared in parts])
    for compared, weight in zip(parts, weighed):
        if weight.alarm:
            yield from ((weight.since, index) for index in compared)


def _weighed_vote(
    placed: PlannedMeasurement,
    comparison: Optional[Comparison],
    since: Optional[float],
    weighing: Weighing,
) -> Optional[Observation]:
    place = placed.expectation.layer, placed.expectation.component
    group = weighing.group_evidence(place)
    if group and group.alarm:
        comparison, since = _against_baseline(comparison), group.since
    if comparison is None:
        return None
    measurement = comparison.measurement
    limit = log(1 - measurement.limits.peer_loss)
    if since is not None:
        # the same runs as in the service: one good run before them would halve a loss of two
        runs = runs_since(comparison.source.runs, since)
        if len(runs) and (middle := _middle(runs)) <= limit:
            ratio = _ratio_of_service(weighing.evidence((*place, False)), measurement.what) or exp(
                middle
            )
            state = severity(ratio, measurement.limits)
            return _vote_of(Vote.BAD, placed, comparison, runs)._replace(state=state)
    runs = comparison.source.runs[-_MAX_RUNS:]
    if len(runs) < _TWO:
        return None
    last = runs[-_MIN_RUNS:, RATIO].tolist()
    low = median(last) < limit or last[-1] < limit
    busy = _group_is_low(placed, weighing, limit)
    return _vote_of(Vote.NONE if low or busy else Vote.GOOD, placed, comparison, runs)


def _ratio_of_service(evidence: Optional[Evidence], what: str) -> Optional[float]:
    """Return the measured / reference that the service of a component shows in its alarm."""
    if evidence is None or not evidence.alarm:
        return None
    return {**dict(evidence.also), evidence.what: evidence.ratio}.get(what)


def _against_baseline(comparison: Optional[Comparison]) -> Optional[Comparison]:
    """Return a measurement with its baseline; None without one of this era."""
    if comparison is None or comparison.measurement.era:
        return None
    return with_baseline(comparison.measurement)


def _group_is_low(placed: PlannedMeasurement, weighing: Weighing, limit: float) -> bool:
    """Return whether most of the group are slow, which comparing them does not show."""
    what = label(placed.operation, placed.scenario)
    compared = weighing.compared_group((placed.expectation.layer, placed.expectation.component))
    for comparison in compared:
        if comparison.measurement.what == what:
            return _middle(comparison.source.runs[-_MAX_RUNS:]) < limit
    return False


def _middle(runs: Rows) -> float:
    """Return the median of some runs, a logarithm; there must be one."""
    ratios: list[float] = runs[:, RATIO].tolist()
    return median(ratios)


def _vote_of(
    vote: Vote, placed: PlannedMeasurement, comparison: Comparison, runs: Rows
) -> Observation:
    middle = _middle(runs)
    # the error of a median of values that differ by s_1 ... s_n is 1.2533 sqrt(n) / sum(1 / s_i)
    own = MEDIAN_FACTOR * sqrt(len(runs)) / float((1 / runs[:, SPREAD]).sum())
    expected = _healthy_rate(comparison)
    error = max(MIN_SPREAD, hypot(own, comparison.source.off))
    # mostly the planned one, and not copied
    as_planned = expected == placed.of.expected
    return Observation(
        placed.of if as_planned else placed.of._replace(expected=expected),
        vote,
        expected * exp(middle),
        error,
        since=float(runs[0, AT]),
        state=State.OK,
    )


def _healthy_rate(comparison: Comparison) -> float:
    """Return the healthy rate of a measurement, in B/s."""
    measurement = comparison.measurement
    if measurement.baseline:
        return measurement.baseline.median
    runs = comparison.source.runs[-_MAX_RUNS:].tolist()
    rates = {sample.started_at: sample.rate for sample in measurement.samples if sample.rate}
    return median(rates[at] / exp(ratio) for at, ratio, *_ in runs if at in rates)


_SAME_FILL = 0.2
"""Fractions of a target: a fuller one is slower (model.expectation.Limits.fill_change)."""


class WithEarlier:
    """A memory of recent measurements, each series with its earlier runs."""

    def __init__(self, memory: Memory, earlier: Memory) -> None:
        self._memory = memory
        self._earlier = earlier
        self.running: tuple[Running, ...] = memory.running

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return every series of a component; raise DocumentError if one is damaged."""
        series = self._memory.of(layer, component)
        before = _earlier_series(self._earlier, layer, component) if series else ()
        return tuple(
            measured_series._replace(earlier=tuple(_earlier_samples(measured_series, before)))
            for measured_series in series
        )


def unreferenced(
    nodes: Nodes, earlier: Mapping[str, Memory], now: float
) -> frozenset[tuple[str, str]]:
    """Return the targets and devices, by layer and name, that cannot be judged alone.

    They have no baseline on today's terms, and no run of the last days with peers; likewise hosts
    without a baseline.
    """
    return frozenset(
        (expectation.layer, expectation.component)
        for node, expectations in nodes.items()
        for expectation in expectations
        if LAYERS[expectation.layer].has_peers
        and not _has_baseline(expectation)
        and not (node in earlier and _has_run(expectation, earlier[node], now))
    )


def _has_baseline(entry: Expectation) -> bool:
    terms = entry.spec.hash()
    baselines = (reference.baseline for _, _, reference in entry.steps_in_bytes())
    return any(baseline is not None and baseline.spec_hash == terms for baseline in baselines)


def _has_run(entry: Expectation, earlier: Memory, now: float) -> bool:
    return any(
        series.latest.spec_hash == entry.spec.hash() and clearing(series.samples, now, entry.limits)
        for series in _earlier_series(earlier, entry.layer, entry.component)
    )


def _earlier_series(earlier: Memory, layer: str, component: str) -> tuple[Series, ...]:
    try:
        return earlier.of(layer, component)
    except DocumentError:
        # a damaged series is no reference; the measurements since are judged without it
        return ()


def _earlier_samples(series: Series, before: tuple[Series, ...]) -> Iterator[Sample]:
    """Yield the earlier samples of the same operation under the same conditions."""
    latest, first = series.latest, min(sample.started_at for sample in series.samples)
    for candidate in before:
        past = candidate.latest
        same = (past.operation, past.scenario) == (latest.operation, latest.scenario)
        if same and not differences(of_record(past), of_record(latest), _SAME_FILL):
            yield from (sample for sample in candidate.samples if sample.started_at < first)


_MAX_SAMPLES = 5
_MIN_BPS = 1.0
_ERROR_OF_SHARES = 0.01
_ALL = 100.0
_CLEAN = 0.1
"""Share of the limit: with more retransmits segments are lost somewhere, but not enough to
accuse."""
_SELDOM_S = DAY_S
"""After this a parallel run, which is weekly, does not show today's speed."""
_SUPERSEDED = "superseded by newer daily measurements"
_TWO_HOSTS = 2


class _Run(NamedTuple):
    """The rate of the latest runs at one level, its error, and when they began."""

    rate: float
    error: float
    since: float


def observe(
    measured: Iterable[PlannedMeasurement],
    judging: Mapping[str, Judging],
    weighing: Optional[Weighing] = None,
) -> Iterator[Observation]:
    """Yield an observation for each measurement, by the judges of the nodes.

    Without ``weighing``, while somebody looks for a fault, the verdict on the latest run votes;
    with it, the evidence of the last runs.
    """
    placed = tuple(measured)
    over_runs = weighing is not None
    weighed = votes(placed, weighing) if weighing else [None] * len(placed)
    for item, vote in zip(placed, weighed):
        yield from _observe(item, judging[item.of.node], vote, over_runs=over_runs)


def _observe(
    placed: PlannedMeasurement,
    judging: Judging,
    vote: Optional[Observation],
    *,
    over_runs: bool,
) -> Iterator[Observation]:
    """Yield the observation of the latest run, or ``over_runs`` the vote of the last ones."""
    expectation, step = placed.expectation, (placed.operation, placed.scenario)
    try:
        if placed.partner:
            every = judging.memory.of(expectation.layer, expectation.component)
            series = series_of(every, *step, placed.partner.name)
            pair = _with_pair(placed, placed.partner, over_runs=over_runs)
            ruling = rule(pair, step, series, judging.now, in_words=judging.detail.in_words)
        else:
            ruling = judging.ruling(expectation, step)
    except DocumentError as error:
        # a damaged document is no evidence on its component, and the others go on
        yield Observation(placed.of, Vote.NONE, reason=str(error))
        return
    if over_runs:
        # further runs are a better reference
        ruling = without_provisional(ruling)
    begun = ruling.record.started_at if ruling.record else 0.0
    if begun and LAYERS[expectation.layer].whole and judging.now - begun > _SELDOM_S:
        yield Observation(placed.of, Vote.NONE, at=begun, reason=_SUPERSEDED)
        return
    if vote and ruling.finding.reason.fine:
        # nearly all: the last runs vote, and nothing is to be said of the latest
        yield vote._replace(at=begun, reason=ruling.finding.text)
    else:
        latest = _observation(placed, begun, ruling)
        if over_runs and ruling.finding.reason.telling:
            last_runs = vote or latest._replace(vote=Vote.NONE)
            latest = last_runs._replace(at=latest.at, reason=latest.reason)
        yield latest
    if placed.partner:
        yield from _segments(placed, ruling)


def _with_pair(placed: PlannedMeasurement, partner: Partner, *, over_runs: bool) -> Expectation:
    """Return the expectation of a host with its partner.

    Over several runs a pair is current until it meets again, which takes days with many hosts.
    """
    expectation = placed.expectation
    own = expectation.reference(placed.operation, placed.scenario)
    reference = of_pair(expectation, partner, placed.operation, own)
    key = f"{placed.operation.value}/{placed.scenario.value}"
    hosts = len(expectation.partners) + 1
    meeting = cycle(hosts) / span(hosts) if over_runs else 1.0
    limits = expectation.limits._replace(stale_after_s=expectation.limits.stale_after_s * meeting)
    return expectation._replace(references={key: reference}, limits=limits)


def _observation(placed: PlannedMeasurement, at: float, ruling: Ruling) -> Observation:
    finding, rate = ruling.finding, ruling.measured
    if finding.reason is Reason.HUNG and placed.of.expected:
        values = (Vote.BAD, 0.0, MIN_SPREAD, at, at, finding.text, finding.state)
        return Observation(placed.of, *values)
    expected = _expected(rate)
    vote = _vote(ruling)
    if rate is None or not expected or vote is Vote.NONE:
        return Observation(placed.of, Vote.NONE, at=at, reason=finding.text)
    run = _run(rate, expected)
    if vote is Vote.BAD and not finding.reason.lasting and not _certain(run, expected):
        text = f"{finding.text}; within what its runs differ by"
        return Observation(placed.of, Vote.NONE, at=at, reason=text)
    measurable = placed.of._replace(expected=expected)
    # a loss of its whole group is no alarm of its own
    lost = severity(run.rate / expected, rate.limits)
    state = finding.state if finding.state.alarm else lost
    values = (vote, run.rate, run.error, at, run.since, finding.text, state)
    return Observation(measurable, *values)


def _vote(ruling: Ruling) -> Vote:
    finding, rate = ruling.finding, ruling.measured
    if rate is None:
        return Vote.NONE
    if finding.reason.fine:
        # a rate may be fine only because its reference is uncertain
        return Vote.NONE if rate.low(rate.provisional_percent) else Vote.GOOD
    shared = finding.reason is Reason.SHARED_LOSS
    slow = finding.reason.slow and finding.state.alarm
    return Vote.BAD if (shared or slow) and rate.rate < (_expected(rate) or 0.0) else Vote.NONE


def _certain(run: _Run, expected: float) -> bool:
    """Return whether a loss is beyond noise: one mild loss of one night wakes nobody."""
    return log(expected / max(run.rate, _MIN_BPS)) >= CERTAIN * run.error


def _expected(measured: Optional[Measured]) -> Optional[float]:
    """Return the reference rate of a measurement, None without one."""
    if measured is None:
        return None
    if measured.provisional:
        return measured.provisional.rate
    return measured.reference_rate


def _run(measured: Measured, expected: float) -> _Run:
    """Return the median of the latest runs that are all low, or all not."""
    limit = (1 - measured.limits.peer_loss) * expected
    low = measured.rate < limit
    level, since = [measured.rate], 0.0
    for sample in measured.samples[1:]:
        if sample.rate is None:
            continue
        if (sample.rate < limit) is not low:
            since = sample.started_at
            break
        level.append(sample.rate)
    spread = measured.baseline.spread if measured.baseline else FEW_APART
    recent = level[:_MAX_SAMPLES]
    error = max(MIN_SPREAD, spread / sqrt(len(recent)))
    if measured.provisional:
        # its reference is uncertain, however many runs there are
        error = measured.provisional.error
    return _Run(median(recent), error, since)


def resending(measurable: Measurable) -> Measurable:
    """Return the retransmit measurement of a pair.

    Segments are lost between the hosts, so these are left out if the site names the parts between.
    """
    between = slice(1, -1) if len(measurable.path) > _TWO_HOSTS else slice(None)
    return measurable._replace(
        name=f"{measurable.name} segments",
        operation=f"{measurable.operation} segments",
        path=measurable.path[between],
        expected=_ALL,
        lanes=tuple(
            tuple(SEGMENTS + lane for lane in crossed) for crossed in measurable.lanes[between]
        ),
    )


def _segments(placed: PlannedMeasurement, ruling: Ruling) -> Iterator[Observation]:
    """Yield the vote of a pair on retransmits, as if half of the rate were lost.

    It is yes or no, so the size of a loss is meaningless; it has lanes of its own.  A buffer that
    is too small overflows only near full speed, so a slow pair without losses is inconclusive.
    """
    record, measured = ruling.record, ruling.measured
    if measured is None or record is None:
        return
    share = segments_retransmitted(record.retransmits, record.bytes)
    if share is None:
        return
    limits = placed.expectation.limits
    limit, slow = limits.retransmit_share, 1 - limits.peer_loss
    measurable = resending(placed.of)
    text = f"{100 * share:.2f} % of the segments retransmitted"
    vote, rate = (Vote.BAD, _ALL / 2) if share > limit else (Vote.GOOD, _ALL)
    some = share > _CLEAN * limit
    too_slow = measured.rate < slow * (_expected(measured) or 0.0)
    if vote is Vote.GOOD and (some or too_slow):
        vote, text = Vote.NONE, f"{text}, inconclusive"
    yield Observation(measurable, vote, rate, _ERROR_OF_SHARES, record.started_at, 0.0, text)
