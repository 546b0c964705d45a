"""What the last runs say together, for watching over days: one night's noise is not a fault.

A file system that is busy for a day slows all of its targets, so a run is held against its siblings
in the same run, unless these have been slow for most of the runs themselves: then the loss is
shared, and the expected rate is what counts.
"""

from __future__ import annotations

from math import exp, hypot, log, sqrt
from statistics import median

from plumbline.judge.measured import contended
from plumbline.locate.observation import Vote
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Optional, Sequence

    from plumbline.judge.measured import Measured
    from plumbline.model.series import Sample

_MOST = 0.75
"""The share of runs on which what is slow must be."""
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


class Window(NamedTuple):
    """The vote of the last runs, their middle rate in B/s, its error, and when they began."""

    vote: Vote
    rate_Bps: float
    error: float
    begun: float


def window(of: Measured, expected: float, runs: int) -> Optional[Window]:
    """Return what the last ``runs`` runs that may vote say, None where there are too few."""
    samples = [
        one for one in of.samples if one.rate_Bps and not contended(one.coverage, of.limits)
    ][:runs]
    if len(samples) < runs:
        return None
    limit = log(1 - of.limits.peer_loss)
    losses = _against(samples, expected, limit)
    middle = median(losses)
    spread = _OF_A_DEVIATION * median(abs(one - middle) for one in losses)
    # a few runs may be alike by chance, which those of the baseline were not
    spread = max(spread, of.baseline.spread if of.baseline else ERROR_BESIDE_PEERS)
    error = max(LEAST_ERROR, _OF_THE_MIDDLE * spread / sqrt(len(losses)))
    if not of.baseline:
        error = hypot(error, ERROR_BESIDE_PEERS)
    vote = _vote(_lasting(losses, limit), middle < min(limit, -CERTAIN * error), middle < limit)
    return Window(vote, expected * exp(middle), error, samples[-1].started_at)


def _vote(lasting: bool, certain: bool, low: bool) -> Vote:
    if lasting and certain:
        return Vote.BAD
    return Vote.NONE if lasting or low else Vote.GOOD


def _against(samples: Sequence[Sample], expected: float, limit: float) -> list[float]:
    """Return the logarithms of measured / what it is held against."""
    own = [log((one.rate_Bps or 0.0) / expected) for one in samples]
    shared = [
        log(one.peers_Bps / expected) if one.peers_Bps and one.peers >= _SIBLINGS else 0.0
        for one in samples
    ]
    if _lasting(shared, limit):
        return own
    return [one - common for one, common in zip(own, shared)]


def _lasting(losses: Sequence[float], limit: float) -> bool:
    return sum(one < limit for one in losses) >= _MOST * len(losses)
