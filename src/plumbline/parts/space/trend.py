"""Trend of what is free on a target, and when nothing is left.

The line is that of Theil and Sen, the median of the slopes between all pairs of days: up to 29 % of
the days may be wrong without moving it far (Sen, J. Am. Stat. Assoc. 63, 1968, 1379).  A target
that is replaced, or loses or gains many files at once, begins a new trend.  If that comes twice, as
with a purge each week, it is the rhythm of the target, and the trend is over all of it.
"""

from __future__ import annotations

from itertools import combinations, groupby
from math import ceil, floor, inf, sqrt
from statistics import median
from typing import NamedTuple, Optional, Sequence

from plumbline.model.space import Amount, Outlook, Trend
from plumbline.model.statistics import deviation
from plumbline.model.units import DAY_S, LARGEST

RHYTHM_DAYS = 56
"""Days in which a step that comes twice is a rhythm, as with a purge each month."""
WINDOW_DAYS = 28
"""Four weeks: each day of the week counts equally, and what is older tells little of next week."""
MIN_DAYS = 8
"""Days with readings that a trend needs: more than a week, after which a purge may come again."""

_Z = 1.645
"""Normal quantile of an interval of 90 %: the day of full comes earlier in 1 of 20 cases."""
_MAX_CORRELATION = 0.9
_SIZE_CHANGE = 0.01
"""Fraction of its size by which another target differs; the size of a ZFS target moves by less."""
_STEP = 0.03
_STEP_DEVIATIONS = 8
"""A step takes this fraction of the target, and this multiple of the spread of daily changes."""

Readings = Sequence[tuple[float, Amount]]
"""Times in seconds since the epoch, ascending, each with what was used and free."""


class Day(NamedTuple):
    """Medians of the readings of one day (UTC): time in days since the epoch, total and free."""

    at: float
    total: float
    free: float


class Beginning(NamedTuple):
    """Number of days before a trend; ``gained`` is what became free just before it.

    ``resized`` is the total before, if the size of the target has changed; both None without a
    change.  ``rhythmic`` is True if it has several steps since.
    """

    skipped: int = 0
    gained: Optional[float] = None
    resized: Optional[float] = None
    rhythmic: bool = False


class Line(NamedTuple):
    """Slope per day, and its interval of 90 %, without bounds if there are too few days."""

    slope: float
    low: float
    high: float


def outlook(readings: Readings, now: float, *, sized: bool = True) -> Outlook:
    """Return the trend of what is free up to ``now``, in seconds since the epoch.

    Older readings than those of eight weeks, or later ones than now, do not count.  ``sized`` is
    False if the total is an estimate that changes by itself, such as the inodes of ZFS.
    """
    begin = now - RHYTHM_DAYS * DAY_S
    recent = [(at, amount) for at, amount in readings if begin < at <= now]
    own = daily(recent)
    start = beginning(own, sized=sized)
    last = own[-1].at if own else 0.0
    days = [day for day in own[start.skipped :] if start.rhythmic or day.at > last - WINDOW_DAYS]
    begun = Outlook(Trend.TOO_SHORT, len(days), since=days[0].at * DAY_S if days else None)
    if days and days[0] == own[start.skipped]:
        begun = begun._replace(gained=start.gained, resized=start.resized)
    if len(days) < MIN_DAYS:
        return begun
    line = theil_sen([(day.at, day.free) for day in days])
    begun = begun._replace(daily=-line.slope)
    if line.low <= 0 <= line.high:
        return begun._replace(trend=Trend.UNCLEAR)
    if line.low > 0:
        return begun._replace(trend=Trend.EMPTYING)
    free = recent[-1][1].free
    near_s, far_s = (min(LARGEST, DAY_S * free / -slope) for slope in (line.low, line.high))
    return begun._replace(trend=Trend.FILLING, near_s=near_s, far_s=far_s)


def daily(readings: Readings) -> list[Day]:
    """Return the medians of each day with readings."""
    return [
        Day(
            median(at for at, _ in own) / DAY_S,
            median(amount.total for _, amount in own),
            median(amount.free for _, amount in own),
        )
        for _, rows in groupby(readings, key=lambda reading: reading[0] // DAY_S)
        for own in [list(rows)]
    ]


def beginning(days: Sequence[Day], *, sized: bool = True) -> Beginning:
    """Return the day on which the present trend begins, and why not earlier."""
    sizes = [
        index
        for index, (before, day) in enumerate(zip(days, days[1:]), 1)
        if sized and abs(day.total - before.total) > _SIZE_CHANGE * before.total
    ]
    first = sizes[-1] if sizes else 0
    steps = _steps(days[first:])
    if len(steps) == 1:
        (begin, end) = steps[0]
        gained = days[first + end].free - days[first + begin].free
        return Beginning(first + end, gained=gained)
    resized = days[first - 1].total if first else None
    return Beginning(first, resized=resized, rhythmic=bool(steps))


def _steps(days: Sequence[Day]) -> list[tuple[int, int]]:
    """Return the indices before and after each sudden change, which may take several days."""
    changes = [day.free - before.free for before, day in zip(days, days[1:])]
    if not changes:
        return []
    middle = median(changes)
    least = max(_STEP * days[0].total, _STEP_DEVIATIONS * deviation(changes, middle))
    signs = [0 if abs(change - middle) <= least else 1 if change > 0 else -1 for change in changes]
    steps, index = [], 0
    for sign, run in groupby(signs):
        length = len(list(run))
        steps += [(index, index + length)] if sign else []
        index += length
    return steps


def theil_sen(points: Sequence[tuple[float, float]]) -> Line:
    """Return the median slope of at least three points, and its interval.

    The ranks of its ends follow from the variance of Kendall's S without ties, n(n-1)(2n+5)/18
    (Gilbert, Statistical Methods for Environmental Pollution Monitoring, 1987, section 16.5).  Days
    that follow each other deviate alike, so the variance grows by (1+r)/(1-r), where r is the
    correlation of each day's deviation with the next one's.
    """
    slopes = sorted((y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in combinations(points, 2))
    count, days = len(slopes), len(points)
    slope = median(slopes)
    variance = days * (days - 1) * (2 * days + 5) / 18 * _inflation(points, slope)
    width = _Z * sqrt(variance)
    if width >= count:
        return Line(slope, -inf, inf)
    low = max(0, floor((count - width) / 2) - 1)
    return Line(slope, slopes[low], slopes[min(count - 1, ceil((count + width) / 2))])


def _inflation(points: Sequence[tuple[float, float]], slope: float) -> float:
    """Return the factor of the variance for deviations that resemble those of the day before.

    The correlation of a short series is too low; the correction is that of Marriott and Pope, and
    Kendall (Biometrika 41, 1954, 390 and 403).
    """
    levels = [y - slope * x for x, y in points]
    middle = median(levels)
    residuals = [level - middle for level in levels]
    power = sum(residual * residual for residual in residuals)
    if not power:
        return 1.0
    days = len(points)
    product = sum(one * other for one, other in zip(residuals, residuals[1:]))
    correlation = ((days - 1) * product / power + 1) / (days - 4)
    bounded = min(_MAX_CORRELATION, max(0.0, correlation))
    return (1 + bounded) / (1 - bounded)
