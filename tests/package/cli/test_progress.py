"""Progress is a bar on a terminal and plain lines elsewhere, always on standard error."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from plumbline.cli.progress import describe, progress
from plumbline.measure.unit_context import Step
from plumbline.model.record import Operation, Scenario
from tests.package.measure.units import FakeClock
from tests.package.records import failed, record


@pytest.mark.parametrize(
    ("of", "line"),
    [
        (record(), "a read 200.0 MB/s"),
        (record(scenario=Scenario.TOGETHER), "a read together 200.0 MB/s"),
        (record(operation=Operation.SEND, partner="oss2"), "a send with oss2 200.0 MB/s"),
        (failed(), "a read failed: fio said no"),
    ],
)
def test_a_record_is_one_line(of: object, line: str) -> None:
    assert describe(of) == line  # type: ignore[arg-type]


def test_finished_measurements_are_printed_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress(quiet=False) as show:
        show(Step("a read", 1, 2))
        show(Step("a read", 2, 2, record()))
    assert capsys.readouterr() == ("", "a read 200.0 MB/s\n")


def test_the_time_left_is_printed_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    clock = FakeClock()
    with progress(quiet=False, clock=clock) as show:
        for done in range(1, 9):
            clock.sleep(6.0)
            show(Step("a read", done, 8, record()))
    notes = [line for line in capsys.readouterr().err.splitlines() if "left" in line]
    assert notes == [
        "25% measured, about 36 s left",
        "50% measured, about 24 s left",
        "75% measured, about 12 s left",
    ]


def test_quiet_prints_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(quiet=True) as show:
        show(Step("a read", 2, 2, failed()))
    assert capsys.readouterr() == ("", "")


BAR = """
from plumbline.cli.progress import progress
from plumbline.measure.unit_context import Step
from tests.package.records import record
with progress(quiet=False) as show:
    show(Step("a read", 1, 2))
    show(Step("a [bold] read", 2, 2, record()))
"""


def test_a_terminal_shows_a_bar_and_keeps_the_lines() -> None:
    pytest.importorskip("rich")
    main, terminal = pty.openpty()
    ended = subprocess.run(
        [sys.executable, "-c", BAR],
        stderr=terminal,
        stdout=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm", "PYTHONPATH": f"{Path('src').resolve()}:."},
        check=True,
    )
    os.close(terminal)
    output = ""
    # EIO at the end, because the other side is closed
    with suppress(OSError):
        while True:
            output += os.read(main, 65536).decode()
    os.close(main)
    assert ended.stdout == b""
    assert "a read 200.0 MB/s" in output
    assert "2/2" in output
    assert "[bold]" in output
