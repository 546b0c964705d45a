"""Tables are plain in files and pipes, and coloured on a terminal."""

from __future__ import annotations

import pytest

from plumbline.doors.table import render

HEADERS = ("state", "verdict")
ROWS = (("OK", "oss1 well"), ("CRITICAL", "oss2 slow"))
PLAIN = "state     verdict\nOK        oss1 well\nCRITICAL  oss2 slow"


def test_a_pipe_gets_aligned_columns() -> None:
    assert render(HEADERS, ROWS, terminal=False) == PLAIN
    assert render(HEADERS, ROWS) == PLAIN


def test_an_empty_table_has_headers() -> None:
    assert render(HEADERS, (), terminal=False) == "state  verdict"


def test_a_terminal_gets_coloured_states() -> None:
    pytest.importorskip("rich")
    output = render(HEADERS, ROWS, terminal=True)
    assert "oss2 slow" in output
    assert "\x1b[1;31mCRITICAL" in output
    assert not output.endswith("\n")


def test_brackets_in_a_message_are_plain_text() -> None:
    pytest.importorskip("rich")
    assert "[red]x[/red]" in render(("verdict",), (("[red]x[/red]",),), terminal=True)


@pytest.mark.parametrize("terminal", [True, False])
def test_control_characters_in_cells_are_neutralized(terminal: bool) -> None:
    pytest.importorskip("rich")
    output = render(("note",), (("\x1b]0;mine\x07\x1b[2J\r\x9b31m\udc80",),), terminal=terminal)
    mark = "\N{REPLACEMENT CHARACTER}"
    assert f"{mark}]0;mine{mark}{mark}[2J{mark}{mark}31m{mark}" in output
