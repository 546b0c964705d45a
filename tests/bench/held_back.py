"""Find labelled slow disks in clusters that no rule was fitted to.

    git clone https://github.com/ucare-uchicago/kratos-failslow
    python -m tests.bench.held_back kratos-failslow/data --per-day 20 --seed 418

A subset of Perseus' data (FAST'23); cluster A is that of docs/evidence.md.  A host's disks are
taken at as many random moments a day, one in each equal part of it.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from random import Random
from typing import Iterator, Sequence

from plumbline.model.series import Sampled
from tests.bench.evidence import Disk, Outcome

CLUSTERS = ("cluster_C", "cluster_J")
UNKNOWN = "NA"


def thinned(cluster: Path, per_day: int, seed: int) -> Iterator[Sampled]:
    """Yield the samples of a cluster at ``per_day`` moments of each host and day."""
    for path in sorted(cluster.glob("*/*.csv")):
        host, day = path.parent.name, path.stem
        moments: dict[float, list[Sampled]] = {}
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["latency"] != UNKNOWN:
                    at = float(row["ts"])
                    sample = Sampled(host, day, at, row["disk_id"], 1 / float(row["latency"]))
                    moments.setdefault(at, []).append(sample)
        times, random = sorted(moments), Random(f"{cluster.name} {host} {day} {per_day} {seed}")
        step = len(times) / per_day
        for part in range(per_day):
            yield from moments[times[int((part + random.random()) * step)]]


def labelled(data: Path, cluster: str) -> set[Disk]:
    """Return the disks labelled slow."""
    with (data / "slow_drive_info.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {(row["host_name"], row["disk_id"]) for row in rows if row["cluster"] == cluster}


def row(data: Path, cluster: str, per_day: int, seed: int) -> str:
    """Return the slow disks found, by day of the data, and the healthy ones accused."""
    samples: Sequence[Sampled] = list(thinned(data / cluster, per_day, seed))
    names = {(sample.host, sample.component) for sample in samples}
    slow = labelled(data, cluster) & names
    first = Outcome.of(samples).first
    days = sorted(first[disk] for disk in slow & set(first))
    return (
        f"{cluster}: found {len(days)} of {len(slow)} on days {days[:1]} to {days[-1:]}, "
        f"accused {len(set(first) - slow)} of {len(names - slow)}"
    )


def main() -> None:
    """Print a line for each cluster."""
    parser = argparse.ArgumentParser(description="Judge disks of clusters held back.")
    parser.add_argument("data", type=Path, help="folder data of the repository")
    parser.add_argument("--per-day", type=int, default=20, help="moments a day (default: 20)")
    parser.add_argument("--seed", type=int, default=418, help="of the moments (default: 418)")
    parser.add_argument("--clusters", nargs="+", default=CLUSTERS, help="names of folders")
    arguments = parser.parse_args()
    for cluster in arguments.clusters:
        print(row(arguments.data, cluster, arguments.per_day, arguments.seed), flush=True)


if __name__ == "__main__":
    main()
