"""References of runs: peers of the day, baseline, own history.

Measurements of one kind have the same layer, operation, file system and ceiling:
those of one node if a node judges itself, those of the whole site if all records are together.

Samples come in the order of arrival, which differs from the order of time after a clock was
stepped.

Peers of the same run or day cancel out the losses that all of them share.  With too few peers, the
baseline is the reference; without one, the measurement's own earlier runs.  A run of a few members,
such as a confirmation, is compared with the usual results of these few against all others.  A run
by name is compared with the expected result of its target in the last run of all.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import hypot, inf, isnan, log, nan, sqrt
from operator import itemgetter
from statistics import median
from typing import Any, Hashable, Iterator, NamedTuple, Optional, Sequence

import numpy as np

from plumbline.judge.phrases import several
from plumbline.judge.runs import (
    LONE_NOISE,
    PEER_NOISE,
    RATIO,
    SPREAD,
    Rows,
    Source,
    merge,
    rows_of,
)
from plumbline.model.limits import Baseline, Limits
from plumbline.model.series import Sample
from plumbline.model.statistics import (
    MAD_FACTOR,
    MEDIAN_FACTOR,
    deviation,
    error_of_median,
)
from plumbline.model.units import DAY_S

_PEERS = 4
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


@dataclass(frozen=True, eq=False)
class Measurement:
    """One operation of one component: its samples, newest first, and its baseline if it has one.

    ``kind`` is the key of measurements that should give the same.  ``era`` is set if the baseline
    was taken before a change of software or settings.  ``what`` is the operation in words,
    ``partner`` the other host of a pair, else empty.
    """

    kind: Hashable
    member: str
    samples: tuple[Sample, ...]
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
        parts = [_usable(measurement, least_coverage) for measurement in measurements]
        self.number: _Array = np.repeat(np.arange(len(parts)), [*map(len, parts)])
        table = np.concatenate(parts) if parts else np.empty((0, 4))
        self.at, self.peers = table[:, 0], table[:, 3]
        self.rates, self.peers_rates = np.log(table[:, 1:3].T)
        self.days = np.floor(self.at / DAY_S)
        most = [max((sample.peers for sample in item.samples), default=0) for item in measurements]
        enough: _Array = np.minimum(np.array(most, int), _PEERS)
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
        peers_rates = np.where(self.peers >= _PEERS, self.peers_rates, nan)
        return np.where(self.few, rates, rates - peers_rates)

    def rows(self, number: int) -> slice:
        """Return the rows of a measurement."""
        return slice(self._ends[number], self._ends[number + 1])


def _usable(measurement: Measurement, least_coverage: Optional[float]) -> _Array:
    """Return the usable runs, the oldest first: with a rate, not contended, not impossibly fast.

    The columns are the moment, the rate, that of the peers, nan without, and their number.
    """
    least = measurement.limits.min_coverage if least_coverage is None else least_coverage
    ceiling_rate = measurement.ceiling_rate
    most = measurement.limits.invalid_above * ceiling_rate if ceiling_rate else inf
    rows = [
        (sample.started_at, sample.rate, sample.peers_rate or nan, sample.peers)
        for sample in reversed(measurement.samples)
        if sample.rate
        and sample.rate <= most
        and not sample.excluded
        and (sample.coverage is None or sample.coverage >= least)
    ]
    # the order of arrival differs from the order of time after a clock was stepped
    rows.sort(key=itemgetter(0))
    return np.array(rows, float).reshape(len(rows), 4)


MIN_SIZE = 5
"""Members, so that each has four peers: two slow ones among fewer make all others look fast."""
_MANY = 20
"""With fewer members, their lasting differences are not known from themselves alone."""
_DAYS = 3
"""With fewer days no member's level is known."""

LEAST_SPREAD = 0.015
"""Even a steady measurement is off by this much: caches, zones of disks, timers."""
FEW_APART = 0.05
"""Good members differ by up to this (ORNL's acceptance limit), unless more is known."""
_LEAST_APART = 0.01
_MAD_EFFICIENCY = 0.37
"""Of the median absolute deviation, compared with the standard deviation of normal values."""


@dataclass(frozen=True, eq=False)
class Kind:
    """Median and spread of all measurements of a kind, day by day.

    ``days`` are those with enough members, counted from the epoch, ascending; ``middles`` are the
    medians of each day, logarithms, and ``spreads`` the standard deviation of one more value from
    them.  ``apart`` is the lasting difference between members, a standard deviation of logarithms;
    ``usual`` is the difference of each member from the median on most days, nan if unknown.
    """

    days: _Array
    middles: _Array
    spreads: _Array
    apart: float
    usual: _Array

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


def kind_of(members: _Array, days: _Array, values: _Array, count: int) -> Kind:
    """Return the kind of ``count`` members, from the number, day and value of each run.

    A deviation of few values is too small in the mean (Croux and Rousseeuw, 1992: n / (n - 0.8)),
    uncertain itself, and so is their median.
    """
    all_days, places = np.unique(days, return_inverse=True)
    grid = grid_of(places, members, values, (len(all_days), count))
    middles, sizes = medians(grid)
    deviations = grid - middles[:, None]
    spreads = MAD_FACTOR * medians(np.abs(deviations))[0] * sizes / (sizes - 0.8)
    enough = sizes >= MIN_SIZE
    spreads, sizes = _likely_spreads(spreads[enough], sizes[enough]), sizes[enough]
    spreads = np.maximum(LEAST_SPREAD, spreads * np.hypot(1, MEDIAN_FACTOR / np.sqrt(sizes)))
    usual, number = medians(deviations[enough].T)
    apart = _apart(usual[number >= _DAYS].tolist())
    return Kind(all_days[enough], middles[enough], spreads, apart, usual)


def _likely_spreads(spreads: _Array, sizes: _Array) -> _Array:
    """Return the likely spread of each day from those of all days, by the sizes of their samples.

    A day may be rougher than most, so a larger spread stays.  A smaller one is partly chance: it
    tends to the median of all, the more the fewer values it has and the less such days differ
    beyond chance (empirical Bayes, normal in the logarithm).
    """
    if not len(spreads):
        return spreads
    logs = np.log(np.maximum(spreads, LEAST_SPREAD))
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


def _apart(levels: Sequence[float]) -> float:
    """Return the difference between members on most days; of few, at least that of good ones."""
    if len(levels) < MIN_SIZE:
        return FEW_APART
    spread = deviation(levels) * len(levels) / (len(levels) - 0.8)
    return max(spread, _LEAST_APART if len(levels) >= _MANY else FEW_APART)


SPREAD_ALONE = 0.05
"""The least spread of runs without peers, that of the year's steady benchmarks."""
_SPREAD_BUSY = 0.19
"""Spread of single runs on busy days of the year's benchmarks (simulate/fleet.py)."""
_HALVED = 0.5
"""Share of its usual coverage: a run that loses half and more to others shows nothing."""
_BEFORE = 8
"""Earlier runs that make a level."""
_NEWEST = 8
"""Runs to compare with the earlier ones of the same measurement."""
_LEVEL_MOVES = 0.2
"""Without peers a level moves by up to this in weeks, a logarithm: a third of the alarms of a year
of benchmarks were such moves.  Smaller losses are ignored."""
_RUNS_KNOWN = 10
"""Weight of the prior for how often a measurement is disturbed, in runs."""
_TURNS_S = 1800.0
"""Runs that begin within so many seconds of a run of a few take turns with it."""


class Comparison(NamedTuple):
    """A measurement, its runs relative to a reference, and the name of that reference."""

    measurement: Measurement
    source: Source
    against: str

    def with_runs(self, runs: Rows) -> Comparison:
        """Return the same with other runs."""
        return self._replace(source=self.source._replace(runs=runs))


class _Group:
    """All measurements of a kind; their statistics are computed on demand."""

    def __init__(self) -> None:
        self.measurements: list[Measurement] = []

    @cached_property
    def table(self) -> Table:
        """Return the runs."""
        return Table(self.measurements)

    @cached_property
    def member(self) -> _Array:
        """Return the number of each run's member."""
        names: dict[str, int] = {}
        numbers = [
            names.setdefault(measurement.member, len(names)) for measurement in self.measurements
        ]
        return np.array(numbers, int)[self.table.number]

    @cached_property
    def forms(self) -> list[_Form]:
        """Return the forms of comparison, the one with the least difference first."""
        forms = [_Form(form, self) for form in FORMS]
        return sorted(forms, key=lambda form: form.kind.apart)

    def form(self, against: Against) -> _Form:
        """Return one form of comparison."""
        return next(form for form in self.forms if form.against is against)

    @cached_property
    def level(self) -> float:
        """Return the median of the baselines, a logarithm; there must be one."""
        return float(np.nanmedian([measurement.level for measurement in self.measurements]))

    @cached_property
    def busy_spread(self) -> float:
        """Return the spread of a run of most members on a busy day, inf without baselines."""
        baselines = (measurement.baseline for measurement in self.measurements)
        spreads = [baseline.spread for baseline in baselines if baseline]
        return hypot(median(spreads), _SPREAD_BUSY) if spreads else inf

    def steadier_than(self, compared: Comparison) -> bool:
        """Return whether each member is steadier than they are alike: some are slow themselves."""
        spreads: list[float] = compared.source.runs[:, SPREAD].tolist()
        return median(spreads) > self.busy_spread


class _Form:
    """Runs of a kind in one form of comparison; the rows are computed on demand."""

    def __init__(self, against: Against, group: _Group) -> None:
        self.against = against
        self.table, self.member = group.table, group.member
        self.values = self.table.ratios(against)
        usable = self.table.full & ~np.isnan(self.values)
        self.kind = kind_of(
            self.member[usable],
            self.table.days[usable],
            self.values[usable],
            len(group.measurements),
        )

    @cached_property
    def rows(self) -> tuple[Rows, _Array]:
        """Return all runs relative to the median of their day, and which of them are usable."""
        middles, spreads = self.kind.on(self.table.days)
        ratios = self.values - middles
        return rows_of(self.table.at, ratios, spreads), self.table.full & ~np.isnan(ratios)

    @cached_property
    def few_rows(self) -> dict[int, list[tuple[float, ...]]]:
        """Return the runs of a few members, as :data:`Rows` by the number of the measurement.

        They are relative to the usual values of the others among the few.
        """
        table, few = self.table, self.table.few
        levels = self.values - self.kind.usual[self.member]
        spreads = self.kind.on(table.days[few])[1]
        columns = (table.at, self.member, levels, self.values, table.number)
        runs = list(zip(*(column[few].tolist() for column in columns), spreads.tolist()))
        levelled = sorted(run[:3] for run in runs if not isnan(run[2]))
        starts = [at for at, *_ in levelled]
        rows: dict[int, list[tuple[float, ...]]] = {}
        for at, member, _, value, number, spread in runs:
            first, end = bisect_left(starts, at - _TURNS_S), bisect_right(starts, at + _TURNS_S)
            near = levelled[first:end]
            controls = [level for _, peer, level in near if peer != member]
            if controls and not isnan(value):
                row = at, *_relative_to_few(value, controls, spread, self.kind), 0.0
                rows.setdefault(number, []).append(row)
        return rows


class References:
    """Finds the reference of each measurement, given all of them."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        """Collect the measurements of each kind."""
        self._of_kind: dict[Hashable, _Group] = {}
        self._numbers: dict[int, int] = {}
        for measurement in measurements:
            group = self._of_kind.setdefault(measurement.kind, _Group())
            self._numbers[id(measurement)] = len(group.measurements)
            group.measurements.append(measurement)

    def of(self, measurement: Measurement) -> Optional[Comparison]:
        """Return the runs of a measurement with their reference, None without one."""
        group, number = self._of_kind[measurement.kind], self._numbers[id(measurement)]
        if _accepted_low(measurement, group):
            compared = _with_peers(measurement, number, group.form(Against.BASELINE))
            return compared or with_baseline(measurement)
        for form in group.forms:
            compared = _with_peers(measurement, number, form)
            if compared:
                return (
                    with_baseline(measurement) if group.steadier_than(compared) else None
                ) or compared
        return with_baseline(measurement) or _few(measurement) or _own_history(measurement)


def _with_peers(measurement: Measurement, number: int, form: _Form) -> Optional[Comparison]:
    """Return the runs of a measurement on days with peers, None without any."""
    own = form.table.rows(number)
    rows, usable = (array[own] for array in form.rows)
    count = np.count_nonzero(usable)
    if not count:
        return None
    if count < len(rows):
        rows = rows[usable]
        if number in form.table.partial:
            few_rows: Rows = np.reshape(form.few_rows.get(number, ()), (-1, 4))
            rows = merge([rows, few_rows, *_named_rows(own, form)])
    return Comparison(measurement, Source(rows, form.kind.apart), form.against.value)


def _relative_to_few(
    value: float, controls: Sequence[float], spread: float, kind: Kind
) -> tuple[float, float]:
    """Return a run relative to a few others, and its spread; that of its day may be unknown."""
    ratio = value - _middle_of_few(controls, kind.spread if isnan(spread) else spread)
    # without a run of all members a busy day is unknown: a loss that a busy day explains
    # counts as one, and a run like the others shows a quiet day
    busy = max(kind.spread, min(_SPREAD_BUSY, abs(ratio)))
    run_spread = busy if isnan(spread) else spread
    return ratio, run_spread * sqrt(1 + 1 / len(controls))


_UPPER_OF_TWO = 0.5642
"""The mean distance of the upper of two values from their mean, in standard deviations."""


def _middle_of_few(values: Sequence[float], spread: float) -> float:
    """Return the median of a few controls; of two the upper one, as a disturbed one is low."""
    if len(values) == 2:
        return max(values) - _UPPER_OF_TWO * spread
    return median(values)


def _named_rows(own: slice, form: _Form) -> Iterator[Rows]:
    """Yield the runs by name, relative to the level in the last run of all before each.

    The shared level has changed since by as much as between two such runs.
    """
    table = form.table
    by_name = table.by_name[own]
    if not by_name.any():
        return
    at, rates = table.at[own], table.rates[own]
    rows, usable = (array[own] for array in form.rows)
    # the rate at the median of the peers
    levels = (rates - rows[:, RATIO])[usable]
    last = np.maximum(0, np.searchsorted(at[usable], at[by_name], side="right") - 1)
    spreads = np.hypot(rows[usable, SPREAD][last], _drift(levels))
    yield rows_of(at[by_name], rates[by_name] - levels[last], spreads)


def _drift(levels: _Array) -> float:
    """Return the change of a shared level between two runs, a standard deviation."""
    return max(SPREAD_ALONE, deviation(np.diff(levels), 0.0)) if len(levels) > 1 else SPREAD_ALONE


def _accepted_low(measurement: Measurement, group: _Group) -> bool:
    """Return whether a person has accepted that a component is slower than its peers."""
    if measurement.baseline is None:
        return False
    ratio = measurement.level - group.level
    return ratio < log(1 - measurement.limits.peer_loss) / 2


def with_baseline(measurement: Measurement) -> Optional[Comparison]:
    """Return the runs relative to the baseline, including busy days; None without one."""
    baseline = measurement.baseline
    if baseline is None or (measurement.era and measurement.era.with_group):
        return None
    table = Table([measurement])
    if not len(table.at):
        return None
    spread = max(SPREAD_ALONE, baseline.spread)
    error = max(LEAST_SPREAD, error_of_median(spread, max(1, baseline.runs)))
    rows = rows_of(table.at, table.ratios(Against.BASELINE), spread)
    source = Source(rows, error, LONE_NOISE)
    return Comparison(measurement, source, baseline_words([measurement]))


def baseline_words(members: Sequence[Measurement]) -> str:
    """Return the name of a baseline; after a change, that of the earlier era."""
    changes = dict.fromkeys(measurement.era.change for measurement in members if measurement.era)
    if not changes:
        return Against.ALONE.value
    return f"the baseline from before {several(list(changes))}"


def _few(measurement: Measurement) -> Optional[Comparison]:
    """Return the runs relative to one to three peers, each of which may be slow itself.

    So few do not show whether the day is busy, so all runs have the spread of busy days.  A run by
    name is compared with the peers of the last run that had some.
    """
    table = Table([measurement])
    with_peers = ~np.isnan(table.peers_rates)
    if not with_peers.any():
        return None
    last = np.maximum.accumulate(np.where(with_peers, np.arange(len(table.at)), -1))
    usable = last >= 0
    ratios = table.rates[usable] - table.peers_rates[last[usable]]
    rows = rows_of(table.at[usable], ratios, hypot(_SPREAD_BUSY, _SPREAD_BUSY))
    return Comparison(measurement, Source(rows, FEW_APART, PEER_NOISE), Against.FEW.value)


def _usual(measurement: Measurement) -> float:
    """Return the coverage below which a run is more contended than the earlier ones.

    Steady traffic of others takes as much from all runs.
    """
    coverages = [sample.coverage for sample in measurement.samples if sample.coverage is not None]
    return min(measurement.limits.min_coverage, _HALVED * median(coverages)) if coverages else 0.0


def _own_history(measurement: Measurement) -> Optional[Comparison]:
    """Return up to eight of the newest runs, relative to the median of at least eight before them.

    The earlier runs show how often the next ones are disturbed.
    """
    table = Table([measurement], _usual(measurement))
    count = max(_BEFORE, len(table.at) - _NEWEST)
    if len(table.at) <= count:
        return None
    earlier = table.rates[:count].tolist()
    level, spread = median(earlier), max(SPREAD_ALONE, deviation(earlier))
    rows = rows_of(table.at[count:], table.rates[count:] - level, spread)
    low = sum(rate - level < -max(2 * spread, _LEVEL_MOVES) for rate in earlier)
    lower = (LONE_NOISE.lower * _RUNS_KNOWN + low) / (_RUNS_KNOWN + count)
    noise = LONE_NOISE._replace(lower=max(LONE_NOISE.lower, lower))
    source = Source(rows, error_of_median(spread, count), noise, _LEVEL_MOVES)
    return Comparison(measurement, source, Against.HISTORY.value)
