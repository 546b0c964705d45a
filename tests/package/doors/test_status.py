"""One screen of states: the worst first, with bars that start at zero."""

from __future__ import annotations

from math import nan

import pytest

from plumbline.doors.status import Screen, sparkline, status
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.site.verdicts import Line
from plumbline.store.collection import Unanswered

WIDE = Screen(10, 200)


def line(name: str, state: State = State.OK, words: str = "read 200.0 MB/s") -> Line:
    return Line(
        Verdict("ost", name, state, Reason.FINE, f"{name} {words}"), {"read": [1.0, 1.0, 0.5]}
    )


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
def test_bars_start_at_zero(rates: list[float], bars: str) -> None:
    assert sparkline(rates) == bars


def test_only_the_latest_rates_have_bars() -> None:
    assert sparkline([1.0] * 50 + [2.0], 3) == "▅▅█"


def test_bars_show_a_loss_from_before_the_first_bar() -> None:
    assert sparkline([200.0] * 9 + [100.0] * 3, 3) == "▅▅▅"


@pytest.mark.parametrize("columns", [60, 200])
def test_unreachable_nodes_come_first_on_a_limited_number_of_lines(
    columns: int,
) -> None:
    unanswered = [
        Unanswered("oss1", 1795241041.0, None, "no route to host"),
        *(Unanswered(f"oss{n}", 1795241041.0, 1795154641.0, "timed\nout") for n in range(2, 9)),
    ]
    lines = [line(f"OST{number}") for number in range(20)]
    text = status("lab", lines, Screen(10, columns), unanswered).splitlines()
    sentence = "oss1 did not answer at 2026-11-21 06:04 UTC (never): no route to host"
    assert text[1] == (sentence if columns > 60 else f"{sentence[:57]}...")
    assert text[2].startswith("oss2 did not answer at 2026-11-21 06:04 UTC (last at ")
    assert columns == 60 or text[2].endswith(
        "2026-11-20 06:04 UTC): timed\N{REPLACEMENT CHARACTER}out"
    )
    assert text[4] == "and 5 more nodes did not answer"
    assert text[-1] == "and 14 more"
    assert len(text) == 1 + 4 + 1 + 6 + 1
    assert max(map(len, text)) <= columns


def test_the_worst_come_first_and_the_rest_is_counted() -> None:
    lines = [line("a"), line("b", State.WARNING), line("c", State.CRITICAL), line("d")]
    text = status("lab", lines, Screen(2, 200)).splitlines()
    assert text[0] == "lab: 1 CRITICAL, 0 UNKNOWN, 1 WARNING, 2 OK"
    assert [row.split()[2] for row in text[2:4]] == ["c", "b"]
    assert text[4] == "and 2 more"


def test_watched_components_come_before_good_ones() -> None:
    watched = Line(Verdict("ost", "b", State.OK, Reason.WATCHED, "b watching: read"), {})
    text = status("lab", [line("a"), watched], Screen(1, 200)).splitlines()
    assert text[2].split()[2] == "b"


def test_a_sentence_does_not_repeat_the_name() -> None:
    row = status("lab", [line("a")], WIDE).splitlines()[2]
    assert row.split() == ["OK", "ost", "a", "read", "██▅", "read", "200.0", "MB/s"]


@pytest.mark.parametrize("name", ["a", "very-long-" * 30, "<script>", "two\nlines\x1b[2J"])
@pytest.mark.parametrize("number", [6, 48, 336])
def test_the_screen_fits_a_terminal_with_any_names(name: str, number: int) -> None:
    lines = [line(f"{name}{place}", words="slow " * 100) for place in range(number)]
    text = status("lab", lines, Screen(20, 80)).splitlines()
    # counts, header, rows that fit, number of the others
    assert len(text) == (8 if number == 6 else 23)
    assert all(len(row) <= 80 and row.isprintable() for row in text)
    assert text[2].endswith("...")


def test_a_narrow_screen_has_the_bars_of_the_largest_loss() -> None:
    rates = {"read": [2.0, 2.0], "write": [2.0, 1.0]}
    row = line("a")._replace(rates=rates)
    assert "  █▅  " in status("lab", [row], Screen(10, 80))
    assert "read ██  write █▅" in status("lab", [row], WIDE)


def test_states_are_coloured_only_on_a_terminal() -> None:
    sick = line("a", State.CRITICAL)
    assert "\x1b[1;31mCRITICAL\x1b[0m  ost" in status("lab", [sick], Screen(10, 80, colour=True))
    assert "\x1b" not in status("lab", [sick], Screen(10, 80))


def test_missing_expectations_are_reported() -> None:
    assert "nothing is expected" in status("lab", [], WIDE)
