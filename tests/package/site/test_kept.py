"""Verdicts of a site that are kept are those that would be judged anew."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Sequence

import pytest

from plumbline.model.codec import write
from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.series import Running
from plumbline.model.symptom import Direction, Look, Report, Symptom
from plumbline.model.verdict import Judged, State
from plumbline.site.kept import answers, kept_beside
from plumbline.store.history import History
from tests.package.parts.locate.scenes import both
from tests.package.parts.locate.test_verb_locate import measured, plan
from tests.package.records import night_after_night, save

MINUTE_S, HOUR_S = 60.0, 3600.0


class Console:
    """A console's folder with the nights of the lab, one link and one disk of it slow."""

    def __init__(self, folder: Path) -> None:
        self.plan = folder / "plan.json"
        self.history = folder / "history.sqlite"
        self.kept = kept_beside(self.history)
        self.plan.write_text(json.dumps(plan()), encoding="utf-8")
        records = measured({"oss3-nic": both(25e6), "oss1-disk1": both(60e6)})
        nights = list(night_after_night(records))
        save(self.history, nights)
        self.measured_at = max(record.finished_at for record in nights)

    def answers(self, now: float) -> list[Judged]:
        """Return what the services show."""
        return [*answers(str(self.plan), self.history, now).judged]

    def anew(self, now: float) -> list[Judged]:
        """Return the same, judged anew."""
        self.kept.unlink(missing_ok=True)
        return self.answers(now)

    def judges(self, now: float) -> bool:
        """Return whether the verdicts are judged anew."""
        before = os.stat(self.kept).st_ino
        self.answers(now)
        return os.stat(self.kept).st_ino != before


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path)


AFTER_S: Sequence[float] = (
    *(-HOUR_S, -90.0, -59.0, 0.0, 5 * MINUTE_S, 9 * MINUTE_S, 11 * MINUTE_S, HOUR_S, 20 * HOUR_S),
    *(24 * HOUR_S - 30, 24 * HOUR_S + 30, 30 * HOUR_S, 35.9 * HOUR_S, 36.1 * HOUR_S, 48 * HOUR_S),
    *(71 * HOUR_S, 73 * HOUR_S, 9 * 24 * HOUR_S, 40 * 24 * HOUR_S),
)
"""Seconds after the last measurement."""


@pytest.mark.slow
def test_kept_verdicts_are_those_judged_anew_at_any_time(console: Console) -> None:
    times = [console.measured_at + after_s for after_s in AFTER_S]
    fresh = [console.anew(now) for now in times]
    console.anew(times[0])
    assert [console.answers(now) for now in times] == fresh
    assert len({repr(judged) for judged in fresh}) > len(times) / 2


def test_nothing_is_judged_while_nothing_is_new(console: Console) -> None:
    now = console.measured_at + HOUR_S
    console.answers(now)
    assert not any(console.judges(now + after_s) for after_s in (1.0, HOUR_S, 7 * HOUR_S))
    (judged,) = {judged.judged_at for judged in console.answers(now + HOUR_S)}
    assert judged == now + HOUR_S


def touch_plan(console: Console) -> None:
    console.plan.write_text(f"{console.plan.read_text()} ", encoding="utf-8")


def add_records(console: Console) -> None:
    save(console.history, list(measured({}))[:1])


def begin_run(console: Console) -> None:
    with History(console.history) as history:
        history.begin("run", Running("ost", "scratch-OST0001", console.measured_at))


def restore(console: Console) -> None:
    copy = console.history.read_bytes()
    console.history.rename(console.history.with_suffix(".old"))
    console.history.write_bytes(copy)


def report_symptom(console: Console, direction: Direction = Direction.RAISES) -> None:
    errors = Symptom("ethernet", "oss3-nic", "errors", State.WARNING, direction, "4711 errors")
    report = Report("oss3", console.measured_at + HOUR_S, (Look("ethernet", 1, (errors,)),))
    folder = console.history.parent / "symptoms"
    folder.mkdir(exist_ok=True)
    (folder / "oss3.json").write_text(json.dumps(write(report)), encoding="utf-8")


def damage(console: Console) -> None:
    console.kept.write_text(console.kept.read_text().replace("OST", "oST", 1), encoding="utf-8")


@pytest.mark.parametrize(
    "change", [touch_plan, add_records, begin_run, restore, report_symptom, damage]
)
def test_verdicts_are_judged_anew_if_something_is_new(console: Console, change: Any) -> None:
    now = console.measured_at + HOUR_S
    console.answers(now)
    change(console)
    assert console.judges(now)
    assert not console.judges(now)


def test_a_further_look_with_the_same_symptoms_changes_nothing(console: Console) -> None:
    now = console.measured_at + HOUR_S
    report_symptom(console)
    console.answers(now)
    report_symptom(console)
    assert not console.judges(now)
    report_symptom(console, Direction.LOWERS)
    assert console.judges(now)


def test_verdicts_are_judged_anew_if_the_clock_was_set_back(console: Console) -> None:
    now = console.measured_at + 2 * HOUR_S
    console.answers(now)
    assert console.judges(now - HOUR_S)


def test_a_folder_that_may_not_be_written_keeps_nothing(console: Console) -> None:
    console.kept.mkdir()
    assert console.answers(console.measured_at)
    assert [*console.kept.iterdir()] == []


def test_a_missing_plan_or_history_is_an_error(console: Console) -> None:
    console.answers(console.measured_at)
    plan, history = str(console.plan), console.history
    with pytest.raises(DocumentError, match="no such file"):
        answers(f"{plan}.not", history, console.measured_at)
    with pytest.raises(StoreError, match="there is no history"):
        answers(plan, history.with_name("not.sqlite"), console.measured_at)
