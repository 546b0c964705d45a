"""A year of a console's history: aim 3 GB for 20,000 components written and read each night.

Records are those of fio with its whole command, and all figures differ.  They are kept like in a
collection; then old ones become daily figures.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Iterator

from plumbline.measure.probes import fio
from plumbline.model.exchange import Cursor
from plumbline.model.quantity import LATENCIES
from plumbline.model.record import Operation, Record, Tool
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import DAY_S
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.history import History
from tests.package.measure.jobs import job
from tests.package.records import record

DAYS, COMPONENTS, SITE, AIM_GB = 365, 50, 20_000, 3.0
BEGIN = 1_790_000_000.0
SPEC = ProbeSpec("fio", 1 << 30, 30.0, queue_depth=8, repeats=3)


def night(at: float, chance: Random) -> Iterator[Record]:
    """Yield the records of a night."""
    terms = job("fio")._replace(spec=SPEC)
    for number in range(COMPONENTS):
        name, server = f"scratch-OST{number:04x}", f"oss{number // 8:03}"
        for operation in (Operation.WRITE, Operation.READ):
            rate = 1e9 * chance.gauss(1, 0.02)
            began = at + 60 * chance.random()
            yield record(
                id=f"{chance.getrandbits(128):032x}",
                run_id=f"20260101T030000Z-{chance.randrange(1, 1 << 15)}-{at:.0f}",
                component=name,
                operation=operation,
                started_at=began,
                finished_at=began + 9 * chance.random(),
                path=("client17", name, server),
                seconds=9 * chance.random(),
                bytes=3 * SPEC.bytes,
                rate=rate,
                repeats=tuple(rate * chance.gauss(1, 0.01) for _ in range(3)),
                profile=(),
                quantities={name: 0.01 * chance.random() for name in LATENCIES},
                tool=Tool("fio", "fio-3.36", fio.command(terms._replace(operation=operation))),
                spec=SPEC.to_json(),
                spec_hash=SPEC.hash(),
                fill=chance.random(),
                coverage=1 - chance.random() / 100,
                versions={"filesystem": "lustre", "client": "2.15.5", "server": "2.15.5"},
            )


def main() -> int:
    """Print the sizes of a record and of a year; return 1 if the aim is missed."""
    chance = Random(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.sqlite"
        with Collection(path) as collection:
            for day in range(DAYS):
                at = BEGIN + day * DAY_S
                collection.keep("client17", list(night(at, chance)), Cursor(day + 1, "x"), at)
        year = path.stat().st_size
        with History(path) as thinning:
            thinned = thinning.thin(BEGIN + DAYS * DAY_S, lambda: True)
        with closing(sqlite3.connect(path)) as database:
            database.execute("VACUUM")
        remaining = path.stat().st_size
    print(f"a record: {year / (DAYS * COMPONENTS * 2):.0f} bytes")
    print(thinned.sentence())
    whole, kept = (size * SITE / COMPONENTS / 1e9 for size in (year, remaining))
    print(f"{SITE} components, a year: {whole:.1f} GB as single runs, {kept:.1f} GB kept")
    print(f"aim: {AIM_GB:g} GB")
    return int(kept > AIM_GB)


if __name__ == "__main__":
    sys.exit(main())
