"""Runs with their references, the noise of the runs, and the question about them.

The values that judge/recursion.py weighs, and its answers.
"""

from __future__ import annotations

from math import inf
from statistics import median
from typing import Any, NamedTuple, Optional, Sequence

import numpy as np

from plumbline.model.units import DAY_S


class Noise(NamedTuple):
    """Disturbances of runs: shares of all runs, and logarithms.

    ``lower`` is the share that loses more than the normal spread, ``faster`` the share that gains
    as much, which hardly anything causes.  Half of the disturbed runs are off by more than
    ``tail``, a quarter by more than three times as much: gross losses happen to healthy components,
    too.  ``again`` is the chance that a disturbance goes on into a run that follows at once; it
    fades with (1 + hours) ** -FADES.  ``alike`` is the share of continuing disturbances that take
    as much from the next run as from the one before.

    All runs of a night may have lost the same for a reason that ends with it, such as a busy host:
    more than x in a share (1 + x / ``night``) ** -``seldom`` of all nights.
    """

    lower: float
    faster: float
    tail: float
    again: float
    alike: float
    night: float
    seldom: float


PEER_NOISE = Noise(0.1, 0.01, 0.25, 0.5, 0.1, 0.02, 4.0)
"""Noise of a run compared with its peers.  2 % lose a fifth and more, and 8 % meet other traffic
that a client cannot see (simulate/fleet.py).  Of second benchmarks of one file system within 15
minutes of a low one, 48 % were low as well in a year of them, and single targets have not been seen
to be worse.  ``alike`` is assumed: lasting disturbances are mostly shared, and cancel out.
``night`` is assumed: in a cluster in production a night's host differs by 0.013 from the others,
and 3 of 420 lost a fifth."""
LONE_NOISE = Noise(0.15, 0.01, 0.4, 0.9, 0.4, 0.03, 1.0)
"""Noise of a run without peers, including a file system's busy days: 15 % of the days of that year,
of which 48 % were followed by another one.  Of the runs of that year that were low on two days in a
row 43 % had lost the same within a tenth, compared with 24 % of any two low runs: hence
``alike``.  ``night`` follows from these busy days, which lose 0.15 and a further 0.36 in the
mean."""
FADES = 0.3
"""After a low benchmark of that year 39 to 51 % of the next ones of its file system were low within
2 hours, 33 % after 4 to 16 hours, 30 % after a day or two, 27 % after four and 23 % after eight,
compared with 18 % of all."""

IN_ONE_GO_S = 600.0
"""Measurements in one go, such as the read of a target after its write, are disturbed together."""

NIGHT_S = DAY_S / 2
"""Runs within so many seconds of the first one are of one night."""

MIN_MOMENTS = 2
"""Moments that raise an alarm, and that end it: a single low one is watched."""


Rows = Any
"""Runs with their references in the order of time, an array with a row per run.

Its columns are the start in epoch seconds; the logarithm of measured / reference, below 0 for a
slower run; the standard deviation of such logarithms; and the number of the measurement among those
weighed together.
"""

AT, RATIO, SPREAD, NUMBER = range(4)


def rows_of(at: Any, ratio: Any, spread: Any) -> Rows:
    """Return runs by their columns, each an array or one value for all rows."""
    rows = np.zeros((np.size(at), 4))
    rows[:, AT], rows[:, RATIO], rows[:, SPREAD] = at, ratio, spread
    return rows


def merge(parts: Sequence[Rows]) -> Rows:
    """Return the runs of several parts in the order of time."""
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate(parts) if parts else rows_of((), (), ())
    return rows[np.lexsort((rows[:, NUMBER], rows[:, AT]))]


class Source(NamedTuple):
    """One measurement, or several weighed as one: its runs in the order of time.

    ``off`` is the standard deviation of the error of the common reference, ``least`` the smallest
    loss that it can show; both are logarithms.
    """

    runs: Rows
    off: float
    noise: Noise = PEER_NOISE
    least: float = 0.0


class Claim(NamedTuple):
    """A claim that something is slow: a source, or a part that several share, such as a host.

    A slow part slows all of its sources by the same share; without one each source is healthy or,
    seldom, slow for a reason of its own.
    """

    sources: tuple[Source, ...]

    @property
    def runs(self) -> Rows:
        """Return the runs in the order of time."""
        return merge([source.runs for source in self.sources])


class Change(NamedTuple):
    """Moment at which a change of software or settings was seen, in epoch seconds.

    A loss is as likely to begin there as at any of ``starts`` other moments.
    """

    at: float
    starts: float


class Question(NamedTuple):
    """The smallest loss to look for, and the odds that an answer needs.

    ``limit`` is a positive logarithm; ``needed`` and ``ends`` are the natural logarithms of the
    odds that raise an alarm and that end it.  ``change`` is None if no change may have slowed the
    subject.
    """

    limit: float
    needed: float
    ends: float
    change: Optional[Change] = None


class Case(NamedTuple):
    """Question whether a component or group is slow, with its claims.

    ``single`` are the claims on one operation each, ``joint`` those on all operations.
    """

    single: Sequence[Claim]
    joint: Sequence[Claim]
    question: Question

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Return all claims, those of single operations first."""
        return (*self.single, *self.joint)


class Weight(NamedTuple):
    """Evidence of the runs at the last of them.

    ``odds`` is the natural logarithm of the odds that the component is slow against chance, 0
    without evidence; ``since`` the most likely start of the loss, in epoch seconds; ``moments`` the
    number of moments measured from then on, ``low`` the number of these in which some operation had
    lost the limit.  ``middles`` are the medians of each operation's runs since then, logarithms of
    measured / reference; for an intermittent alarm the median of its low runs; None without runs.
    ``alarm`` is whether an alarm was raised and stands, ``raised`` the moment that raised it last.
    """

    odds: float
    since: float
    moments: int
    low: int
    middles: tuple[Optional[float], ...]
    alarm: bool
    raised: Optional[float] = None


def moments_of(runs: Rows) -> list[float]:
    """Return the start of each moment; measurements in one go, each source once, are one moment."""
    moments: list[float] = []
    moment, numbers = -inf, set[float]()
    for at, number in zip(runs[:, AT].tolist(), runs[:, NUMBER].tolist()):
        if number in numbers or at - moment > IN_ONE_GO_S:
            moment, numbers = at, {number}
            moments.append(at)
        else:
            numbers.add(number)
    return moments


def since(runs: Rows, moment: float) -> Rows:
    """Return the runs from a moment on, in epoch seconds."""
    return runs[runs[:, AT].searchsorted(moment) :]


def middle(ratios: Sequence[float], limit: float = inf) -> Optional[float]:
    """Return the median of logarithms of measured / reference, None without any.

    If the median has not lost the ``limit``, a positive logarithm, it is that of the low ones.
    """
    if not ratios:
        return None
    of_all = median(ratios)
    low = [ratio for ratio in ratios if ratio <= -limit]
    return median(low) if low and of_all > -limit else of_all
