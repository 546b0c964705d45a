"""Sites with a year behind them: the plan of an inventory, and the records that it would give."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Iterable, Iterator, Mapping, NamedTuple

from plumbline.locate.observation import PlannedMeasurement, Site
from plumbline.model.record import Record
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.store.database import RECORD, deflate, row
from plumbline.store.history import History
from plumbline.topology.graph import Topology
from tests.package.locate.scenes import Left, rate, record_of, with_baselines

DAY_S = 86400.0
NOW = 1_790_000_000.0
"""In September 2026; reports are drawn for this moment."""


class Year(NamedTuple):
    """What happened: ``left`` is what faulty parts have, from ``since`` days ago on."""

    days: int
    left: Left = {}
    since: int = 1_000_000
    retransmitted: frozenset[str] = frozenset()
    every: int = 1
    noise: float = 0.01


def plan_of(topology: Topology) -> Plan:
    """Return the plan of a site under the default policy."""
    return compile_plan(topology, load({}), {})


def document(plan: Plan) -> dict[str, Any]:
    """Return a plan as a document; each reference has a baseline a little below its ceiling."""
    return with_baselines(plan, share=0.9)


def records(plan: Plan, year: Year, now: float = NOW) -> Iterator[Record]:
    """Yield what every night of a year shows, oldest first; the last one is over."""
    chance = Random(7)
    placed = list(Site(plan.expectations).measurables())
    for ago in range(year.days - 1, -1, -year.every):
        left = year.left if ago < year.since else {}
        for number, one in enumerate(placed):
            measured = 0.9 * rate(one.of, left) * chance.gauss(1, year.noise)
            yield _record(one, number, measured, now - 7200 - ago * DAY_S, year)


def _record(placed: PlannedMeasurement, number: int, rate: float, at: float, year: Year) -> Record:
    return record_of(
        placed,
        rate,
        clean=not year.retransmitted & {*placed.of.path},
        run_id=f"{placed.of.node} {placed.of.layer} {at:.0f}",
        repeats=(rate,) * 3,
        profile=tuple(rate * (0.9 + 0.02 * (second % 9)) for second in range(10)),
        started_at=at + number % 60 * 12,
        finished_at=at + number % 60 * 12 + 10,
    )


def write(folder: Path, plan: Mapping[str, Any], found: Iterable[Record]) -> tuple[Path, Path]:
    """Write plan and history as a console has them; return their paths."""
    paths = folder / "plan.json", folder / "history.sqlite"
    paths[0].write_text(json.dumps(plan), encoding="utf-8")
    with History(paths[1]):
        pass
    # as a console does it, but in one transaction
    with closing(sqlite3.connect(paths[1])) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.executemany(f"INSERT {RECORD}", (row(one, deflate) for one in found))
    return paths
