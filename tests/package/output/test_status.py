"""One screen: the worst first, and bars that do not exaggerate."""

from __future__ import annotations

from math import nan

import pytest

from plumbline.model.state import State
from plumbline.model.verdict import Verdict
from plumbline.output.status import Line, Screen, sparkline, status

WIDE = Screen(10, 200)


def line(name: str, state: State = State.OK, words: str = "read 200.0 MB/s") -> Line:
    return Line(Verdict("ost", name, state, 7, f"{name} {words}"), {"read": [1.0, 1.0, 0.5]})


@pytest.mark.parametrize(
    ("rates", "bars"),
    [
        ([], ""),
        ([100.0, 99.0, 101.0], "███"),
        ([200.0, 100.0], "█▅"),
        ([200.0, nan, 1.0], "█·▁"),
        ([nan], "·"),
    ],
)
def test_bars_begin_at_zero(rates: list[float], bars: str) -> None:
    assert sparkline(rates) == bars


def test_only_the_latest_are_shown() -> None:
    assert sparkline([1.0] * 50 + [2.0], 3) == "▅▅█"


def test_the_worst_stand_first_and_the_rest_is_counted() -> None:
    lines = [line("a"), line("b", State.WARNING), line("c", State.CRITICAL), line("d")]
    text = status("lab", lines, Screen(2, 200)).splitlines()
    assert text[0] == "lab: 1 CRITICAL, 0 UNKNOWN, 1 WARNING, 2 OK"
    assert [row.split()[2] for row in text[2:4]] == ["c", "b"]
    assert text[4] == "and 2 more"


def test_a_sentence_does_not_repeat_the_name() -> None:
    row = status("lab", [line("a")], WIDE).splitlines()[2]
    assert row.split() == ["OK", "ost", "a", "read", "██▅", "read", "200.0", "MB/s"]


def test_a_line_ends_where_the_screen_ends() -> None:
    text = status("lab", [line("a", words="slow " * 100)], Screen(10, 80))
    assert [len(row) for row in text.splitlines()][2] <= 80
    assert text.endswith("...")


def test_nothing_expected_is_said() -> None:
    assert "nothing is expected" in status("lab", [], WIDE)
