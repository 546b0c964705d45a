"""Fit the noise of plumbline simulate to foreign data, and print it.

Two sources.  A year of scheduled benchmarks on five file systems, each of which writes or reads a
whole file system, gives the noise of runs, days and busy spells, and the cost of contention.  Disks
of a cluster in production, 12 in each of 30 hosts, give the differences between peers.  All figures
are natural logarithms unless they are shares; src/plumbline/parts/simulate/fleet.py uses the
medians of the file systems.  The frequency of low runs was not fitted, so it can test the model.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import combinations, groupby
from math import exp, log, sqrt
from operator import attrgetter
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import NamedTuple, Optional, Sequence

import numpy as np

from plumbline.model.record import Operation, Scenario
from plumbline.model.series import Sampled
from plumbline.model.statistics import compare_day, deviation
from plumbline.parts.simulate.fleet import YEAR as NOISE
from plumbline.parts.simulate.fleet import Flow
from plumbline.parts.simulate.weather import Weather
from plumbline.store.samples import read_samples

DATA = Path(__file__).parents[3] / "shared" / "data"
YEAR = DATA / "tokio-year" / "summaries.csv.gz"
DISKS = DATA / "failslow" / "cluster-a.csv.gz"
SLOW = DATA / "failslow" / "cluster-a-slow-disks.csv"

BUSY = 0.15
"""A day is busy if its benchmarks lost more than this in the median."""
LOW = -log(0.8)
CONTENDED = 0.9
COST = 0.7
"""Loss by contention / -log(coverage), as fitted below; subtracted before the other fits."""
DRIFT_RUNS = 30
"""Upgrades and ageing move the level: each run is compared with so many on either side."""
LARGE = {"scratch1": 41, "scratch2": 41, "scratch3": 41, "cscratch": 43, "mira-fs1": 40}
"""Least log2 of bytes; smaller benchmarks measure mostly their own start."""
FEWEST = 200


FLOW = Flow("ost", "a", Operation.WRITE, Scenario.SINGLE)


class Run(NamedTuple):
    """A benchmark with its loss compared with its own level."""

    day: int
    operation: str
    name: str
    lost: float
    coverage: Optional[float]

    @property
    def own(self) -> float:
        """Return the loss beyond that by contention."""
        return self.lost + (COST * log(self.coverage) if self.coverage else 0.0)


class Day(NamedTuple):
    """Losses of the benchmarks of a day and operation, and their median."""

    runs: list[Run]
    middle: float


def series(samples: Sequence[Sampled]) -> dict[str, list[Run]]:
    """Return the runs of each file system, each benchmark compared with its own level."""
    by_component: dict[str, list[Sampled]] = defaultdict(list)
    for sample in samples:
        by_component[sample.component].append(sample)
    runs: dict[str, list[Run]] = defaultdict(list)
    for component, series in by_component.items():
        system, name, operation, ranks, _, size, _ = component.split()
        # a benchmark of Mira alternates between two places
        odd = system == "mira-fs1" and name == "ior"
        if len(series) < FEWEST or int(size.removeprefix("2^")) < LARGE[system] or odd:
            continue
        series.sort(key=attrgetter("at"))
        rates = [log(sample.rate) for sample in series]
        for place, sample in enumerate(series):
            level = median(rates[max(0, place - DRIFT_RUNS) : place + DRIFT_RUNS + 1])
            lost = level - rates[place]
            day = int(sample.at // 86400)
            runs[system].append(Run(day, operation, name + ranks, lost, sample.coverage))
    return runs


def days(runs: Sequence[Run]) -> list[dict[int, Day]]:
    """Return the days of reads and of writes on which two benchmarks or more ran."""
    by_day: dict[str, dict[int, list[Run]]] = {
        "read": defaultdict(list),
        "write": defaultdict(list),
    }
    for run in runs:
        by_day[run.operation][run.day].append(run)
    return [
        {d: Day(day, median(run.own for run in day)) for d, day in days.items() if len(day) > 1}
        for days in by_day.values()
    ]


def of_contention(runs: Sequence[Run]) -> dict[str, float]:
    """Return the frequency of contention, the share that it takes, and its cost."""
    measured = [(run, run.coverage) for run in runs if run.coverage]
    if not measured:
        return {}
    low = [(run, coverage) for run, coverage in measured if coverage < CONTENDED]
    quiet: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run, coverage in measured:
        if coverage >= CONTENDED:
            quiet[run.operation, run.name].append(run.lost)
    cost = [
        (run.lost - median(quiet[run.operation, run.name])) / -log(coverage)
        for run, coverage in low
        if quiet[run.operation, run.name]
    ]
    return {
        "contended: share of runs": len(low) / len(measured),
        "contended: -log(coverage / 0.9), mean": mean(log(CONTENDED / c) for _, c in low),
        "contended: loss / -log(coverage)": median(cost),
        "contended: share of runs below 80 %": mean(
            coverage < CONTENDED for run, coverage in measured if run.lost > LOW
        ),
    }


def of_quiet_days(systems: Sequence[dict[int, Day]]) -> dict[str, float]:
    """Return the noise of runs and of days, on days that are not busy."""
    quiet = [day for days in systems for day in days.values() if day.middle <= BUSY]
    pairs = [(a.own, b.own) for day in quiet for a, b in combinations(day.runs, 2)]
    own = deviation(a - b for a, b in pairs) / sqrt(2)
    total = deviation(value for pair in pairs for value in pair)
    runs = [run.own for day in quiet for run in day.runs]
    low = [value - LOW for value in runs if value > LOW]
    return {
        "run: standard deviation": own,
        "day: standard deviation": sqrt(max(0.0, total**2 - own**2)),
        "tail: share of runs below 80 %": len(low) / len(runs),
        "tail: loss beyond 20 %, mean": mean(low),
    }


def of_spells(systems: Sequence[dict[int, Day]]) -> dict[str, float]:
    """Return beginning, duration and cost of busy spells."""
    busy = [{d: day.middle > BUSY for d, day in days.items()} for days in systems]
    after = {True: [0, 0], False: [0, 0]}
    for flags in busy:
        for day, now in flags.items():
            if day + 1 in flags:
                after[now][0] += flags[day + 1]
                after[now][1] += 1
    on = [day for days in systems for day in days.values() if day.middle > BUSY]
    pairs = [(a.own, b.own) for day in on for a, b in combinations(day.runs, 2)]
    coverages = [run.coverage for day in on for run in day.runs if run.coverage]
    both = {
        "spell: share of days": len(on) / sum(map(len, systems)),
        "spell: begins after a quiet day": after[False][0] / after[False][1],
        "spell: goes on after a busy day": after[True][0] / after[True][1],
        "spell: longest, days": max(map(longest, busy)),
        "spell: loss beyond 0.15, mean": mean(day.middle - BUSY for day in on),
        "spell: standard deviation of runs": deviation(a - b for a, b in pairs) / sqrt(2),
    }
    if coverages:
        both["spell: share of runs contended"] = mean(cover < CONTENDED for cover in coverages)
    return both


def longest(busy: dict[int, bool]) -> int:
    """Return the most busy days in a row."""
    return max(
        (len(list(group)) for on, group in groupby(busy[day] for day in sorted(busy)) if on),
        default=0,
    )


def of_siblings() -> dict[str, float]:
    """Return the differences of healthy disks of a host: lasting, and from day to day."""
    with SLOW.open(encoding="utf-8") as file:
        slow = {tuple(line.strip().split(",")[:2]) for line in file}
    by_day: dict[tuple[str, str], list[Sampled]] = defaultdict(list)
    for sample in read_samples(DISKS).samples:
        by_day[sample.host, sample.day].append(sample)
    losses: dict[tuple[str, str], list[float]] = defaultdict(list)
    levels: dict[str, list[float]] = defaultdict(list)
    for (host, _), samples in sorted(by_day.items()):
        samples.sort(key=attrgetter("at"))
        runs = [
            {sample.component: sample.rate for sample in run}
            for _, run in groupby(samples, key=attrgetter("at"))
        ]
        levels[host].append(median(log(sample.rate) for sample in samples))
        for name, comparison in compare_day(runs).items():
            if (host, name) not in slow:
                losses[host, name].append(comparison.loss)
    disks = [values for values in losses.values() if len(values) > 3]
    spread = [value - median(values) for values in disks for value in values]
    return {
        "component: standard deviation, lasting": deviation(median(values) for values in disks),
        "component: standard deviation, of a day": deviation(spread),
        "host: standard deviation of a day, at most": deviation(
            value - median(values) for values in levels.values() for value in values
        ),
        **of_nights(disks, list(levels.values())),
    }


def of_nights(
    disks: Sequence[Sequence[float]], hosts: Sequence[Sequence[float]]
) -> dict[str, float]:
    """Return the correlation of successive days, of single disks and of whole hosts.

    Each series has a value for each day; those of hosts are compared with all hosts of the day.
    """
    days = [median(day) for day in zip(*hosts)]
    apart = [[value - day for value, day in zip(host, days)] for host in hosts]
    apart = [[value - median(host) for value in host] for host in apart]
    pairs = [pair for host in apart for pair in zip(host, host[1:])]
    losses = [[loss - median(disk) for loss in disk] for disk in disks]
    low = 3 * deviation(loss for disk in losses for loss in disk)
    nights = [(a > low, b > low) for disk in losses for a, b in zip(disk, disk[1:])]
    return {
        "host: correlation of two days in a row": float(np.corrcoef(pairs, rowvar=False)[0, 1]),
        "component: low, after a day that was low": mean(b for a, b in nights if a),
        "component: low, on any day": mean(b for _, b in nights),
    }


def in_a_row(series_list: Sequence[Sequence[bool]]) -> dict[str, float]:
    """Return the frequency of low runs in a row."""
    shares = {}
    for count in (1, 2, 3):
        rows = [
            all(flags[at : at + count])
            for flags in series_list
            for at in range(len(flags) - count + 1)
        ]
        shares[f"low: {count} in a row"] = mean(rows)
    return shares


def of_low(runs: Sequence[Run]) -> dict[str, float]:
    """Return the frequency of runs below 80 % of the level of their benchmark."""
    by_benchmark: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for run in runs:
        by_benchmark[run.operation, run.name].append(run.lost > LOW)
    return in_a_row(list(by_benchmark.values()))


def of_model() -> dict[str, float]:
    """Return the same for as many days with the noise of the model."""
    fleets = []
    for number in range(46):
        weather, losses = Weather(NOISE, Random(number)), []
        for day in range(365):
            weather.next_day()
            losses.append(weather.run(FLOW, "host", "system", day * 86400.0).loss)
        level = median(losses)
        fleets.append([loss - level > LOW for loss in losses])
    return in_a_row(fleets)


def main() -> int:
    """Print the fitted figures."""
    if not (YEAR.exists() and DISKS.exists()):
        print(f"no data in {DATA.parent.name}/{DATA.name}; nothing fitted", file=sys.stderr)
        return 0
    figures: dict[str, dict[str, float]] = {}
    for system, runs in sorted(series(read_samples(YEAR).samples).items()):
        by_operation = days(runs)
        fitted = {**of_quiet_days(by_operation), **of_spells(by_operation), **of_contention(runs)}
        figures[system] = {**of_low(runs), **fitted}
    names = list(dict.fromkeys(name for fitted in figures.values() for name in fitted))
    print(
        f"{'':40}" + "".join(f"{system:>10}" for system in figures) + f"{'median':>10}{'model':>10}"
    )
    model = of_model()
    for name in names:
        cells = [fitted.get(name) for fitted in figures.values()]
        middle = median(cell for cell in cells if cell is not None)
        texts = ["-" if cell is None else f"{cell:.3f}" for cell in (*cells, middle)]
        texts += [f"{model[name]:.3f}"] if name in model else []
        print(f"{name:40}" + "".join(f"{text:>10}" for text in texts))
    for name, value in of_siblings().items():
        percent = f"  ({100 * (1 - exp(-value)):.1f} %)" if "deviation" in name else ""
        print(f"{name:40}{'':>50}{value:10.3f}{percent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
