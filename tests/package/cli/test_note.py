"""``plumbline note`` keeps what happened."""

from __future__ import annotations

from pathlib import Path

from tests.package.cli.driver import Run, call


def test_notes_are_kept_and_shown(tmp_path: Path, run: Run) -> None:
    history = ("--history", str(tmp_path / "history.sqlite"))
    assert call("note", "oss2:  new\ncontroller", "--at", "2026-11-02T14:00+00:00", *history) == 0
    assert run("note", "Lustre 2.15.8", *history).out == ""
    _, first, second = run("note", *history).out.splitlines()
    assert first == "2026-11-02 14:00:00Z  oss2: new controller"
    assert second.endswith("Lustre 2.15.8")
    assert [one["text"] for one in run("note", "--json", *history).document][1] == "Lustre 2.15.8"


def test_a_note_is_text_whatever_was_typed(tmp_path: Path, run: Run) -> None:
    history = ("--history", str(tmp_path / "history.sqlite"))
    (note,) = run("note", "new \udcff disk\x1b[2J", "--json", *history).document
    assert note["text"] == "new \N{REPLACEMENT CHARACTER} disk\N{REPLACEMENT CHARACTER}[2J"


def test_a_console_without_a_history_has_no_notes(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "history.sqlite"
    assert run("note", "--json", "--history", str(path)).document == []
    assert not path.exists()
