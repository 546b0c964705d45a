"""The kept judgement of a site gives each verb what it would judge anew."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, Callable, NamedTuple, Sequence

import pytest

from plumbline.model.codec import write
from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.series import Running
from plumbline.model.symptom import Direction, Look, Report, Symptom
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Judged, State, Verdict
from plumbline.parts.locate.contract import site_suspects
from plumbline.parts.locate.publish import Terms, publish
from plumbline.site.kept import KeptJudgement, answers, kept_beside
from plumbline.site.nodes import judgement
from plumbline.site.verdicts import node_verdicts, steps
from plumbline.store.history import History
from plumbline.store.plan import load_plan
from tests.package.parts.locate.scenes import both
from tests.package.parts.locate.test_verb_locate import measured, plan
from tests.package.records import night_after_night, save

MINUTE_S, HOUR_S = 60.0, 3600.0


Verb = Callable[["Console", float], Any]


class Nights(NamedTuple):
    """A folder with plan and history, and the end of the last measurement."""

    folder: Path
    measured_at: float


@pytest.fixture(scope="module")
def measured_lab(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    """Save the nights of the lab once, one link and one disk of it slow; tests copy them."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "plan.json").write_text(json.dumps(plan()), encoding="utf-8")
    records = measured({"oss3-nic": both(25e6), "oss1-disk1": both(60e6)})
    nights = list(night_after_night(records))
    save(folder / "history.sqlite", nights)
    return Nights(folder, max(record.finished_at for record in nights))


class Console:
    """A console's folder with a copy of measured nights."""

    def __init__(self, folder: Path, measured_lab: Nights) -> None:
        for path in measured_lab.folder.iterdir():
            shutil.copy(path, folder)
        self.plan = folder / "plan.json"
        self.history = folder / "history.sqlite"
        self.kept = kept_beside(self.history)
        self.measured_at = measured_lab.measured_at

    def judgement(self, now: float) -> KeptJudgement:
        return KeptJudgement(str(self.plan), self.history, now)

    def answers(self, now: float) -> list[Judged]:
        """Return what the services show."""
        return [*answers(str(self.plan), self.history, now).judged]

    def anew(self, verb: Verb, now: float) -> Any:
        """Return the answer of a verb, judged anew."""
        self.forget()
        return verb(self, now)

    def forget(self) -> None:
        for path in self.kept:
            path.unlink(missing_ok=True)

    def judges(self, now: float, verb: Verb = answers) -> bool:
        """Return whether a verb judges the site anew."""
        before = [os.stat(path).st_ino for path in self.kept]
        verb(self, now)
        after = [os.stat(path).st_ino for path in self.kept]
        same = [inode == earlier for inode, earlier in zip(after, before)]
        assert all(same) or not any(same)
        return not all(same)


def status(console: Console, now: float) -> Any:
    return console.judgement(now).verdicts(members=True)


def judge(console: Console, now: float) -> Any:
    return console.judgement(now).verdicts()


def metrics(console: Console, now: float) -> Any:
    kept = console.judgement(now)
    return kept.by_node(), list(kept.steps())


def publish_all(console: Console, now: float) -> Any:
    """Publish suspects once without, and once with standing alarms."""
    to, terms = console.plan.with_name("paths.json"), Terms(DAY_S, HOUR_S)
    to.unlink(missing_ok=True)
    return [publish(str(console.plan), console.history, to, now, terms) for _ in range(2)]


def suspects(console: Console, now: float) -> Any:
    return site_suspects(str(console.plan), console.history, now)


VERBS: Sequence[Verb] = (Console.answers, status, judge, metrics, publish_all, suspects)


@pytest.fixture
def console(tmp_path: Path, measured_lab: Nights) -> Console:
    return Console(tmp_path, measured_lab)


AFTER_S: Sequence[float] = (
    *(-HOUR_S, -90.0, -59.0, 0.0, 5 * MINUTE_S, 9 * MINUTE_S, 11 * MINUTE_S, HOUR_S, 20 * HOUR_S),
    *(24 * HOUR_S - 30, 24 * HOUR_S + 30, 30 * HOUR_S, 35.9 * HOUR_S, 36.1 * HOUR_S, 48 * HOUR_S),
    *(71 * HOUR_S, 73 * HOUR_S, 9 * 24 * HOUR_S, 40 * 24 * HOUR_S),
)
"""Seconds after the last measurement."""


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_a_kept_answer_is_the_one_judged_anew_at_any_time(console: Console, verb: Verb) -> None:
    times = [console.measured_at + after_s for after_s in AFTER_S]
    fresh = [console.anew(verb, now) for now in times]
    console.anew(verb, times[0])
    assert [verb(console, now) for now in times] == fresh
    assert len({repr(answer) for answer in fresh}) > 2


def test_a_kept_verdict_is_that_of_the_judge(console: Console) -> None:
    now = console.measured_at + 20 * HOUR_S
    console.answers(now - HOUR_S)
    kept = console.judgement(now)
    shown = ("layer", "component", "group", "state", "reason", "sentence", "counts", "figures")
    with judgement(load_plan(str(console.plan)), console.history, now) as site:
        for verdicts, members in ((status(console, now), True), (judge(console, now), False)):
            judged = [result.verdict for result in site.verdicts(members=members)]
            for name in (*shown, "ratio_baseline"):
                of_kept = [getattr(verdict, name) for verdict in verdicts.verdicts]
                assert of_kept == [getattr(verdict, name) for verdict in judged], name
        assert list(kept.steps()) == list(steps(site))
        since = os.stat(console.plan).st_mtime
        for node, anew in zip(kept.by_node(), node_verdicts(site, since)):
            assert (node.node, [*node.judged(now)]) == (
                anew.node,
                [without_evidence(verdict) for verdict in anew.judged(now)],
            )


def without_evidence(verdict: Verdict) -> Verdict:
    """Return a verdict as it is kept: of the ratios only that of the baseline."""
    return verdict._replace(evidence=(), ratio_ceiling=None, ratio_peers=None, ratio_runs=None)


@pytest.mark.parametrize("first", VERBS)
def test_nothing_is_judged_while_nothing_is_new(console: Console, first: Verb) -> None:
    now = console.measured_at + HOUR_S
    first(console, now)
    for verb in VERBS:
        assert not any(console.judges(now + after_s, verb) for after_s in (1.0, 7 * HOUR_S))


def test_a_note_is_for_nagios_alone(console: Console) -> None:
    now = console.measured_at + HOUR_S
    noted = {
        judged.verdict.component
        for judged in console.answers(now)
        if "; explained by nic oss3-nic" in judged.verdict.sentence
    }
    shown = {verdict.component: verdict.sentence for verdict in status(console, now).verdicts}
    assert noted
    assert not any("explained by" in shown[name] for name in noted)


def test_a_lost_file_is_written_again(console: Console) -> None:
    now = console.measured_at + HOUR_S
    fresh = metrics(console, now)
    console.kept[1].unlink()
    assert metrics(console, now) == fresh
    assert console.kept[1].exists()


def test_only_the_symptoms_of_a_published_suspect_are_new(console: Console) -> None:
    now = console.measured_at + HOUR_S
    report_symptom(console)
    assert "4711 errors" in repr(publish_all(console, now))
    report_symptom(console, text="4712 errors")
    assert not console.judges(now)
    assert "4712 errors" in repr(publish_all(console, now))


def test_healthy_suspects_do_not_rest_on_symptoms(console: Console) -> None:
    console.history.unlink()
    save(console.history, list(night_after_night(measured({}))))
    now = console.measured_at + HOUR_S
    publish_all(console, now)
    report_symptom(console)
    assert not console.judges(now, publish_all)


def test_verdicts_are_kept_of_a_plan_whose_suspects_cannot_be_located(console: Console) -> None:
    console.history.unlink()
    save(console.history, list(night_after_night(measured({}))))
    console.plan.write_text(json.dumps({**plan(), "parts": {}}), encoding="utf-8")
    now = console.measured_at + HOUR_S
    assert console.answers(now)
    assert not console.judges(now)
    with pytest.raises(DocumentError, match="does not say what the parts are"):
        publish_all(console, now)


def test_the_clock_of_an_answer_is_now(console: Console) -> None:
    now = console.measured_at + HOUR_S
    console.answers(now)
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


def report_symptom(
    console: Console, direction: Direction = Direction.RAISES, text: str = "4711 errors"
) -> None:
    errors = Symptom("ethernet", "oss3-nic", "errors", State.WARNING, direction, text)
    report = Report("oss3", console.measured_at + HOUR_S, (Look("ethernet", 1, (errors,)),))
    folder = console.history.parent / "symptoms"
    folder.mkdir(exist_ok=True)
    (folder / "oss3.json").write_text(json.dumps(write(report)), encoding="utf-8")


def damage(console: Console) -> None:
    for path in console.kept:
        path.write_text(path.read_text().replace("OST", "oST", 1), encoding="utf-8")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "change", [touch_plan, add_records, begin_run, restore, report_symptom, damage]
)
def test_a_site_is_judged_anew_if_something_is_new(
    console: Console, change: Any, verb: Verb
) -> None:
    now = console.measured_at + HOUR_S
    console.answers(now)
    change(console)
    assert console.judges(now, verb)
    assert not console.judges(now, verb)


def test_a_further_look_with_the_same_symptoms_changes_nothing(console: Console) -> None:
    now = console.measured_at + HOUR_S
    report_symptom(console)
    console.answers(now)
    report_symptom(console)
    assert not console.judges(now)
    report_symptom(console, Direction.LOWERS)
    assert console.judges(now)


def test_a_site_is_judged_anew_if_the_clock_was_set_back(console: Console) -> None:
    now = console.measured_at + 2 * HOUR_S
    console.answers(now)
    assert console.judges(now - HOUR_S)


def test_a_folder_that_may_not_be_written_keeps_nothing(console: Console) -> None:
    for path in console.kept:
        path.mkdir()
    for verb in VERBS:
        assert verb(console, console.measured_at)
    assert [*console.kept[0].iterdir()] == []


def test_a_missing_plan_or_history_is_an_error(console: Console) -> None:
    console.answers(console.measured_at)
    plan, history = str(console.plan), console.history
    with pytest.raises(DocumentError, match="no such file"):
        answers(f"{plan}.not", history, console.measured_at)
    with pytest.raises(StoreError, match="there is no history"):
        answers(plan, history.with_name("not.sqlite"), console.measured_at)
