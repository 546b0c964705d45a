"""Small sites to draw: the lab with a slow disk and a bad cable, one of hostile names, none."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Iterator, Sequence

from plumbline.model.record import Record, Scenario
from plumbline.model.verdict import State
from plumbline.observe.symptom import KIND_OF, Direction, Look, Report, Symptom
from plumbline.report.figure import Figure
from plumbline.report.page import Extras, figures
from plumbline.report.site import Site, find_metrics
from plumbline.site.report import read_site
from plumbline.store.facts import COLLECTED_SYMPTOMS as COLLECTED
from plumbline.store.plan import load_plan
from plumbline.topology.graph import build
from tests.package.locate.scenes import both, lab
from tests.package.records import record
from tests.package.report.years import DAY_S, NOW, Year, document, plan_of, records, write
from tests.package.sites import site

HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</script><b>%{x}$x$&amp;{{ 7 * 7 }}",
    "=cmd()" + "x" * 300,
)
"""What names may hold, for a page to show as text."""

SICK = Year(
    40, {"oss2-disk1": both(80e6)}, since=5, retransmitted=frozenset(["oss3-nic"]), noise=0.005
)


def read(plan: Path, history: Path) -> Site:
    """Return what is drawn, judged at the moment of the records."""
    return read_site(load_plan(str(plan)), history, NOW, 365)


def draw(site: Site, extras: Extras) -> list[Figure]:
    """Return every figure of a site."""
    return figures(site, find_metrics(site, extras.against), extras)


def sick(year: Year = SICK) -> Site:
    """Return the lab with a slow disk since five days, and a bad cable; each year is made once."""
    text = repr(year)
    if text not in _SITES:
        with TemporaryDirectory() as folder:
            _SITES[text] = _made(Path(folder), year)
    return _SITES[text]


_SITES: dict[str, Site] = {}


def _made(folder: Path, year: Year) -> Site:
    plan = plan_of(lab())
    found = list(records(plan, year))
    paths = write(folder, document(plan), [*found, *counted(found)])
    say(folder, "oss1", NOW - 240, look("md", examined=2), look("smart", unavailable="no smartctl"))
    say(folder, "oss2", NOW - 180, look("md", DEGRADED, REBUILD), look("kernel", MEDIUM))
    say(folder, "oss3", NOW - 180, look("md"), look("ethernet", ERRORS))
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


def look(collector: str, *found: Symptom, examined: int = 4, unavailable: str = "") -> Look:
    """Return what a collector saw."""
    return Look(collector, examined, found, (), unavailable, KIND_OF[collector])


def say(folder: Path, node: str, at: float, *looks: Look) -> None:
    """Keep what a node says of itself where the console collects it."""
    path = folder / COLLECTED / f"{node}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(Report(node, at, looks).to_json()), encoding="utf-8")


def counted(found: Sequence[Record]) -> Iterator[Record]:
    """Yield what the servers counted in the last night: what was written, in bursts of caches."""
    last = max(one.started_at for one in found) - DAY_S / 2
    for one in found:
        if one.layer == "ost" and one.started_at > last and one.rate:
            second = one.rate
            yield record(
                layer="server",
                component=f"{one.component} device",
                host="oss",
                operation=one.operation,
                scenario=Scenario.TOGETHER,
                started_at=one.started_at + 0.4,
                finished_at=one.finished_at + 0.4,
                rate=second,
                profile=tuple(second * (0.7 + 0.2 * (step % 4)) for step in range(12)),
                details={"source": "diskstats", "watched_s": 600},
            )


def hostile(folder: Path) -> tuple[Path, Path]:
    """Write plan and history of a site whose targets have hostile names."""
    plan = plan_of(build(site()))
    raw = document(plan)
    text = records(plan, SICK)
    names = {f"scratch-OST{number}": name for number, name in enumerate(HOSTILE)}
    for node in raw["nodes"].values():
        for entry in node["entries"]:
            entry["component"] = names.get(entry["component"], entry["component"])
            entry["group"] = HOSTILE[0] if entry["layer"] == "ost" else entry["group"]
            entry["path"] = [names.get(one, one) for one in entry["path"]]
    raw["parts"] = {names.get(name, name): part for name, part in raw["parts"].items()}
    raw["services"], raw["paths"] = [], []
    renamed = (one._replace(component=names.get(one.component, one.component)) for one in text)
    return write(folder, raw, renamed)
