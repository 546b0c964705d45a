"""Labels of figures are short, escaped and do not overlap; CSV files contain no formulas."""

from __future__ import annotations

import csv
from math import nan
from pathlib import Path
from typing import Any

import pytest

from plumbline.parts.report.figure import (
    Cell,
    Figure,
    NamedPoint,
    Plot,
    day_axis,
    labels,
    megabytes,
    numbers,
    percent,
    shown,
    unique,
)
from plumbline.parts.report.page import Extras
from tests.package.parts.report.sites import draw, hostile, read


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("scratch-OST0003", "scratch-OST0003"),
        ("<script>", "&lt;script&gt;"),
        ("a&lt;b", "a&amp;lt;b"),
        ("two\nlines", "two\N{REPLACEMENT CHARACTER}lines"),
    ],
)
def test_markup_in_a_name_is_escaped(name: str, text: str) -> None:
    assert shown(name) == text


def test_a_long_name_keeps_both_ends() -> None:
    text = shown("a" * 100 + "z" * 100)
    assert len(text) == 44
    assert (text[0], text[-1]) == ("a", "z")


def test_names_equal_after_shortening_are_numbered() -> None:
    long = "x" * 100
    assert len(set(unique([long + "y" + long, long + "z" + long, "a"]))) == 3


def test_missing_rates_are_not_drawn() -> None:
    assert megabytes(None) is None
    assert megabytes(nan) is None
    assert megabytes(80.3456e6) == 80.346


def test_percentages_are_rounded() -> None:
    assert (percent(0.402), percent(None)) == ("40 %", "")


@pytest.mark.parametrize(
    ("trace", "empty"),
    [
        ({"x": [1, 2], "y": [None, 3.0]}, False),
        ({"x": [1, 2], "y": [None, None]}, True),
        ({"x": [1], "y": [9.0], "hoverinfo": "skip"}, True),
        ({"orientation": "h", "x": [None], "y": ["name"]}, True),
        ({"orientation": "h", "x": [0.0], "y": ["name"]}, False),
        ({"z": [[None, 1], [None, None]], "y": ["a", "b"]}, False),
        ({"z": [[None], [None]], "y": ["a", "b"]}, True),
    ],
)
def test_a_picture_without_values_is_replaced_by_a_sentence(
    trace: dict[str, Any], empty: bool
) -> None:
    plots = [Plot("links", [trace], {}), Plot("disks", [{"x": [1], "y": [1.0]}], {})]
    figure = Figure("some", "Some", "About", plots=plots).without_empty_plots()
    assert [plot.title for plot in figure.plots] == (["disks"] if empty else ["links", "disks"])
    assert figure.absent == ("no value is known for links" if empty else "")


def test_a_picture_without_a_trace_is_empty() -> None:
    assert Plot("links", [], {}).empty


def test_an_axis_of_days_spans_at_least_one_day() -> None:
    assert day_axis(0.0, 0.0)["range"] == ["1970-01-01 00:00:00", "1970-01-02 00:00:00"]


# --- Names in a picture: the first have priority, and none overlap.


def named(*places: int, height: float = 10.0, name: str = "scratch-OST0000") -> list[NamedPoint]:
    return [NamedPoint(place, height, name) for place in places]


def test_only_the_first_of_close_neighbours_is_named() -> None:
    assert [label["x"] for label in labels(named(4, 3, 5), 336, 100.0)] == [4]


def test_close_names_have_different_heights() -> None:
    # 15 letters are 112 pixels wide, each of the 40 places 15 pixels
    placed = list(labels(named(20, 25), 40, 100.0))
    assert [label["x"] for label in placed] == [20, 25]
    assert abs(placed[0]["ay"]) < abs(placed[1]["ay"])


def test_names_overlap_neither_names_nor_lines() -> None:
    placed = list(labels(named(*range(5, 35)), 40, 100.0))
    assert len(placed) >= 5
    for label in placed:
        for other in placed:
            apart = 15 * abs(label["x"] - other["x"])
            if other["ay"] == label["ay"]:
                assert apart == 0 or apart > 55
            else:
                assert apart > 55


def test_distant_points_are_all_named() -> None:
    assert [label["x"] for label in labels(named(5, 160, 330), 336, 100.0)] == [5, 160, 330]


def test_names_at_the_edges_stay_within_the_picture() -> None:
    placed = labels(named(0, 160, 335), 336, 100.0)
    assert [label["xanchor"] for label in placed] == ["left", "center", "right"]


def test_a_name_is_below_a_high_point_and_above_a_low_one() -> None:
    (high,) = labels(named(1, height=95.0), 6, 100.0)
    (low,) = labels(named(1, height=5.0), 6, 100.0)
    assert high["ay"] > 0 > low["ay"]


def test_a_long_name_is_shortened_and_escaped() -> None:
    (label,) = labels(named(1, name="<b>" + 100 * "x"), 6, 0.0)
    assert label["text"].startswith("&lt;b&gt;xxx")
    assert len(label["text"]) < 60


# --- The numbers of figures as CSV, without formulas.


def test_no_cell_of_a_csv_is_a_formula(tmp_path: Path) -> None:
    site = read(*hostile(tmp_path))
    cells = [
        cell
        for _, lines in numbers(draw(site, Extras()))
        for row in csv.reader(lines)
        for cell in row
    ]
    assert [cell for cell in cells if cell.startswith(("=", "@"))] == []
    assert any(cell.startswith("'=cmd()") for cell in cells)


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_formulas_are_quoted_as_text(name: str) -> None:
    rows: list[tuple[Cell, Cell]] = [("component", "rate"), (name, -1.0)]
    ((file, lines),) = numbers([Figure("targets", "All targets", "", numbers=rows)])
    assert file == "data/targets.csv"
    # numbers are not quoted
    assert list(csv.reader(lines))[1] == [f"'{name}", "-1.0"]


def test_a_figure_without_numbers_has_no_file() -> None:
    assert list(numbers([Figure("targets", "All targets", "", absent="no target")])) == []
