"""A sample that somebody else has recorded: what a file of them says in one row."""

from __future__ import annotations

from typing import NamedTuple, Optional


class Sampled(NamedTuple):
    """One sample of one component at ``at``, seconds since the epoch; ``day`` is an ISO date.

    ``rate`` is any figure of which more is better, positive, in one unit throughout the file.
    ``coverage`` is a fraction; ``baseline`` is in the unit of ``rate``.  Components of one ``host``
    and moment are peers.
    """

    host: str
    day: str
    at: float
    component: str
    rate: float
    coverage: Optional[float] = None
    baseline: Optional[float] = None
