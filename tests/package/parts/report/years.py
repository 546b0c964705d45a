"""Plans of inventories, and the records of a year for them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Iterable, Iterator, Mapping, NamedTuple

from plumbline.model.record import Record
from plumbline.parts.locate.observation import PlannedMeasurement, Site
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.store.database import RECORD, deflate, row
from plumbline.store.history import History
from plumbline.topology.graph import Topology
from tests.package.parts.locate.scenes import LaneRates, rate, record_of, with_baselines

DAY_S = 86400.0
NOW = 1_790_000_000.0
"""Time of the reports, in September 2026."""


class Year(NamedTuple):
    """A history: faulty parts have the rates ``left`` from ``since`` days ago on."""

    days: int
    left: LaneRates = {}
    since: int = 1_000_000
    retransmitted: frozenset[str] = frozenset()
    every: int = 1
    noise: float = 0.01


def plan_of(topology: Topology) -> Plan:
    """Return the plan of a site under the default policy."""
    return compile_plan(topology, load({}), {})


def document(plan: Plan) -> dict[str, Any]:
    """Return a plan document with baselines slightly below the ceilings."""
    return with_baselines(plan, share=0.9)


def records(plan: Plan, year: Year, now: float = NOW) -> Iterator[Record]:
    """Yield the records of all nights of a year, oldest first, up to the last complete one."""
    chance = Random(7)
    measurements = list(Site(plan.expectations).measurables())
    for ago in range(year.days - 1, -1, -year.every):
        left = year.left if ago < year.since else {}
        for number, planned in enumerate(measurements):
            measured = 0.9 * rate(planned.of, left) * chance.gauss(1, year.noise)
            yield _record(planned, number, measured, now - 7200 - ago * DAY_S, year)


def _record(planned: PlannedMeasurement, number: int, rate: float, at: float, year: Year) -> Record:
    return record_of(
        planned,
        rate,
        clean=not year.retransmitted & {*planned.of.path},
        run_id=f"{planned.of.node} {planned.of.layer} {at:.0f}",
        repeats=(rate,) * 3,
        profile=tuple(rate * (0.9 + 0.02 * (second % 9)) for second in range(10)),
        started_at=at + number % 60 * 12,
        finished_at=at + number % 60 * 12 + 10,
    )


def write(folder: Path, plan: Mapping[str, Any], runs: Iterable[Record]) -> tuple[Path, Path]:
    """Write plan and history of a console; return their paths."""
    paths = folder / "plan.json", folder / "history.sqlite"
    paths[0].write_text(json.dumps(plan), encoding="utf-8")
    with History(paths[1]):
        pass
    # like the console, but in one transaction
    with closing(sqlite3.connect(paths[1])) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.executemany(f"INSERT {RECORD}", (row(run, deflate) for run in runs))
    return paths
