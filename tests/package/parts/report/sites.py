"""Small sites for reports: the lab with a slow disk and a bad cable, and one of hostile names."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Iterator, Mapping, Sequence

from plumbline.model.codec import write as written
from plumbline.model.record import Record, Scenario
from plumbline.model.symptom import KIND_OF, Direction, Look, Report, Symptom
from plumbline.model.verdict import State
from plumbline.parts.report.figure import Figure
from plumbline.parts.report.page import Extras, figures
from plumbline.parts.report.read import read_site
from plumbline.parts.report.site import Days, Site, daily, find_metrics
from plumbline.store.facts import COLLECTED_SYMPTOMS as COLLECTED
from plumbline.store.plan import load_plan
from plumbline.topology.graph import build
from tests.package.parts.locate.scenes import both, lab
from tests.package.parts.report.years import DAY_S, NOW, Year, document, plan_of, records, write
from tests.package.records import record
from tests.package.sites import site

HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</script><b>%{x}$x$&amp;{{ 7 * 7 }}",
    "=cmd()" + "x" * 300,
)
"""Names that a page must show as text."""

SICK = Year(
    40, {"oss2-disk1": both(80e6)}, since=5, retransmitted=frozenset(["oss3-nic"]), noise=0.005
)


def read(plan: Path, history: Path) -> Site:
    """Return the site of a report at the time of the records."""
    return read_site(load_plan(str(plan)), history, NOW, 365)


def days_of(rates: Mapping[int, float]) -> Days:
    """Return the rates by days since the epoch of a member."""
    return daily([day * DAY_S for day in rates], [*rates.values()], inf)


def draw(site: Site, extras: Extras) -> list[Figure]:
    """Return all figures of a site."""
    return figures(site, find_metrics(site, extras.against), extras)


def sick(year: Year = SICK) -> Site:
    """Return the lab with a disk slow for five days and a bad cable; each year is cached."""
    text = repr(year)
    if text not in _SITES:
        with TemporaryDirectory() as folder:
            _SITES[text] = _site_of(Path(folder), year)
    return _SITES[text]


_SITES: dict[str, Site] = {}


def _site_of(folder: Path, year: Year) -> Site:
    plan = plan_of(lab())
    measured = list(records(plan, year))
    paths = write(folder, document(plan), [*measured, *counted(measured)])
    save_report(
        folder, "oss1", NOW - 240, look("md", examined=2), look("smart", unavailable="no smartctl")
    )
    save_report(folder, "oss2", NOW - 180, look("md", DEGRADED, REBUILD), look("kernel", MEDIUM))
    save_report(folder, "oss3", NOW - 180, look("md"), look("ethernet", ERRORS))
    return read(*paths)


DEGRADED = Symptom(
    "md", "oss2", "degraded", State.WARNING, Direction.RAISES, "array md3 is degraded"
)
REBUILD = Symptom(
    "md", "oss2", "rebuild", State.WARNING, Direction.LOWERS, "recovery of array md3 runs"
)
MEDIUM = Symptom(
    *("kernel", "oss2-disk1", "io_error", State.CRITICAL, Direction.RAISES),
    "kernel: I/O errors of sdc (14 times)",
    NOW - 5 * DAY_S,
)
ERRORS = Symptom(
    *("ethernet", "oss3-nic", "errors", State.WARNING, Direction.RAISES),
    "312 errors in 1804211 packets of link ens1f0",
    NOW - DAY_S,
)


def look(collector: str, *symptoms: Symptom, examined: int = 4, unavailable: str = "") -> Look:
    """Return the look of a collector with these symptoms."""
    return Look(collector, examined, symptoms, (), unavailable, KIND_OF[collector])


def save_report(folder: Path, node: str, at: float, *looks: Look) -> None:
    """Save the symptoms report of a node as the console does."""
    path = folder / COLLECTED / f"{node}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(written(Report(node, at, looks))), encoding="utf-8")


def counted(measured: Sequence[Record]) -> Iterator[Record]:
    """Yield counters of the servers in the last night, with bursts of their caches."""
    last = max(run.started_at for run in measured) - DAY_S / 2
    for run in measured:
        if run.layer == "ost" and run.started_at > last and run.rate:
            rate = run.rate
            yield record(
                layer="server",
                component=f"{run.component} device",
                host="oss",
                operation=run.operation,
                scenario=Scenario.TOGETHER,
                started_at=run.started_at + 0.4,
                finished_at=run.finished_at + 0.4,
                rate=rate,
                profile=tuple(rate * (0.7 + 0.2 * (step % 4)) for step in range(12)),
                details={"source": "diskstats", "watched_s": 600},
            )


def hostile(folder: Path) -> tuple[Path, Path]:
    """Write plan and history of a site with hostile names of targets."""
    plan = plan_of(build(site()))
    raw = document(plan)
    names = {f"scratch-OST{number}": name for number, name in enumerate(HOSTILE)}
    for node in raw["nodes"].values():
        for entry in node["entries"]:
            entry["component"] = names.get(entry["component"], entry["component"])
            entry["group"] = HOSTILE[0] if entry["layer"] == "ost" else entry["group"]
            entry["path"] = [names.get(name, name) for name in entry["path"]]
    raw["parts"] = {names.get(name, name): part for name, part in raw["parts"].items()}
    raw["services"], raw["paths"] = [], []
    renamed = (
        run._replace(component=names.get(run.component, run.component))
        for run in records(plan, SICK)
    )
    return write(folder, raw, renamed)
