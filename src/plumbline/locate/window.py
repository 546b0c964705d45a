"""What the last runs say together, for watching over days: one night's noise is not a fault.

A file system that is busy for a day slows all of its targets, so a run is held against its siblings
in the same run, unless these have been slow for most of the runs themselves: then the loss is
shared, and the expected rate is what counts.
"""

from __future__ import annotations

from math import ceil, exp, hypot, log, sqrt
from statistics import median

from plumbline.judge.measured import contended
from plumbline.locate.company import DAY_S, day_of
from plumbline.locate.observation import Vote
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Mapping, Optional, Sequence

    from plumbline.judge.measured import Measured
    from plumbline.model.series import Sample

_MOST = 0.75
"""The share of runs on which what is slow must be."""
_FEWEST = 3
_SIBLINGS = 5
"""With fewer, one slow sibling makes all others look fast."""
LEAST_ERROR = 0.015
"""Even a steady measurement is off by this much: caches, zones of disks, timers."""
ERROR_BESIDE_PEERS = 0.05
"""Good siblings differ by up to this (ORNL's acceptance limit), so a rate beside them does."""
CERTAIN = 4.5
"""Standard errors: of a thousand healthy measurements a night one passes in a year."""
_OF_THE_MIDDLE = 1.25
_OF_A_DEVIATION = 1.4826
_OF_A_BUSY_RUN = 4.0
"""So many times as much do runs differ by while a file system is busy: 19 % against 5 % in a year
of scheduled benchmarks (simulate/noise.py)."""
_STEADY = 3.0
"""A loss that all share must be so many times what it differs by from run to run: a part that is
broken is as broken on each of them, busy days are not alike."""
_SIBLINGS_DIFFER = 0.02
"""By this for good (simulate/noise.py), which shows where a rate is held against theirs."""


class Window(NamedTuple):
    """The vote of the last runs, their middle rate in B/s, its error, and when they began."""

    vote: Vote
    rate_Bps: float
    error: float
    begun: float


def wanted(runs: int, period_s: float) -> int:
    """Return how many runs must speak of what is measured every ``period_s`` seconds.

    So many as in ``runs`` days, but three at least, for one waits for weeks and not for months.
    """
    return min(runs, max(_FEWEST, ceil(runs * DAY_S / max(period_s, DAY_S))))


def window(
    of: Measured, expected: float, runs: int, company: Optional[Mapping[int, float]] = None
) -> Optional[Window]:
    """Return what the last ``runs`` runs that may vote say, None where there are too few.

    ``company`` is by day what others of its kind have lost, where all records are together.
    """
    samples = [one for one in of.samples if one.rate_Bps and not contended(one.coverage, of.limits)]
    runs = wanted(runs, _period_s(samples))
    samples = samples[:runs]
    if len(samples) < runs:
        return None
    limit = log(1 - of.limits.peer_loss)
    found = _against(samples, expected, limit, company or {})
    middle, error, steady = _middle(found, of)
    lasting = _lasting(found.losses, limit)
    certain = steady and middle < min(limit, -CERTAIN * error)
    vote = _vote(lasting, certain, middle < limit)
    if vote is Vote.GOOD and found.losses[0] < limit:
        # of what is measured seldom, the last run may be the only one since the trouble began
        vote = Vote.NONE
    return Window(vote, expected * exp(middle), error, samples[-1].started_at)


def _period_s(samples: Sequence[Sample]) -> float:
    apart = [new.started_at - old.started_at for new, old in zip(samples, samples[1:])]
    return median(apart) if apart else DAY_S


class _Runs(NamedTuple):
    """Logarithms of measured / what it is held against, newest first, and which were busy.

    ``beside`` says whether they are held against siblings.
    """

    losses: tuple[float, ...]
    busy: tuple[bool, ...]
    beside: bool


def _middle(of: _Runs, measured: Measured) -> tuple[float, float, bool]:
    """Return the middle loss, its error, and whether the loss is as steady as one of a part is.

    The error of a median of values that differ by s_1 ... s_n is 1.25 sqrt(n) / sum(1 / s_i): its
    variance is 1 / (4 n f^2), where f is the mean of their densities in the middle.
    """
    middle = median(of.losses)
    wider = [_OF_A_BUSY_RUN if busy else 1.0 for busy in of.busy]
    off = [abs(one - middle) / times for one, times in zip(of.losses, wider)]
    seen = _OF_A_DEVIATION * median(off)
    # a few runs may be alike by chance, which those of the baseline were not
    baseline = measured.baseline
    known = baseline.spread if baseline else ERROR_BESIDE_PEERS
    spread = max(seen, min(known, ERROR_BESIDE_PEERS) if of.beside else known)
    count = len(of.losses)
    error = _OF_THE_MIDDLE * sqrt(count) * spread / sum(1 / times for times in wider)
    if of.beside:
        error = hypot(error, _SIBLINGS_DIFFER)
    elif baseline:
        error = hypot(error, _OF_THE_MIDDLE * known / sqrt(max(1, baseline.runs)))
    if not baseline:
        error = hypot(error, ERROR_BESIDE_PEERS)
    return middle, max(LEAST_ERROR, error), of.beside or -middle >= _STEADY * seen


def _vote(lasting: bool, certain: bool, low: bool) -> Vote:
    if lasting and certain:
        return Vote.BAD
    return Vote.NONE if lasting or low else Vote.GOOD


def _against(
    samples: Sequence[Sample], expected: float, limit: float, company: Mapping[int, float]
) -> _Runs:
    own = tuple(log((one.rate_Bps or 0.0) / expected) for one in samples)
    shared = _shared(samples, expected, company)
    if shared is None or (_lasting(shared, limit) and _steady(shared)):
        return _Runs(own, (False,) * len(own), beside=False)
    losses = tuple(one - common for one, common in zip(own, shared))
    return _Runs(losses, tuple(common < limit for common in shared), beside=True)


def _shared(
    samples: Sequence[Sample], expected: float, company: Mapping[int, float]
) -> Optional[list[float]]:
    """Return what others have lost in each run, None where there are not enough of them.

    What is as fast as ever is not slow because its siblings are faster.
    """
    if all(one.peers_Bps and one.peers >= _SIBLINGS for one in samples):
        return [min(0.0, log((one.peers_Bps or 0.0) / expected)) for one in samples]
    days = [day_of(one.started_at) for one in samples]
    if all(day in company for day in days):
        return [min(0.0, company[day]) for day in days]
    return None


def _steady(losses: Sequence[float]) -> bool:
    middle = median(losses)
    seen = _OF_A_DEVIATION * median(abs(one - middle) for one in losses)
    return -middle >= _STEADY * seen


def _lasting(losses: Sequence[float], limit: float) -> bool:
    return sum(one < limit for one in losses) >= _MOST * len(losses)
