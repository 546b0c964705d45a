"""What the last runs say together, for watching over days: one night's noise is not a fault.

As few of the newest runs are taken as tell a loss from chance beyond doubt, so a large loss is
found after two or three of them and a small one after more; where one part slows several
measurements, they are heard together.
"""

from __future__ import annotations

from itertools import accumulate
from math import ceil, exp, hypot, inf, log, sqrt
from statistics import median

from plumbline.judge.measured import contended
from plumbline.judge.provisional import CERTAIN
from plumbline.locate.chance import Run, odds
from plumbline.locate.company import NOBODY, day_of
from plumbline.locate.held import LEAST_ERROR, held, lasting, steady
from plumbline.locate.observation import Vote
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.robust import OF_A_MEDIAN, deviation
from plumbline.units import DAY_S

if TYPE_CHECKING:
    from typing import Iterable, Optional, Sequence

    from plumbline.judge.measured import Measured
    from plumbline.locate.company import Beside
    from plumbline.locate.held import Held
    from plumbline.model.series import Sample

_FEWEST = 3
_TWO = 2
_LONGER = 2
"""A small loss among busy days is looked for in so many times as many runs."""
_SITES = 10_000.0
"""Of so many healthy sites one may have a measurement that chance makes slow."""
_SOON_S = 600.0
"""A read follows the write of its target within this, and meets the same others."""
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


class Looked(NamedTuple):
    """The newest runs of a measurement that may vote, newest first, and what they are held against.

    ``limit`` is a loss that the policy allows, a logarithm; the first ``least`` runs speak of
    today.  ``measured`` is how much is measured at the site, any of which chance may make slow.
    """

    layer: str
    samples: Sequence[Sample]
    against: Held
    limit: float
    least: int
    measured: int

    @property
    def alone(self) -> bool:
        """Return whether a loss is this component's own, not one that siblings may share."""
        return self.against.beside or self.layer == "net"


def look(of: Measured, expected: float, runs: int, company: Beside = NOBODY) -> Optional[Looked]:
    """Return the last ``runs`` runs that may vote, None where there are too few.

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
    return Looked(of.record.layer, samples, against, limit, least, company.measured)


def windows(
    looked: Sequence[Optional[Looked]], companions: Iterable[Sequence[int]] = ()
) -> list[Optional[Window]]:
    """Return what the runs of each measurement say, None where there are too few.

    A loss that none of some ``companions`` (indices) tells from chance they may tell together.
    """
    found = [_told(one) if one else 0 for one in looked]
    for group in companions:
        alone = {number: one for number in group if (one := looked[number]) and one.alone}
        if len(alone) > 1 and not all(found[number] for number in alone):
            for number, count in zip(alone, _fresh(tuple(alone.values()))):
                found[number] = found[number] or count
    return [_window(one, count) if one else None for one, count in zip(looked, found)]


def _told(of: Looked) -> int:
    """Return how many newest runs of a measurement tell a loss, 0 where chance may have made it."""
    return _fresh([of])[0] if of.alone else _shared(of.against, of.limit, of.least)


def _window(looked: Looked, found: int) -> Window:
    """Return the vote of a measurement of which the newest ``found`` runs tell a loss, or none."""
    against = looked.against
    count = found or looked.least
    middle, error = _middle(against, count)
    vote = Vote.BAD if found else _harmless(looked, middle)
    rate_Bps = against.expected_Bps * exp(middle)
    begun = looked.samples[count - 1].started_at
    return Window(vote, against.expected_Bps, rate_Bps, error, begun, against.shared)


def _in_company(samples: list[Sample], company: Beside, runs: int) -> list[Sample]:
    """Return the runs of days with company, where these are enough, else the newest ``runs``."""
    known = [one for one in samples if day_of(one.started_at) in company.losses]
    return known if len(known) >= runs else samples[:runs]


def _period_s(samples: Sequence[Sample]) -> float:
    apart = [new.started_at - old.started_at for new, old in zip(samples, samples[1:])]
    return median(apart) if apart else DAY_S


def _harmless(of: Looked, middle: float) -> Vote:
    """Return whether what is not bad is good.

    Of what is measured seldom, the last run may be the only one since the trouble began.
    """
    losses = of.against.losses[: of.least]
    low = middle < of.limit or losses[0] < of.limit or lasting(losses, of.limit)
    return Vote.NONE if low or of.against.busy else Vote.GOOD


def _fresh(looked: Sequence[Looked]) -> list[int]:
    """Return how many newest runs of each tell a loss best, 0 where chance may have made it."""
    nights = _nights(looked)
    fixed = [one.against.fixed for one in looked]
    best, found = log(_SITES * looked[0].measured), [0] * len(looked)
    counts = [0] * len(looked)
    for number, night in enumerate(nights, start=1):
        for run in night:
            counts[run.of] += 1
        if min(counts) < _TWO:
            continue
        middles = [median(one.against.losses[:count]) for one, count in zip(looked, counts)]
        if any(middle >= one.limit for middle, one in zip(middles, looked)):
            continue
        likely = odds(nights[:number], middles, fixed)
        if likely.together > best and min(accumulate(likely.each)) > _OVER:
            best, found = likely.together, list(counts)
    return found


def _nights(looked: Sequence[Looked]) -> list[list[Run]]:
    """Return the runs that were made soon after one another together, newest first."""
    runs = sorted(
        (
            (sample.started_at, Run(loss, spread, number))
            for number, one in enumerate(looked)
            for sample, loss, spread in zip(one.samples, one.against.losses, one.against.spreads)
        ),
        key=lambda each: -each[0],
    )
    nights: list[list[Run]] = []
    begun = inf
    for started_at, run in runs:
        if begun - started_at > _SOON_S:
            nights.append([])
            begun = started_at
        nights[-1].append(run)
    return nights


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

    The error of a median of values that differ by s_1 ... s_n is 1.2533 sqrt(n) / sum(1 / s_i): its
    variance is 1 / (4 n f^2), where f is the mean of their densities in the middle.
    """
    losses, spreads = of.losses[:count], of.spreads[:count]
    middle = median(losses)
    off = [(one - middle) / spread for one, spread in zip(losses, spreads)]
    # a few runs may be alike by chance, which those before were not
    wider = max(1.0, deviation(off, 0.0))
    error = OF_A_MEDIAN * wider * sqrt(count) / sum(1 / spread for spread in spreads)
    return middle, max(LEAST_ERROR, hypot(error, of.fixed))
