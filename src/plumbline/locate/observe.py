"""Observations that vote, from what was measured and how it was judged.

A mild loss may be in the noise of each of them and yet be certain, for chance does not make the
same nights low in all of them.

The judge weighs the runs.  A measurement is bad where its component, its pair of hosts or a part
that it shares has an alarm and its own runs are low since that began; it is good where its last
runs are not low.  What the whole group has lost shows beside the baseline alone.

Earlier runs never vote: an old good measurement must not clear a part that has become slow since.

A verdict excuses a component when all of its peers are as slow; here that loss votes, because it
is what a shared part is found by.  What is contended, invalid, degraded or was not measured does
not vote.
"""

from __future__ import annotations

from math import exp, hypot, log, sqrt
from statistics import median
from typing import Hashable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.component import firmly, rule
from plumbline.judge.measured import CERTAIN, Measured, clearing
from plumbline.judge.memory import Memory
from plumbline.judge.operations import label
from plumbline.judge.pair import of_pair
from plumbline.judge.phrases import Ruling
from plumbline.judge.references import FEW_APART, LEAST_SPREAD, ComparedSource, baseline_source
from plumbline.judge.runs import AT, RATIO, SPREAD, Rows, Source
from plumbline.judge.runs import since as runs_since
from plumbline.judge.service import severity
from plumbline.judge.weighing import NamedMeasurement, Weighing
from plumbline.locate.observation import (
    SEGMENTS,
    Measurable,
    Nodes,
    Observation,
    PlannedMeasurement,
    Vote,
)
from plumbline.model.conditions import differences, of_record
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.record import Scenario, segments_retransmitted
from plumbline.model.rounds import cycle, span
from plumbline.model.series import Running, Sample, Series
from plumbline.model.statistics import OF_A_MEDIAN
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, State


def correlated(measured: Sequence[PlannedMeasurement]) -> list[tuple[int, ...]]:
    """Return sets of measurements that one node makes (indices), each of two or more.

    All that is measured of one component, or between two hosts; and what devices give that are read
    together, for each part that they share.
    """
    streams: dict[Hashable, list[int]] = {}
    for index, placed in enumerate(measured):
        of = placed.of
        streams.setdefault((of.node, of.layer, of.component, placed.partner), []).append(index)
        if LAYERS[of.layer].on_devices and placed.scenario is Scenario.TOGETHER:
            for part in of.path[:-1]:
                streams.setdefault((of.node, part), []).append(index)
    return list(dict.fromkeys(tuple(each) for each in streams.values() if len(each) > 1))


_Comparison = tuple[NamedMeasurement, ComparedSource]

_FEWEST = 3
"""Runs of a measurement that speak of today, of a young history two."""
_MOST = 9
"""Runs that say how fast it is, and of which most must be low for a group that is not just busy."""
_TWO = 2


class WeighedVote(NamedTuple):
    """The vote of the last runs, what they should give and their middle rate, both in B/s.

    ``error`` is that of the rate, a fraction; ``begun`` is when they began, in epoch seconds.
    ``state`` is that of the alarm if it is bad.
    """

    vote: Vote
    expected: float
    rate: float
    error: float
    begun: float
    state: State = State.OK


def votes(placed: Sequence[PlannedMeasurement], weighing: Weighing) -> list[Optional[WeighedVote]]:
    """Return the vote of the last runs of each measurement, None where they are too few.

    All measurements of a site in one call take a tenth of the time of one node after another.
    """
    comparisons = [_comparison(measurement, weighing) for measurement in placed]
    since = [_own_alarm(measurement, weighing) for measurement in placed]
    groups = [
        group
        for group in correlated(placed)
        # what is measured of one component the judge has weighed together
        if not _of_one_component([placed[index] for index in group])
    ]
    for begun, index in _together(groups, comparisons, weighing):
        if since[index] is None:
            since[index] = begun
    return [_weighed(*each, weighing) for each in zip(placed, comparisons, since)]


def _of_one_component(group: Sequence[PlannedMeasurement]) -> bool:
    """Return whether all that is measured of a component makes a group, and not a pair of hosts."""
    return (
        group[0].partner is None
        and len({measurement.expectation.subject for measurement in group}) == 1
    )


def _comparison(placed: PlannedMeasurement, weighing: Weighing) -> Optional[_Comparison]:
    """Return a measurement beside its reference, None where there is none."""
    expectation = placed.expectation
    what = label(placed.operation, placed.scenario)
    partner = placed.partner.name if placed.partner else ""
    compared = weighing.compared((expectation.layer, expectation.component))
    return next((each for each in compared if each[0][:2] == (what, partner)), None)


def _own_alarm(placed: PlannedMeasurement, weighing: Weighing) -> Optional[float]:
    """Return since when the component has an alarm, in epoch seconds, None where it has none."""
    evidence = weighing.evidence(placed.expectation.subject)
    return evidence.since if evidence and evidence.alarm else None


def _together(
    groups: Sequence[Sequence[int]],
    comparisons: Sequence[Optional[_Comparison]],
    weighing: Weighing,
) -> Iterator[tuple[float, int]]:
    """Yield since when correlated measurements are slow together, for each of them."""
    parts: list[dict[int, _Comparison]] = []
    for group in groups:
        compared = {index: comparison for index in group if (comparison := comparisons[index])}
        if len(compared) > 1:
            parts.append(compared)
    every = weighing.weigh([list(compared.values()) for compared in parts])
    for compared, evidence in zip(parts, every):
        if evidence.alarm:
            yield from ((evidence.since, index) for index in compared)


def _weighed(
    placed: PlannedMeasurement,
    comparison: Optional[_Comparison],
    since: Optional[float],
    weighing: Weighing,
) -> Optional[WeighedVote]:
    place = placed.expectation.layer, placed.expectation.component
    of_all = weighing.group_evidence(place)
    if of_all and of_all.alarm:
        comparison, since = _against_baseline(comparison), of_all.since
    if comparison is None:
        return None
    measurement, (source, _) = comparison
    limit = log(1 - measurement.measurement.limits.peer_loss)
    if since is not None:
        # the same runs as the service shows: one good run before them would halve a loss of two
        runs = runs_since(source.runs, since)
        if len(runs) and (middle := _middle(runs)) <= limit:
            ratio = _ratio_of_service(weighing.evidence((*place, False)), measurement.what) or exp(
                middle
            )
            vote = _of(Vote.BAD, measurement, source, runs)
            return vote._replace(state=severity(ratio, measurement.measurement.limits))
    runs = source.runs[-_MOST:]
    if len(runs) < _TWO:
        return None
    last = runs[-_FEWEST:, RATIO].tolist()
    low = median(last) < limit or last[-1] < limit
    busy = _group_is_low(placed, weighing, limit)
    return _of(Vote.NONE if low or busy else Vote.GOOD, measurement, source, runs)


def _ratio_of_service(evidence: Optional[Evidence], what: str) -> Optional[float]:
    """Return the measured / reference that the service of a component shows in its alarm."""
    if evidence is None or not evidence.alarm:
        return None
    return {**dict(evidence.also), evidence.what: evidence.ratio}.get(what)


def _against_baseline(comparison: Optional[_Comparison]) -> Optional[_Comparison]:
    """Return a measurement beside its baseline; None where it has none of this era."""
    if comparison is None:
        return None
    source = None if comparison[0].measurement.era else baseline_source(comparison[0].measurement)
    return (comparison[0], source) if source else None


def _group_is_low(placed: PlannedMeasurement, weighing: Weighing, limit: float) -> bool:
    """Return whether all of the group mostly are slow, which beside one another does not show."""
    what = label(placed.operation, placed.scenario)
    compared = weighing.compared_group((placed.expectation.layer, placed.expectation.component))
    for measurement, (source, _) in compared:
        if measurement.what == what:
            return _middle(source.runs[-_MOST:]) < limit
    return False


def _middle(runs: Rows) -> float:
    """Return the middle of some runs, one at least, a logarithm."""
    ratios: list[float] = runs[:, RATIO].tolist()
    return median(ratios)


def _of(vote: Vote, named: NamedMeasurement, source: Source, runs: Rows) -> WeighedVote:
    middle = _middle(runs)
    # the error of a median of values that differ by s_1 ... s_n is 1.2533 sqrt(n) / sum(1 / s_i)
    own = OF_A_MEDIAN * sqrt(len(runs)) / float((1 / runs[:, SPREAD]).sum())
    expected = _expected_loss(named, source)
    error = max(LEAST_SPREAD, hypot(own, source.off))
    return WeighedVote(vote, expected, expected * exp(middle), error, float(runs[0, AT]))


def _expected_loss(named: NamedMeasurement, source: Source) -> float:
    """Return the healthy rate of a measurement, in B/s."""
    if named.measurement.baseline:
        return named.measurement.baseline.median
    rates = {sample.started_at: sample.rate for sample in named.measurement.samples if sample.rate}
    return median(
        rates[at] / exp(ratio) for at, ratio, *_ in source.runs[-_MOST:].tolist() if at in rates
    )


_SAME_FILL = 0.2
"""Fractions of a target: a filled one is slower (model.expectation.Limits.fill_change)."""


class WithEarlier:
    """A memory of what was measured since, each series with the runs before beside it."""

    def __init__(self, memory: Memory, earlier: Memory) -> None:
        self._memory = memory
        self._earlier = earlier
        self.running: tuple[Running, ...] = memory.running

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return every series of a component; raise DocumentError when one is damaged."""
        series = self._memory.of(layer, component)
        before = _known(self._earlier, layer, component) if series else ()
        return tuple(
            measured_series._replace(earlier=tuple(_before(measured_series, before)))
            for measured_series in series
        )


def unreferenced(
    nodes: Nodes, earlier: Mapping[str, Memory], now: float
) -> frozenset[tuple[str, str]]:
    """Return the targets and devices, by layer and name, that cannot be judged alone.

    They have no baseline on the terms of today, and no run of the last days beside peers.  So it is
    with hosts without a baseline.
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
    baselines = (reference.baseline for reference in entry.references.values())
    return any(baseline is not None and baseline.spec_hash == terms for baseline in baselines)


def _has_run(entry: Expectation, earlier: Memory, now: float) -> bool:
    return any(
        series.latest.spec_hash == entry.spec.hash() and clearing(series.samples, now, entry.limits)
        for series in _known(earlier, entry.layer, entry.component)
    )


def _known(earlier: Memory, layer: str, component: str) -> tuple[Series, ...]:
    try:
        return earlier.of(layer, component)
    except DocumentError:
        # what is damaged is no reference; the measurements since are judged without it
        return ()


def _before(series: Series, before: tuple[Series, ...]) -> Iterator[Sample]:
    """Yield the samples of the same operation, where they were made under the same conditions."""
    latest, first = series.latest, min(sample.started_at for sample in series.samples)
    for other in before:
        then = other.latest
        same = (then.operation, then.scenario) == (latest.operation, latest.scenario)
        if same and not differences(of_record(then), of_record(latest), _SAME_FILL):
            yield from (sample for sample in other.samples if sample.started_at < first)


_MOST_SAMPLES = 5
_LEAST_BPS = 1.0
_ERROR_OF_SHARES = 0.01
_ALL = 100.0
_CLEAN = 0.1
"""Of the limit: more segments than that are lost somewhere, though not enough to accuse."""
_SELDOM_S = DAY_S
"""After this a parallel run, of which there is one a week, does not speak of today any more."""
_SUPERSEDED = "superseded by newer daily measurements"
_TWO_HOSTS = 2


class _Run(NamedTuple):
    """The rate of the latest runs that are alike, what may be off, and when they began."""

    rate: float
    error: float
    since: float


def observe(
    measured: Iterable[PlannedMeasurement],
    memories: Mapping[str, Memory],
    now: float,
    weighing: Optional[Weighing] = None,
) -> Iterator[Observation]:
    """Yield an observation for each measurement, at ``now`` in seconds since the epoch.

    ``memories`` are those of the nodes, by their names.  While one looks for a fault, the verdict
    on the latest run votes; while one waits for one, the evidence of the last runs does.
    """
    placed = tuple(measured)
    observations = [_observe(each, memories[each.of.node], now, weighing) for each in placed]
    weighed = votes(placed, weighing) if weighing else [None] * len(placed)
    for observation, over in zip(observations, weighed):
        yield (
            _over(observation.of_one, over)
            if weighing and observation.telling
            else observation.of_one
        )
        yield from observation.segments


class _Observed(NamedTuple):
    """Observation of the latest run; with ``telling``, the last runs vote instead."""

    of_one: Observation
    telling: bool = False
    segments: Sequence[Observation] = ()


def _observe(
    placed: PlannedMeasurement, memory: Memory, now: float, weighing: Optional[Weighing]
) -> _Observed:
    expectation = placed.expectation
    try:
        series = _series(placed, memory.of(expectation.layer, expectation.component))
        expected = _with_pair(placed, over_runs=weighing is not None)
        ruling = rule(expected, (placed.operation, placed.scenario), series, now)
    except DocumentError as error:
        # what is damaged says nothing about its component, and the others go on
        return _Observed(Observation(placed.of, Vote.NONE, 0.0, 0.0, 0.0, 0.0, str(error)))
    if weighing:
        # who waits for more runs has a better reference in these
        ruling = firmly(ruling)
    if series and LAYERS[expectation.layer].whole and now - series.latest.started_at > _SELDOM_S:
        begun = series.latest.started_at
        return _Observed(Observation(placed.of, Vote.NONE, 0.0, 0.0, begun, 0.0, _SUPERSEDED))
    segments = tuple(_segments(placed, ruling)) if placed.partner else ()
    telling = ruling.finding.reason.telling
    return _Observed(_observation(placed, series, ruling), telling, segments)


def _series(placed: PlannedMeasurement, series: Sequence[Series]) -> Optional[Series]:
    partner = placed.partner.name if placed.partner else None
    for measured_series in series:
        latest = measured_series.latest
        if (latest.operation, latest.scenario) == (placed.operation, placed.scenario) and (
            partner in (None, latest.partner)
        ):
            return measured_series
    return None


def _with_pair(placed: PlannedMeasurement, *, over_runs: bool) -> Expectation:
    """Return the expectation; of a host that of the pair.

    Over several runs a pair speaks of today until it meets again, which of many hosts takes days.
    """
    expectation = placed.expectation
    if placed.partner is None:
        return expectation
    own = expectation.reference(placed.operation, placed.scenario)
    reference = of_pair(expectation, placed.partner, own)
    key = f"{placed.operation.value}/{placed.scenario.value}"
    hosts = len(expectation.partners) + 1
    meeting = cycle(hosts) / span(hosts) if over_runs else 1.0
    limits = expectation.limits._replace(stale_after_s=expectation.limits.stale_after_s * meeting)
    return expectation._replace(references={key: reference}, limits=limits)


def _observation(
    placed: PlannedMeasurement, series: Optional[Series], ruling: Ruling
) -> Observation:
    finding, of = ruling.finding, ruling.measured
    at = series.latest.started_at if series else 0.0
    if finding.reason is Reason.HUNG and placed.of.expected:
        hung = Observation(placed.of, Vote.BAD, 0.0, LEAST_SPREAD, at, 0.0, finding.text)
        return hung._replace(state=finding.state)
    expected = _expected(of)
    vote = _vote(ruling)
    if of is None or not expected or vote is Vote.NONE:
        return Observation(placed.of, Vote.NONE, 0.0, 0.0, at, 0.0, finding.text)
    run = _run(of, expected)
    if vote is Vote.BAD and not finding.reason.lasting and not _certain(run, expected):
        text = f"{finding.text}; within what its runs differ by"
        return Observation(placed.of, Vote.NONE, 0.0, 0.0, at, 0.0, text)
    measurable = placed.of._replace(expected=expected)
    # what its whole group has lost is no alarm of its own
    lost = severity(run.rate / expected, of.limits)
    state = finding.state if finding.state.alarm else lost
    values = (vote, run.rate, run.error, at, run.since, finding.text, state)
    return Observation(measurable, *values)


def _over(of_one: Observation, vote: Optional[WeighedVote]) -> Observation:
    """Return the observation of the last runs in the place of that of the latest."""
    if vote is None:
        return of_one._replace(vote=Vote.NONE)
    measurable = of_one.of._replace(expected=vote.expected)
    values = (vote.vote, vote.rate, vote.error, of_one.at, vote.begun, of_one.reason)
    return Observation(measurable, *values, vote.state)


def _vote(ruling: Ruling) -> Vote:
    finding, of = ruling.finding, ruling.measured
    if of is None:
        return Vote.NONE
    if finding.reason.fine:
        # a rate may be fine because its reference is too uncertain to say more
        return Vote.NONE if of.low(of.provisional_percent) else Vote.GOOD
    shared = finding.reason is Reason.SHARED_LOSS
    slow = finding.reason.slow and finding.state.alarm
    return Vote.BAD if (shared or slow) and of.rate < (_expected(of) or 0.0) else Vote.NONE


def _certain(run: _Run, expected: float) -> bool:
    """Return whether a loss is more than noise: no page is for one mild loss of one night."""
    return log(expected / max(run.rate, _LEAST_BPS)) >= CERTAIN * run.error


def _expected(measured: Optional[Measured]) -> Optional[float]:
    """Return the rate that is held against a measurement, None where there is none."""
    if measured is None:
        return None
    if measured.provisional:
        return measured.provisional.rate
    return measured.reference_rate


def _run(measured: Measured, expected: float) -> _Run:
    """Return the middle of the latest runs that are all low, or all not."""
    limit = (1 - measured.limits.peer_loss) * expected
    low = measured.rate < limit
    alike, since = [measured.rate], 0.0
    for sample in measured.samples[1:]:
        if sample.rate is None:
            continue
        if (sample.rate < limit) is not low:
            since = sample.started_at
            break
        alike.append(sample.rate)
    spread = measured.baseline.spread if measured.baseline else FEW_APART
    kept = alike[:_MOST_SAMPLES]
    error = max(LEAST_SPREAD, spread / sqrt(len(kept)))
    if measured.provisional:
        # what it is compared with is uncertain, however many runs there are
        error = measured.provisional.error
    return _Run(median(kept), error, since)


def resending(measurable: Measurable) -> Measurable:
    """Return a measurement of a pair as one of whether segments are retransmitted.

    Segments are lost between the hosts, so these are left out where the site says what lies
    between.
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

    It is yes or no, so the size of a loss says nothing; it has lanes of its own.  A buffer that is
    too small overflows near full speed only, so a slow pair that loses none is inconclusive.
    """
    record, measured = ruling.record, ruling.measured
    if measured is None or record is None:
        return
    share = segments_retransmitted(record.retransmits, record.bytes)
    if share is None:
        return
    limits = placed.expectation.limits
    limit, slow = limits.retransmit_share, 1 - limits.peer_loss
    of = resending(placed.of)
    text = f"{100 * share:.2f} % of the segments retransmitted"
    vote, rate = (Vote.BAD, _ALL / 2) if share > limit else (Vote.GOOD, _ALL)
    some = share > _CLEAN * limit
    too_slow = measured.rate < slow * (_expected(measured) or 0.0)
    if vote is Vote.GOOD and (some or too_slow):
        vote, text = Vote.NONE, f"{text}, inconclusive"
    yield Observation(of, vote, rate, _ERROR_OF_SHARES, record.started_at, 0.0, text)
