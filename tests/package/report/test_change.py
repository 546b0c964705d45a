"""Change in percent against a day, for each test, with notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.model.course import Note
from plumbline.report.change import change_figure, chosen_day, find_change
from plumbline.report.site import Cohort, find_cohorts
from tests.package.locate.scenes import both
from tests.package.report.sites import sick
from tests.package.report.years import DAY_S, NOW, Year

TODAY = int(NOW // DAY_S)
LINKS = Year(60, {"client1-nic": both(60e6)}, since=10, noise=0.001)


def test_a_test_is_held_against_the_fortnight_before_the_day(tmp_path: Path) -> None:
    cohorts = find_cohorts(sick(tmp_path, LINKS))
    found = find_change("ost write", cohorts[Cohort("ost", "write", "single")], TODAY - 9)
    assert found is not None
    assert found.members == 6
    assert found.days[TODAY - 20] == pytest.approx(0, abs=0.01)
    assert found.days[TODAY] == pytest.approx(60 / 119.6 - 1, abs=0.02)
    assert found.before_Bps == pytest.approx(107.6e6, rel=0.01)


def test_what_was_not_measured_before_the_day_has_no_change(tmp_path: Path) -> None:
    cohorts = find_cohorts(sick(tmp_path))
    assert find_change("ost", cohorts[Cohort("ost", "write", "single")], TODAY - 300) is None
    figure = change_figure(sick(tmp_path), cohorts, TODAY - 300)
    assert "choose another day with --against" in figure.absent


def test_the_day_is_that_of_the_latest_note_else_a_month_ago(tmp_path: Path) -> None:
    site = sick(tmp_path)
    assert chosen_day(site) == TODAY - 30
    notes = [Note(NOW - 20 * DAY_S, "Lustre 2.15.8"), Note(NOW - 60, "looked at oss2")]
    assert chosen_day(site._replace(notes=notes)) == TODAY - 20


def test_notes_are_marked_with_their_words(tmp_path: Path) -> None:
    site = sick(tmp_path)._replace(notes=[Note(NOW - 20 * DAY_S, "Lustre <2.15.8>")])
    figure = change_figure(site, find_cohorts(site))
    (plot,) = figure.plots
    assert figure.title == "Change against 2026-09-01"
    assert [one["text"] for one in plot.layout["annotations"]] == [
        "held against this day",
        "Lustre &lt;2.15.8&gt;",
    ]
    assert len(plot.layout["shapes"]) == 2
    assert len(plot.data) == 6


def test_a_change_that_rounds_to_nothing_has_no_sign(tmp_path: Path) -> None:
    site = sick(tmp_path, Year(60, noise=0.0))
    figure = change_figure(site, find_cohorts(site))
    assert {row.cells[-1] for row in figure.table.rows} == {"0.0 %"}
