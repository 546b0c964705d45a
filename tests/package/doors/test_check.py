"""A check ends with UNKNOWN if reading its verdict hangs or fails."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.package.judgements import expectation, published, series, snapshot
from tests.processes import run_to_end
from tests.project.repository import ROOT

PROGRAM = """
import sys, time
from plumbline.doors import check, published_file
from plumbline.doors.call import Refusal

class Slow(Refusal):
    def __str__(self):
        time.sleep(60)

def load(*_):
    {body}

published_file.read = load
check.main("ost")
"""


LATE = (
    "not done within 0.2 s; see whether the disk that holds /var/lib/plumbline hangs or the "
    "machine is overloaded"
)


@pytest.mark.parametrize(
    ("limit_s", "body", "text"),
    [
        ("0.2", "time.sleep(60)", LATE),
        # an overloaded machine stops the check after it has found its answer
        ("0.2", "raise Slow", LATE),
        ("60", "raise Refusal('the tool | broke')", "the tool / broke"),
        (
            "60",
            "return 1 / 0",
            "internal error ZeroDivisionError: division by zero at <string>:11; please report it",
        ),
        (
            "60",
            "raise KeyboardInterrupt",
            "internal error KeyboardInterrupt:  at <string>:11; please report it",
        ),
    ],
)
def test_a_check_that_hangs_or_fails_is_unknown(
    tmp_path: Path, limit_s: str, body: str, text: str
) -> None:
    documents = published(tmp_path, [expectation()], snapshot(series()))
    arguments = ["--component", "scratch-OST0003", "-t", limit_s, *documents]
    start = time.monotonic()
    program = (sys.executable, "-c", PROGRAM.format(body=body))
    process = run_to_end(*program, *arguments, env={"PYTHONPATH": str(ROOT / "src")})
    assert (process.stdout, process.stderr) == (f"OST UNKNOWN - {text}\n", "")
    assert process.returncode == 3
    assert time.monotonic() - start < 30
