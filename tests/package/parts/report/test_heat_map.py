"""The heat map has a cell for each component and day, and the variation of each component."""

from __future__ import annotations

from datetime import datetime, timedelta
from statistics import mean, pstdev

import pytest

from plumbline.model.verdict import State
from plumbline.parts.report.figure import DAY_MS
from plumbline.parts.report.heat_map import MAX_ROWS, heat_map_figure
from plumbline.parts.report.site import Metric, Metrics, Site, find_metrics
from tests.package.parts.report.sites import days_of, sick
from tests.package.parts.report.years import Year
from tests.project.repository import ROOT


def test_a_cell_is_the_rate_of_the_day_in_percent_of_the_baseline(metrics: Metrics) -> None:
    plot = heat_map_figure(metrics).plots[0]
    cells = plot.data[0]["z"][2]
    assert plot.data[0]["y"][2] == "oss2-disk1"
    assert len(cells) == 40
    assert plot.data[0]["dx"] == DAY_MS
    assert cells[:35] == pytest.approx([100] * 35, abs=3)
    assert cells[35:] == pytest.approx([40] * 5, abs=2)


def test_without_a_baseline_a_cell_is_in_percent_of_the_median(site: Site) -> None:
    bare = [entry._replace(references={}) for entry in site.expectations]
    plot = heat_map_figure(find_metrics(site._replace(expectations=bare))).plots[0]
    assert plot.data[0]["z"][2][0] == pytest.approx(100, abs=3)


def test_the_variation_is_the_deviation_over_the_mean(metrics: Metrics) -> None:
    figure = heat_map_figure(metrics)
    rates = list(metrics[Metric("raw", "read", "single")][2].days.values())
    expected = 100 * pstdev(rates) / mean(rates)
    assert figure.plots[0].data[1]["x"][2] == pytest.approx(expected, abs=0.01)
    assert "the most unsteady, oss2-disk1" in figure.finding


def test_steady_components_have_short_bars() -> None:
    sick_raw, *_, steady = heat_map_figure(find_metrics(sick(Year(5)))).plots
    for plot in (sick_raw, steady):
        bars, end = plot.data[1]["x"], plot.layout["xaxis2"]["range"][1]
        assert max(bars) < end
        assert end >= 5.0


def test_days_without_a_rate_are_empty() -> None:
    plot = heat_map_figure(find_metrics(sick(Year(11, every=5)))).plots[0]
    assert [cell is None for cell in plot.data[0]["z"][0]] == [day % 5 != 0 for day in range(11)]


def test_one_day_is_not_drawn_and_has_no_variation() -> None:
    figure = heat_map_figure(find_metrics(sick(Year(1))))
    assert figure.finding == "One day alone: nothing varies yet."
    assert figure.absent == "one day shows no course; the first picture takes two"
    assert not figure.plots
    assert figure.table.rows


@pytest.mark.parametrize("days", [2, 5, 20])
def test_the_axis_has_complete_days_with_dates(
    days: int,
) -> None:
    plot = heat_map_figure(find_metrics(sick(Year(days)))).plots[0]
    axis = plot.layout["xaxis"]
    begin, end = map(datetime.fromisoformat, axis["range"])
    first = datetime.fromisoformat(plot.data[0]["x0"])
    assert (first - begin, end - begin) == (timedelta(hours=12), timedelta(days=days))
    assert axis["tickformat"] == "%Y-%m-%d"
    assert axis.get("dtick") == (DAY_MS if days <= 8 else None)


def test_the_csv_has_the_days_as_columns(metrics: Metrics) -> None:
    figure = heat_map_figure(metrics)
    head, first, *_ = figure.numbers
    assert len(head) == len(first) == 6 + 40
    assert head[-1] == "2026-09-21"
    # repeatable
    assert list(figure.numbers) == list(figure.numbers)


def test_only_the_most_important_of_too_many_rows_are_drawn(metrics: Metrics) -> None:
    raw = Metric("raw", "read", "single")
    bad, wild, *_ = members = metrics[raw]
    dull = [
        bad._replace(entry=bad.entry._replace(component=f"disk{number}"), state=State.OK)
        for number in range(MAX_ROWS)
    ]
    bad = bad._replace(state=State.CRITICAL)
    days = days_of({day: rate * (1 + day % 2) for day, rate in wild.days.items()})
    wild = wild._replace(state=State.OK, days=days)
    assert len(members) == 6
    figure = heat_map_figure({raw: [*dull, wild, bad]})
    (plot,) = figure.plots
    names = plot.data[0]["y"]
    assert len(names) == len(plot.data[0]["z"]) == len(plot.data[1]["x"]) == MAX_ROWS
    assert names[-2:] == [wild.name, bad.name]
    assert figure.table is not None
    assert len(figure.table.rows) == MAX_ROWS
    assert len(list(figure.numbers)) == 1 + MAX_ROWS + 2
    assert "the other 2 are in the CSV" in figure.finding


def test_the_documentation_has_the_limit_of_rows() -> None:
    assert f"has {MAX_ROWS:,} rows at most" in (ROOT / "docs/report.md").read_text("utf-8")
