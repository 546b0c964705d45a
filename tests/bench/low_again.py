"""Benefit of an immediate repeat of a low measurement, from a year of runs."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from textwrap import fill
from typing import Iterable, Iterator, Sequence

from plumbline.model.series import Sampled

LOW = 0.8
SOON_S = 900.0
MIN_RUNS = 60


def low_again(rows: Iterable[Sampled]) -> Iterator[str]:
    """Yield the section on repeats."""
    pairs = list(_pairs(rows))
    after = [second for first, second in pairs if first]
    any_share = sum(second for _, second in pairs) / len(pairs)
    again = sum(after) / len(after)
    yield "\n## Would an immediate repeat help?\n"
    yield fill(
        "Two different benchmarks of one file system and direction ran within "
        f"{SOON_S / 60:.0f} minutes {len(pairs)} times. The second was below {100 * LOW:.0f} % of "
        f"its median in {100 * any_share:.0f} %; after a low one ({len(after)} times) in "
        f"{100 * again:.0f} %. So a run that [confirms](policy.md#confirmation) counts less the "
        "sooner it comes.",
        width=125,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _pairs(rows: Iterable[Sampled]) -> Iterator[tuple[bool, bool]]:
    """Yield whether a benchmark and the next one soon after it were low."""
    series: dict[str, list[Sampled]] = defaultdict(list)
    for row in rows:
        series[row.component].append(row)
    runs: dict[tuple[str, str], list[tuple[float, bool, str]]] = defaultdict(list)
    for name, samples in series.items():
        if len(samples) >= MIN_RUNS:
            system, _, operation, *_ = name.split()
            level = LOW * median(row.rate for row in samples)
            runs[system, operation] += [(row.at, row.rate < level, name) for row in samples]
    for system_runs in runs.values():
        yield from _soon(sorted(system_runs))


def _soon(runs: Sequence[tuple[float, bool, str]]) -> Iterator[tuple[bool, bool]]:
    for (at, low, name), (next_at, next_low, next_name) in zip(runs, runs[1:]):
        if name != next_name and 0 < next_at - at <= SOON_S:
            yield low, next_low
