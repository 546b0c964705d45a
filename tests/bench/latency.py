"""Slow disks among healthy ones by latency under load, like ``plumbline latency``.

``python -m tests.bench.latency`` prints the section that docs/evidence.md has.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections import defaultdict
from math import exp
from pathlib import Path
from random import Random
from statistics import mean
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.evidence import MONTH_S, odds_within
from plumbline.model.limits import Limits
from plumbline.parts.facts.latency import Load, compare
from tests.bench.campaigns import paragraph

DATA = Path(__file__).parents[3] / "shared" / "data" / "failslow"
HOUR_S = 3600.0
MIN_WINDOWS = 2
EVERY_THIRD = 3
"""One disk of every third host is made slower."""


class Row(NamedTuple):
    """A trial: the window, the thinning of samples, the slowing of a disk, and noise.

    ``noise`` is the standard deviation of the logarithm of each sample; with ``as_osts`` all disks
    of all hosts are peers.
    """

    window_s: float
    thinned: int = 1
    slower: float = 1.0
    noise: float = 0.0
    as_osts: bool = False


class Recorded(NamedTuple):
    """A sample of a disk: epoch seconds, bytes per second, and seconds per operation."""

    at: float
    disk: str
    rate_Bps: float
    latency_s: float


Hosts = Mapping[str, Sequence[Recorded]]
Disk = tuple[str, str]

ROWS = (
    Row(HOUR_S),
    Row(HOUR_S / 4),
    Row(HOUR_S, thinned=3),
    Row(HOUR_S, thinned=10),
    Row(HOUR_S, noise=0.36),
    Row(HOUR_S, slower=1.19),
    Row(HOUR_S, slower=1.5),
    Row(HOUR_S, slower=1.5, noise=0.36),
    Row(HOUR_S / 4, slower=1.5),
    Row(HOUR_S, as_osts=True),
    Row(HOUR_S / 4, as_osts=True),
)


class Detection(NamedTuple):
    """Windows until the first suspicion of each disk, and the disks that were made slower."""

    windows: Mapping[Disk, int]
    slower: frozenset[Disk]


def recorded() -> Hosts:
    """Return the samples of each host with figures, the oldest first."""
    hosts: dict[str, list[Recorded]] = defaultdict(list)
    with gzip.open(DATA / "cluster-a.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rate, latency = row["throughput_Bps"], row["latency_us"]
            if rate and latency and float(rate) > 0 and float(latency) > 0:
                sample = Recorded(float(row["ts"]), row["disk"], float(rate), float(latency) / 1e6)
                hosts[row["host"]].append(sample)
    return {host: sorted(samples) for host, samples in hosts.items()}


def as_osts(hosts: Hosts) -> Hosts:
    """Return all disks as OSTs of one file system, with the host in their names."""
    renamed = (
        sample._replace(disk=f"{host} {sample.disk}")
        for host, samples in hosts.items()
        for sample in samples
    )
    return {"": sorted(renamed)}


def labelled() -> frozenset[Disk]:
    """Return the disks labelled slow."""
    with (DATA / "cluster-a-slow-disks.csv").open(encoding="utf-8") as file:
        return frozenset((row["host"], row["disk"]) for row in csv.DictReader(file))


def tried(row: Row, hosts: Hosts, known: frozenset[Disk], seed: int = 1) -> Detection:
    """Run a trial with a search after each window."""
    random = Random(seed)
    disks = sum(len({sample.disk for sample in samples}) for samples in hosts.values())
    odds = odds_within(1.0, disks * MONTH_S / row.window_s)
    windows: dict[Disk, int] = {}
    slower: set[Disk] = set()
    for number, (host, samples) in enumerate(sorted(hosts.items())):
        chosen = ""
        if row.slower > 1 and number % EVERY_THIRD == 0:
            names = sorted({row.disk for row in samples if (host, row.disk) not in known})
            chosen = random.choice(names)
            slower.add((host, chosen))
        loads = list(_loads(samples, row, chosen, random))
        for disk, after in _first(loads, odds).items():
            windows[host, disk] = after
    return Detection(windows, frozenset(slower))


def _loads(samples: Sequence[Recorded], row: Row, chosen: str, random: Random) -> Iterator[Load]:
    """Yield the means of each disk in each window, like counters."""
    kept = frozenset(sorted({sample.at for sample in samples})[:: row.thinned])
    by_window: dict[tuple[float, str], list[tuple[float, float]]] = defaultdict(list)
    for sample in samples:
        if sample.at in kept:
            factor = row.slower if sample.disk == chosen else 1.0
            noisy = exp(random.gauss(0, row.noise)) if row.noise else 1.0
            place = sample.at // row.window_s * row.window_s, sample.disk
            by_window[place].append((sample.rate_Bps, sample.latency_s * factor * noisy))
    for (at, disk), values in by_window.items():
        rates, latencies = zip(*values)
        yield Load(at, disk, mean(rates), mean(latencies))


def _first(loads: Sequence[Load], odds: float) -> dict[str, int]:
    """Return the windows until the first suspicion of each disk."""
    moments = sorted({load.at for load in loads})
    windows: dict[str, int] = {}
    for number in range(MIN_WINDOWS, len(moments) + 1):
        until = [load for load in loads if load.at <= moments[number - 1]]
        for load_ratio in compare(until, Limits().peer_loss, odds):
            if load_ratio.slow:
                windows.setdefault(load_ratio.device, number)
    return windows


def section() -> Iterator[str]:
    """Yield the section on latency under load."""
    hosts, known = recorded(), labelled()
    healthy = {(host, row.disk) for host, samples in hosts.items() for row in samples} - known
    yield "\n## Latency under load\n"
    yield paragraph(
        f"The same {len(healthy) + len(known)} disks, three hours a day, as `plumbline latency` "
        "compares them after each window. *Made slower*: one more disk in every third host. "
        "*Noise*: standard deviation of each sample. Peers *all*: compared as OSTs of one file "
        "system."
    )
    yield ""
    yield (
        "| window | peers | samples | made slower | noise | labelled found | after windows | "
        "made slower found | healthy suspected |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in ROWS:
        chosen = as_osts(hosts) if row.as_osts else hosts
        yield _line(row, _by_host(tried(row, chosen, known)), known, healthy)
    yield ""
    yield paragraph(
        "In the lab a client wrote 60 MB/s to six disks (`python -m tests.lab.under_load`). A disk "
        "with 20 of its 100 MB/s delayed no write and was not named in 25 minutes. One with 5 "
        "MB/s, in windows of a minute, was named after 20 minutes, and no other disk in 57."
    )


def _by_host(detection: Detection) -> Detection:
    """Return a detection with the names of disks in their hosts."""
    named = {
        disk if disk[0] else _disk(disk[1]): after for disk, after in detection.windows.items()
    }
    return detection._replace(windows=named)


def _disk(ost: str) -> Disk:
    host, _, disk = ost.partition(" ")
    return host, disk


def _line(row: Row, trial: Detection, known: frozenset[Disk], healthy: set[Disk]) -> str:
    labels = sorted(trial.windows[disk] for disk in known & trial.windows.keys())
    made = trial.slower & trial.windows.keys()
    cells = (
        f"{row.window_s / 60:.0f} min",
        "all" if row.as_osts else "of the host",
        f"1 of {row.thinned}" if row.thinned > 1 else "all",
        f"{row.slower:g} times" if row.slower > 1 else "-",
        f"{row.noise:g}",
        f"{len(labels)} of {len(known)}",
        " and ".join(map(str, labels)) or "-",
        f"{len(made)} of {len(trial.slower)}" if trial.slower else "-",
        f"{len((healthy - trial.slower) & trial.windows.keys())} of {len(healthy - trial.slower)}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Print the section, or the reason why there is none."""
    if not DATA.exists():
        print(f"{DATA} is not there: no figures")
        return 0
    for text in section():
        print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
