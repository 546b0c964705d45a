"""What measurements of healthy parts differ by.

Losses are natural logarithms, standard deviations those of logarithms, shares are fractions of 1.
``make bench`` fits most of them again, tests/bench/fit_noise.py is how.
"""

from __future__ import annotations

from typing import NamedTuple


class Noise(NamedTuple):
    """How measurements of one healthy fleet differ.

    ``component``: between alike parts, for good.  ``host``: shared by all parts of a host on a day;
    ``day``: shared by a whole file system on a day.  ``run``: of one run; ``repeat``: of the
    repeats within it.  A share ``tail_share`` of the runs loses a fifth and a further
    ``tail_loss`` in the mean.

    A busy spell of a file system begins after a quiet day with probability ``spell_begins`` and
    goes on after a busy one with ``spell_goes_on``; each of its days loses SPELL_LEAST and a
    further ``spell_loss`` in the mean, and runs then differ by ``spell_run``.

    ``contended`` and ``contended_in_spell`` are the shares of runs whose coverage is below
    COVERAGE_MOST; it is lower by ``coverage_lost`` in the mean, and the run loses
    ``contention_cost`` x -log(coverage).  ``network``: of one test of a host pair.
    """

    component: float = 0.0
    host: float = 0.0
    day: float = 0.0
    run: float = 0.0
    repeat: float = 0.0
    tail_share: float = 0.0
    tail_loss: float = 0.0
    spell_begins: float = 0.0
    spell_goes_on: float = 0.0
    spell_loss: float = 0.0
    spell_run: float = 0.0
    contended: float = 0.0
    contended_in_spell: float = 0.0
    coverage_lost: float = 0.0
    contention_cost: float = 0.0
    network: float = 0.0


TAIL_LEAST = 0.223
"""-log(0.8): a run of the tail has lost at least a fifth."""

SPELL_LEAST = 0.15
COVERAGE_MOST = 0.9
COVERAGE_ALONE = 0.99
"""Coverage of a run that is not contended; the median of Edison's benchmarks."""

NONE = Noise()

QUIET = Noise(component=0.02, host=0.01, day=0.01, run=0.025, repeat=0.01, network=0.01)
"""A file system in good order that few use.

``run`` is that of the steadiest benchmarks of the year, Mira's hacc_io (0.025).  Nothing in the
year tells the rest: ``day``, ``host`` and ``repeat`` are taken as half of it or less.
"""

YEAR = Noise(
    component=0.02,
    host=0.02,
    day=0.05,
    run=0.05,
    repeat=0.025,
    tail_share=0.02,
    tail_loss=0.24,
    spell_begins=0.095,
    spell_goes_on=0.48,
    spell_loss=0.36,
    spell_run=0.19,
    contended=0.08,
    contended_in_spell=0.13,
    coverage_lost=0.11,
    contention_cost=0.8,
    network=0.01,
)
"""A production file system.

Fitted to a year of scheduled benchmarks on five file systems (scratch1 to 3 of Edison, cscratch of
Cori, mira-fs1 of Mira; NERSC and ALCF, published with pytokio), by medians over the file systems:
``run`` and ``day`` from benchmarks of one day and direction set against one another, days that are
busy by the median of their benchmarks, runs of both kinds of days by their coverage.
``spell_goes_on`` lies between 0.22 and 0.56 and is chosen so that 15 % of the days are busy, as
they were.  Not fitted and yet alike: 14.4 % of the runs are below 80 % of their level (the year's
14.8 %), 4.7 % of the pairs of runs in a row both are (3.2 %; 7.2 % on the busiest).

Each benchmark wrote or read a whole file system without repeats, so the year does not tell what
single targets, hosts and repeats differ by.  ``component`` is what the peers of good arrays
differ by (disks of a cluster in production: 0.012; ORNL accepts 5 to 7.5 % between all of a group).
``host`` is at most 0.033 in that cluster, where its cause may be load; 0.02 is taken.  ``repeat``
is taken as half of ``run``, a run's own noise and its tail as holding for all of its repeats, and
a spell as meeting all targets of a file system alike but for ``spell_run``.  No test of a network
is in the year: ``network`` is taken.
"""

NOISES = {"none": NONE, "quiet": QUIET, "year": YEAR}

REACHED = 0.88
"""Demonstrated / theoretical rate of a healthy path: Red Storm's 176.31 of 200 MB/s a port
(section V).  Only the distance to the ceiling depends on it, which no run exceeds."""
