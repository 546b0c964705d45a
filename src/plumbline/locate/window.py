"""What the last runs say together, for watching over days: one night's noise is not a fault.

As few of the newest runs are taken as tell a loss from chance beyond doubt, so a large loss is
found after two or three of them and a small one after more.
"""

from __future__ import annotations

from itertools import accumulate, takewhile
from math import ceil, exp, hypot, log, sqrt
from statistics import median

from plumbline.judge.measured import contended
from plumbline.locate.chance import odds
from plumbline.locate.company import DAY_S, NOBODY, day_of
from plumbline.locate.held import (
    LEAST_ERROR,
    OF_A_DEVIATION,
    OF_THE_MIDDLE,
    held,
    lasting,
    steady,
)
from plumbline.locate.observation import Vote
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Optional, Sequence

    from plumbline.judge.measured import Measured
    from plumbline.locate.company import Beside
    from plumbline.locate.held import Held
    from plumbline.model.series import Sample

CERTAIN = 4.5
"""Standard errors: of a thousand healthy measurements a night one passes in a year."""
_FEWEST = 3
_TWO = 2
_LONGER = 2
"""A small loss among busy days is looked for in so many times as many runs."""
_SITES = 10_000.0
"""Of so many healthy sites one may have a measurement that chance makes slow."""
_OVER = -log(1000)
"""The odds at which a loss that was there is there no more."""


class Window(NamedTuple):
    """The vote of the last runs, what they should give and their middle rate, both in B/s.

    ``error`` is that of the rate, a fraction; ``begun`` is when they began; ``shared`` says whether
    siblings have lost as well.
    """

    vote: Vote
    expected_Bps: float
    rate_Bps: float
    error: float
    begun: float
    shared: bool = False


def wanted(runs: int, period_s: float) -> int:
    """Return how many runs must speak of what is measured every ``period_s`` seconds.

    So many as in ``runs`` days, but three at least, for one waits for weeks and not for months.
    """
    return min(runs, max(_FEWEST, ceil(runs * DAY_S / max(period_s, DAY_S))))


def window(of: Measured, expected: float, runs: int, company: Beside = NOBODY) -> Optional[Window]:
    """Return what the last ``runs`` runs that may vote say, None where there are too few.

    Of a young history all runs that there are are enough, if there are two.  ``expected`` is what
    the latest is held against, in B/s; ``company`` is what others of its kind gave, where all
    records are together.
    """
    rated = [one for one in of.samples if one.rate_Bps]
    samples = [one for one in rated if not contended(one.coverage, of.limits)][: _LONGER * runs]
    least = max(_TWO, min(len(rated), wanted(runs, _period_s(samples[:runs]))))
    if len(samples) < least:
        return None
    samples = _in_company(samples, company, runs)
    against = held(of, samples, expected, company, least)
    limit = log(1 - of.limits.peer_loss)
    if against.beside or of.record.layer == "net":
        found = _fresh(against, limit, company.measured)
    else:
        found = _shared(against, limit, least)
    count = found or least
    middle, error = _middle(against, count)
    vote = Vote.BAD if found else _harmless(against.losses[:least], middle, limit)
    rate_Bps = against.expected_Bps * exp(middle)
    begun = samples[count - 1].started_at
    return Window(vote, against.expected_Bps, rate_Bps, error, begun, against.shared)


def _in_company(samples: list[Sample], company: Beside, runs: int) -> list[Sample]:
    """Return the newest runs, no more than ``runs`` where older ones were without company."""
    known = takewhile(lambda one: day_of(one.started_at) in company.losses, samples)
    return samples[: max(runs, sum(1 for _ in known))]


def _period_s(samples: Sequence[Sample]) -> float:
    apart = [new.started_at - old.started_at for new, old in zip(samples, samples[1:])]
    return median(apart) if apart else DAY_S


def _harmless(losses: Sequence[float], middle: float, limit: float) -> Vote:
    """Return whether what is not bad is good.

    Of what is measured seldom, the last run may be the only one since the trouble began.
    """
    low = middle < limit or losses[0] < limit or lasting(losses, limit)
    return Vote.NONE if low else Vote.GOOD


def _fresh(of: Held, limit: float, measured: int) -> int:
    """Return the number of newest runs that tell a loss best, 0 where chance may have made it.

    ``measured`` is how much is measured, any of which chance may make slow.
    """
    best, found = log(_SITES * measured), 0
    for count in range(_TWO, len(of.losses) + 1):
        middle = median(of.losses[:count])
        if middle >= limit:
            continue
        likely = odds(of.losses[:count], of.spreads, middle, of.fixed)
        if likely.together > best and min(accumulate(likely.each)) > _OVER:
            best, found = likely.together, count
    return found


def _shared(of: Held, limit: float, least: int) -> int:
    """Return ``least`` where so many runs show a loss that may be everybody's, else 0.

    Runs of busy days are alike, so their number says less than that they are as slow each time.
    """
    middle, error = _middle(of, least)
    losses = of.losses[:least]
    certain = middle < min(limit, -CERTAIN * error)
    alike = least >= _FEWEST and lasting(losses, limit) and steady(losses)
    return least if certain and alike else 0


def _middle(of: Held, count: int) -> tuple[float, float]:
    """Return the middle loss of the newest runs, and its error.

    The error of a median of values that differ by s_1 ... s_n is 1.25 sqrt(n) / sum(1 / s_i): its
    variance is 1 / (4 n f^2), where f is the mean of their densities in the middle.
    """
    losses, spreads = of.losses[:count], of.spreads[:count]
    middle = median(losses)
    off = [abs(one - middle) / spread for one, spread in zip(losses, spreads)]
    # a few runs may be alike by chance, which those before were not
    wider = max(1.0, OF_A_DEVIATION * median(off))
    error = OF_THE_MIDDLE * wider * sqrt(count) / sum(1 / spread for spread in spreads)
    return middle, max(LEAST_ERROR, hypot(error, of.fixed))
