"""Thinning old runs to daily figures does not change verdicts, suspects, baselines or reports."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Callable, Iterator

import pytest

from plumbline.model.exchange import Cursor
from plumbline.model.layers import LAYERS
from plumbline.model.record import Outcome, Record
from plumbline.model.series import Running
from plumbline.parts.locate.observation import PlannedMeasurement, Site
from plumbline.parts.locate.site import locate_site, sentences
from plumbline.parts.report.read import read_site
from plumbline.parts.report.site import find_metrics
from plumbline.plan.capture import capture
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.site.nodes import judgement
from plumbline.store.collection import ConsoleHistory
from plumbline.store.database import Selection
from plumbline.store.history import History, Thinned
from plumbline.store.plan import load_plan
from tests.package.parts.locate.scenes import lab, rate
from tests.package.parts.report.years import DAY_S, NOW, document
from tests.package.records import record

NIGHTS = 75
SICK = "oss2"
HOUR_S = 3600.0
STEPS_S = (1.0, 59.0, 300.0, HOUR_S, 20 * HOUR_S, 30 * HOUR_S, 200 * HOUR_S, -HOUR_S, -70.0)
"""Steps of the clock, forwards and backwards."""


class Life:
    """A lab with random records at random times."""

    def __init__(self, folder: Path, seed: int, nights: int = 10) -> None:
        plan = compile_plan(lab(), load({"layers": {"fs": {"clients": ["client1"]}}}), {})
        path = folder / "plan.json"
        path.write_text(json.dumps(document(plan)), encoding="utf-8")
        self.history = folder / "history.sqlite"
        self.plan = load_plan(str(path))
        self.now = NOW
        self.keep_days = 5
        self._measurements = list(Site(plan.expectations).measurables())
        self._chance = Random(seed)
        self._count = 0
        with ConsoleHistory(self.history) as history:
            for ago in range(nights - 1, -1, -1):
                night = self._night(ago * DAY_S + 2 * HOUR_S)
                history.keep("client1", night, Cursor(), self.now)

    def _night(self, ago_s: float) -> list[Record]:
        self._count += 1
        return [self._record(planned, self.now - ago_s) for planned in self._measurements]

    def _record(self, planned: PlannedMeasurement, at: float, **changes: object) -> Record:
        faults = {SICK: {"read": 60e6, "write": 60e6}}
        measured = 0.9 * rate(planned.of, faults) * self._chance.gauss(1, 0.01)
        values = {
            "run_id": f"{planned.of.node} {planned.of.layer} {self._count}",
            "layer": planned.of.layer,
            "component": planned.of.component,
            "operation": planned.operation,
            "scenario": planned.scenario,
            "rate": measured,
            "repeats": (measured,),
            "spec_hash": planned.expectation.spec.hash(),
            "started_at": at,
            "finished_at": at + 10,
        }
        if planned.partner:
            values |= {"partner": planned.partner.name, "retransmits": 0}
        return record(**{**values, **changes})

    def _failed(self, planned: PlannedMeasurement) -> Record:
        outcomes = (Outcome.FAILED, Outcome.BROKEN, Outcome.UNREACHABLE, Outcome.SKIPPED)
        changes = {"outcome": self._chance.choice(outcomes), "reason": "it said no"}
        no_rate = {"rate": None, "repeats": (), "profile": ()}
        return self._record(planned, self.now, **changes, **no_rate)

    def happen(self) -> None:
        """Record a random event, or only pass time."""
        chance = self._chance
        self._count += 1
        planned = chance.choice(self._measurements)
        place = planned.of.layer, planned.of.component
        with History(self.history) as history:
            what = chance.randrange(9)
            if what == 0:
                for record in self._night(0.0):
                    history.save(record)
            elif what == 1:
                history.save(self._record(planned, self.now + chance.choice((-90, 0, 30, 9000))))
            elif what == 2:
                history.save(self._failed(planned))
            elif what == 3:
                interrupted = chance.random() < 0.3
                history.begin("run", Running(*place, self.now, None, interrupted))
            elif what == 4:
                history.end(*place)
            elif what == 5:
                history.prune(self.now - self.keep_days * DAY_S)
            elif what == 6:
                self._cover(place)
        self.now += chance.choice(STEPS_S)

    def _cover(self, place: tuple[str, str]) -> None:
        with closing(sqlite3.connect(self.history)) as database, database:
            database.execute(
                "UPDATE records SET coverage = ? WHERE layer = ? AND component = ?",
                (self._chance.choice((0.2, 0.99)), *place),
            )


def thin(life: Life, go_on: Callable[[], bool] = lambda: True) -> Thinned:
    with History(life.history) as thinning:
        return thinning.thin(life.now, go_on)


def records(life: Life) -> list[Record]:
    with History(life.history) as history:
        return list(history.records(Selection()))


def answers(life: Life) -> Iterator[Any]:
    """Yield the results of all users of a history."""
    with judgement(life.plan, life.history, life.now) as site:
        yield list(site.verdicts(evidence=True, members=True))
    located = locate_site(life.plan, life.history, life.now)
    yield located.to_json(life.plan), sentences(life.plan, located)
    yield candidates(life)
    yield figures(life)


def candidates(life: Life) -> Any:
    expected = {
        (entry.layer, entry.component): entry
        for node in life.plan.nodes.values()
        for entry in node.every()
    }
    return capture(records(life), expected).candidates


def figures(life: Life) -> Any:
    """Return the days of each member of a report, with pairs, version changes and the run.

    Hosts are excluded: their days are medians over all partners, unlike the daily figures.
    """
    site = read_site(life.plan, life.history, life.now, 365)
    members = [
        (str(metric), member.name, member.days, member.now_rate, member.now_at)
        for metric, group in find_metrics(site).items()
        for member in group
        if not LAYERS[metric.layer].paired
    ]
    return members, site.pairs, site.changes, site.run


@pytest.mark.parametrize("seed", [0, 1])
def test_thinning_a_history_does_not_change_results(tmp_path: Path, seed: int) -> None:
    life = Life(tmp_path, seed, NIGHTS)
    life.keep_days = 400
    chance = Random(seed)
    for _ in range(2):
        for _ in range(chance.randrange(12)):
            life.happen()
        before = list(answers(life))
        assert thin(life).runs > 0
        assert list(answers(life)) == before
        life.now += 25 * DAY_S


def test_thinning_keeps_saved_verdicts(tmp_path: Path) -> None:
    life = Life(tmp_path, 0, NIGHTS)
    with History(life.history) as history:
        before = history.table("SELECT * FROM revisions")
    assert thin(life).runs > 0
    with History(life.history) as history:
        assert history.table("SELECT * FROM revisions") == before
