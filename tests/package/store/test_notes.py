"""Notes are kept beside the records, and a history without any has none."""

from __future__ import annotations

from pathlib import Path

from plumbline.model.trend import Note
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.collection import add_note, read_notes
from plumbline.store.history import History, Selection
from tests.package.records import record


def test_notes_come_back_by_their_dates(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    add_note(path, Note(2000.0, "Lustre 2.15.8"))
    add_note(path, Note(1000.0, "new disks"))
    assert read_notes(path) == (Note(1000.0, "new disks"), Note(2000.0, "Lustre 2.15.8"))


def test_a_history_without_notes_has_none(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with History(path) as history:
        history.save(record())
    assert read_notes(path) == ()


def test_a_note_disturbs_neither_records_nor_a_collection(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with Collection(path) as collection:
        add_note(path, Note(1.0, "first"))
        collection.failed("oss1", "no answer", 5.0)
    with History(path) as history:
        history.save(record())
        add_note(path, Note(2.0, "second"))
        assert len(list(history.records(Selection()))) == 1
        history.prune(1e12)
    assert len(read_notes(path)) == 2
