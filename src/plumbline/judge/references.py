"""What the runs of a measurement are held against: peers, baseline, or its own history.

Samples come in the order of arrival, which is not that of their moments where a clock was stepped.

Peers of the same run or day take away what all of them share.  Where there are too few, the
baseline is the reference; without one, the measurement's own earlier runs.
"""

from __future__ import annotations

from enum import Enum
from math import hypot, log
from statistics import median
from typing import Hashable, Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.chance import ALONE, BESIDE_PEERS, Run, Source
from plumbline.judge.measured import contended
from plumbline.judge.peers import FEW_APART, LEAST_SPREAD, Kinds, day_of
from plumbline.model.limits import Limits
from plumbline.model.reference import Baseline
from plumbline.model.series import Sample
from plumbline.robust import deviation, error_of_median

_PEERS = 4
"""Peers of one run whose median is a reference: one slow one among fewer makes others look fast."""
_SPREAD_ALONE = 0.05
"""What runs without peers differ by at least, as the steady benchmarks of a year did."""
_BEFORE = 8
"""Earlier runs that stand for a level."""


class Against(str, Enum):
    """What a run is held against."""

    RUN = "its peers in the same run"
    BASELINE = "its baseline"
    RATE = "its peers of the same day"
    FEW = "its few peers in the same run"
    HISTORY = "its own earlier runs"


class Measurement(NamedTuple):
    """One operation of one component: its samples, newest first, and its baseline if it has one.

    ``kind`` is the key of what should give the same.
    """

    kind: Hashable
    member: str
    samples: tuple[Sample, ...]
    baseline: Optional[Baseline]
    limits: Limits
    ceiling_Bps: Optional[float]


class Held(NamedTuple):
    """A source for weighing, and what its runs are held against."""

    source: Source
    against: Against


_FORMS = (Against.RUN, Against.BASELINE, Against.RATE)


class References:
    """Finds what each measurement is held against, once all of them are known."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        """Collect what all of each kind gave."""
        self._kinds = {form: Kinds() for form in _FORMS}
        self._levels: dict[Hashable, list[float]] = {}
        for one in measurements:
            for form, kinds in self._kinds.items():
                kinds.add(one.kind, one.member, _values(one, form))
            if one.baseline:
                self._levels.setdefault(one.kind, []).append(log(one.baseline.median_Bps))

    def of(self, one: Measurement) -> Optional[Held]:
        """Return the runs of a measurement beside their reference, None where there is none."""
        if self._accepted_low(one):
            return self._beside(one, Against.BASELINE) or _alone(one)
        known = [(self._kinds[form].of(one.kind).apart, form) for form in _FORMS]
        for _, form in sorted(known, key=lambda pair: pair[0]):
            found = self._beside(one, form)
            if found:
                return found
        return _alone(one) or _few(one) or _own_history(one)

    def _beside(self, one: Measurement, form: Against) -> Optional[Held]:
        """Return the runs of days with peers, None where there are none."""
        kind = self._kinds[form].of(one.kind)
        runs = []
        for at, value in _values(one, form):
            day = kind.days.get(day_of(at))
            if day:
                runs.append(Run(at, value - day.value, day.spread))
        if not runs:
            return None
        return Held(Source(tuple(sorted(runs)), kind.apart), form)

    def _accepted_low(self, one: Measurement) -> bool:
        """Return whether a person has accepted that a component is slower than its peers."""
        if one.baseline is None:
            return False
        level = median(self._levels[one.kind])
        return log(one.baseline.median_Bps) - level < log(1 - one.limits.peer_loss) / 2


def _speaking(one: Measurement) -> Iterator[tuple[Sample, float]]:
    """Yield the samples that say something, newest first, with the logarithm of their rate."""
    most = one.ceiling_Bps and one.limits.invalid_above * one.ceiling_Bps
    for sample in one.samples:
        if not sample.rate_Bps or sample.excluded or contended(sample.coverage, one.limits):
            continue
        if not most or sample.rate_Bps <= most:
            yield sample, log(sample.rate_Bps)


def _values(one: Measurement, form: Against) -> Iterator[tuple[float, float]]:
    """Yield moments and logarithms of a form, newest first."""
    level = log(one.baseline.median_Bps) if one.baseline else None
    for sample, rate in _speaking(one):
        if form is Against.RATE:
            yield sample.started_at, rate
        elif form is Against.BASELINE and level is not None:
            yield sample.started_at, rate - level
        elif form is Against.RUN and sample.peers_Bps and sample.peers >= _PEERS:
            yield sample.started_at, rate - log(sample.peers_Bps)


def _alone(one: Measurement) -> Optional[Held]:
    """Return the runs beside the baseline, busy days and all."""
    values = sorted(_values(one, Against.BASELINE))
    if one.baseline is None or not values:
        return None
    spread = max(_SPREAD_ALONE, one.baseline.spread)
    off = max(LEAST_SPREAD, error_of_median(spread, max(1, one.baseline.runs)))
    runs = tuple(Run(at, value, spread) for at, value in values)
    return Held(Source(runs, off, ALONE), Against.BASELINE)


def _few(one: Measurement) -> Optional[Held]:
    """Return the runs beside one to three peers, of which each may be odd itself."""
    runs = [
        Run(sample.started_at, rate - log(sample.peers_Bps), hypot(FEW_APART, FEW_APART))
        for sample, rate in _speaking(one)
        if sample.peers_Bps
    ]
    if not runs:
        return None
    return Held(Source(tuple(sorted(runs)), FEW_APART, BESIDE_PEERS), Against.FEW)


def _own_history(one: Measurement) -> Optional[Held]:
    """Return the newer half of the runs beside the median of the older one."""
    values = sorted((sample.started_at, rate) for sample, rate in _speaking(one))
    count = max(_BEFORE, len(values) // 2)
    if len(values) <= count:
        return None
    before = [rate for _, rate in values[:count]]
    level, spread = median(before), max(_SPREAD_ALONE, deviation(before))
    runs = tuple(Run(at, rate - level, spread) for at, rate in values[count:])
    return Held(Source(runs, error_of_median(spread, count), ALONE), Against.HISTORY)
