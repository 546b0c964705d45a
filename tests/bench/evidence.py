"""Results of the rules on foreign data; writes docs/evidence.md if the data is there.

The data in ../shared/data are not part of the project: disks of a cloud, two of them labelled slow,
and a year of scheduled benchmarks on five file systems.
"""

from __future__ import annotations

import math
import sys
import time
from collections import defaultdict
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.judge.replay import DayVerdict, default_limits, replay
from plumbline.model.limits import Limits
from plumbline.model.series import Sampled
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State
from plumbline.store.samples import read_samples
from tests.bench.campaigns import campaigns, paragraph
from tests.bench.latency import labelled
from tests.bench.latency import section as latency
from tests.bench.low_again import low_again
from tests.bench.raised import ABOUT, Raised
from tests.bench.raised import rows as raised_rows
from tests.bench.simulated import simulated

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
PAGE = ROOT / "docs" / "evidence.md"
BAD = (State.WARNING, State.CRITICAL)

PER_DAY = 20
OFFSETS = (0, 1, 2)
MILD = 1.19
"""Factor by which disks are made slow: that of the mildest known labelled one."""

NOISES = ((0.0, 0.0, 0.0), (0.36, 0.0, 0.0), (0.3, 0.03, 0.02), (0.15, 0.06, 0.02), (0.7, 0.0, 0.0))
"""Added noise, standard deviations of the logarithm: of a sample, of a day, of a disk."""

LOSS = 0.40
WITHIN = 7
INJECTIONS = 20
FEWER_INJECTIONS = 6
MIN_RUNS = 60

Disk = tuple[str, str]


class Outcome(NamedTuple):
    """Accused disks, and the day of the data of their first alarm."""

    first: Mapping[Disk, int]

    @classmethod
    def of(cls, rows: Sequence[Sampled]) -> Outcome:
        """Judge samples."""
        days = {day: place for place, day in enumerate(sorted({row.day for row in rows}), start=1)}
        first: dict[Disk, int] = {}
        for day in replay(rows, default_limits(rows)):
            if day.verdict.state in BAD:
                first.setdefault((day.host, day.component), days[day.day])
        return cls(first)


def main() -> int:
    """Print the named sections, or all, and write them into the page."""
    if not DATA.is_dir():
        print(f"evidence: {DATA} is not there, so nothing is measured", file=sys.stderr)
        return 0
    start = time.monotonic()
    sections: dict[str, Callable[[], Iterator[str]]] = {
        "head": head,
        "disks": disks,
        "latency": latency,
        "year": year,
        "own-history": own_history,
        "repeats": repeats,
        "simulated": simulated,
        "campaigns": campaigns,
    }
    # sections written by hand stay
    texts = {_heading(text): text for text in PAGE.read_text(encoding="utf-8").split("\n\n## ")}
    for name in sys.argv[1:] or sections:
        text = "\n".join(sections[name]()).strip().removeprefix("## ")
        texts[_heading(text)] = text
        print(text, end="\n\n", flush=True)
    page = "\n\n## ".join(text.rstrip() for text in texts.values())
    PAGE.write_text(f"{page}\n", encoding="utf-8")
    print(f"\nwritten to {PAGE.relative_to(ROOT)} in {time.monotonic() - start:.0f} s")
    return 0


def _heading(text: str) -> str:
    return text.partition("\n")[0]


def head() -> Iterator[str]:
    """Yield the title and the introduction."""
    yield "# Evidence"
    yield ""
    yield paragraph(
        "For engineers: see what the default limits find on recorded data, how soon, and how "
        "often they are wrong. `make bench` writes this page (`tests/bench/evidence.py`) with the "
        "judge of `plumbline judge --replay FILE.csv`, for one false alarm a month. How long "
        "disturbances last was fitted to the year of benchmarks; nothing was fitted to the disks."
    )


def table(*headers: str) -> str:
    """Return the head of a table."""
    return f"| {' | '.join(headers)} |\n|{'---|' * len(headers)}"


def disks() -> Iterator[str]:
    """Yield the tables on fail-slow disks."""
    rows = read_samples(DATA / "failslow" / "cluster-a.csv.gz").samples
    slow = set(labelled())
    names = {(row.host, row.component) for row in rows}
    hosts, days = len({host for host, _ in names}), len({row.day for row in rows})
    yield "\n## Slow disks among healthy ones\n"
    yield paragraph(
        f"{len(names)} disks of {hosts} hosts over {days} days, {len(slow)} labelled slow, thinned "
        f"to {PER_DAY} samples a day and disk in three ways (a subset of Perseus, FAST'23). "
        "*Plain* is the rule `median ratio above 1.10 on three days`."
    )
    yield ""
    yield table(
        "samples from", "slow disks found", "on day", "healthy accused", "by the plain rule"
    )
    for offset in OFFSETS:
        sample = thinned(rows, offset)
        first, plain = Outcome.of(sample).first, plain_rule(sample)
        on = sorted(first[disk] for disk in slow & set(first))
        yield (
            f"| {offset + 1} of {len(OFFSETS)} | {len(on)} of {len(slow)} | "
            f"{' and '.join(map(str, on))} | {len(set(first) - slow)} of {len(names - slow)} | "
            f"{len(plain - slow)} |"
        )
    yield ""
    yield paragraph(
        f"With noise added, and one disk in every third host made {MILD} times slower. *Noise*: "
        "standard deviations of each sample (with long tails), of each disk's day, of each disk "
        "for good."
    )
    yield ""
    yield table(
        "noise",
        "mild found",
        "in 3 days",
        "by the plain rule",
        "healthy accused",
        "by the plain rule",
    )
    for noise in NOISES:
        yield noisy_row(rows, slow, noise)


def noisy_row(rows: Sequence[Sampled], slow: set[Disk], noise: tuple[float, float, float]) -> str:
    """Return the row of one kind of noise, from two seeds."""
    found = soon = plainly = accused = plainly_accused = mild_count = healthy = 0
    for seed in (1, 2):
        changed, mild = noisier(thinned(rows, seed), slow, noise, Random(seed))
        first, plain = Outcome.of(changed).first, plain_rule(changed)
        truth = slow | mild
        found += len(mild & set(first))
        soon += sum(first[disk] <= 3 for disk in mild & set(first))
        plainly += len(mild & plain)
        accused += len(set(first) - truth)
        plainly_accused += len(plain - truth)
        mild_count += len(mild)
        healthy += len({(row.host, row.component) for row in rows}) - len(truth)
    words = ", ".join(f"{part:g}" for part in noise)
    return (
        f"| {words} | {found} of {mild_count} | {soon} | {plainly} | "
        f"{100 * accused / healthy:.2f} % | {100 * plainly_accused / healthy:.2f} % |"
    )


def thinned(rows: Sequence[Sampled], offset: int) -> list[Sampled]:
    """Return at most PER_DAY samples of each disk and day, evenly spaced."""
    moments: dict[tuple[str, str], set[float]] = defaultdict(set)
    for row in rows:
        moments[row.host, row.day].add(row.at)
    kept: dict[tuple[str, str], frozenset[float]] = {}
    for place, times in moments.items():
        step = max(1, len(times) // PER_DAY)
        kept[place] = frozenset(sorted(times)[offset % step :: step][:PER_DAY])
    return [row for row in rows if row.at in kept[row.host, row.day]]


def noisier(
    rows: Sequence[Sampled], slow: set[Disk], noise: tuple[float, float, float], random: Random
) -> tuple[list[Sampled], set[Disk]]:
    """Return the samples with noise, and the disks that were made slow."""
    of_sample, of_day, of_disk = noise
    disks = sorted({(row.host, row.component) for row in rows} - slow)
    hosts = sorted({host for host, _ in disks})
    mild = {random.choice([disk for disk in disks if disk[0] == host]) for host in hosts[::3]}
    lasting = {disk: random.gauss(0, of_disk) for disk in (*disks, *sorted(slow))}
    daily: dict[tuple[Disk, str], float] = {}
    changed = []
    for row in rows:
        disk = (row.host, row.component)
        if (disk, row.day) not in daily:
            daily[disk, row.day] = random.gauss(0, of_day)
        # Student's t with four degrees of freedom, scaled to the wanted deviation
        tail = random.gauss(0, 1) / math.sqrt(random.gammavariate(2, 0.5)) / math.sqrt(2)
        change = lasting[disk] + daily[disk, row.day] + of_sample * tail
        change -= math.log(MILD) if disk in mild else 0.0
        changed.append(row._replace(rate=row.rate * math.exp(change)))
    return changed, mild


def plain_rule(rows: Sequence[Sampled]) -> set[Disk]:
    """Return the disks whose daily median of host's median / own is above 1.10 on three days."""
    runs: dict[tuple[str, str, float], list[Sampled]] = defaultdict(list)
    for row in rows:
        runs[row.host, row.day, row.at].append(row)
    ratios: dict[Disk, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (host, day, _), run in runs.items():
        middle = median(row.rate for row in run)
        for row in run:
            ratios[host, row.component][day].append(middle / row.rate)
    accused = set()
    for disk, by_day in ratios.items():
        high = [median(by_day[day]) > 1.10 for day in sorted(by_day)]
        if any(all(high[start : start + 3]) for start in range(len(high) - 2)):
            accused.add(disk)
    return accused


def year() -> Iterator[str]:
    """Yield the table on the year of benchmarks."""
    long, limits = series_of_the_year()
    judged = {name: list(replay(series, limits)) for name, series in long.items()}
    runs = sum(map(len, long.values()))
    found, tried = injected(long.values(), limits, INJECTIONS)
    ours = {name: share(day.verdict.state in BAD for day in days) for name, days in judged.items()}
    fixed = {name: below_own_median(series) for name, series in long.items()}
    unknown = share(day.verdict.state is State.UNKNOWN for days in judged.values() for day in days)
    worst = max(ours, key=lambda name: ours[name])
    yield "\n## A year of scheduled benchmarks\n"
    yield paragraph(
        f"{runs} runs in {len(long)} series (file system, program, operation, ranks, size) of "
        f"{MIN_RUNS} runs or more; coverage where the file has it, no peers, no baselines. "
        f"The loss starts at a random run, {INJECTIONS} times in each series."
    )
    yield ""
    yield table("", "plumbline", "fixed: below 80 % of the series' median")
    yield (
        f"| WARNING or worse, mean of the series | {100 * mean(ours.values()):.2f} % | "
        f"{100 * mean(fixed.values()):.1f} % |"
    )
    yield (
        f"| in the worst series ({worst}) | {100 * ours[worst]:.1f} % | "
        f"{100 * fixed[worst]:.1f} % |"
    )
    yield from raised_rows(judged, long)
    yield f"| UNKNOWN, for want of earlier runs | {100 * unknown:.1f} % | |"
    words = f"a loss of {100 * LOSS:.0f} % found within {WITHIN} runs"
    yield f"| {words} | {100 * found / tried:.1f} % of {tried} | |"
    yield f"\n{paragraph(ABOUT)}"


def series_of_the_year() -> tuple[dict[str, list[Sampled]], Limits]:
    """Return the long series by name, and the limits for all of them."""
    rows = read_samples(DATA / "tokio-year" / "summaries.csv.gz").samples
    series: dict[str, list[Sampled]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.at):
        series[row.component].append(row)
    long = {name: runs for name, runs in series.items() if len(runs) >= MIN_RUNS}
    return long, default_limits(row for runs in long.values() for row in runs)


def own_history() -> Iterator[str]:
    """Yield alarms and detection of series without peers at odds other than the default."""
    long, limits = series_of_the_year()
    years = sum(runs[-1].at - runs[0].at for runs in long.values()) / (365.25 * DAY_S)
    yield "\n## Fewer alarms or sooner, without peers\n"
    yield paragraph(
        f"The same series ({years:.0f} series-years) with other odds for an alarm. *Alarms*: all "
        f"that were raised, true or not. *Found*: losses of {100 * LOSS:.0f} % within {WITHIN} "
        f"runs, {FEWER_INJECTIONS} in each series. A run of a series that varies by a quarter says "
        "little about such a loss, so no odds give both few alarms and all losses. More runs do: "
        f"the last column has {2 * WITHIN}. So where a component has no peers and a loss must be "
        "found within a week, measure it twice a day, half a day apart. Better still, give it four "
        "peers: measure others of its kind in the same run, such as a folder on each server. "
        "They find such a loss in its first nights (below)."
    )
    yield ""
    yield table(
        "odds for an alarm",
        "alarms a series-year",
        "WARNING or worse",
        "found",
        f"in {2 * WITHIN} runs",
    )
    for factor in (0.01, 0.05, 0.2, 1.0, 5.0):
        changed = limits._replace(alarm_odds=limits.alarm_odds * factor)
        judged = {name: list(replay(runs, changed)) for name, runs in long.items()}
        raised = sum(1 for name, days in judged.items() for _ in Raised.of(name, days))
        bad = mean(share(day.verdict.state in BAD for day in days) for days in judged.values())
        found, tried = injected(long.values(), changed, FEWER_INJECTIONS)
        later, _ = injected(long.values(), changed, FEWER_INJECTIONS, 2 * WITHIN)
        usual = " (default)" if factor == 1 else ""
        yield (
            f"| {changed.alarm_odds:.0f} to 1{usual} | {raised / years:.2f} | "
            f"{100 * bad:.1f} % | {100 * found / tried:.0f} % | {100 * later / tried:.0f} % |"
        )


def repeats() -> Iterator[str]:
    """Yield the section on measuring a low target again."""
    yield from low_again(read_samples(DATA / "tokio-year" / "summaries.csv.gz").samples)


def injected(
    all_series: Iterable[Sequence[Sampled]], limits: Limits, times: int, within: int = WITHIN
) -> tuple[int, int]:
    """Return the numbers of injected losses that were found ``within`` some runs, and of all."""
    random = Random(1)
    found = tried = 0
    for series in all_series:
        for _ in range(times):
            begin = random.randrange(45, len(series) - within)
            before = series[max(0, begin - 45) : begin]
            after = [
                row._replace(rate=row.rate * (1 - LOSS)) for row in series[begin : begin + within]
            ]
            days = {row.day for row in after}
            verdicts: Iterable[DayVerdict] = replay([*before, *after], limits)
            found += any(day.day in days and day.verdict.state in BAD for day in verdicts)
            tried += 1
    return found, tried


def below_own_median(series: Sequence[Sampled]) -> float:
    """Return the share of runs below 80 % of the median of all."""
    level = 0.8 * median(row.rate for row in series)
    return share(row.rate < level for row in series)


def share(flags: Iterable[bool]) -> float:
    """Return the share of true values; there must be one."""
    values = list(flags)
    return sum(values) / len(values)


if __name__ == "__main__":
    sys.exit(main())
