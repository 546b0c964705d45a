"""Measurements of a kind: their runs as a table, and median and spread of each day.

Measurements of one kind have the same layer, operation, file system and ceiling:
those of one node if a node judges itself, those of the whole site if all records are together.

Samples come in the order of arrival, which differs from the order of time after a clock was
stepped.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import chain
from math import exp, inf, log, nan, sqrt
from typing import Any, Hashable, NamedTuple, Optional, Sequence

import numpy as np

from plumbline.judge.days import days_of
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Baseline, Limits
from plumbline.model.series import Sample, Samples, column
from plumbline.model.statistics import (
    MAD_FACTOR,
    MEDIAN_FACTOR,
    deviation,
)

MIN_PEERS = 4
"""Peers of one run whose median is a reference: a slow one among fewer makes others look fast."""


class Against(str, Enum):
    """Reference that a run is compared with."""

    RUN = "its peers in the same run"
    BASELINE = "its peers' shares of their baselines"
    RATE = "its peers of the same day"
    FEW = "its few peers in the same run"
    HISTORY = "its own earlier runs"
    ALONE = "its baseline"
    GROUPS = "the other groups of the night"


FORMS = (Against.RUN, Against.BASELINE, Against.RATE)

_Array = Any
"""A numpy array; a node's Python cannot name its types."""


class Measurement(NamedTuple):
    """One operation of one component: its samples, newest first, and its baseline if it has one.

    ``kind`` is the key of measurements that should give the same.  ``era`` is set if the baseline
    was taken before a change of software or settings.  ``what`` is the operation in words,
    ``partner`` the other host of a pair, else empty.
    """

    kind: Hashable
    member: str
    samples: Sequence[Sample]
    baseline: Optional[Baseline]
    limits: Limits
    ceiling_rate: Optional[float]
    era: Optional[Era] = None
    what: str = ""
    partner: str = ""

    @property
    def level(self) -> float:
        """Return the logarithm of the baseline, nan without one."""
        return log(self.baseline.median) if self.baseline else nan


class Era(NamedTuple):
    """A time between two changes: the change, in words, and its moment, in epoch seconds if known.

    ``with_group`` is whether the whole group is compared with its rates before the change.
    """

    change: str
    since: Optional[float]
    with_group: bool


def separate_pairs(measured: dict[tuple[str, str], list[Measurement]]) -> None:
    """Give measurements without peers a kind of their own, such as pairs that mostly share a host.

    Compared with one another they do not show that the host is slow.
    """
    ends: dict[Hashable, list[tuple[str, str]]] = {}
    for (layer, name), measurements in measured.items():
        for measurement in measurements if LAYERS[layer].paired else ():
            ends.setdefault(measurement.kind, []).append((name, measurement.partner))
    most = {kind: Counter(chain(*pairs)).most_common(1)[0][1] for kind, pairs in ends.items()}
    for place, measurements in measured.items():
        measured[place] = [
            measurement._replace(kind=(measurement.kind, measurement.member))
            if 2 * most.get(measurement.kind, 0) > len(ends.get(measurement.kind, ()))
            else measurement
            for measurement in measurements
        ]


class Table:
    """The usable runs of some measurements, a row each, an array for each column.

    The runs of one measurement are adjacent, the oldest first.  ``number`` is the index of the
    measurement, ``at`` a moment in epoch seconds; ``rates`` and ``peers_rates`` are logarithms of
    B/s, the latter of the median of the ``peers`` in the same run, nan without peers.  ``full`` are
    the runs with all their peers, ``few`` those of a few members, too few for a reference, and
    ``by_name`` those of one member alone while others of its runs have peers.  ``partial`` are the
    measurements with any of the latter two.
    """

    def __init__(
        self, measurements: Sequence[Measurement], least_coverage: Optional[float] = None
    ) -> None:
        """Read the samples; a run below ``least_coverage``, else the policy's, is unusable."""
        number, runs = _usable(measurements, least_coverage)
        self.number: _Array = number
        self.at, self.peers = runs[:, _AT].copy(), runs[:, _PEERS].copy()
        self.rates, self.peers_rates = np.log(runs[:, [_RATE, _PEERS_RATE]].T)
        most = [max(column(item.samples, "peers"), default=0.0) for item in measurements]
        enough: _Array = np.minimum(np.array(most, float), MIN_PEERS)
        self.full = self.peers >= enough[self.number]
        self.few = (self.peers > 0) & ~self.full
        self.by_name = (self.peers <= 0) & ~self.full
        self._levels = np.array([measurement.level for measurement in measurements], float)
        numbers = np.arange(len(measurements) + 1)
        self._ends: _Array = np.searchsorted(self.number, numbers)
        self.partial: set[int] = set(self.number[~self.full].tolist())

    def ratios(self, form: Against) -> _Array:
        """Return the runs relative to one of ``FORMS``, nan if that is unknown."""
        rates: _Array = self.rates
        if form is Against.RATE:
            return rates
        if form is Against.BASELINE:
            return rates - self._levels[self.number]
        # the other members of a run of a few are matched by time
        peers_rates = np.where(self.peers >= MIN_PEERS, self.peers_rates, nan)
        return np.where(self.few, rates, rates - peers_rates)

    @cached_property
    def days(self) -> _Array:
        """Return the day of each run."""
        return days_of(self.at)

    def rows(self, number: int) -> slice:
        """Return the rows of a measurement."""
        return slice(self._ends[number], self._ends[number + 1])


_FIELDS = ("started_at", "rate", "coverage", "peers_rate", "peers", "excluded")
_AT, _RATE, _COVERAGE, _PEERS_RATE, _PEERS, _EXCLUDED = map(Samples.NUMBERS.index, _FIELDS)


def _usable(
    measurements: Sequence[Measurement], least_coverage: Optional[float]
) -> tuple[_Array, _Array]:
    """Return the usable runs: with a rate, not contended, not impossibly fast.

    They are the number of their measurement, and rows of numbers as in :class:`Samples`.  Those of
    a measurement are in the order of time, which differs from that of arrival after a clock was
    stepped.
    """
    numbers = [Samples.of(measurement.samples).numbers for measurement in measurements]
    width = len(Samples.NUMBERS)
    runs = np.array(array("d", b"".join(numbers))).reshape(-1, width)[::-1]
    number: _Array = np.repeat(np.arange(len(numbers)), [len(own) // width for own in numbers])
    number = number[::-1]
    least = [
        measurement.limits.min_coverage if least_coverage is None else least_coverage
        for measurement in measurements
    ]
    most = [
        measurement.limits.invalid_above * (measurement.ceiling_rate or inf)
        for measurement in measurements
    ]
    # a comparison with an unknown rate or coverage is false
    usable = runs[:, _RATE] <= np.array(most)[number]
    usable &= (runs[:, _EXCLUDED] == 0) & ~(runs[:, _COVERAGE] < np.array(least)[number])
    number, runs = number[usable], runs[usable]
    order = np.lexsort((runs[:, _AT], number))
    return number[order], runs[order]


MIN_SIZE = 5
"""Members, so that each has four peers: two slow ones among fewer make all others look fast."""
_MANY = 20
"""With fewer members, their lasting differences are not known from themselves alone."""
_DAYS = 3
"""With fewer days no member's level is known."""

MIN_SPREAD = 0.015
"""Even a steady measurement is off by this much: caches, zones of disks, timers."""
FEW_APART = 0.05
"""Good members differ by up to this (ORNL's acceptance limit), unless more is known."""
_FEW_APART = FEW_APART / 2
"""The same as a standard deviation: twice as much is rare."""
_MIN_APART = 0.01
_MAD_EFFICIENCY = 0.37
"""Efficiency of the median absolute deviation of normal values, that of their deviation being 1."""


@dataclass(frozen=True, eq=False)
class Kind:
    """Median and spread of all measurements of a kind, day by day.

    ``days`` are those with enough members, counted from the epoch, ascending; ``middles`` are the
    medians of each day, logarithms, and ``spreads`` the standard deviation of one more value from
    them.  ``apart`` is the lasting difference between members, a standard deviation of logarithms,
    ``seen_apart`` the same with the error within which levels are known; ``usual`` is the
    difference of each member from the median on most days, nan if unknown.  ``own`` are the runs of
    each member without this difference, days x members, as wide as ``spreads``.
    """

    days: _Array
    middles: _Array
    spreads: _Array
    apart: float
    seen_apart: float
    usual: _Array
    own: _Array

    def on(self, days: _Array) -> tuple[_Array, _Array]:
        """Return median and spread of some days, nan for days without."""
        if not len(self.days):
            unknown = np.full(len(days), nan)
            return unknown, unknown
        places = np.minimum(np.searchsorted(self.days, days), len(self.days) - 1)
        measured = self.days[places] == days
        middles, spreads = (column[places] for column in (self.middles, self.spreads))
        return np.where(measured, middles, nan), np.where(measured, spreads, nan)

    @cached_property
    def spread(self) -> float:
        """Return the spread of one value on most days; there must be one."""
        return float(np.median(self.spreads))

    @cached_property
    def own_spread(self) -> float:
        """Return the spread of most members around their usual differences, nan if unknown."""
        spreads, _ = _member_spreads(self.own)
        return float(np.median(spreads)) if spreads.size else nan


def kind_of(members: _Array, days: _Array, values: _Array, count: int) -> Kind:
    """Return the kind of ``count`` members, from the number, day and value of each run.

    A deviation of few values is too small in the mean (Croux and Rousseeuw, 1992: n / (n - 0.8)),
    uncertain itself, and so is their median.
    """
    all_days, places = np.unique(days, return_inverse=True)
    grid = grid_of(places, members, values, (len(all_days), count))
    middles, sizes = medians(grid)
    deviations = grid - middles[:, None]
    spreads = MAD_FACTOR * medians(np.abs(deviations))[0]
    enough = sizes >= MIN_SIZE
    deviations, spreads, sizes = deviations[enough], spreads[enough], sizes[enough]
    usual, number = medians(deviations.T)
    known = number >= _DAYS
    own = deviations - usual
    wider = _lopsided(own[:, known], deviations) * np.hypot(1, MEDIAN_FACTOR / np.sqrt(sizes))
    of_few = sizes / (sizes - 0.8)
    spreads = np.maximum(MIN_SPREAD, _likely_spreads(spreads * of_few, sizes) * wider)
    seen_apart = _seen_apart(usual[known].tolist())
    few = MIN_SIZE <= np.count_nonzero(known) < _MANY
    return Kind(
        all_days[enough],
        middles[enough],
        spreads,
        _apart(seen_apart, own) if few else seen_apart,
        seen_apart,
        usual,
        own * (of_few * wider)[:, None],
    )


def _member_spreads(own: _Array) -> tuple[_Array, _Array]:
    """Return the spread of each member with enough days around its usual difference, and the days.

    ``own`` are the runs of members without this difference, days x members.
    """
    middles, sizes = medians(np.abs(own.T))
    known = sizes >= _DAYS
    return MAD_FACTOR * middles[known] * sizes[known] / (sizes[known] - 0.8), sizes[known]


def _lopsided(own: _Array, deviations: _Array) -> float:
    """Return how much farther the lower half of a day differs than all of it, at least 1.

    Runs that often reach a limit, such as that of a link, differ upwards by nearly nothing: the
    median absolute deviation is much smaller than the distance of the lower quartile.  Only what
    chance does not explain counts, by two errors of the ratio.

    ``deviations`` are days x members; ``own`` has members whose lasting differences are known,
    without these.
    """
    ordered, sizes = np.sort(own, axis=1), np.count_nonzero(~np.isnan(own), axis=1)
    days = np.flatnonzero(sizes >= MIN_SIZE)
    if not days.size:
        return 1.0
    place = (sizes[days] - 1) / 4
    below, part = place.astype(int), place % 1
    quartiles = ordered[days, below] * (1 - part) + ordered[days, below + 1] * part
    of_all = float(np.median(medians(np.abs(deviations))[0]))
    error = 1 / sqrt(_MAD_EFFICIENCY * int(sizes.sum()))
    return max(1.0, -float(np.median(quartiles)) / max(of_all, MIN_SPREAD) * exp(-2 * error))


def _likely_spreads(spreads: _Array, sizes: _Array) -> _Array:
    """Return the likely spread of each day from those of all days, by the sizes of their samples.

    A day may be rougher than most, so a larger spread stays.  A smaller one is partly chance: it
    tends to the median of all, the more the fewer values it has and the less such days differ
    beyond chance (empirical Bayes, normal in the logarithm).
    """
    if not len(spreads):
        return spreads
    logs = np.log(np.maximum(spreads, MIN_SPREAD))
    usual = np.median(logs)
    chance = 1 / (2 * _MAD_EFFICIENCY * sizes)
    below = np.minimum(0.0, logs - usual)
    # half of the days are below
    between = max(0.0, float((2 * below**2 - chance).mean()))
    likely = np.exp(usual + below * between / (between + chance))
    return np.where(below < 0, likely, spreads)


def grid_of(rows: _Array, columns: _Array, values: _Array, shape: tuple[int, int]) -> _Array:
    """Return values by row and column, nan for empty cells, the median of several."""
    grid = np.full(shape, nan)
    cells = rows * shape[1] + columns
    if np.bincount(cells, minlength=1).max() > 1:
        order = np.lexsort((values, cells))
        values = values[order]
        cells, first, sizes = np.unique(cells[order], return_index=True, return_counts=True)
        values = (values[first + (sizes - 1) // 2] + values[first + sizes // 2]) / 2
    grid.flat[cells] = values
    return grid


def medians(grid: _Array, *, upper: bool = False) -> tuple[_Array, _Array]:
    """Return the median of the values of each row, nan for an empty row, and their number.

    Of an even number of values it is the ``upper`` of the two in the middle, or their mean.
    """
    sizes = np.count_nonzero(~np.isnan(grid), axis=1)
    if not grid.size:
        return np.full(len(grid), nan), sizes
    ordered, rows = np.sort(grid, axis=1), np.arange(len(grid))
    middles = ordered[rows, sizes // 2]
    if not upper:
        middles = (ordered[rows, (sizes - 1) // 2] + middles) / 2
    return middles, sizes


def _seen_apart(levels: Sequence[float]) -> float:
    """Return the difference between members on most days; of few, at least that of good ones."""
    if len(levels) < MIN_SIZE:
        return _FEW_APART
    spread = deviation(levels) * len(levels) / (len(levels) - 0.8)
    return max(spread, _MIN_APART if len(levels) >= _MANY else _FEW_APART)


def _apart(seen_apart: float, own: _Array) -> float:
    """Return the lasting difference between few members, without the error of their levels.

    Levels that are known within an error seem to differ by more than they do.  Among few members,
    where some slow ones widen the difference as well, this would hide them for weeks.  Among many
    it stays: at a site whose runs differ by 28 %, the disturbances that last for nights gave five
    false alarms in two months without it, none with it.
    """
    spreads, days = _member_spreads(own)
    error = float(np.median(MEDIAN_FACTOR * spreads / np.sqrt(days)))
    return max(sqrt(max(0.0, seen_apart**2 - error**2)), _FEW_APART)
