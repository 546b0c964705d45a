"""A reference where none is firm: a baseline of few or differing runs, or the runs before.

One target that is measured on demand has no peers in its run.  What stands here carries the error
that it has, so that it decides what is beyond that error and nothing else.
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple, Optional, Sequence

from plumbline.layers import GROUPED
from plumbline.model.limits import Limits
from plumbline.model.reference import Baseline
from plumbline.model.series import Sample, Series
from plumbline.units import DAY_S

CERTAIN = 4.5
"""Standard errors: of a thousand healthy measurements a night one passes in a year."""

_RUN_ERROR = 0.19
"""Runs of one healthy component differ by this over a year of scheduled benchmarks
(simulate/noise.py)."""

_VARIANCE_OF_A_MEDIAN = 1.57
"""Of n values, in units of their variance / n: pi / 2."""

_RECENT_S = 7 * DAY_S
"""Longer where results hold for longer: what is measured less often has runs of less often."""
_RECENT_RUNS = 5
_MIN_PEERS = 2


class Provisional(NamedTuple):
    """A rate in bytes per second to compare with, and the standard error of the comparison.

    ``error`` is that of the logarithm of measured / reference; ``words`` name the reference.  Only
    what ``clears`` can show that a component is healthy: its own runs may have been slow as well.
    ``weakness`` is why it is no firm baseline, empty where it is no baseline at all.
    """

    rate_Bps: float
    error: float
    words: str
    clears: bool
    weakness: str = ""

    def certainly_low(self, rate_Bps: float) -> bool:
        """Return whether a rate is below the reference by more than the error explains."""
        return log(self.rate_Bps / rate_Bps) >= CERTAIN * self.error


def provisional(series: Series, weak: Optional[Baseline], limits: Limits) -> Optional[Provisional]:
    """Return what the latest run of a series can be compared with, None where there is nothing.

    ``weak`` is a baseline that was taken under the same conditions and is not firm.
    """
    if series.latest.layer not in GROUPED:
        return None
    if weak is None:
        return _recent(series, limits)
    error = _error(max(weak.spread, _RUN_ERROR), max(1, weak.runs))
    weakness = limits.weakness(weak)
    words = f"its provisional baseline ({weakness})"
    return Provisional(weak.median_Bps, error, words, clears=True, weakness=weakness)


def _recent(series: Series, limits: Limits) -> Optional[Provisional]:
    """Return the recent runs, those of the peers in them where these gave more."""
    runs = _comparable((*series.samples[1:], *series.earlier), series.latest.started_at, limits)
    if not runs:
        return None
    own = _median([one.rate_Bps for one in runs if one.rate_Bps])
    beside = [one for one in runs if _beside(one)]
    error = _error(_RUN_ERROR, len(runs))
    count = "its last run" if len(runs) == 1 else f"its last {len(runs)} runs"
    if beside:
        peers = _median([one.peers_Bps for one in beside if one.peers_Bps])
        if peers >= own:
            words = f"the median of its {beside[0].peers} peers in {count}"
            return Provisional(peers, error, words, clears=True)
    words = count if len(runs) == 1 else f"the median of {count}"
    return Provisional(own, error, words, clears=bool(beside))


def clearing(samples: Sequence[Sample], now: float, limits: Limits) -> bool:
    """Return whether one of the recent runs had peers enough to clear a component at ``now``."""
    return any(map(_beside, _comparable(samples, now, limits)))


def _beside(sample: Sample) -> bool:
    return bool(sample.peers_Bps) and sample.peers >= _MIN_PEERS


def _comparable(samples: Sequence[Sample], now: float, limits: Limits) -> list[Sample]:
    """Return the newest runs of the last days that gave a rate and were not contended."""
    recent_s = max(_RECENT_S, limits.stale_after_s)
    return [
        one
        for one in samples
        if one.rate_Bps
        and 0 <= now - one.started_at <= recent_s
        and (one.coverage is None or one.coverage >= limits.min_coverage)
    ][:_RECENT_RUNS]


def _error(spread: float, runs: int) -> float:
    """Return the error of one run beside the median of several."""
    return spread * sqrt(1 + _VARIANCE_OF_A_MEDIAN / runs)


def _median(values: Sequence[float]) -> float:
    # without the module statistics, which is slow to load for a check
    ordered, middle = sorted(values), len(values) // 2
    return (ordered[middle] + ordered[~middle]) / 2
