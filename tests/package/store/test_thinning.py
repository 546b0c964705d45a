"""Runs older than two months become daily figures, each written before its runs are deleted."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from math import isnan
from pathlib import Path
from typing import Any, Callable

import pytest

from plumbline.cli import main
from plumbline.model.record import Record
from plumbline.model.units import DAY_S
from plumbline.site.gather import tidy
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.database import RECORD, Day, Selection, pack_days, row, unpack_days
from plumbline.store.history import (
    KEEP_DAYS,
    KEEP_RECORDS,
    KEEP_WHOLE_DAYS,
    History,
    SeriesKey,
    Thinned,
)
from plumbline.store.trends import Pictures
from tests.package.records import failed, record

NOW = 1000 * DAY_S + 5000
KEY = SeriesKey("ost", "a", "read", "single", "")


def at(ago: float) -> float:
    """Return noon of a day, in epoch seconds."""
    return (1000 - ago) * DAY_S + DAY_S / 2


def night(ago: int, **changes: Any) -> Record:
    return record(**{"run_id": f"run {ago}", "started_at": at(ago), **changes})


def young(**changes: Any) -> list[Record]:
    """Return the runs of last month, as many as the judge reads."""
    return [night(ago, **changes) for ago in range(KEEP_RECORDS, 0, -1)]


def saved(folder: Path, *records: Record) -> Path:
    path = folder / "history.sqlite"
    with History(path):
        pass
    with closing(sqlite3.connect(path)) as database, database:
        database.executemany(f"INSERT {RECORD}", map(row, records))
    return path


def thin(path: Path, go_on: Callable[[], bool] = lambda: True) -> Thinned:
    with History(path) as thinning:
        return thinning.thin(NOW, go_on)


def days(path: Path) -> list[Day]:
    with History(path) as history:
        return [day for key, day in history.days(None, None) if key == KEY]


def start_times(path: Path) -> list[float]:
    with History(path) as history:
        return [run.started_at for run in history.records(Selection())]


def test_a_daily_figure_has_the_median_and_number_of_its_runs(tmp_path: Path) -> None:
    old = [night(80, started_at=at(80) + hour, rate=rate) for hour, rate in enumerate((3, 1, 8))]
    path = saved(tmp_path, *old, failed(run_id="x", started_at=at(70)), *young())
    assert thin(path) == Thinned(4, 2, unfinished=False)
    first, second = days(path)
    assert first[:3] == (at(80) + 2, 3, 3)
    assert second[:2] == (at(70), 1)
    assert isnan(second.rate)
    assert start_times(path) == [at(ago) for ago in range(KEEP_RECORDS, 0, -1)]
    assert thin(path) == Thinned(0, 0, unfinished=False)


def test_younger_runs_and_the_latest_of_each_series_stay(tmp_path: Path) -> None:
    path = saved(tmp_path, night(KEEP_WHOLE_DAYS + 1), night(KEEP_WHOLE_DAYS), *young())
    assert thin(path).runs == 1
    (tmp_path / "few").mkdir()
    few = saved(tmp_path / "few", *[night(300 + ago) for ago in range(KEEP_RECORDS)])
    assert thin(few).runs == 0


def test_runs_needed_for_one_component_stay_for_its_peers(tmp_path: Path) -> None:
    seldom = [night(ago, component="b") for ago in (80, 1)]
    path = saved(tmp_path, night(90), night(80), *young(), *seldom)
    assert thin(path) == Thinned(1, 1, unfinished=False)
    assert at(80) in start_times(path)


def test_a_day_is_thinned_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    later = night(80, started_at=at(80) + 60, run_id="confirmed")
    seldom = record(run_id="confirmed", started_at=at(80) + 60, component="b")
    path = saved(tmp_path, night(80), later, *young(), seldom)
    assert thin(path).runs == 0


def test_late_runs_get_a_daily_figure_of_their_own(tmp_path: Path) -> None:
    path = saved(tmp_path, night(80), *young())
    thin(path)
    with History(path) as history:
        history.save(night(80, id="late", rate=7.0))
        for run in young(host="x"):
            history.save(run)
    thin(path)
    assert [(day.runs, day.rate) for day in days(path)] == [(1, 200e6), (1, 7.0)]


def test_collecting_everything_again_does_not_count_a_day_twice(tmp_path: Path) -> None:
    path = saved(tmp_path, night(80), *young())
    thin(path)
    with Collection(path) as collection:
        assert collection.is_thinned(night(80))
        assert not collection.is_thinned(night(81))
        assert not collection.is_thinned(night(80, component="b"))


def test_a_course_counts_its_daily_figures(tmp_path: Path) -> None:
    path = saved(tmp_path, night(300), night(80, rate=5e7), *young())
    thin(path)
    with Pictures(path, at(90)) as pictures:
        (course,) = pictures.courses()
    assert course.days == 1
    assert (course.times[0], course.rates[0]) == (at(80), 5e7)
    assert len(course.times) == 1 + KEEP_RECORDS


def test_a_change_of_versions_on_a_thinned_day_is_still_known(tmp_path: Path) -> None:
    old = [night(ago, versions={"client": "2.15.4"}) for ago in (90, 80)]
    new = [night(70, versions={"client": "2.15.5"}), *young(versions={"client": "2.15.5"})]
    path = saved(tmp_path, *old, *new)
    with Pictures(path, 0.0) as pictures:
        before = pictures.version_changes()
    thin(path)
    with Pictures(path, 0.0) as pictures:
        assert pictures.version_changes() == before
    assert [change.text for change in before] == ["client 2.15.4 -> 2.15.5"]


def test_the_last_run_before_a_moment_can_be_a_daily_figure(tmp_path: Path) -> None:
    path = saved(tmp_path, night(90), night(80), *young())
    thin(path)
    with History(path) as history:
        assert history.last_before("ost", ["a"], at(50)) == at(80)
        assert history.last_before("ost", ["a"], at(85)) == at(90)


def test_daily_figures_are_dropped_at_the_age_of_records(tmp_path: Path) -> None:
    path = saved(tmp_path, night(80 + KEEP_DAYS), night(80), *young())
    thin(path)
    with History(path) as history:
        history.prune(NOW - KEEP_DAYS * DAY_S)
    assert [day.at for day in days(path)] == [at(80)]


def test_the_history_shows_daily_figures_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path, night(80), night(80, started_at=at(80) + 1), *young())
    thin(path)
    assert main(["history", "a", "--state", str(tmp_path)]) == 0
    first = capsys.readouterr().out.splitlines()[1]
    assert "1972-07-09 " in first
    assert "daily figure, runs: 2" in first
    assert main(["history", "--json", "--state", str(tmp_path)]) == 0
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == KEEP_RECORDS
    assert "daily figures, no records: 1" in output.err


def test_a_damaged_day_is_left_out(tmp_path: Path) -> None:
    day = Day(1.0, 2.0, 3.0, 4.0)
    assert list(unpack_days(pack_days([day, day])[:-5])) == [day]


def many(folder: Path) -> Path:
    names = [f"disk{number}" for number in range(30)]
    runs = [night(ago, component=name) for ago in range(160, 0, -1) for name in names]
    return saved(folder, *runs)


@pytest.mark.slow
def test_thinning_out_of_time_continues_at_the_next_collection(tmp_path: Path) -> None:
    path = many(tmp_path)
    seconds = iter(range(0, 1000, 40))
    first = tidy(path, NOW, lambda: next(seconds))
    assert first is not None
    assert first.unfinished
    assert "more is left for the next collection" in first.sentence()
    second = tidy(path, NOW, lambda: 0.0)
    assert second is not None
    assert not second.unfinished
    assert first.runs + second.runs == 100 * 30
    assert tidy(path, NOW, lambda: 0.0) is None


KILLED = """
import os, sys
from pathlib import Path
from plumbline.store.history import History
remaining = int(sys.argv[2])
class Killed(History):
    def _add_daily(self, days):
        global remaining
        remaining -= 1
        if not remaining:
            os.kill(os.getpid(), 9)
        super()._add_daily(days)
with Killed(Path(sys.argv[1])) as history:
    history.thin(float(sys.argv[3]), lambda: True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", [1, 700, 2100, 2900])
def test_a_kill_loses_nothing_and_counts_nothing_twice(tmp_path: Path, place: int) -> None:
    path = many(tmp_path)
    argv = [sys.executable, "-c", KILLED, str(path), str(place), str(NOW)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(argv, env=environment, check=False).returncode == -signal.SIGKILL
    with History(path) as history:
        figures = [day for _, day in history.days(None, None)]
    assert len(figures) + len(start_times(path)) == 160 * 30
    thin(path)
    with History(path) as history:
        after = [day for _, day in history.days(None, None)]
    assert len(after) == 100 * 30
    assert all(day.runs == 1 for day in after)
