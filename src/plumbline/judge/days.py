"""The day of each run.  Days part where a site rests, not at midnight UTC.

East of Greenwich a probe may begin before midnight UTC and its confirmations after it.  Split in
two days these runs would have fewer peers, and one busy night would count twice.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from plumbline.model.units import DAY_S, HOUR_S

_HOURS = 24
_FEW = 0.25
"""Share of an even spread over the hours below which an hour is at rest: a run by hand at noon."""


def days_of(moments: Sequence[float]) -> Any:
    """Return the day of each moment as an array, counted from the epoch; moments are epoch seconds.

    Days part in the middle of the longest rest: hours, on the clock, in which few moments lie.  If
    there is no rest they part at midnight UTC.
    """
    at = np.asarray(moments, float)
    return np.floor((at - _parted_at(at)) / DAY_S).astype(int)


def _parted_at(at: Any) -> float:
    """Return the middle of the longest rest, in seconds from midnight UTC, half a day at most."""
    counts = np.bincount((at // HOUR_S % _HOURS).astype(int), minlength=_HOURS)
    busy = np.flatnonzero(counts * _HOURS >= _FEW * len(at))
    steps = np.diff(busy, append=busy[0] + _HOURS)
    longest = int(np.argmax(steps))
    if steps[longest] == 1:
        return 0.0
    middle = busy[longest] + (steps[longest] + 1) / 2
    return float((middle + _HOURS / 2) % _HOURS - _HOURS / 2) * HOUR_S
