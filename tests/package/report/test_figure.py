"""Names reach a picture short and harmless, and numbers in words that can be read."""

from __future__ import annotations

from math import nan

import pytest

from plumbline.report.figure import counted, megabytes, percent, shown, unique


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
    assert (counted(1, "target"), counted(3, "target")) == ("1 target", "3 targets")
