"""The numbers of figures as CSV: made as they are written, and no cell is a formula."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from plumbline.report.figure import Cell, Figure, numbers
from plumbline.report.page import Extras
from tests.package.report.sites import draw, hostile, read


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
def test_what_a_spreadsheet_would_calculate_is_text(name: str) -> None:
    rows: list[tuple[Cell, Cell]] = [("component", "rate"), (name, -1.0)]
    ((file, lines),) = numbers([Figure("targets", "All targets", "", numbers=rows)])
    assert file == "data/targets.csv"
    # a number stays a number
    assert list(csv.reader(lines))[1] == [f"'{name}", "-1.0"]


def test_a_figure_without_numbers_has_no_file() -> None:
    assert list(numbers([Figure("targets", "All targets", "", absent="no target")])) == []
