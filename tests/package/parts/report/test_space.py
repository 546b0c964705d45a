"""The figure of space: the fullest targets drawn, all of them in the table."""

from __future__ import annotations

from pathlib import Path

from plumbline.model.expectation import Expectations
from plumbline.model.space import Amount, SpaceTerms, SystemCourse, TargetSpace
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State
from plumbline.parts.report.read import spaces_of
from plumbline.parts.report.space import HEADERS, space_figure
from plumbline.parts.space.history import record_of
from plumbline.parts.space.outlook import Look
from plumbline.store.plan import SitePlan
from tests.package.records import save

NOW = 1.8e9
GB = 10**9


def look(day: int, targets: int) -> Look:
    """Return a look of some days ago; each target is fuller than the one before, and fills."""
    spaces = tuple(
        TargetSpace(f"fs-OST{number:04x}", "ost", Amount(used, 1000 * GB - used), Amount(1, 999))
        for number in range(targets)
        for used in [(300 + 20 * number - 10 * day) * GB]
    )
    lost = TargetSpace("fs-OST00ff", "ost", trouble="it does not answer")
    return Look(SpaceTerms("fs"), NOW - day * DAY_S, (*spaces, lost))


def drawn(folder: Path, targets: int = 10, days: int = 12) -> list[SystemCourse]:
    """Return what the report reads from a history with these looks."""
    history = folder / "history.sqlite"
    looks = [look(day, targets) for day in range(days, -1, -1)]
    save(history, [record_of(own, "client1") for own in looks])
    terms = (SpaceTerms("fs"), SpaceTerms("home"))
    node = Expectations("client1", "lab", (), space=terms)
    return spaces_of(SitePlan({"client1": node}, ()), history, NOW + 60)


def test_the_fullest_targets_are_drawn_and_all_are_listed(tmp_path: Path) -> None:
    figure = space_figure(drawn(tmp_path))
    (plot,) = figure.plots
    assert plot.title == "targets of fs, the fullest 8 of 10"
    assert [trace["name"] for trace in plot.data][:2] == ["fs-OST0009", "fs-OST0008"]
    assert plot.data[0]["y"][-1] == 48.0
    assert len(plot.data[0]["x"]) == 13
    assert figure.table.headers == HEADERS
    assert [row.cells[0] for row in figure.table.rows][-2:] == ["fs-OST0009", "fs-OST00ff"]
    first, *others = figure.table.rows
    assert first.cells[:5] == ("fs-OST0000", "30 %", "1000.0 GB", "700.0 GB", "full in 70 d")
    assert first.anchor == "space-fs"
    assert {row.anchor for row in others} == {""}
    assert others[-1].cells[1:5] == ("not known", "", "", "it does not answer")
    assert figure.finding.startswith("UNKNOWN fs: its fill is not known")


def test_the_numbers_have_each_day_of_each_known_target(tmp_path: Path) -> None:
    header, *rows = space_figure(drawn(tmp_path, targets=2)).numbers
    assert header == ("file_system", "target", "at", "fill")
    assert len(rows) == 2 * 13
    assert rows[-1] == ("fs", "fs-OST0001", NOW, 0.32)


def test_without_space_the_figure_says_what_to_do() -> None:
    figure = space_figure([])
    assert (figure.plots, figure.table.rows) == ((), ())
    assert "write space: {} into the policy" in figure.absent


def test_a_failed_look_has_a_row_with_its_reason() -> None:
    sentence = "fs: could not be read: nothing is mounted at /fs"
    figure = space_figure([SystemCourse("fs", State.UNKNOWN, sentence, ())])
    (row,) = figure.table.rows
    assert (row.cells[1], row.anchor, len(row.cells)) == (sentence, "space-fs", len(HEADERS))
    assert (figure.plots, figure.absent) == ([], "no target could be read; the table says why")
