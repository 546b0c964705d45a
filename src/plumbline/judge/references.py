"""References of runs: peers of the day, baseline, own history.

Of a kind are the measurements of one layer, operation and file system that have the same ceiling,
whoever made them: those of one node where a node judges for itself, those of the whole site where
all records are together.

Samples come in the order of arrival, which is not that of their moments where a clock was stepped.

Peers of the same run or day take away what all of them share.  Where there are too few, the
baseline is the reference; without one, the measurement's own earlier runs.  A run of a few members,
such as one that confirms, is held against what these few usually give beside all others.  A run by
name is held against what its target would have given in the last run of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import hypot, inf, isnan, log, nan, sqrt
from statistics import median
from typing import Any, Hashable, Iterator, NamedTuple, Optional, Sequence

import numpy as np

from plumbline.judge.phrases import several
from plumbline.judge.runs import ALONE, BESIDE_PEERS, RATIO, SPREAD, Rows, Source, in_order, rows_of
from plumbline.model.limits import Baseline, Limits
from plumbline.model.series import Sample
from plumbline.model.statistics import (
    OF_A_DEVIATION,
    OF_A_MEDIAN,
    deviation,
    error_of_median,
)
from plumbline.model.units import DAY_S

_PEERS = 4
"""Peers of one run whose median is a reference: one slow one among fewer makes others look fast."""


class Against(str, Enum):
    """Reference that a run is compared with."""

    RUN = "its peers in the same run"
    BASELINE = "its peers' shares of their baselines"
    RATE = "its peers of the same day"
    FEW = "its few peers in the same run"
    HISTORY = "its own earlier runs"
    ALONE = "its baseline"


FORMS = (Against.RUN, Against.BASELINE, Against.RATE)

_Array = Any
"""An array of numpy, whose types a node's Python cannot name."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """One operation of one component: its samples, newest first, and its baseline if it has one.

    ``kind`` is the key of what should give the same.  ``era`` is set where the baseline was taken
    before a change of software or settings.
    """

    kind: Hashable
    member: str
    samples: tuple[Sample, ...]
    baseline: Optional[Baseline]
    limits: Limits
    ceiling_rate: Optional[float]
    era: Optional[Era] = None

    @property
    def level(self) -> float:
        """Return the logarithm of its baseline, nan without one."""
        return log(self.baseline.median) if self.baseline else nan


class Era(NamedTuple):
    """A time between two changes: what changed, in words, and when, in epoch seconds if known.

    ``with_group`` says that the whole group is held against what it gave before.
    """

    change: str
    since: Optional[float]
    with_group: bool


class Table:
    """The runs of some measurements that say something, a row each, an array for each column.

    Those of one measurement stand together, the oldest first.  ``number`` is that of the
    measurement, ``at`` a moment in epoch seconds; ``rates`` and ``peers_rates`` are logarithms of
    B/s, the latter of the median of the ``peers`` in the same run, nan where there are none.
    ``full`` are the runs that had all their peers, ``few`` those that a few members made alone, too
    few for a reference, and ``by_name`` those of one member alone where others of its runs have
    peers.
    """

    def __init__(
        self, measurements: Sequence[Measurement], least_coverage: Optional[float] = None
    ) -> None:
        """Read the samples; below ``least_coverage``, else the policy's, a run says nothing."""
        rows = [
            (number, *values)
            for number, measurement in enumerate(measurements)
            for values in _speaking(measurement, least_coverage)
        ]
        table = np.array(rows, float).reshape(len(rows), 5)
        # they came in this order, which is not that of their moments where a clock was stepped
        table = table[np.lexsort((table[:, 1], table[:, 0]))]
        self.number: _Array = table[:, 0].astype(int)
        self.at, self.peers = table[:, 1], table[:, 4]
        self.rates, self.peers_rates = np.log(table[:, 2:4].T)
        self.days = np.floor(self.at / DAY_S)
        most = [max((sample.peers for sample in each.samples), default=0) for each in measurements]
        enough: _Array = np.minimum(np.array(most, int), _PEERS)
        self.full = self.peers >= enough[self.number]
        self.few = (self.peers > 0) & ~self.full
        self.by_name = (self.peers <= 0) & ~self.full
        self._levels = np.array([measurement.level for measurement in measurements], float)
        numbers = np.arange(len(measurements) + 1)
        self._ends: _Array = np.searchsorted(self.number, numbers)

    def beside(self, form: Against) -> _Array:
        """Return what the runs hold against others in one of ``FORMS``, nan if that is unknown."""
        rates: _Array = self.rates
        if form is Against.RATE:
            return rates
        if form is Against.BASELINE:
            return rates - self._levels[self.number]
        # the others of a run of a few are found by their moments
        peers_rates = np.where(self.peers >= _PEERS, self.peers_rates, nan)
        return np.where(self.few, rates, rates - peers_rates)

    def of(self, number: int) -> slice:
        """Return the rows of a measurement."""
        return slice(self._ends[number], self._ends[number + 1])


def _speaking(
    measurement: Measurement, least_coverage: Optional[float]
) -> list[tuple[float, float, float, int]]:
    """Return the runs that say something: a rate of its own, not contended, not above all sense."""
    least = measurement.limits.min_coverage if least_coverage is None else least_coverage
    ceiling_rate = measurement.ceiling_rate
    most = measurement.limits.invalid_above * ceiling_rate if ceiling_rate else inf
    return [
        (sample.started_at, sample.rate, sample.peers_rate or nan, sample.peers)
        for sample in reversed(measurement.samples)
        if sample.rate
        and sample.rate <= most
        and not sample.excluded
        and (sample.coverage is None or sample.coverage >= least)
    ]


LEAST = 5
"""Members, of which four are beside each: two slow ones among fewer make all others look fast."""
_MANY = 20
"""Of fewer members, what they differ by for good is not known from themselves alone."""
_DAYS = 3
"""Of fewer days no member's level is known."""

LEAST_SPREAD = 0.015
"""Even a steady measurement is off by this much: caches, zones of disks, timers."""
FEW_APART = 0.05
"""Good members differ by up to this (ORNL's acceptance limit), where nothing better is known."""
_LEAST_APART = 0.01


@dataclass(frozen=True, eq=False)
class Kind:
    """Middle and spread of all of a kind, day by day.

    ``days`` are those with members enough, counted from the epoch, ascending; ``middles`` what they
    gave on each, a logarithm, and ``spreads`` the standard deviation of what one more value would
    differ from it by.  ``apart`` is what the members differ by for good, a standard deviation of
    logarithms; ``usual`` is by how much each differs from the middle on most days, nan where that
    is not known.
    """

    days: _Array
    middles: _Array
    spreads: _Array
    apart: float
    usual: _Array

    def on(self, days: _Array) -> tuple[_Array, _Array]:
        """Return middle and spread of some days, nan where there are none."""
        if not len(self.days):
            unknown = np.full(len(days), nan)
            return unknown, unknown
        places = np.minimum(np.searchsorted(self.days, days), len(self.days) - 1)
        there = self.days[places] == days
        middles, spreads = (column[places] for column in (self.middles, self.spreads))
        return np.where(there, middles, nan), np.where(there, spreads, nan)

    @cached_property
    def spread(self) -> float:
        """Return by what one value differs from the middle on most days; there is one."""
        return float(np.median(self.spreads))


def kind_of(members: _Array, days: _Array, values: _Array, count: int) -> Kind:
    """Return what ``count`` members gave, from the number, day and value of each run.

    A deviation of few values is too small in the mean (Croux and Rousseeuw, 1992: n / (n - 0.8)),
    and their middle is uncertain itself.
    """
    every, places = np.unique(days, return_inverse=True)
    grid = _grid(places, members, values, (len(every), count))
    middles, sizes = _medians(grid)
    off = grid - middles[:, None]
    spreads = OF_A_DEVIATION * _medians(np.abs(off))[0] * sizes / (sizes - 0.8)
    spreads = np.maximum(LEAST_SPREAD, np.hypot(spreads, OF_A_MEDIAN * spreads / np.sqrt(sizes)))
    known = sizes >= LEAST
    usual, number = _medians(off[known].T)
    apart = _apart(usual[number >= _DAYS].tolist())
    return Kind(every[known], middles[known], spreads[known], apart, usual)


def _grid(rows: _Array, columns: _Array, values: _Array, shape: tuple[int, int]) -> _Array:
    """Return values by row and column, nan where there are none, of several their median."""
    grid = np.full(shape, nan)
    cells = rows * shape[1] + columns
    if np.bincount(cells, minlength=1).max() > 1:
        order = np.lexsort((values, cells))
        values = values[order]
        cells, first, sizes = np.unique(cells[order], return_index=True, return_counts=True)
        values = (values[first + (sizes - 1) // 2] + values[first + sizes // 2]) / 2
    grid.flat[cells] = values
    return grid


def _medians(grid: _Array, *, upper: bool = False) -> tuple[_Array, _Array]:
    """Return the median of the values of each row, nan without any, and their number.

    Of an even number it is the ``upper`` of the two in the middle, or their mean.
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
    """Return what members differ by on most days; at least what good ones may where few tell."""
    if len(levels) < LEAST:
        return FEW_APART
    spread = deviation(levels) * len(levels) / (len(levels) - 0.8)
    return max(spread, _LEAST_APART if len(levels) >= _MANY else FEW_APART)


_SPREAD_ALONE = 0.05
"""What runs without peers differ by at least, as the steady benchmarks of a year did."""
_SPREAD_BUSY = 0.19
"""What single runs differ by on busy days of the year's benchmarks (simulate/noise.py)."""
_HALVED = 0.5
"""Of its usual coverage: a run that loses half and more to others is not its own."""
_BEFORE = 8
"""Earlier runs that stand for a level."""
_NEWEST = 8
"""Runs that are held against those before them, where both are a measurement's own."""
_LEVEL_MOVES = 0.2
"""Without peers a level moves by up to this in weeks, a logarithm: of the alarms of a year of
benchmarks a third were such moves.  A smaller loss is not looked for."""
_RUNS_KNOWN = 10
"""As many runs' worth is known beforehand of how often a measurement is disturbed."""
_BESIDE_S = 1800.0
"""What begins within so many seconds of a run of a few is beside it: they take turns."""


class ComparedSource(NamedTuple):
    """A source for weighing, and what its runs are held against."""

    source: Source
    against: str


class _Fellows:
    """All measurements of a kind; what they gave is found when somebody asks."""

    def __init__(self) -> None:
        self.measurements: list[Measurement] = []

    @cached_property
    def table(self) -> Table:
        """Return their runs."""
        return Table(self.measurements)

    @cached_property
    def member(self) -> _Array:
        """Return the number of the member that each run is of."""
        names: dict[str, int] = {}
        numbers = [
            names.setdefault(measurement.member, len(names)) for measurement in self.measurements
        ]
        return np.array(numbers, int)[self.table.number]

    @cached_property
    def forms(self) -> list[_Form]:
        """Return what they gave in each form, that in which they differ least first."""
        forms = [_Form(form, self) for form in FORMS]
        return sorted(forms, key=lambda form: form.kind.apart)

    def form(self, against: Against) -> _Form:
        """Return what they gave in one form."""
        return next(form for form in self.forms if form.against is against)

    @cached_property
    def level(self) -> float:
        """Return the middle of their baselines, a logarithm; one of them has one."""
        return float(np.nanmedian([measurement.level for measurement in self.measurements]))


class _Form:
    """Runs of a kind in one form; what is beside their middle is found when somebody asks."""

    def __init__(self, against: Against, fellows: _Fellows) -> None:
        self.against = against
        self.table, self.member = fellows.table, fellows.member
        self.values = self.table.beside(against)
        tells = self.table.full & ~np.isnan(self.values)
        self.kind = kind_of(
            self.member[tells],
            self.table.days[tells],
            self.values[tells],
            len(fellows.measurements),
        )

    @cached_property
    def rows(self) -> tuple[Rows, _Array]:
        """Return all runs beside the middle of their day, and which can be."""
        middles, spreads = self.kind.on(self.table.days)
        off = self.values - middles
        return rows_of(self.table.at, off, spreads), self.table.full & ~np.isnan(off)

    @cached_property
    def of_few(self) -> tuple[_Array, _Array, _Array]:
        """Return the runs of a few members alone: moments, values, members.

        The values are beside what each usually gives; where that is not known they are left out.
        """
        levels = self.values - self.kind.usual[self.member]
        there = self.table.few & ~np.isnan(levels)
        return self.table.at[there], levels[there], self.member[there]


class References:
    """Finds what each measurement is held against, once all of them are known."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        """Collect the measurements of each kind."""
        self._of_kind: dict[Hashable, _Fellows] = {}
        self._numbers: dict[int, int] = {}
        for measurement in measurements:
            fellows = self._of_kind.setdefault(measurement.kind, _Fellows())
            self._numbers[id(measurement)] = len(fellows.measurements)
            fellows.measurements.append(measurement)

    def of(self, measurement: Measurement) -> Optional[ComparedSource]:
        """Return the runs of a measurement beside their reference, None where there is none."""
        fellows = self._of_kind[measurement.kind]
        own = fellows.table.of(self._numbers[id(measurement)])
        if _accepted_low(measurement, fellows):
            source = _beside(own, fellows.form(Against.BASELINE))
            return source or beside_baseline(measurement)
        for form in fellows.forms:
            source = _beside(own, form)
            if source:
                return (
                    (beside_baseline(measurement) or source) if _differ_widely(source) else source
                )
        return beside_baseline(measurement) or _few(measurement) or _own_history(measurement)


def _beside(own: slice, form: _Form) -> Optional[ComparedSource]:
    """Return the runs of days with peers of a measurement, None where there are none."""
    rows, tells = (array[own] for array in form.rows)
    if not tells.any():
        return None
    if not tells.all():
        rows = rows[tells]
        if not form.table.full[own].all():
            rows = in_order([rows, *_of_a_few(own, form), *_by_name(own, form)])
    return ComparedSource(Source(rows, form.kind.apart), form.against.value)


def _of_a_few(own: slice, form: _Form) -> Iterator[Rows]:
    """Yield the runs that a few members made, beside what the others of them usually give."""
    table, kind = form.table, form.kind
    few = table.few[own]
    if not few.any():
        return
    when, levels, members = form.of_few
    others = members != form.member[own][0]
    when, levels = when[others], levels[others]
    of_day = kind.on(table.days[own][few])[1]
    own_runs = table.at[own][few], form.values[own][few], of_day
    for at, value, spread in zip(*(column.tolist() for column in own_runs)):
        beside = levels[np.abs(when - at) <= _BESIDE_S].tolist()
        if beside and not isnan(value):
            off = value - _middle_of_few(beside, kind.spread if isnan(spread) else spread)
            # without a run of all members nobody knows whether the day is busy: what a busy day
            # explains is taken to be one, and a run like the others shows that it is none
            busy = max(kind.spread, min(_SPREAD_BUSY, abs(off)))
            each = busy if isnan(spread) else spread
            yield rows_of(at, off, each * sqrt(1 + 1 / len(beside)))


_UPPER_OF_TWO = 0.5642
"""The upper of two values is above their mean by so many standard deviations, in the mean."""


def _middle_of_few(values: Sequence[float], spread: float) -> float:
    """Return what a few controls gave: of two the upper one, for one that was disturbed is low."""
    if len(values) == 2:
        return max(values) - _UPPER_OF_TWO * spread
    return median(values)


def _by_name(own: slice, form: _Form) -> Iterator[Rows]:
    """Yield the runs by name, compared with what the last run of all before each would have given.

    What the members share has changed since by as much as between two such runs.
    """
    table = form.table
    at, rates, by_name = table.at[own], table.rates[own], table.by_name[own]
    if not by_name.any():
        return
    rows, tells = (array[own] for array in form.rows)
    # the rate as it would have been in the middle of the peers
    levels = (rates - rows[:, RATIO])[tells]
    last = np.maximum(0, np.searchsorted(at[tells], at[by_name], side="right") - 1)
    spreads = np.hypot(rows[tells, SPREAD][last], _drift(levels))
    yield rows_of(at[by_name], rates[by_name] - levels[last], spreads)


def _drift(levels: _Array) -> float:
    """Return what a shared level changes by between two runs, a standard deviation."""
    return max(_SPREAD_ALONE, deviation(np.diff(levels), 0.0)) if len(levels) > 1 else _SPREAD_ALONE


def _accepted_low(measurement: Measurement, fellows: _Fellows) -> bool:
    """Return whether a person has accepted that a component is slower than its peers."""
    if measurement.baseline is None:
        return False
    beside = measurement.level - fellows.level
    return beside < log(1 - measurement.limits.peer_loss) / 2


def _differ_widely(compared: ComparedSource) -> bool:
    """Return whether peers differ by more than busy days take: some of them are slow themselves."""
    spreads: list[float] = compared.source.runs[:, SPREAD].tolist()
    return median(spreads) > ALONE.tail


def beside_baseline(measurement: Measurement) -> Optional[ComparedSource]:
    """Return the runs beside the baseline, busy days and all."""
    baseline = measurement.baseline
    if baseline is None or (measurement.era and measurement.era.with_group):
        return None
    table = Table([measurement])
    if not len(table.at):
        return None
    spread = max(_SPREAD_ALONE, baseline.spread)
    off = max(LEAST_SPREAD, error_of_median(spread, max(1, baseline.runs)))
    rows = rows_of(table.at, table.beside(Against.BASELINE), spread)
    return ComparedSource(Source(rows, off, ALONE), baseline_words([measurement]))


def common(measured: Sequence[Measurement], members: int) -> Optional[ComparedSource]:
    """Return what members of a group gave as one beside their baselines, day by day.

    A day counts where more than half of all ``members`` were measured, by their upper median: of
    two, one that is slow is not both.  None where half of them have no baseline, or no day counts.
    """
    measurements = [measurement for measurement in measured if measurement.baseline]
    table = Table(measurements)
    full = table.full
    at, values, number = table.at[full], table.beside(Against.BASELINE)[full], table.number[full]
    every, places = np.unique(table.days[full], return_inverse=True)
    grid = _grid(places, number, values, (len(every), len(measurements)))
    middles, sizes = _medians(grid, upper=True)
    far = _medians(np.abs(grid - middles[:, None]))[0]
    begins = np.full(len(every), inf)
    np.minimum.at(begins, places, at)
    counts = 2 * sizes > members
    if not counts.any():
        return None
    fewest = min(one.baseline.runs for one in measurements if one.baseline)
    error = max(LEAST_SPREAD, error_of_median(_SPREAD_ALONE, max(1, fewest)))
    errors = OF_A_MEDIAN * OF_A_DEVIATION * far[counts] / np.sqrt(sizes[counts])
    rows = rows_of(begins[counts], middles[counts], np.hypot(_SPREAD_ALONE, errors))
    return ComparedSource(Source(rows, error, ALONE), baseline_words(measurements))


def baseline_words(members: Sequence[Measurement]) -> str:
    """Return what a baseline is called: after a change that of the era before."""
    changes = dict.fromkeys(measurement.era.change for measurement in members if measurement.era)
    if not changes:
        return Against.ALONE.value
    return f"the baseline from before {several(list(changes))}"


def _few(measurement: Measurement) -> Optional[ComparedSource]:
    """Return the runs beside one to three peers, of which each may be odd itself.

    So few do not tell whether the day is busy, so all runs may differ as on busy ones.  A run by
    name is held against the peers of the last run that had some.
    """
    table = Table([measurement])
    with_peers = ~np.isnan(table.peers_rates)
    if not with_peers.any():
        return None
    last = np.maximum.accumulate(np.where(with_peers, np.arange(len(table.at)), -1))
    tells = last >= 0
    off = table.rates[tells] - table.peers_rates[last[tells]]
    rows = rows_of(table.at[tells], off, hypot(_SPREAD_BUSY, _SPREAD_BUSY))
    return ComparedSource(Source(rows, FEW_APART, BESIDE_PEERS), Against.FEW.value)


def _usual(measurement: Measurement) -> float:
    """Return the coverage below which a run is more contended than its own earlier ones.

    What others always use as much takes as much from all runs.
    """
    known = [sample.coverage for sample in measurement.samples if sample.coverage is not None]
    return min(measurement.limits.min_coverage, _HALVED * median(known)) if known else 0.0


def _own_history(measurement: Measurement) -> Optional[ComparedSource]:
    """Return the newest eight runs, or fewer, beside the median of eight before them or more.

    How often earlier runs were disturbed says how often the next ones are.
    """
    table = Table([measurement], _usual(measurement))
    count = max(_BEFORE, len(table.at) - _NEWEST)
    if len(table.at) <= count:
        return None
    before = table.rates[:count].tolist()
    level, spread = median(before), max(_SPREAD_ALONE, deviation(before))
    rows = rows_of(table.at[count:], table.rates[count:] - level, spread)
    low = sum(rate - level < -max(2 * spread, _LEVEL_MOVES) for rate in before)
    often = (ALONE.lower * _RUNS_KNOWN + low) / (_RUNS_KNOWN + count)
    noise = ALONE._replace(lower=max(ALONE.lower, often))
    off = error_of_median(spread, count)
    return ComparedSource(Source(rows, off, noise, _LEVEL_MOVES), Against.HISTORY.value)
