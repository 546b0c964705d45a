"""From what was measured and how the rules judge it to observations that vote or do not.

A verdict excuses a component when all of its peers are as slow; here that loss votes, because it
is what a shared part is found by.  What is contended, invalid, degraded or was not measured does
not vote.
"""

from __future__ import annotations

from math import log, sqrt
from statistics import median
from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.judge.component import firmly, rule
from plumbline.judge.finding import Ruling
from plumbline.judge.measured import Measured
from plumbline.judge.pair import of_pair
from plumbline.judge.peers import FEW_APART, LEAST_SPREAD
from plumbline.judge.provisional import CERTAIN
from plumbline.judge.service import severity
from plumbline.judge.weighing import Weighing
from plumbline.layers import WHOLE
from plumbline.locate.measurables import PlannedMeasurement
from plumbline.locate.observation import SEGMENTS, Measurable, Observation, Vote
from plumbline.locate.votes import WeighedVote, votes
from plumbline.model.expectation import Expectation
from plumbline.model.memory import Memory
from plumbline.model.reason import Reason
from plumbline.model.record import segments_retransmitted
from plumbline.model.series import Series
from plumbline.plan.rounds import cycle, span
from plumbline.units import DAY_S

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

    rate_Bps: float
    error: float
    since: float


def observe(
    measured: Iterable[PlannedMeasurement],
    memory: Memory,
    now: float,
    known: Optional[Weighing] = None,
) -> Iterator[Observation]:
    """Yield an observation for each measurement, at ``now`` in seconds since the epoch.

    While one looks for a fault, the verdict on the latest run votes; while one waits for one, the
    evidence of the last runs does, which is ``known`` then.
    """
    placed = tuple(measured)
    found = [_observe(each, memory, now, known) for each in placed]
    weighed = votes(placed, known) if known else [None] * len(placed)
    for one, over in zip(found, weighed):
        yield _over(one.of_one, over) if known and one.telling else one.of_one
        yield from one.segments


class _Observed(NamedTuple):
    """What the latest run of a measurement says, and whether the last ones are to vote instead."""

    of_one: Observation
    telling: bool = False
    segments: Sequence[Observation] = ()


def _observe(
    placed: PlannedMeasurement, memory: Memory, now: float, known: Optional[Weighing]
) -> _Observed:
    one = placed.expectation
    try:
        series = _series(placed, memory.of(one.layer, one.component))
        expected = _with_pair(placed, over_runs=known is not None)
        ruling = rule(expected, (placed.operation, placed.scenario), series, now)
    except DocumentError as error:
        # what is damaged says nothing about its component, and the others go on
        return _Observed(Observation(placed.of, Vote.NONE, 0.0, 0.0, 0.0, 0.0, str(error)))
    if known:
        # who waits for more runs has a better reference in these
        ruling = firmly(ruling)
    if series and one.layer in WHOLE and now - series.latest.started_at > _SELDOM_S:
        begun = series.latest.started_at
        return _Observed(Observation(placed.of, Vote.NONE, 0.0, 0.0, begun, 0.0, _SUPERSEDED))
    segments = tuple(_segments(placed, ruling)) if placed.partner else ()
    telling = ruling.finding.reason.telling
    return _Observed(_observation(placed, series, ruling), telling, segments)


def _series(placed: PlannedMeasurement, found: Sequence[Series]) -> Optional[Series]:
    partner = placed.partner.name if placed.partner else None
    for one in found:
        latest = one.latest
        if (latest.operation, latest.scenario) == (placed.operation, placed.scenario) and (
            partner in (None, latest.partner)
        ):
            return one
    return None


def _with_pair(placed: PlannedMeasurement, *, over_runs: bool) -> Expectation:
    """Return the expectation; of a host that of the pair.

    Over several runs a pair speaks of today until it meets again, which of many hosts takes days.
    """
    one = placed.expectation
    if placed.partner is None:
        return one
    own = one.reference(placed.operation, placed.scenario)
    reference = of_pair(one, placed.partner, own)
    key = f"{placed.operation.value}/{placed.scenario.value}"
    hosts = len(one.partners) + 1
    meeting = cycle(hosts) / span(hosts) if over_runs else 1.0
    limits = one.limits._replace(stale_after_s=one.limits.stale_after_s * meeting)
    return one._replace(references={key: reference}, limits=limits)


def _observation(
    placed: PlannedMeasurement, series: Optional[Series], ruling: Ruling
) -> Observation:
    finding, of = ruling.finding, ruling.measured
    at = series.latest.started_at if series else 0.0
    if finding.reason is Reason.HUNG and placed.of.expected_Bps:
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
    measurable = placed.of._replace(expected_Bps=expected)
    # what its whole group has lost is no alarm of its own
    lost = severity(run.rate_Bps / expected, of.limits)
    state = finding.state if finding.state.alarm else lost
    values = (vote, run.rate_Bps, run.error, at, run.since, finding.text, state)
    return Observation(measurable, *values)


def _over(of_one: Observation, found: Optional[WeighedVote]) -> Observation:
    """Return the observation of the last runs in the place of that of the latest."""
    if found is None:
        return of_one._replace(vote=Vote.NONE)
    made = of_one.of._replace(expected_Bps=found.expected_Bps)
    values = (found.vote, found.rate_Bps, found.error, of_one.at, found.begun, of_one.reason)
    return Observation(made, *values, found.state)


def _vote(ruling: Ruling) -> Vote:
    finding, of = ruling.finding, ruling.measured
    if of is None:
        return Vote.NONE
    if finding.reason.fine:
        # a rate may be fine because its reference is too uncertain to say more
        return Vote.NONE if of.low(of.provisional_percent) else Vote.GOOD
    shared = finding.reason is Reason.SHARED_LOSS
    slow = finding.reason.slow and finding.state.alarm
    return Vote.BAD if (shared or slow) and of.rate_Bps < (_expected(of) or 0.0) else Vote.NONE


def _certain(run: _Run, expected: float) -> bool:
    """Return whether a loss is more than noise: no page is for one mild loss of one night."""
    return log(expected / max(run.rate_Bps, _LEAST_BPS)) >= CERTAIN * run.error


def _expected(measured: Optional[Measured]) -> Optional[float]:
    """Return the rate that is held against a measurement, None where there is none."""
    if measured is None:
        return None
    if measured.provisional:
        return measured.provisional.rate_Bps
    return measured.reference_Bps


def _run(measured: Measured, expected: float) -> _Run:
    """Return the middle of the latest runs that are all low, or all not."""
    limit = (1 - measured.limits.peer_loss) * expected
    low = measured.rate_Bps < limit
    alike, since = [measured.rate_Bps], 0.0
    for sample in measured.samples[1:]:
        if sample.rate_Bps is None:
            continue
        if (sample.rate_Bps < limit) is not low:
            since = sample.started_at
            break
        alike.append(sample.rate_Bps)
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
        expected_Bps=_ALL,
        lanes=tuple(
            tuple(SEGMENTS + lane for lane in crossed) for crossed in measurable.lanes[between]
        ),
    )


def _segments(placed: PlannedMeasurement, ruling: Ruling) -> Iterator[Observation]:
    """Yield what a pair says of segments retransmitted: as if half of the rate were lost.

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
    too_slow = measured.rate_Bps < slow * (_expected(measured) or 0.0)
    if vote is Vote.GOOD and (some or too_slow):
        vote, text = Vote.NONE, f"{text}, inconclusive"
    yield Observation(of, vote, rate, _ERROR_OF_SHARES, record.started_at, 0.0, text)
