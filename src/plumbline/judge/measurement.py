"""What the judge takes of one operation of a component: the logarithms of what its runs gave."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import log
from typing import Hashable, Iterator, Mapping, NamedTuple, Optional

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
    """What a measurement gave in each form: in full runs, and in runs of ``few`` members alone.

    These have fewer peers than others of its runs, too few for a reference.
    """

    full: Mapping[Against, Values]
    few: Mapping[Against, Values]


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
    def logarithms(self) -> Logarithms:
        """Return what its runs gave, of those that say something."""
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


def _logarithms(measurement: Measurement) -> Logarithms:
    full: tuple[Values, ...] = ([], [], [])
    few: tuple[Values, ...] = ([], [], [])
    level = log(measurement.baseline.median_Bps) if measurement.baseline else None
    enough = min(_PEERS, max((sample.peers for sample in measurement.samples), default=0))
    for sample, rate in speaking(measurement):
        at, peers, peers_Bps = sample.started_at, sample.peers, sample.peers_Bps
        is_few = 0 < peers < enough
        # by name, in the order of FORMS: to look up three forms for each sample takes as long again
        of_run, of_baseline, of_rate = few if is_few else full
        of_rate.append((at, rate))
        if level is not None:
            of_baseline.append((at, rate - level))
        if is_few:
            of_run.append((at, rate))
        elif peers_Bps and peers >= _PEERS:
            of_run.append((at, rate - log(peers_Bps)))
    return Logarithms(dict(zip(FORMS, full)), dict(zip(FORMS, few)))
