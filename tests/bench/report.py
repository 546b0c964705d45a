"""A year of a large site as a report: aims at 10 s and 1 GB to draw, 3 s to open in Chromium.

The site is Edison's, with 336 targets that are written and read every day, and the network image of
1,024 nodes is drawn besides.  Building the history is not counted; ``plumbline report`` runs as a
process of its own.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

from plumbline.model.expectation import Expectation, Partner
from plumbline.model.limits import Ceiling, Limits
from plumbline.model.spec import ProbeSpec
from plumbline.model.trend import PairTest
from plumbline.report.page import LIBRARY, Extras, pages
from plumbline.report.site import Site
from tests.package.locate.scenes import both
from tests.package.report.browser import Browser
from tests.package.report.sites import draw
from tests.package.report.years import Year, document, plan_of, records, write
from tests.package.sites import paper

ROOT = Path(__file__).parents[2]
DAYS = 365
NODES, PARTNERS = 1024, 32
AIM_S, AIM_MB, AIM_OPEN_S = 10.0, 1000.0, 3.0


class Cost(NamedTuple):
    """What drawing took."""

    seconds: float
    peak_MB: float


def drawn(plan: Path, history: Path, output: Path) -> Cost:
    """Draw as a process of its own."""
    argv = [sys.executable, "-m", "plumbline.cli", "report", "--plan", str(plan)]
    argv += ["--history", str(history), "-o", str(output)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    start = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, env=environment)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return Cost(seconds, peak / 1e3)


def opened(page: Path, profile: Path) -> tuple[float, float]:
    """Return the seconds until the page answers with its first picture, and until all are drawn."""
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


def hosts() -> Site:
    """Return a site of many nodes of which each was tested with some partners."""
    chance = Random(3)
    ceiling = Ceiling(1.2e9, ("switch",), ("switch",))
    names = [f"nid{number:05}" for number in range(NODES)]
    spec = ProbeSpec("netperf", 1 << 30, 10.0)
    expectations, pairs = [], []
    for number, name in enumerate(names):
        others = [names[(number + step) % NODES] for step in range(1, PARTNERS + 1)]
        partners = tuple(Partner(other, "", (), ceiling) for other in others)
        expectations.append(
            Expectation("net", name, name, "net", {}, (name,), spec, {}, Limits(), partners)
        )
        for other in others:
            for way in ("send", "receive"):
                rate = 1.1e9 * chance.gauss(1, 0.02)
                pairs.append(PairTest(name, other, way, 1e9, rate, chance.randrange(20), 1 << 30))
    return Site("nodes", 1.1e9, expectations, {}, {}, {}, (), pairs)


def write_hosts(folder: Path, library: Path) -> float:
    """Draw the nodes and return how long that took."""
    start = time.perf_counter()
    site = hosts()
    for name, text in pages(site, draw(site, Extras())).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    seconds = time.perf_counter() - start
    shutil.copy(library, folder / LIBRARY)
    return seconds


def main() -> int:
    """Print seconds and memory; return 1 when an aim is missed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = plan_of(paper("edison"))
        year = Year(DAYS, {"oss07-array2": both(80e6)}, since=20)
        files = write(folder, document(plan), records(plan, year, time.time()))
        cost = drawn(*files, folder / "report")
        first, whole = opened(folder / "report" / "index.html", folder / "profile")
        size = (folder / "report" / "index.html").stat().st_size / 1e6
        targets = sum(
            1 for found in plan.expectations.values() for one in found if one.layer == "ost"
        )
        print(
            f"{targets} targets, {DAYS} days: drawn in {cost.seconds:.1f} s and {cost.peak_MB:.0f} "
            f"MB; the page ({size:.1f} MB) opens in {first:.1f} s, all of it drawn after "
            f"{whole:.1f} s"
        )
        seconds = write_hosts(folder / "hosts", folder / "report" / LIBRARY)
        host_first, host_whole = opened(folder / "hosts" / "index.html", folder / "profile")
        print(
            f"{NODES} nodes with {PARTNERS} partners each: drawn in {seconds:.1f} s; the page "
            f"opens in {host_first:.1f} s, all of it drawn after {host_whole:.1f} s"
        )
    print(f"aim: {AIM_S:g} s, {AIM_MB:g} MB, open in {AIM_OPEN_S:g} s")
    missed = cost.seconds > AIM_S or cost.peak_MB > AIM_MB or max(first, host_first) > AIM_OPEN_S
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
