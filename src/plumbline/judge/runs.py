"""Runs beside their references, the noise that they meet, and what is asked of them.

The values that judge/recursion.py weighs, and what it answers.
"""

from __future__ import annotations

from math import inf
from statistics import median
from typing import Any, NamedTuple, Optional, Sequence

import numpy as np


class Noise(NamedTuple):
    """Disturbances of runs: shares of all runs, and logarithms.

    ``lower`` is the share that loses more than runs normally differ by, ``faster`` the share that
    is faster by as much, which hardly anything makes a run.  Half of the disturbed runs are off by
    more than ``tail``, a quarter by more than three times as much: gross losses happen to healthy
    components, too.  ``again`` is the chance that a disturbance goes on into a run that
    follows at once; it fades with (1 + hours) ** -FADES.  ``alike`` is the share of disturbances
    that, going on, take as much from the next run as from the one before.
    """

    lower: float
    faster: float
    tail: float
    again: float
    alike: float


BESIDE_PEERS = Noise(0.1, 0.01, 0.25, 0.5, 0.1)
"""What is left where a run is compared with its peers.  2 % lose a fifth and more, and 8 % meet
others of which a client knows nothing (simulate/noise.py).
Of second benchmarks of one file system within 15 minutes of a low one, 48 % were low as well in a
year of them, and single targets have not been seen to be worse.  ``alike`` is taken: what lasts is
mostly shared, and so is gone here."""
ALONE = Noise(0.15, 0.01, 0.4, 0.9, 0.4)
"""What a run without peers meets, a file system's busy days among it: 15 % of the days of that
year, of which 48 % were followed by another one.  Of the runs of that year that were low on two
days in a row 43 % had lost the same within a tenth, where any two low runs have in 24 % of cases:
so ``alike``."""
FADES = 0.3
"""After a low benchmark of that year 39 to 51 % of the next ones of its file system were low within
2 hours, 33 % after 4 to 16 hours, 30 % after a day or two, 27 % after four and 23 % after eight,
where 18 % are low anyway."""

IN_ONE_GO_S = 600.0
"""What is measured in one go, as the read of a target after its write, is disturbed together."""

FEWEST = 2
"""Moments that raise an alarm and that end it: a single low one is watched."""


Rows = Any
"""Runs beside their reference in the order of time, an array with a row for each.

Its columns are the start in epoch seconds; the logarithm of measured / reference, below 0 for what
is slower; the standard deviation of such logarithms; and a number that tells apart the measurements
that are weighed together.
"""

AT, RATIO, SPREAD, NUMBER = range(4)


def rows_of(at: Any, ratio: Any, spread: Any) -> Rows:
    """Return runs by their columns, each an array or what is the same for all."""
    rows = np.zeros((np.size(at), 4))
    rows[:, AT], rows[:, RATIO], rows[:, SPREAD] = at, ratio, spread
    return rows


def in_order(parts: Sequence[Rows]) -> Rows:
    """Return the runs of several parts in the order of time."""
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate(parts) if parts else rows_of((), (), ())
    return rows[np.lexsort((rows[:, NUMBER], rows[:, AT]))]


class Source(NamedTuple):
    """One measurement, or several weighed as one: its runs in the order of time.

    ``off`` is the standard deviation of what the reference of all of them is off by, ``least`` the
    smallest loss that it can tell; both are logarithms.
    """

    runs: Rows
    off: float
    noise: Noise = BESIDE_PEERS
    least: float = 0.0


class Claim(NamedTuple):
    """A way to be slow: its one source is, or what several share, as a host with all its partners.

    A slow part slows all of them alike; without it each is healthy or, seldom, slow alone.
    """

    sources: tuple[Source, ...]

    @property
    def runs(self) -> Rows:
        """Return the runs in the order of time."""
        return in_order([source.runs for source in self.sources])


class Change(NamedTuple):
    """Moment at which software or settings were seen to have changed, in epoch seconds.

    A loss is as likely to begin there as at any of ``starts`` other moments.
    """

    at: float
    starts: float


class Question(NamedTuple):
    """The smallest loss that is looked for, and the odds that an answer takes.

    ``limit`` is a positive logarithm; ``needed`` and ``ends`` are the natural logarithms of the
    odds that raise an alarm and that end it.  ``change`` is None where none was seen that may have
    slowed what is asked about.
    """

    limit: float
    needed: float
    ends: float
    change: Optional[Change] = None


class Subject(NamedTuple):
    """Component or group that may be slow.

    ``alone`` are the claims that an operation is, ``together`` those that all are.
    """

    alone: Sequence[Claim]
    together: Sequence[Claim]
    question: Question

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Return all claims, those of the operations first."""
        return (*self.alone, *self.together)


class Weight(NamedTuple):
    """Evidence of the runs at the last of them.

    ``odds`` is the natural logarithm of the odds that the component is slow against chance, 0 where
    nothing speaks for it; ``since`` the start from which on it most likely is, in epoch seconds;
    ``moments`` how many moments were measured from then on, ``low`` in how many of these some
    operation had lost the limit.  ``middles`` are the middle of each operation's runs since,
    logarithms of measured / reference, of an alarm that comes and goes that of its low runs; None
    where there are none.  ``alarm`` says whether an alarm was raised and stands.
    """

    odds: float
    since: float
    moments: int
    low: int
    middles: tuple[Optional[float], ...]
    alarm: bool


def moments_of(runs: Rows) -> list[float]:
    """Return when each moment began; what is measured in one go, each source once, is one."""
    moments: list[float] = []
    numbers: set[float] = set()
    for at, _, _, number in runs.tolist():
        if not moments or number in numbers or at - moments[-1] > IN_ONE_GO_S:
            moments.append(at)
            numbers = set()
        numbers.add(number)
    return moments


def since(runs: Rows, moment: float) -> Rows:
    """Return the runs from a moment on, in epoch seconds."""
    return runs[np.searchsorted(runs[:, AT], moment) :]


def middle_since(runs: Rows, moment: float, limit: float = inf) -> Optional[float]:
    """Return the middle of the runs since a moment, a logarithm; None where there are none.

    Where the middle has not lost the ``limit``, a positive logarithm, it is that of the low ones.
    """
    chosen: list[float] = since(runs, moment)[:, RATIO].tolist()
    if not chosen:
        return None
    middle = median(chosen)
    low = [ratio for ratio in chosen if ratio <= -limit]
    return median(low) if low and middle > -limit else middle
