"""References of runs: peers of the day, baseline, own history.

Peers of the same run or day cancel out the losses that all of them share.  With too few peers, the
baseline is the reference; without one, the measurement's own earlier runs.  A run of a few members,
such as a confirmation, is compared with the usual results of these few against all others.  A run
by name is compared with the expected result of its target in the last run of all.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from math import hypot, inf, isnan, log, sqrt
from statistics import median
from typing import Any, Hashable, Iterator, NamedTuple, Optional, Sequence

import numpy as np

from plumbline.judge.days import days_of
from plumbline.judge.kinds import (
    FEW_APART,
    FORMS,
    MIN_SIZE,
    MIN_SPREAD,
    Against,
    Kind,
    Measurement,
    Table,
    grid_of,
    kind_of,
    medians,
)
from plumbline.judge.runs import (
    AT,
    LONE_NOISE,
    PEER_NOISE,
    RATIO,
    SPREAD,
    Rows,
    Source,
    merge,
    rows_of,
)
from plumbline.model.names import several
from plumbline.model.series import column
from plumbline.model.statistics import (
    MAD_FACTOR,
    MEDIAN_FACTOR,
    deviation,
    error_of_median,
)
from plumbline.model.units import DAY_S

_Array = Any
"""A numpy array; a node's Python cannot name its types."""

_SPREAD_ALONE = 0.05
"""The least spread of runs without peers, that of the year's steady benchmarks."""
_SPREAD_BUSY = 0.19
"""Spread of single runs on busy days of the year's benchmarks (simulate/fleet.py)."""
_NIGHTS_ALIKE = 3
"""Nights of a group that say as much as one: the shared losses of two nights in a row correlate by
0.62 in a cluster in production (tests/bench/fit_noise.py), so by (1 + r) / (1 - r) = 3 to 4."""
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
        measurement, (_, off, noise, least), against = self
        return Comparison(measurement, Source(runs, off, noise, least), against)


class _Group:
    """All measurements of a kind; their statistics are computed on demand."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self.measurements = measurements

    def compared(self, number: int) -> Optional[Comparison]:
        """Return the runs of a measurement with their reference, None without one."""
        measurement = self.measurements[number]
        if _accepted_low(measurement, self):
            forms = (form for form in self.forms if form.against is Against.BASELINE)
            among_peers = (_with_peers(measurement, number, form) for form in forms)
            return next(among_peers, None) or with_baseline(measurement)
        for form in self.forms:
            compared = _with_peers(measurement, number, form)
            if compared:
                alone = with_baseline(measurement) if self.steadier_alone(form) else None
                return alone or compared
        return with_baseline(measurement) or _few(measurement) or _own_history(measurement)

    @cached_property
    def table(self) -> Table:
        return Table(self.measurements)

    @cached_property
    def member(self) -> _Array:
        names: dict[str, int] = {}
        numbers = [
            names.setdefault(measurement.member, len(names)) for measurement in self.measurements
        ]
        return np.array(numbers, int)[self.table.number]

    @cached_property
    def forms(self) -> list[_Form]:
        """Return the forms of comparison, the one with the least seen difference first.

        Fewer than ``MIN_SIZE`` measurements are no peers of one another, in no form.
        """
        if len(self.measurements) < MIN_SIZE:
            return []
        forms = [_Form(form, self) for form in FORMS]
        return sorted(forms, key=lambda form: form.kind.seen_apart)

    @cached_property
    def level(self) -> float:
        """Return the median of the baselines, a logarithm; there must be one."""
        return median(item.level for item in self.measurements if item.baseline)

    def steadier_alone(self, form: _Form) -> bool:
        """Return whether each member is steadier than they are alike: some are slow themselves.

        A run of most members on a busy day differs by their own spread and that of the day.
        """
        spread = form.kind.spread
        return spread > _SPREAD_BUSY and spread > hypot(self._own_spread(form), _SPREAD_BUSY)

    def _own_spread(self, form: _Form) -> float:
        """Return the spread of most members alone, inf without baselines.

        It is that of their baselines or of their runs since: runs that often reach a limit, such as
        that of a link, are steady for as long as a baseline takes, and rough later.
        """
        spreads = [item.baseline.spread for item in self.measurements if item.baseline]
        of_baselines = median(spreads) if spreads else inf
        of_runs = form.kind.own_spread
        return of_baselines if isnan(of_runs) else max(of_baselines, of_runs)


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
    """Finds the reference of each measurement, given all of them.

    If all will be asked for, a kind is compared as a whole and its table dropped, which is several
    times as large as the runs: a large site has room for one of them.
    """

    def __init__(self, measurements: Sequence[Measurement], *, whole: bool = False) -> None:
        """Collect the measurements of each kind; ``whole`` if all will be asked for."""
        kinds: dict[Hashable, list[Measurement]] = {}
        self._numbers: dict[int, int] = {}
        for measurement in measurements:
            same = kinds.setdefault(measurement.kind, [])
            self._numbers[id(measurement)] = len(same)
            same.append(measurement)
        self._groups = {kind: _Group(same) for kind, same in kinds.items()}
        self._compared: dict[Hashable, list[Optional[Comparison]]] = {}
        self._whole = whole

    def of(self, measurement: Measurement) -> Optional[Comparison]:
        """Return the runs of a measurement with their reference, None without one."""
        kind, number = measurement.kind, self._numbers[id(measurement)]
        if not self._whole:
            return self._groups[kind].compared(number)
        if kind not in self._compared:
            group = self._groups.pop(kind)
            self._compared[kind] = [*map(group.compared, range(len(group.measurements)))]
        return self._compared[kind][number]


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
    return max(_SPREAD_ALONE, deviation(np.diff(levels), 0.0)) if len(levels) > 1 else _SPREAD_ALONE


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
    spread = max(_SPREAD_ALONE, baseline.spread)
    error = max(MIN_SPREAD, error_of_median(spread, max(1, baseline.runs)))
    rows = rows_of(table.at, table.ratios(Against.BASELINE), spread)
    source = Source(rows, error, LONE_NOISE)
    return Comparison(measurement, source, baseline_words([measurement]))


def of_group(group: Sequence[Measurement], members: int) -> Optional[Comparison]:
    """Return the joint runs of a group relative to the members' baselines, day by day.

    A day counts if more than half of all ``members`` were measured, by their upper median: one slow
    member of two does not lower it.  None if half of them have no baseline, or no day counts.
    """
    measurements = [measurement for measurement in group if measurement.baseline]
    table = Table(measurements)
    full = table.full
    at, values, number = table.at[full], table.ratios(Against.BASELINE)[full], table.number[full]
    all_days, places = np.unique(table.days[full], return_inverse=True)
    grid = grid_of(places, number, values, (len(all_days), len(measurements)))
    middles, sizes = medians(grid, upper=True)
    deviations = medians(np.abs(grid - middles[:, None]))[0]
    starts = np.full(len(all_days), inf)
    np.minimum.at(starts, places, at)
    counts = 2 * sizes > members
    if not counts.any():
        return None
    fewest = min(measurement.baseline.runs for measurement in measurements if measurement.baseline)
    error = max(MIN_SPREAD, error_of_median(_SPREAD_ALONE, max(1, fewest // _NIGHTS_ALIKE)))
    errors = MEDIAN_FACTOR * MAD_FACTOR * deviations[counts] / np.sqrt(sizes[counts])
    rows = rows_of(starts[counts], middles[counts], np.hypot(_SPREAD_ALONE, errors))
    return Comparison(group[0], Source(rows, error, LONE_NOISE), baseline_words(measurements))


class Groups:
    """Small groups of one kind: their nights compared with those of the others.

    What a night takes from all groups, such as traffic of a file system, is no loss of one.
    ``level`` has the medians of all nights relative to the baselines: a loss that all share.
    """

    def __init__(self, groups: Sequence[Comparison]) -> None:
        """Compute the nights of all groups; each is relative to its baselines."""
        self._groups = groups
        rows = np.concatenate([group.source.runs for group in groups])
        sizes = [len(group.source.runs) for group in groups]
        number: _Array = np.repeat(np.arange(len(groups)), sizes)
        days = days_of(rows[:, AT])
        self._days = np.split(days, np.cumsum(sizes)[:-1])
        self._kind = kind_of(number, days, rows[:, RATIO], len(groups))

    def of(self, number: int) -> Optional[Comparison]:
        """Return a group relative to the others, None without a night of enough groups."""
        group = self._groups[number]
        runs = group.source.runs
        middles, spreads = self._kind.on(self._days[number])
        usable = ~np.isnan(middles)
        if not usable.any():
            return None
        rows = rows_of(runs[:, AT], runs[:, RATIO] - middles, spreads)[usable]
        return Comparison(group.measurement, Source(rows, self._kind.apart), Against.GROUPS.value)

    @property
    def level(self) -> Comparison:
        """Return the level of all groups relative to their baselines."""
        first, days = self._groups[0], self._kind.days
        rows = rows_of(days * DAY_S, self._kind.middles, _SPREAD_ALONE)
        return first.with_runs(rows)


def baseline_words(members: Sequence[Measurement]) -> str:
    """Return the name of a baseline; after a change, that of the earlier era."""
    changes = dict.fromkeys(measurement.era.change for measurement in members if measurement.era)
    if not changes:
        return Against.ALONE.value
    return f"the baseline from before {several(list(changes))}"


def _few(measurement: Measurement) -> Optional[Comparison]:
    """Return the runs relative to one to three peers, each of which may be slow itself.

    So few do not show whether the day is busy, so a slow run has the spread of busy days.  A run by
    name is compared with the peers of the last run that had some.
    """
    table = Table([measurement])
    with_peers = ~np.isnan(table.peers_rates)
    if not with_peers.any():
        return None
    last = np.maximum.accumulate(np.where(with_peers, np.arange(len(table.at)), -1))
    usable = last >= 0
    ratios = table.rates[usable] - table.peers_rates[last[usable]]
    spreads = _spreads_with_few(ratios, log(1 - measurement.limits.peer_loss))
    spreads *= np.sqrt(1 + 1 / table.peers[last[usable]])
    rows = rows_of(table.at[usable], ratios, spreads)
    return Comparison(measurement, Source(rows, FEW_APART, PEER_NOISE), Against.FEW.value)


def _spreads_with_few(ratios: _Array, least: float) -> _Array:
    """Return the spread of single runs relative to few peers.

    A run that is like its peers shows a quiet day.  It is nearer to them than to the ``least``
    loss, a negative logarithm, so a smaller spread never counts against it.
    """
    quiet = np.clip(np.abs(ratios), _SPREAD_ALONE, _SPREAD_BUSY)
    return np.where(ratios > least / 2, quiet, _SPREAD_BUSY)


def _usual(measurement: Measurement) -> float:
    """Return the coverage below which a run is more contended than the earlier ones.

    Steady traffic of others takes as much from all runs.
    """
    coverages = [share for share in column(measurement.samples, "coverage") if not isnan(share)]
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
    level, spread = median(earlier), max(_SPREAD_ALONE, deviation(earlier))
    rows = rows_of(table.at[count:], table.rates[count:] - level, spread)
    low = sum(rate - level < -max(2 * spread, _LEVEL_MOVES) for rate in earlier)
    lower = (LONE_NOISE.lower * _RUNS_KNOWN + low) / (_RUNS_KNOWN + count)
    noise = LONE_NOISE._replace(lower=max(LONE_NOISE.lower, lower))
    source = Source(rows, error_of_median(spread, count), noise, _LEVEL_MOVES)
    return Comparison(measurement, source, Against.HISTORY.value)
