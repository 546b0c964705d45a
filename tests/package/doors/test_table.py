"""Tables are plain where they are stored, and coloured where somebody looks."""

from __future__ import annotations

import pytest

from plumbline.doors.table import render

HEADERS = ("state", "verdict")
ROWS = (("OK", "oss1 well"), ("CRITICAL", "oss2 slow"))
PLAIN = "state     verdict\nOK        oss1 well\nCRITICAL  oss2 slow"


def test_a_pipe_gets_aligned_columns() -> None:
    assert render(HEADERS, ROWS, terminal=False) == PLAIN
    assert render(HEADERS, ROWS) == PLAIN


def test_a_table_without_rows_has_its_headers() -> None:
    assert render(HEADERS, (), terminal=False) == "state  verdict"


def test_a_terminal_gets_coloured_states() -> None:
    pytest.importorskip("rich")
    shown = render(HEADERS, ROWS, terminal=True)
    assert "oss2 slow" in shown
    assert "\x1b[1;31mCRITICAL" in shown
    assert not shown.endswith("\n")


def test_brackets_in_a_message_are_no_markup() -> None:
    pytest.importorskip("rich")
    assert "[red]x[/red]" in render(("verdict",), (("[red]x[/red]",),), terminal=True)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_obeys_no_cell(terminal: bool) -> None:
    pytest.importorskip("rich")
    shown = render(("note",), (("\x1b]0;mine\x07\x1b[2J\r\x9b31m\udc80",),), terminal=terminal)
    mark = "\N{REPLACEMENT CHARACTER}"
    assert f"{mark}]0;mine{mark}{mark}[2J{mark}{mark}31m{mark}" in shown
