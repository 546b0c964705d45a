"""Verdicts that are kept are those that judging would give, whatever has happened meanwhile."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Callable, Iterator

import pytest

from plumbline.locate.observation import PlannedMeasurement, Site
from plumbline.model.ages import WatchedMoment
from plumbline.model.exchange import Cursor
from plumbline.model.record import Outcome, Record
from plumbline.model.series import Running
from plumbline.model.verdict import Judged
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.site.judge import CAUSES, judge_services, judge_site
from plumbline.site.locate import locate_remembered
from plumbline.site.nodes import Memories
from plumbline.site.publish import Published, Terms, publish
from plumbline.site.submit import judge_with_causes
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.collection import KeptAnswers
from plumbline.store.history import History
from plumbline.store.plan import SitePlan, load_plan
from tests.package.locate.scenes import lab, rate
from tests.package.records import record
from tests.package.report.years import DAY_S, NOW, document

SICK = "oss2"
HOUR_S = 3600.0
STEPS_S = (1.0, 59.0, 300.0, HOUR_S, 20 * HOUR_S, 30 * HOUR_S, 200 * HOUR_S, -HOUR_S, -70.0)
"""By which the clock goes on or back."""

LIVES = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))]


class Life:
    """A lab of which anything may be recorded at any time."""

    def __init__(self, folder: Path, seed: int, nights: int = 10) -> None:
        plan = compile_plan(lab(), load({"layers": {"fs": {"clients": ["client1"]}}}), {})
        path = folder / "plan.json"
        path.write_text(json.dumps(document(plan)), encoding="utf-8")
        self.history = folder / "history.sqlite"
        self.plan = load_plan(str(path))
        self.now = NOW
        self.keep_days = 5
        self._placed = list(Site(plan.expectations).measurables())
        self._chance = Random(seed)
        self._count = 0
        with Collection(self.history) as history:
            for ago in range(nights - 1, -1, -1):
                night = self._night(ago * DAY_S + 2 * HOUR_S)
                history.keep("client1", night, Cursor(), self.now)

    def _night(self, ago_s: float) -> list[Record]:
        self._count += 1
        return [self._record(placed, self.now - ago_s) for placed in self._placed]

    def _record(self, placed: PlannedMeasurement, at: float, **changes: object) -> Record:
        left = {SICK: {"read": 60e6, "write": 60e6}}
        rate_Bps = 0.9 * rate(placed.of, left) * self._chance.gauss(1, 0.01)
        values = {
            "run_id": f"{placed.of.node} {placed.of.layer} {self._count}",
            "layer": placed.of.layer,
            "component": placed.of.component,
            "operation": placed.operation,
            "scenario": placed.scenario,
            "rate_Bps": rate_Bps,
            "repeats_Bps": (rate_Bps,),
            "spec_hash": placed.expectation.spec.hash(),
            "started_at": at,
            "finished_at": at + 10,
        }
        if placed.partner:
            values |= {"partner": placed.partner.name, "retransmits": 0}
        return record(**{**values, **changes})

    def _failed(self, placed: PlannedMeasurement) -> Record:
        outcomes = (Outcome.FAILED, Outcome.BROKEN, Outcome.UNREACHABLE, Outcome.SKIPPED)
        changes = {"outcome": self._chance.choice(outcomes), "reason": "it said no"}
        without = {"rate_Bps": None, "repeats_Bps": (), "profile_Bps": ()}
        return self._record(placed, self.now, **changes, **without)

    def happen(self) -> None:
        """Let something happen, or nothing but time pass."""
        chance = self._chance
        self._count += 1
        placed = chance.choice(self._placed)
        place = placed.of.layer, placed.of.component
        with History(self.history) as history:
            what = chance.randrange(9)
            if what == 0:
                for one in self._night(0.0):
                    history.save(one)
            elif what == 1:
                history.save(self._record(placed, self.now + chance.choice((-90, 0, 30, 9000))))
            elif what == 2:
                history.save(self._failed(placed))
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

    def judged_both_ways(self) -> tuple[list[Judged], list[Judged]]:
        """Return the verdicts with what was kept, and without."""
        afresh = self.plan._replace(digest="")
        return (
            judge_with_causes(self.plan, self.history, self.now),
            judge_with_causes(afresh, self.history, self.now),
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", LIVES)
def test_what_is_kept_is_what_judging_would_give(tmp_path: Path, seed: int) -> None:
    life = Life(tmp_path, seed)
    for _ in range(30):
        kept, afresh = life.judged_both_ways()
        assert kept == afresh
        life.happen()


def _published(life: Life, plan: SitePlan, to: Path) -> Published:
    return publish(plan, life.history, to, life.now, Terms(3600.0, 1800.0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 2))])
def test_what_is_published_is_what_looking_afresh_would_give(tmp_path: Path, seed: int) -> None:
    life = Life(tmp_path, seed)
    plan = life.plan
    for _ in range(10):
        kept = _published(life, plan, tmp_path / "kept.json")
        assert kept == _published(life, plan._replace(digest=""), tmp_path / "afresh.json")
        life.happen()


@pytest.mark.slow
def test_what_has_not_changed_is_not_looked_for_again(tmp_path: Path) -> None:
    life = Life(tmp_path, 0)
    plan, to = life.plan, tmp_path / "paths.json"
    # a suspect that stands is named the second time
    _published(life, plan, to)
    before = _published(life, plan, to)
    assert any(one.state.alarm for one in before.verdicts.values())
    _without_records(life.history)
    assert _published(life, plan, to) == before


def _without_records(history: Path) -> None:
    """Take away all records behind the back of who counts the changes."""
    with closing(sqlite3.connect(history)) as database, database:
        database.execute("DROP TRIGGER records_DELETE")
        database.execute("DELETE FROM records")


def test_what_has_not_changed_is_not_judged_again(tmp_path: Path) -> None:
    life = Life(tmp_path, 0)
    before = judge_with_causes(life.plan, life.history, life.now)
    assert any("explained by" in one.verdict.sentence for one in before)
    _without_records(life.history)
    assert judge_with_causes(life.plan, life.history, life.now) == before


def test_what_was_located_is_read_once_more_for_who_locates_again(tmp_path: Path) -> None:
    life = Life(tmp_path, 0)
    read = Memories(life.history)
    judge_services(life.plan, life.history, life.now, read)
    first, second = (locate_remembered(life.plan, read, life.now) for _ in range(2))
    assert first.to_json(life.plan) == second.to_json(life.plan)


def test_what_changes_while_a_site_is_judged_is_read_again_for_locating(tmp_path: Path) -> None:
    life = Life(tmp_path, 0)
    read = Memories(life.history)
    read.read(life.plan.nodes.values())
    assert locate_remembered(life.plan, Memories(life.history), life.now).located.sets
    with closing(sqlite3.connect(life.history)) as database, database:
        database.execute("DELETE FROM records")
    assert not locate_remembered(life.plan, read, life.now).located.sets


@pytest.mark.slow
@pytest.mark.parametrize("change", ["plan", "clock back", "stale", "zone"])
def test_what_verdicts_rest_on_beside_records_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    life = Life(tmp_path, 0)
    judge_services(life.plan, life.history, life.now)
    _without_records(life.history)
    plan, now = life.plan, life.now
    if change == "plan":
        plan = plan._replace(digest="another")
    elif change == "zone":
        monkeypatch.setenv("TZ", "Asia/Tokyo")
    else:
        now += -1 if change == "clock back" else 40 * HOUR_S
    afresh = judge_services(plan._replace(digest=""), life.history, now)
    assert judge_services(plan, life.history, now) == afresh


@pytest.mark.slow
def test_who_looks_takes_what_was_kept_and_leaves_it_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life(tmp_path, 0)
    afresh = judge_site(life.plan._replace(digest=""), life.history, life.now, members=True)
    assert judge_site(life.plan, life.history, life.now, members=True) == afresh
    assert not list(_names(life.history))
    judge_services(life.plan, life.history, life.now)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    judge_site(life.plan, life.history, life.now)
    monkeypatch.undo()
    _without_records(life.history)
    assert judge_site(life.plan, life.history, life.now, members=True) == afresh


def _damaged(history: Path) -> None:
    with closing(sqlite3.connect(history)) as database, database:
        database.execute("UPDATE kept SET body = '[{\"layer\":'")


@pytest.mark.slow
def test_what_was_kept_and_is_damaged_is_judged_again(tmp_path: Path) -> None:
    life = Life(tmp_path, 0)
    before = judge_with_causes(life.plan, life.history, life.now)
    _damaged(life.history)
    assert judge_with_causes(life.plan, life.history, life.now) == before


def _names(history: Path) -> Iterator[str]:
    with KeptAnswers(history) as kept:
        yield from (one.name for one in kept.every())


def test_verdicts_on_nodes_that_have_gone_are_dropped(tmp_path: Path) -> None:
    life = Life(tmp_path, 0)
    judge_with_causes(life.plan, life.history, life.now)
    assert set(_names(life.history)) == {CAUSES, *(f"node {name}" for name in life.plan.nodes)}
    nodes = {name: node for name, node in life.plan.nodes.items() if name != "oss3"}
    smaller: SitePlan = life.plan._replace(nodes=nodes, digest="smaller")
    judge_services(smaller, life.history, life.now)
    assert set(_names(life.history)) == {CAUSES, *(f"node {name}" for name in nodes)}


def test_a_moment_that_is_watched_knows_when_a_comparison_comes_out_otherwise() -> None:
    now = WatchedMoment(1000.0)
    assert now - 900.0 <= 200.0
    assert now.until == 1100.0
    assert 1030.0 - now <= 60.0
    assert now.until == 1100.0
    assert 0 <= now - 950.0 <= 120.0
    assert now.until == 1070.0
    assert 1070.0 - now > 60.0
    assert now.until == 1010.0


@pytest.mark.parametrize(
    ("calculated", "result"),
    [
        (lambda now: now + 1, 1001.0),
        (lambda now: now > 1, True),
        (round, 1000),
        (lambda now: 2 * now, 2000.0),
        (lambda now: (now - 900) / 60, 100 / 60),
        (lambda now: f"{now - 900:.0f}", "100"),
        (lambda now: max(0.0, now - 900) + 1, 101.0),
        (lambda now: abs(now - 1100), 100.0),
        (lambda now: bool(now - 1000), False),
        (lambda now: round(now - 900), 100),
    ],
)
def test_what_else_is_done_with_it_is_right_and_holds_for_no_time(
    calculated: Callable[[float], object], result: object
) -> None:
    now = WatchedMoment(1000.0)
    assert calculated(now) == result
    assert now.until == 1000.0
