"""``plumbline note`` keeps what happened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.package.cli.driver import call


def test_notes_are_kept_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = ("--history", str(tmp_path / "history.sqlite"))
    assert call("note", "oss2:  new\ncontroller", "--at", "2026-11-02T14:00+00:00", *history) == 0
    assert call("note", "Lustre 2.15.8", *history) == 0
    assert capsys.readouterr().out == ""
    assert call("note", *history) == 0
    _, first, second = capsys.readouterr().out.splitlines()
    assert first == "2026-11-02 14:00:00Z  oss2: new controller"
    assert second.endswith("Lustre 2.15.8")
    assert call("note", "--json", *history) == 0
    assert [one["text"] for one in json.loads(capsys.readouterr().out)][1] == "Lustre 2.15.8"


def test_a_note_is_text_whatever_was_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = ("--history", str(tmp_path / "history.sqlite"))
    assert call("note", "new \udcff disk\x1b[2J", "--json", *history) == 0
    (note,) = json.loads(capsys.readouterr().out)
    assert note["text"] == "new \N{REPLACEMENT CHARACTER} disk\N{REPLACEMENT CHARACTER}[2J"


def test_a_console_without_a_history_has_no_notes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.sqlite"
    assert call("note", "--json", "--history", str(path)) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert not path.exists()
