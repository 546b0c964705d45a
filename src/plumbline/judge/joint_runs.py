"""Joint runs of whole groups, and small groups of a kind compared with one another.

Small ones are, for instance, the pairs of disks of each server.
"""

from __future__ import annotations

from math import inf
from typing import Any, Optional, Sequence

import numpy as np

from plumbline.judge.references import (
    LEAST_SPREAD,
    SPREAD_ALONE,
    Against,
    Comparison,
    Measurement,
    Table,
    baseline_words,
    grid_of,
    kind_of,
    medians,
)
from plumbline.judge.runs import AT, LONE_NOISE, RATIO, Source, rows_of
from plumbline.model.statistics import MAD_FACTOR, MEDIAN_FACTOR, error_of_median
from plumbline.model.units import DAY_S

_Array = Any
"""A numpy array; a node's Python cannot name its types."""


_NIGHTS_ALIKE = 3
"""Nights of a group that say as much as one: the shared losses of two nights in a row correlate by
0.62 in a cluster in production (tests/bench/fit_noise.py), so by (1 + r) / (1 - r) = 3 to 4."""


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
    error = max(LEAST_SPREAD, error_of_median(SPREAD_ALONE, max(1, fewest // _NIGHTS_ALIKE)))
    errors = MEDIAN_FACTOR * MAD_FACTOR * deviations[counts] / np.sqrt(sizes[counts])
    rows = rows_of(starts[counts], middles[counts], np.hypot(SPREAD_ALONE, errors))
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
        days = np.floor(rows[:, AT] / DAY_S)
        self._kind = kind_of(number, days, rows[:, RATIO], len(groups))

    def of(self, number: int) -> Optional[Comparison]:
        """Return a group relative to the others, None without a night of enough groups."""
        group = self._groups[number]
        runs = group.source.runs
        middles, spreads = self._kind.on(np.floor(runs[:, AT] / DAY_S))
        usable = ~np.isnan(middles)
        if not usable.any():
            return None
        rows = rows_of(runs[:, AT], runs[:, RATIO] - middles, spreads)[usable]
        return Comparison(group.measurement, Source(rows, self._kind.apart), Against.GROUPS.value)

    @property
    def level(self) -> Comparison:
        """Return the level of all groups relative to their baselines."""
        first, days = self._groups[0], self._kind.days
        rows = rows_of(days * DAY_S, self._kind.middles, SPREAD_ALONE)
        return first.with_runs(rows)
