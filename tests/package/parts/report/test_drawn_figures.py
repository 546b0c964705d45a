"""All figures are valid for Plotly, with any data present or missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plotly.graph_objects import Figure as PlotlyFigure

from plumbline.model.space import SystemCourse, TargetCourse, TargetSpace
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State
from plumbline.parts.locate import contract
from plumbline.parts.report.figure import Figure
from plumbline.parts.report.page import Extras
from plumbline.parts.report.rounds import PartLoad, Round
from plumbline.parts.report.site import Site
from tests.package.parts.locate.scenes import LAB, both
from tests.package.parts.report.sites import draw, hostile, read, sick
from tests.package.parts.report.test_calls import profile
from tests.package.parts.report.years import Year

IDS = ["path", "targets", "heat-map", "change", "network", "rounds", "composite"]
IDS += ["calls", "suspects", "symptoms", "space"]
_FILLING = TargetCourse(TargetSpace("OST0"), (1e9, 1e9 + DAY_S), (0.5, 0.6), "", "")
SPACES = [SystemCourse("scratch", State.OK, "scratch: 60 % full", (_FILLING,))]
ROUNDS = [Round(1e9, "send", 2, 2, 2e9, 4e9, (PartLoad("s1", "switch", 2, 2e9, 4e9),))]
EMPTY = Site("nothing", 1e9, (), {}, {}, {}, ())


def extras() -> Extras:
    located = LAB.locate({"oss2-disk1": both(50e6)})
    suspects = contract.suspects(located, [None], [State.WARNING], LAB.plan.parts)
    return Extras(None, profile(10, 10, 25), suspects)


def assert_valid(figures: list[Figure]) -> None:
    for figure in figures:
        assert bool(figure.absent) is not bool(figure.plots)
        for plot in figure.plots:
            PlotlyFigure({"data": list(plot.data), "layout": plot.layout})
            json.dumps([plot.data, plot.layout], allow_nan=False)
        for row in figure.table.rows:
            assert len(row.cells) == len(figure.table.headers)
        assert len({len(row) for row in figure.numbers}) <= 1


@pytest.mark.slow
def test_a_complete_site_has_every_figure(site: Site) -> None:
    figures = draw(site._replace(spaces=SPACES, rounds=ROUNDS), extras())
    assert [figure.id for figure in figures] == IDS
    assert [figure.id for figure in figures if figure.absent] == []
    assert_valid(figures)


def test_an_empty_site_gives_a_reason_for_each_figure() -> None:
    figures = draw(EMPTY, Extras())
    assert [figure.id for figure in figures if figure.absent] == IDS
    assert_valid(figures)


@pytest.mark.parametrize("layer", ["ost", "raw", "net"])
def test_a_site_with_one_layer_is_drawn(layer: str, site: Site) -> None:
    entries = [entry for entry in site.expectations if entry.layer == layer]
    figures = draw(site._replace(expectations=entries), Extras())
    assert_valid(figures)
    assert not figures[2].absent


def test_a_site_with_one_target_and_one_run_is_drawn() -> None:
    site = sick(Year(1))
    entries = [entry for entry in site.expectations if entry.component == "scratch-OST0000"]
    figures = draw(site._replace(expectations=entries, pairs=()), Extras())
    assert_valid(figures)
    assert not figures[1].absent


def test_a_site_without_measurements_is_drawn(site: Site) -> None:
    site = site._replace(courses=(), pairs=(), run=None, verdicts={}, groups={})
    figures = draw(site, Extras())
    assert_valid(figures)
    assert [figure.id for figure in figures if not figure.absent] == ["path", "symptoms"]
    absent = "no value is known for raw read, raw read together, ost write, ost read"
    assert figures[1].absent == absent


def test_hostile_names_are_drawn(tmp_path: Path) -> None:
    figures = draw(read(*hostile(tmp_path)), Extras())
    assert_valid(figures)
    text = json.dumps([plot.data for figure in figures for plot in figure.plots])
    assert "&lt;script&gt;alert(1)" in text
    assert "<script" not in text
    assert "<img" not in text
