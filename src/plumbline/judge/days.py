"""The day of each run.  Days part where a site rests, not always at midnight UTC.

East of Greenwich a probe may begin before midnight UTC and its confirmations after it.  Split in
two days these runs would have fewer peers, and one busy night would count twice.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from plumbline.model.units import DAY_S, HOUR_S

_HOURS = 24
_FEW = 0.25
"""An hour with less than this share of an even spread is at rest, such as that of a run by hand."""
_ALIKE = 2
"""Rests shorter than the longest by up to so many hours count too: a late timer moves no day."""


def days_of(moments: Sequence[float]) -> Any:
    """Return the day of each moment as an array, counted from the epoch; moments are epoch seconds.

    Days part in the middle of the longest rest: hours, on the clock, in which few moments lie.  Of
    rests that are about as long it is the one nearest to midnight UTC.
    """
    at = np.asarray(moments, float)
    return np.floor((at - _parted_at(at)) / DAY_S).astype(int)


def _parted_at(at: Any) -> float:
    """Return the middle of the longest rest, in seconds from midnight UTC, half a day at most."""
    counts = np.bincount((at // HOUR_S % _HOURS).astype(int), minlength=_HOURS)
    busy = np.flatnonzero(counts * _HOURS >= _FEW * len(at))
    steps = np.diff(busy, append=busy[0] + _HOURS)
    middles = (busy + (steps + 1) / 2 + _HOURS / 2) % _HOURS - _HOURS / 2
    longest = middles[steps >= steps.max() - _ALIKE]
    return float(longest[np.abs(longest).argmin()]) * HOUR_S
