"""One screen: the worst first, and bars that do not exaggerate."""

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
def test_bars_begin_at_zero(rates: list[float], bars: str) -> None:
    assert sparkline(rates) == bars


def test_only_the_latest_are_shown() -> None:
    assert sparkline([1.0] * 50 + [2.0], 3) == "▅▅█"


def test_what_was_lost_before_the_first_bar_is_seen() -> None:
    assert sparkline([200.0] * 9 + [100.0] * 3, 3) == "▅▅▅"


@pytest.mark.parametrize("columns", [60, 200])
def test_nodes_without_an_answer_stand_above_all_and_take_no_more_than_their_place(
    columns: int,
) -> None:
    silent = [
        Unanswered("oss1", 1795241041.0, None, "no route to host"),
        *(Unanswered(f"oss{n}", 1795241041.0, 1795154641.0, "timed\nout") for n in range(2, 9)),
    ]
    lines = [line(f"OST{number}") for number in range(20)]
    text = status("lab", lines, Screen(10, columns), silent).splitlines()
    said = "oss1 did not answer at 2026-11-21 06:04 UTC (never): no route to host"
    assert text[1] == (said if columns > 60 else f"{said[:57]}...")
    assert text[2].startswith("oss2 did not answer at 2026-11-21 06:04 UTC (last at ")
    assert columns == 60 or text[2].endswith(
        "2026-11-20 06:04 UTC): timed\N{REPLACEMENT CHARACTER}out"
    )
    assert text[4] == "and 5 more nodes did not answer"
    assert text[-1] == "and 14 more"
    assert len(text) == 1 + 4 + 1 + 6 + 1
    assert max(map(len, text)) <= columns


def test_the_worst_stand_first_and_the_rest_is_counted() -> None:
    lines = [line("a"), line("b", State.WARNING), line("c", State.CRITICAL), line("d")]
    text = status("lab", lines, Screen(2, 200)).splitlines()
    assert text[0] == "lab: 1 CRITICAL, 0 UNKNOWN, 1 WARNING, 2 OK"
    assert [row.split()[2] for row in text[2:4]] == ["c", "b"]
    assert text[4] == "and 2 more"


def test_what_is_watched_stands_before_what_is_fine() -> None:
    watched = Line(Verdict("ost", "b", State.OK, Reason.WATCHED, "b watching: read"), {})
    text = status("lab", [line("a"), watched], Screen(1, 200)).splitlines()
    assert text[2].split()[2] == "b"


def test_a_sentence_does_not_repeat_the_name() -> None:
    row = status("lab", [line("a")], WIDE).splitlines()[2]
    assert row.split() == ["OK", "ost", "a", "read", "██▅", "read", "200.0", "MB/s"]


@pytest.mark.parametrize("name", ["a", "very-long-" * 30, "<script>", "two\nlines\x1b[2J"])
@pytest.mark.parametrize("number", [6, 48, 336])
def test_a_terminal_holds_it_whatever_the_names(name: str, number: int) -> None:
    lines = [line(f"{name}{place}", words="slow " * 100) for place in range(number)]
    text = status("lab", lines, Screen(20, 80)).splitlines()
    # the counts, the head, what has place, and how many are left
    assert len(text) == (8 if number == 6 else 23)
    assert all(len(row) <= 80 and row.isprintable() for row in text)
    assert text[2].endswith("...")


def test_a_narrow_screen_has_the_bars_of_what_has_lost_most() -> None:
    rates = {"read": [2.0, 2.0], "write": [2.0, 1.0]}
    one = line("a")._replace(rates=rates)
    assert "  █▅  " in status("lab", [one], Screen(10, 80))
    assert "read ██  write █▅" in status("lab", [one], WIDE)


def test_a_state_has_its_colour_on_a_terminal_alone() -> None:
    sick = line("a", State.CRITICAL)
    assert "\x1b[1;31mCRITICAL\x1b[0m  ost" in status("lab", [sick], Screen(10, 80, colour=True))
    assert "\x1b" not in status("lab", [sick], Screen(10, 80))


def test_nothing_expected_is_said() -> None:
    assert "nothing is expected" in status("lab", [], WIDE)
