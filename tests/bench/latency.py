"""Slow disks among healthy ones by their latency under load, as ``plumbline latency`` finds them.

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

from plumbline.judge.latency import Load, compare
from plumbline.model.evidence import MONTH_S, odds_within
from plumbline.model.limits import Limits
from tests.bench.campaigns import paragraph

DATA = Path(__file__).parents[3] / "shared" / "data" / "failslow"
HOUR_S = 3600.0
FEWEST_WINDOWS = 2
EVERY_THIRD = 3
"""Hosts of which one disk is made slower."""


class Row(NamedTuple):
    """One trial: the window, one sample of how many is used, one disk's latency, and noise.

    ``noise`` is the standard deviation of the logarithm of each sample; ``as_osts`` says that all
    disks of all hosts are peers.
    """

    window_s: float
    thinned: int = 1
    slower: float = 1.0
    noise: float = 0.0
    as_osts: bool = False


class Recorded(NamedTuple):
    """One sample of one disk: epoch seconds, bytes and seconds an operation."""

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


class Found(NamedTuple):
    """After how many windows each suspect was one first, and which disks were made slower."""

    windows: Mapping[Disk, int]
    slower: frozenset[Disk]


def recorded() -> Hosts:
    """Return the samples of each host, the oldest first; those without a figure are left out."""
    hosts: dict[str, list[Recorded]] = defaultdict(list)
    with gzip.open(DATA / "cluster-a.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rate, latency = row["throughput_Bps"], row["latency_us"]
            if rate and latency and float(rate) > 0 and float(latency) > 0:
                sample = Recorded(float(row["ts"]), row["disk"], float(rate), float(latency) / 1e6)
                hosts[row["host"]].append(sample)
    return {host: sorted(samples) for host, samples in hosts.items()}


def as_osts(hosts: Hosts) -> Hosts:
    """Return all disks as if they were the OSTs of one file system, whose names have the host's."""
    found = (
        one._replace(disk=f"{host} {one.disk}")
        for host, samples in hosts.items()
        for one in samples
    )
    return {"": sorted(found)}


def labelled() -> frozenset[Disk]:
    """Return the disks that are known to be slow."""
    with (DATA / "cluster-a-slow-disks.csv").open(encoding="utf-8") as file:
        return frozenset((row["host"], row["disk"]) for row in csv.DictReader(file))


def tried(row: Row, hosts: Hosts, known: frozenset[Disk], seed: int = 1) -> Found:
    """Return what is found, asked after each window."""
    random = Random(seed)
    disks = sum(len({one.disk for one in samples}) for samples in hosts.values())
    odds = odds_within(1.0, disks * MONTH_S / row.window_s)
    windows: dict[Disk, int] = {}
    slower: set[Disk] = set()
    for number, (host, samples) in enumerate(sorted(hosts.items())):
        chosen = ""
        if row.slower > 1 and number % EVERY_THIRD == 0:
            names = sorted({one.disk for one in samples if (host, one.disk) not in known})
            chosen = random.choice(names)
            slower.add((host, chosen))
        loads = list(_loads(samples, row, chosen, random))
        for disk, after in _first(loads, odds).items():
            windows[host, disk] = after
    return Found(windows, frozenset(slower))


def _loads(samples: Sequence[Recorded], row: Row, chosen: str, random: Random) -> Iterator[Load]:
    """Yield what each disk did in each window, as counters would say it: by its means."""
    kept = frozenset(sorted({one.at for one in samples})[:: row.thinned])
    found: dict[tuple[float, str], list[tuple[float, float]]] = defaultdict(list)
    for one in samples:
        if one.at in kept:
            factor = row.slower if one.disk == chosen else 1.0
            noisy = exp(random.gauss(0, row.noise)) if row.noise else 1.0
            place = one.at // row.window_s * row.window_s, one.disk
            found[place].append((one.rate_Bps, one.latency_s * factor * noisy))
    for (at, disk), values in found.items():
        rates, latencies = zip(*values)
        yield Load(at, disk, mean(rates), mean(latencies))


def _first(loads: Sequence[Load], odds: float) -> dict[str, int]:
    """Return after how many windows each suspect was one first."""
    moments = sorted({load.at for load in loads})
    found: dict[str, int] = {}
    for number in range(FEWEST_WINDOWS, len(moments) + 1):
        until = [load for load in loads if load.at <= moments[number - 1]]
        for one in compare(until, Limits().peer_loss, odds):
            if one.slow:
                found.setdefault(one.device, number)
    return found


def section() -> Iterator[str]:
    """Yield the section on latency under load."""
    hosts, known = recorded(), labelled()
    healthy = {(host, one.disk) for host, samples in hosts.items() for one in samples} - known
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


def _by_host(found: Found) -> Found:
    """Return what was found with the names that disks have in their hosts."""
    named = {disk if disk[0] else _disk(disk[1]): after for disk, after in found.windows.items()}
    return found._replace(windows=named)


def _disk(ost: str) -> Disk:
    host, _, disk = ost.partition(" ")
    return host, disk


def _line(row: Row, found: Found, known: frozenset[Disk], healthy: set[Disk]) -> str:
    labels = sorted(found.windows[disk] for disk in known & found.windows.keys())
    made = found.slower & found.windows.keys()
    cells = (
        f"{row.window_s / 60:.0f} min",
        "all" if row.as_osts else "of the host",
        f"1 of {row.thinned}" if row.thinned > 1 else "all",
        f"{row.slower:g} times" if row.slower > 1 else "-",
        f"{row.noise:g}",
        f"{len(labels)} of {len(known)}",
        " and ".join(map(str, labels)) or "-",
        f"{len(made)} of {len(found.slower)}" if found.slower else "-",
        f"{len((healthy - found.slower) & found.windows.keys())} of {len(healthy - found.slower)}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Print the section, or why there is none."""
    if not DATA.exists():
        print(f"{DATA} is not there: no figures")
        return 0
    for text in section():
        print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
