"""What each of the last runs is held against: what the component gave before, or its siblings.

A file system that is busy for a day slows all of its targets, so a run is held against its siblings
in the same run, unless these have been slow for most of the runs themselves: then the loss is
shared, and the expected rate is what counts.
"""

from __future__ import annotations

from math import exp, hypot, log
from statistics import median

from plumbline.locate.company import ERROR_BESIDE_PEERS, day_of
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.robust import deviation, error_of_median

if TYPE_CHECKING:
    from typing import Iterator, Optional, Sequence

    from plumbline.judge.measured import Measured
    from plumbline.locate.company import Beside
    from plumbline.model.series import Sample

LEAST_ERROR = 0.015
"""Even a steady measurement is off by this much: caches, zones of disks, timers."""
_MOST = 0.75
"""The share of runs on which a loss must be there to be a lasting one."""
SIBLINGS = 5
"""With fewer, one slow sibling makes all others look fast."""
_OF_A_BUSY_RUN = 4.0
"""So many times as much do runs differ by while a file system is busy: 19 % against 5 % in a year
of scheduled benchmarks (simulate/noise.py)."""
_STEADY = 3.0
"""A loss that all share must be so many times what it differs by from run to run: a part that is
broken is as broken on each of them, busy days are not alike."""
_LOST = log(0.9)
"""Siblings that have lost more than this are busy, or at fault."""
_SIBLINGS_DIFFER = 0.02
"""By this for good (simulate/noise.py), which shows where a rate is held against theirs."""


class Held(NamedTuple):
    """Logarithms of measured / what each run is held against, newest first.

    ``spreads`` are their standard deviations, ``fixed`` is that of what all of them are off by
    together.  ``beside`` says whether siblings are what they are held against, ``shared`` whether
    these have lost as well; ``expected_Bps`` is what the component gives while it is healthy.
    ``busy`` says whether siblings have lost on most runs, though not as steadily as a broken part:
    what is no slower than they are says nothing then of parts that they share.
    """

    losses: tuple[float, ...]
    spreads: tuple[float, ...]
    fixed: float
    beside: bool
    expected_Bps: float
    shared: bool = False
    busy: bool = False


def held(
    of: Measured, samples: Sequence[Sample], expected: float, company: Beside, least: int
) -> Held:
    """Return what ``samples`` of which the first ``least`` speak of today are held against.

    ``expected`` is what the rate of the latest run is held against, in B/s.
    """
    rates = [one.rate_Bps or 0.0 for one in samples]
    shared = _shared(samples, expected, company)
    limit = log(1 - of.limits.peer_loss)
    busy = shared is not None and lasting(shared[:least], limit)
    for_good = shared is not None and busy and steady(shared[:least])
    found = None if of.baseline and for_good else _siblings(of, samples, company)
    if found:
        losses = tuple(log(rate / other) for rate, other in zip(rates, found.rates))
        spreads = tuple(_spreads(samples, [False] * len(samples), ERROR_BESIDE_PEERS, company))
        healthy, busy = _healthy(samples, found.rates, company, least)
        return Held(losses, spreads, found.apart, True, healthy, busy=busy)
    own = tuple(log(rate / expected) for rate in rates)
    known = max(LEAST_ERROR, of.baseline.spread if of.baseline else ERROR_BESIDE_PEERS)
    runs = max(1, of.baseline.runs) if of.baseline else 1
    if shared is None or for_good:
        fixed = error_of_median(known, runs)
        return Held(own, (known,) * len(own), fixed, False, expected, shared is not None)
    # of a baseline that spreads too much even the middle is uncertain
    level = known if known > of.limits.max_spread else min(known, ERROR_BESIDE_PEERS)
    fixed = hypot(_SIBLINGS_DIFFER, error_of_median(level, runs))
    low = [one < limit for one in shared]
    spreads = tuple(_spreads(samples, low, min(known, ERROR_BESIDE_PEERS), company))
    losses = tuple(one - common for one, common in zip(own, shared))
    return Held(losses, spreads, fixed, True, expected, busy=busy)


class _Siblings(NamedTuple):
    """What siblings gave in each run, in B/s, and what they differ by for good."""

    rates: Sequence[float]
    apart: float


def _siblings(of: Measured, samples: Sequence[Sample], company: Beside) -> Optional[_Siblings]:
    """Return what a component is held against of which no baseline says more, None otherwise."""
    apart = max(_SIBLINGS_DIFFER, company.apart)
    if of.baseline:
        uncertain = error_of_median(of.baseline.spread, max(1, of.baseline.runs))
        if of.baseline.spread <= of.limits.max_spread or uncertain <= apart:
            return None
    peers = [one.peers_Bps or 0.0 for one in samples]
    of_its_runs = of.baseline is None and all(peers)
    if of_its_runs and all(one.peers >= SIBLINGS for one in samples):
        return _Siblings(peers, apart)
    days = [day_of(one.started_at) for one in samples]
    if all(day in company.rates for day in days):
        return _Siblings([exp(company.rates[day].middle) for day in days], apart)
    return _Siblings(peers, ERROR_BESIDE_PEERS) if of_its_runs else None


def _healthy(
    samples: Sequence[Sample], rates: Sequence[float], company: Beside, least: int
) -> tuple[float, bool]:
    """Return what siblings give while they are not busy, in B/s, and whether they mostly are.

    Beside them on quiet days, a loss says what is left on a quiet day, as it does of all others;
    what they all lack for good, it does not.
    """
    days = [company.losses.get(day_of(one.started_at)) for one in samples]
    lost = [day.middle for day in days if day]
    low = lasting(lost[:least], _LOST)
    if len(lost) < len(days) or (low and steady(lost[:least])):
        return median(rates[:least]), False
    return median([rate / exp(loss) for rate, loss in zip(rates, lost)]), low


def _shared(samples: Sequence[Sample], expected: float, company: Beside) -> Optional[list[float]]:
    """Return what others have lost in each run, None where there are not enough of them.

    Each of a company is held against its own baseline, which says more than their rates do where
    not all are alike.  What is as fast as ever is not slow because its siblings are faster.
    """
    days = [day_of(one.started_at) for one in samples]
    if all(day in company.losses for day in days):
        return [min(0.0, company.losses[day].middle) for day in days]
    if all(one.peers_Bps and one.peers >= SIBLINGS for one in samples):
        return [min(0.0, log((one.peers_Bps or 0.0) / expected)) for one in samples]
    return None


def _spreads(
    samples: Sequence[Sample], busy: Sequence[bool], known: float, company: Beside
) -> Iterator[float]:
    """Yield what runs beside siblings differ by: as those of the day do, or as on busy days."""
    for one, is_busy in zip(samples, busy):
        day = company.rates.get(day_of(one.started_at))
        if day:
            yield max(known, day.spread)
        else:
            yield known * _OF_A_BUSY_RUN if is_busy else known


def steady(losses: Sequence[float]) -> bool:
    """Return whether a loss is as steady from run to run as that of a part is."""
    middle = median(losses)
    return -middle >= _STEADY * deviation(losses, middle)


def lasting(losses: Sequence[float], limit: float) -> bool:
    """Return whether most of the losses are beyond a limit."""
    return sum(one < limit for one in losses) >= _MOST * len(losses)
