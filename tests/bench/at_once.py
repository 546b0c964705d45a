"""Whether targets that are measured at the same time have the rates that they have alone.

Each target is a directory on a disk of its own, a loop device that the kernel holds to its rate.
A turn measures all of them in one run of a session with fio, as a node does: in one wave, or one
after the other.  Needs root; see :mod:`.pairs` for what is made of the turns.

usage: at_once.py [--disks N] [--turns N]

    nice -n -5 .cache/venv/bin/python -m tests.bench.at_once
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Callable, Iterator, Sequence

from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.limits import Limits
from plumbline.model.record import Record
from plumbline.model.reference import Reference
from plumbline.model.spec import ProbeSpec
from plumbline.run.clock import SystemClock
from plumbline.run.lock import Locks
from plumbline.run.unit_context import Step
from plumbline.run.units import units_of
from plumbline.site.measure import RunOptions, measure
from plumbline.store.history import History
from tests.bench.disk import steady_disk
from tests.bench.pairs import Aim, Rates, Ratio, compared

AIM: Aim = (0.98, 1.02)
"""Rates within 2 % of those measured alone."""

RATE_BPS = 40_000_000
SPEC = ProbeSpec("fio", 48 << 20, 30.0, repeats=2)
NOTHING = Reference(None, None)
DISK_BYTES = 256 << 20
SECONDS = "seconds"


def main() -> int:
    """Measure, print, and return 1 where an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--disks", type=int, default=6)
    parser.add_argument("--turns", type=int, default=12)
    arguments = parser.parse_args()
    with ExitStack() as places:
        disks = [
            places.enter_context(steady_disk(RATE_BPS, DISK_BYTES)) for _ in range(arguments.disks)
        ]
        folders = [disk for disk in disks if disk is not None]
        if len(folders) < len(disks):
            print("only root can make disks of a fixed rate, by the controller blkio")
            return 0
        home = Path(places.enter_context(tempfile.TemporaryDirectory()))
        tools = tool(home / "wave", folders, 1), tool(home / "alone", folders, 0)
        found = compared(tools, AIM, arguments.turns)
    return show(found)


def tool(home: Path, folders: Sequence[Path], wave: int) -> Callable[[], Rates]:
    """Return what measures all folders once; ``wave`` 0 is one after the other."""
    home.mkdir()

    def turn() -> Rates:
        begun = time.monotonic()
        records = run(home, [expectation(folder, wave) for folder in folders])
        seconds = time.monotonic() - begun
        rates: dict[str, list[float]] = {}
        for record in records:
            if record.rate_Bps is None:
                sys.exit(f"{record.component} {record.operation.value}: {record.reason}")
            rates.setdefault(record.operation.value, []).append(record.rate_Bps)
        return {**{name: median(found) for name, found in rates.items()}, SECONDS: seconds}

    return turn


def expectation(folder: Path, wave: int) -> Expectation:
    """Return what is expected of a folder on a disk of its own."""
    name = f"target-{folder.parent.name}"
    return Expectation(
        layer="ost",
        component=name,
        host="oss1",
        group="scratch",
        target={"kind": "directory", "directory": str(folder)},
        path=("client1", name),
        spec=SPEC,
        references={"write/single": NOTHING, "read/single": NOTHING},
        limits=Limits(),
        wave=wave,
    )


def run(home: Path, entries: Sequence[Expectation]) -> tuple[Record, ...]:
    """Return the records of one run of a node."""
    expectations = Expectations("client1", "bench", tuple(one.to_json() for one in entries))
    options = RunOptions(
        locks=Locks(home / "locks", SystemClock()),
        snapshot=home / "snapshot.json",
        progress=unseen,
    )
    with History(home / "history.sqlite") as history:
        return measure(expectations, units_of("ost", entries), history, options).records


@contextmanager
def unseen() -> Iterator[Callable[[Step], None]]:
    """Show no progress."""
    yield lambda step: None


def show(found: dict[str, Ratio]) -> int:
    """Print the ratios; return 1 where a rate is not as it is alone."""
    takes = found.pop(SECONDS)
    for operation, one in found.items():
        beside, alone = (rate / 1e6 for rate in one.rates)
        print(
            f"{operation}: {beside:.1f} MB/s at the same time, {alone:.1f} MB/s alone, ratio "
            f"{one.value:.3f} ({one.least:.3f} to {one.most:.3f}): {one.verdict(AIM)}"
        )
    beside, alone = takes.rates
    print(f"a run takes {beside:.1f} s at the same time, {alone:.1f} s one after the other")
    return any(one.verdict(AIM) == "missed" for one in found.values())


if __name__ == "__main__":
    sys.exit(main())
