"""``plumbline status`` on a node, from its snapshot; of a site see test_report."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest

from tests.package.cli.driver import Run, call
from tests.package.cli.test_judge import EXPECTED, NOTHING, Known, measured, slow
from tests.package.judgements import evidence, snapshot, write


def documents(folder: Path, slow_Bps: float, known: Known = NOTHING) -> list[str]:
    """Write what a node expects and has measured; return the options that name it."""
    taken = snapshot(*measured(slow_Bps), now=time.time(), known=known)
    return list(write(folder, EXPECTED, taken))


def test_a_node_shows_the_worst_first_and_ends_with_it(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    head, _, first, *rest = run(
        "status", *documents(tmp_path, 80e6, slow()), code=2
    ).out.splitlines()
    assert head.endswith(": 1 CRITICAL, 0 UNKNOWN, 0 WARNING, 2 OK")
    assert first.split()[:4] == ["CRITICAL", "ost", "OST1", "read"]
    assert "80.0 MB/s, 40 % of baseline" in first
    assert len(rest) == 2


def test_what_a_group_has_lost_as_one_is_shown_and_ends_it(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    known = {("ost", "scratch", True): evidence()}
    head, _, first, *rest = run(
        "status", *documents(tmp_path, 200e6, known), code=2
    ).out.splitlines()
    assert head.endswith(": 1 CRITICAL, 0 UNKNOWN, 0 WARNING, 3 OK")
    assert first.split()[:6] == ["CRITICAL", "ost", "group", "scratch", "read", "40"]
    assert [row.split()[2] for row in rest] == ["OST0", "OST1", "oss3"]
    found = run("status", "--json", *documents(tmp_path, 200e6, known), code=None).document[
        "components"
    ]
    assert [one["group"] for one in found] == [False, False, False, True]


def test_a_small_screen_is_not_filled_over(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "5")
    lines = run("status", *documents(tmp_path, 80e6), code=None).out.splitlines()
    assert [len(line) <= 80 for line in lines] == [True] * len(lines)
    assert lines[-1] == "and 2 more"
    assert len(run("status", "--all", *documents(tmp_path, 80e6), code=None).out.splitlines()) == 5


def test_a_node_tells_programs_its_rates(tmp_path: Path, run: Run) -> None:
    said = run("status", "--json", *documents(tmp_path, 200e6)).document
    assert [one["component"] for one in said["components"]] == ["OST0", "OST1", "oss3"]
    assert said["components"][0]["rates"]["read"][-1] == 200e6


def test_a_terminal_without_bars_has_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    latin = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr("sys.stdout", latin)
    assert call("status", *documents(tmp_path, 80e6, slow())) == 2
    latin.seek(0)
    first = latin.read().splitlines()[2]
    assert first.split()[3].isdigit()
