"""What the evidence of several runs says of each measurement: whether it votes, and its loss.

The judge weighs the runs.  A measurement is bad where its component, its pair of hosts or a part
that it shares has an alarm and its own runs are low since that began; it is good where its last
runs are not low.  What the whole group has lost shows beside the baseline alone.
"""

from __future__ import annotations

from math import exp, hypot, log, sqrt
from statistics import median
from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.claims import NamedMeasurement
from plumbline.judge.noise import Run, Source
from plumbline.judge.operations import label
from plumbline.judge.peers import LEAST_SPREAD
from plumbline.judge.references import ComparedSource, beside_baseline
from plumbline.judge.service import severity
from plumbline.judge.weighing import Weighing
from plumbline.locate.correlated import correlated
from plumbline.locate.measurables import PlannedMeasurement
from plumbline.locate.observation import Vote
from plumbline.model.evidence import Evidence
from plumbline.model.state import State
from plumbline.robust import OF_A_MEDIAN

_One = tuple[NamedMeasurement, ComparedSource]

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
    expected_Bps: float
    rate_Bps: float
    error: float
    begun: float
    state: State = State.OK


def votes(placed: Sequence[PlannedMeasurement], known: Weighing) -> list[Optional[WeighedVote]]:
    """Return what the last runs of each measurement of a node say, None where there are too few."""
    held = [_held(one, known) for one in placed]
    since = [_own_alarm(one, known) for one in placed]
    for group in correlated(placed):
        if _of_one_component([placed[index] for index in group]):
            # the judge has weighed it together
            continue
        for begun, index in _together(group, held, known):
            if since[index] is None:
                since[index] = begun
    return [_weighed(*each, known) for each in zip(placed, held, since)]


def _of_one_component(group: Sequence[PlannedMeasurement]) -> bool:
    """Return whether all that is measured of a component makes a group, and not a pair of hosts."""
    return group[0].partner is None and len({one.expectation.subject for one in group}) == 1


def _held(placed: PlannedMeasurement, known: Weighing) -> Optional[_One]:
    """Return a measurement beside its reference, None where there is none."""
    one = placed.expectation
    what = label(placed.operation, placed.scenario)
    partner = placed.partner.name if placed.partner else ""
    found = known.compared((one.layer, one.component))
    return next((each for each in found if each[0][:2] == (what, partner)), None)


def _own_alarm(placed: PlannedMeasurement, known: Weighing) -> Optional[float]:
    """Return since when the component has an alarm, in epoch seconds, None where it has none."""
    found = known.evidence(placed.expectation.subject)
    return found.since if found and found.alarm else None


def _together(
    group: Sequence[int], held: Sequence[Optional[_One]], known: Weighing
) -> Iterator[tuple[float, int]]:
    """Yield since when correlated measurements are slow together, for each of them."""
    found = {index: one for index in group if (one := held[index])}
    if len(found) > 1:
        evidence = known.weigh(list(found.values()))
        if evidence.alarm:
            yield from ((evidence.since, index) for index in found)


def _weighed(
    placed: PlannedMeasurement, held: Optional[_One], since: Optional[float], known: Weighing
) -> Optional[WeighedVote]:
    place = placed.expectation.layer, placed.expectation.component
    of_all = known.of_its_group(place)
    if of_all and of_all.alarm:
        held, since = _beside_baseline(held), of_all.since
    if held is None:
        return None
    one, (source, _) = held
    limit = log(1 - one.measurement.limits.peer_loss)
    if since is not None:
        # the same runs as the service shows: one good run before them would halve a loss of two
        runs = [run for run in source.runs if run.at >= since]
        if runs and (middle := median(run.log_ratio for run in runs)) <= limit:
            ratio = _ratio_of_service(known.evidence((*place, False)), one.what) or exp(middle)
            found = _of(Vote.BAD, one, source, runs)
            return found._replace(state=severity(ratio, one.measurement.limits))
    runs = list(source.runs[-_MOST:])
    if len(runs) < _TWO:
        return None
    last = runs[-_FEWEST:]
    low = median(run.log_ratio for run in last) < limit or last[-1].log_ratio < limit
    busy = _group_is_low(placed, known, limit)
    return _of(Vote.NONE if low or busy else Vote.GOOD, one, source, runs)


def _ratio_of_service(evidence: Optional[Evidence], what: str) -> Optional[float]:
    """Return the measured / reference that the service of a component shows in its alarm."""
    if evidence is None or not evidence.alarm:
        return None
    return {**dict(evidence.also), evidence.what: evidence.ratio}.get(what)


def _beside_baseline(held: Optional[_One]) -> Optional[_One]:
    """Return a measurement beside its baseline; None where it has none of this era."""
    if held is None:
        return None
    found = None if held[0].measurement.era else beside_baseline(held[0].measurement)
    return (held[0], found) if found else None


def _group_is_low(placed: PlannedMeasurement, known: Weighing, limit: float) -> bool:
    """Return whether all of the group mostly are slow, which beside one another does not show."""
    what = label(placed.operation, placed.scenario)
    found = known.compared_as_one((placed.expectation.layer, placed.expectation.component))
    for one, (source, _) in found:
        if one.what == what:
            return median(run.log_ratio for run in source.runs[-_MOST:]) < limit
    return False


def _of(vote: Vote, named: NamedMeasurement, source: Source, runs: Sequence[Run]) -> WeighedVote:
    middle = median(run.log_ratio for run in runs)
    # the error of a median of values that differ by s_1 ... s_n is 1.2533 sqrt(n) / sum(1 / s_i)
    own = OF_A_MEDIAN * sqrt(len(runs)) / sum(1 / run.spread for run in runs)
    expected = _expected(named, source)
    error = max(LEAST_SPREAD, hypot(own, source.off))
    return WeighedVote(vote, expected, expected * exp(middle), error, runs[0].at)


def _expected(named: NamedMeasurement, source: Source) -> float:
    """Return what a measurement gives while it is healthy, in B/s."""
    if named.measurement.baseline:
        return named.measurement.baseline.median_Bps
    rates = {each.started_at: each.rate_Bps for each in named.measurement.samples if each.rate_Bps}
    return median(
        rates[run.at] / exp(run.log_ratio) for run in source.runs[-_MOST:] if run.at in rates
    )
