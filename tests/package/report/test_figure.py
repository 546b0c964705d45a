"""Names reach a picture short and harmless, and numbers in words that can be read."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest

from plumbline.report.figure import (
    Figure,
    Plot,
    day_axis,
    megabytes,
    percent,
    shown,
    unique,
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("scratch-OST0003", "scratch-OST0003"),
        ("<script>", "&lt;script&gt;"),
        ("a&lt;b", "a&amp;lt;b"),
        ("two\nlines", "two\N{REPLACEMENT CHARACTER}lines"),
    ],
)
def test_a_name_is_shown_as_text(name: str, text: str) -> None:
    assert shown(name) == text


def test_a_long_name_keeps_both_ends() -> None:
    text = shown("a" * 100 + "z" * 100)
    assert len(text) == 44
    assert (text[0], text[-1]) == ("a", "z")


def test_names_that_would_read_the_same_are_numbered() -> None:
    long = "x" * 100
    assert len(set(unique([long + "y" + long, long + "z" + long, "a"]))) == 3


def test_what_is_no_rate_is_not_drawn() -> None:
    assert megabytes(None) is None
    assert megabytes(nan) is None
    assert megabytes(80.3456e6) == 80.346


def test_numbers_are_said_in_words() -> None:
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
def test_a_picture_without_a_value_is_a_sentence(trace: dict[str, Any], empty: bool) -> None:
    plots = [Plot("links", [trace], {}), Plot("disks", [{"x": [1], "y": [1.0]}], {})]
    figure = Figure("some", "Some", "About", plots=plots).without_empty_plots()
    assert [plot.title for plot in figure.plots] == (["disks"] if empty else ["links", "disks"])
    assert figure.absent == ("no value is known for links" if empty else "")


def test_a_picture_without_a_trace_is_empty() -> None:
    assert Plot("links", [], {}).empty


def test_an_axis_of_days_spans_one_at_least() -> None:
    assert day_axis(0.0, 0.0)["range"] == ["1970-01-01 00:00:00", "1970-01-02 00:00:00"]
