"""Runs beside their references, and how they are disturbed while nothing is slow."""

from __future__ import annotations

from math import hypot
from typing import NamedTuple


class Noise(NamedTuple):
    """How runs are disturbed: shares of all runs, and logarithms.

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

    def width(self, spread: float) -> float:
        """Return what half of the disturbed runs are off by where runs differ by ``spread``."""
        return hypot(self.tail, spread)


BESIDE_PEERS = Noise(0.1, 0.01, 0.25, 0.5, 0.1)
"""What is left where a run is held against its peers.  2 % lose a fifth and more, and 8 % meet
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

HOUR_S = 3600.0


class Run(NamedTuple):
    """One run beside its reference.

    ``at`` is its start in epoch seconds; ``log_ratio`` the logarithm of measured / reference,
    below 0 for what is slower; ``spread`` the standard deviation of such logarithms; ``source``
    tells apart the measurements that are weighed together.
    """

    at: float
    log_ratio: float
    spread: float
    source: int = 0


class Source(NamedTuple):
    """One measurement, or several weighed as one: its runs in the order of time.

    ``off`` is the standard deviation of what the reference of all of them is off by, a logarithm.
    """

    runs: tuple[Run, ...]
    off: float
    noise: Noise = BESIDE_PEERS
