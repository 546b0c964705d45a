"""Report of a year of a large site: 10,000 targets on 10,000 disks, one adapter slow.

The history is like a console's: records of the last 60 nights, daily figures before.  Measured are
CPU time and memory of all processes, then the time until Chromium shows the page.  Aims: 10 s,
1 GB, and 3 s to open.  Building the history takes some minutes and 2 GB of disk and does not count.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Iterator

from plumbline.model.record import Record
from plumbline.model.units import DAY_S
from plumbline.plan.expectations import Plan
from plumbline.site.inventory import plan_of, read_inventory
from plumbline.store.database import (
    RECORD,
    SOFTWARE,
    Day,
    deflate,
    month_of,
    pack_days,
    row,
    series_of,
)
from plumbline.store.history import KEEP_WHOLE_DAYS
from tests.bench.judging import ADAPTER, LEFT_BPS, PER_SERVER, SERVERS, inventory, run, shown
from tests.package.parts.locate.scenes import both
from tests.package.parts.report.browser import Browser
from tests.package.parts.report.years import Year, document, records, write

DAYS, SLOW_NIGHTS, NOISE = 365, 8, 0.01
VERSIONS = {"client": "2.15.5", "server": "2.15.5"}
AIM_S, AIM_MB, AIM_OPEN_S = 10.0, 1000.0, 3.0


def history(folder: Path, plan: Plan) -> tuple[Path, Path]:
    """Write plan and history of a site with an adapter that was slow for some nights."""
    now = time.time()
    paths = write(folder, document(plan), [])
    good, slow = (
        [result._replace(versions=VERSIONS) for result in records(plan, year, now)]
        for year in (Year(1), Year(1, {ADAPTER: both(LEFT_BPS)}, since=1))
    )
    with closing(sqlite3.connect(paths[1])) as database, database:
        database.execute("PRAGMA synchronous = OFF")
        number = database.execute(SOFTWARE, row(good[0])[-1:]).lastrowid
        assert number
        database.executemany(f"INSERT {RECORD}", nights(good, slow))
        database.executemany("INSERT INTO days VALUES (?, ?, ?, ?, ?, ?, ?)", months(good, number))
    return paths


def nights(good: list[Record], slow: list[Record]) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the recent nights, oldest first.

    The text of a series is the same each night, as only the latest is read.
    """
    chance, count = Random(5), 0
    kept = [(row(usual, deflate), usual.rate, low.rate) for usual, low in zip(good, slow)]
    for ago in range(KEEP_WHOLE_DAYS - 1, -1, -1):
        for (_, run_id, *values), *rates in kept:
            rate = (rates[ago < SLOW_NIGHTS] or 0.0) * chance.gauss(1, NOISE)
            count += 1
            at = float(str(values[6])) - ago * DAY_S
            yield f"{count:032x}", f"{run_id} {ago}", *values[:6], at, rate, *values[8:]


def months(good: list[Record], software: int) -> Iterator[tuple[object, ...]]:
    """Yield the rows of daily figures before these nights."""
    chance = Random(3)
    for latest in good:
        by_month: dict[int, list[Day]] = {}
        for ago in range(DAYS - 1, KEEP_WHOLE_DAYS - 1, -1):
            at, rate = (
                latest.started_at - ago * DAY_S,
                (latest.rate or 0.0) * chance.gauss(1, NOISE),
            )
            by_month.setdefault(month_of(at), []).append(Day(at, 1, rate, software))
        for month, days in by_month.items():
            yield *series_of(latest), month, pack_days(days)


def opened(page: Path, profile: Path) -> tuple[float, float]:
    """Return the seconds until the page shows its first plot, and until all are drawn."""
    with Browser("/usr/bin/chromium", profile) as browser:
        times = []
        for _ in range(3):
            browser.call("Page.navigate", url="about:blank")
            start = time.perf_counter()
            browser.call("Page.navigate", url=page.as_uri())
            browser.wait("document.querySelector('.plot .main-svg') !== null")
            first = time.perf_counter() - start
            browser.wait("document.documentElement?.dataset.drawn === 'all'")
            times.append((first, time.perf_counter() - start))
        return min(times)


def main() -> int:
    """Print the costs; return 1 if the aim for memory or for opening is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", type=int, default=SERVERS)
    servers = parser.parse_args().servers
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-") as name:
        folder = Path(name)
        plan, kept = history(folder, plan_of(read_inventory(str(inventory(folder / "i", servers)))))
        cost = run("report", "--plan", str(plan), "--history", str(kept), "-o", f"{folder}/report")
        shown("report", cost)
        page = folder / "report" / "index.html"
        size = page.stat().st_size / 1e6
        first, whole = opened(page, folder / "profile")
    print(
        f"{2 * PER_SERVER * servers} components, {DAYS} days: the page has {size:.1f} MB, opens in "
        f"{first:.1f} s and is drawn after {whole:.1f} s (aim: {AIM_S:g} s, {AIM_MB:g} MB, open in "
        f"{AIM_OPEN_S:g} s)"
    )
    return 1 if cost.peak_MB > AIM_MB or first > AIM_OPEN_S else 0


if __name__ == "__main__":
    sys.exit(main())
