"""A console keeps records and cursor together, each record once; clocks and notes beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import pytest

from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.exchange import Cursor
from plumbline.model.series import Running
from plumbline.model.trend import NodeClock, Note
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.collection import Unanswered, add_note, read_clocks, read_notes
from plumbline.store.database import Selection
from plumbline.store.history import History
from plumbline.store.trends import Pictures
from tests.package.records import record

NOW = 1795241041.0
DAY_S = 86400.0


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with Collection(tmp_path / "history.sqlite") as opened:
        yield opened


def ids(folder: Path) -> list[str]:
    with History(folder / "history.sqlite") as history:
        return [one.id for one in history.records(Selection())]


def unanswered(folder: Path) -> tuple[Unanswered, ...]:
    with Pictures(folder / "history.sqlite", 0.0) as history:
        return history.unanswered()


def test_what_is_there_by_its_id_is_not_kept_twice(tmp_path: Path, collection: Collection) -> None:
    first, second, third = (record(id=name) for name in "abc")
    assert collection.keep("oss1", [first, second], Cursor(2, "b"), NOW) == 2
    assert collection.keep("oss1", [second, third], Cursor(3, "c"), NOW) == 1
    assert ids(tmp_path) == ["a", "b", "c"]
    assert collection.cursor("oss1") == Cursor(3, "c")
    assert collection.cursor("oss2") == Cursor()


def test_a_console_keeps_records_in_few_bytes_and_reads_those_of_earlier_versions(
    tmp_path: Path, collection: Collection
) -> None:
    with History(tmp_path / "history.sqlite") as history:
        history.save(record(id="a", component="a"))
        history.save(record(id="b", component="a", retransmits=7))
        collection.keep("oss1", [record(id="c", component="a")], Cursor(1, "c"), NOW)
        assert [one.id for one in history.records(Selection())] == ["a", "b", "c"]
        (key,) = history.series("ost", "a")
        assert history.latest(key) == record(id="c", component="a")
        said = [one["retransmits"] for one in history.documents(key, 9)]
        assert said == [None, 7, None]
    sizes = [size for (size,) in collection.table("SELECT length(body) FROM records")]
    assert sizes[2] < sizes[0] / 2


def test_a_damaged_record_of_a_console_is_a_sentence(
    tmp_path: Path, collection: Collection
) -> None:
    collection.keep("oss1", [record(id="a")], Cursor(1, "a"), NOW)
    collection.change("UPDATE records SET body = substr(body, 1, 100)")
    with pytest.raises(DocumentError, match="holds a damaged record: "):
        ids(tmp_path)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("database or disk is full", "no space is left on"),
        # what SQLite says too where a full disk has no room for its index
        ("disk I/O error", "is full, or cannot be read or written; free some space"),
        ("attempt to write a readonly database", "why .* is mounted read-only"),
    ],
)
def test_when_a_record_cannot_be_kept_neither_is_the_cursor(
    tmp_path: Path, collection: Collection, message: str, said: str
) -> None:
    collection.keep("oss1", [record(id="a")], Cursor(1, "a"), NOW)
    collection.change(
        "CREATE TRIGGER full BEFORE INSERT ON records WHEN NEW.id = 'c' "
        f"BEGIN SELECT raise(ABORT, '{message}'); END"
    )
    with pytest.raises(StoreError, match=said):
        collection.keep("oss1", [record(id="b"), record(id="c")], Cursor(3, "c"), NOW)
    assert ids(tmp_path) == ["a"]
    assert collection.cursor("oss1") == Cursor(1, "a")
    assert collection.keep("oss1", [record(id="b")], Cursor(2, "b"), NOW) == 1


def test_a_node_that_failed_keeps_its_cursor_and_the_time_of_its_last_answer(
    tmp_path: Path, collection: Collection
) -> None:
    collection.keep("oss1", [record(id="a")], Cursor(1, "a"), NOW)
    collection.failed("oss1", "no route", NOW + 60)
    collection.failed("oss2", "no route", NOW + 60)
    first = Unanswered("oss1", NOW + 60, NOW, "no route")
    never = Unanswered("oss2", NOW + 60, None, "no route")
    assert unanswered(tmp_path) == (first, never)
    assert (collection.cursor("oss1"), collection.cursor("oss2")) == (Cursor(1, "a"), Cursor())
    collection.keep("oss1", [], Cursor(1, "a"), NOW + 120)
    assert unanswered(tmp_path) == (never,)


def test_in_the_history_of_a_node_nobody_is_asked(tmp_path: Path) -> None:
    with History(tmp_path / "history.sqlite"):
        assert unanswered(tmp_path) == ()


def test_what_one_node_measures_does_not_touch_what_another_does(
    tmp_path: Path, collection: Collection
) -> None:
    disk, target = Running("raw", "disk", NOW), Running("ost", "OST0", NOW)
    collection.running("oss1", [disk])
    collection.running("client1", [target])
    collection.failed("oss1", "no route", NOW)
    with History(tmp_path / "history.sqlite") as history:
        assert history.running() == (target,)


def test_old_records_are_dropped_once_a_day(collection: Collection) -> None:
    assert collection.prune_is_due(NOW)
    assert not collection.prune_is_due(NOW + 600)
    assert collection.prune_is_due(NOW + DAY_S)
    # a clock that was stepped back does not keep it from ever being done
    assert collection.prune_is_due(NOW - 900 * DAY_S)


def test_the_latest_look_at_a_clock_is_kept(collection: Collection) -> None:
    first, second = NodeClock("oss2", 1000.0, 0.1, 0.2), NodeClock("oss1", 2000.0, 0.25, 0.1)
    for clock in (NodeClock("oss1", 1000.0, -3.0, 0.5), first, second):
        collection.clock(clock)
    assert set(read_clocks(collection)) == {first, second}


def test_a_history_that_was_never_collected_knows_of_no_clocks(history: History) -> None:
    assert read_clocks(history) == ()


def test_notes_come_back_by_their_dates(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    add_note(path, Note(2000.0, "Lustre 2.15.8"))
    add_note(path, Note(1000.0, "new disks"))
    assert read_notes(path) == (Note(1000.0, "new disks"), Note(2000.0, "Lustre 2.15.8"))


def test_a_history_without_notes_has_none(history: History) -> None:
    history.save(record())
    assert read_notes(history.path) == ()


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
