"""The day of each run.  Days part where a site rests, not always at midnight UTC.

East of Greenwich a probe may begin before midnight UTC and its confirmations after it.  Split in
two days these runs would have fewer peers, and one busy night would count twice.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Sequence

import numpy as np

from plumbline.model.units import DAY_S, HOUR_S

_HOURS = 24
_FEW = 0.25
"""Share of an even spread over the hours below which an hour is at rest: a run by hand at noon."""
_ALIKE = 2
"""Hours by which two rests may differ and be alike: a late timer does not choose between them."""


def days_of(moments: Sequence[float]) -> Any:
    """Return the day of each moment as an array, counted from the epoch; moments are epoch seconds.

    Days part in the middle of the longest rest: hours, on the clock, in which few moments lie.  Of
    rests that are about as long it is the one nearest to midnight UTC.
    """
    at = np.asarray(moments, float)
    counts = np.bincount((at // HOUR_S % _HOURS).astype(int), minlength=_HOURS)
    busy = np.flatnonzero(counts * _HOURS >= _FEW * len(at))
    return np.floor((at - _parted_at(tuple(busy.tolist()))) / DAY_S).astype(int)


@lru_cache
def _parted_at(busy: tuple[int, ...]) -> float:
    """Return the middle of the longest rest between busy hours, there must be one.

    It is in seconds from midnight UTC, half a day at most.
    """
    rests = [
        (later - hour, (hour + (later - hour + 1) / 2 + _HOURS / 2) % _HOURS - _HOURS / 2)
        for hour, later in zip(busy, (*busy[1:], busy[0] + _HOURS))
    ]
    longest, _ = max(rests)
    return min((middle for step, middle in rests if step >= longest - _ALIKE), key=abs) * HOUR_S
