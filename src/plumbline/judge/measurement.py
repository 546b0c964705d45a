"""What the judge takes of one operation of a component: the logarithms of what its runs gave."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import log
from typing import Hashable, Iterator, NamedTuple, Optional, Sequence

from plumbline.model.limits import Limits
from plumbline.model.reference import Baseline
from plumbline.model.series import Sample

_PEERS = 4
"""Peers of one run whose median is a reference: one slow one among fewer makes others look fast."""


class Against(str, Enum):
    """What a run is held against."""

    RUN = "its peers in the same run"
    BASELINE = "its peers' shares of their baselines"
    RATE = "its peers of the same day"
    FEW = "its few peers in the same run"
    HISTORY = "its own earlier runs"
    ALONE = "its baseline"


FORMS = (Against.RUN, Against.BASELINE, Against.RATE)

Values = list[tuple[float, float]]
"""Moments in epoch seconds, and logarithms of what was measured, newest first."""


class Logarithms(NamedTuple):
    """What a measurement gave, newest first: moments in epoch seconds, and logarithms.

    ``peers`` is what the peers in the same run gave, None where these are too few for a reference;
    ``level`` that of the baseline, None where there is none.
    """

    moments: tuple[float, ...]
    rates: tuple[float, ...]
    peers: tuple[Optional[float], ...]
    level: Optional[float]

    def beside(self, form: Against) -> Values:
        """Return what is held against others in one of ``FORMS``."""
        if form is Against.RUN:
            every = zip(self.moments, self.rates, self.peers)
            return [(at, rate - peers) for at, rate, peers in every if peers is not None]
        if form is Against.RATE:
            return list(zip(self.moments, self.rates))
        level = self.level
        if level is None:
            return []
        return [(at, rate - level) for at, rate in zip(self.moments, self.rates)]


@dataclass(frozen=True)
class Measurement:
    """One operation of one component: its samples, newest first, and its baseline if it has one.

    ``kind`` is the key of what should give the same.  ``era`` is set where the baseline was taken
    before a change of software or settings.
    """

    kind: Hashable
    member: str
    samples: tuple[Sample, ...]
    baseline: Optional[Baseline]
    limits: Limits
    ceiling_Bps: Optional[float]
    era: Optional[Era] = None

    @cached_property
    def full(self) -> Logarithms:
        """Return what its runs gave, of those that say something and had all their peers."""
        return self._found[0]

    @cached_property
    def few(self) -> Logarithms:
        """Return the same of runs of a few members alone.

        These have fewer peers than others of its runs, too few for a reference.
        """
        return self._found[1]

    @cached_property
    def by_name(self) -> Logarithms:
        """Return the same of runs of this member alone, where others of its runs have peers."""
        return self._found[2]

    @cached_property
    def _found(self) -> tuple[Logarithms, Logarithms, Logarithms]:
        return _logarithms(self)


class Era(NamedTuple):
    """A time between two changes: what changed, in words, and when, in epoch seconds if known.

    ``with_group`` says that the whole group is held against what it gave before.
    """

    change: str
    since: Optional[float]
    with_group: bool


def speaking(
    measurement: Measurement, least_coverage: Optional[float] = None
) -> Iterator[tuple[Sample, float]]:
    """Yield the samples that say something, newest first, with the logarithm of their rate."""
    most = measurement.ceiling_Bps and measurement.limits.invalid_above * measurement.ceiling_Bps
    least = measurement.limits.min_coverage if least_coverage is None else least_coverage
    for sample in measurement.samples:
        coverage = sample.coverage
        if not sample.rate_Bps or sample.excluded or (coverage is not None and coverage < least):
            continue
        if not most or sample.rate_Bps <= most:
            yield sample, log(sample.rate_Bps)


def _logarithms(measurement: Measurement) -> tuple[Logarithms, Logarithms, Logarithms]:
    level = log(measurement.baseline.median_Bps) if measurement.baseline else None
    enough = min(_PEERS, max((sample.peers for sample in measurement.samples), default=0))
    full: list[_Run] = []
    few: list[_Run] = []
    by_name: list[_Run] = []
    for sample, rate in speaking(measurement):
        peers, peers_Bps = sample.peers, sample.peers_Bps
        if 0 < peers < enough:
            few.append((sample.started_at, rate, 0.0))
        elif peers < enough:
            by_name.append((sample.started_at, rate, None))
        else:
            known = log(peers_Bps) if peers_Bps and peers >= _PEERS else None
            full.append((sample.started_at, rate, known))
    return _apart(full, level), _apart(few, level), _apart(by_name, level)


_Run = tuple[float, float, Optional[float]]


def _apart(runs: Sequence[_Run], level: Optional[float]) -> Logarithms:
    """Return moments and logarithms each for themselves: of a large site a third of the memory."""
    moments, rates, peers = zip(*runs) if runs else ((), (), ())
    return Logarithms(moments, rates, peers, level)
