"""The history of a console: answers of nodes, deflated records, traffic of jobs."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.exchange import Cursor
from plumbline.model.series import Running
from plumbline.model.trend import NodeClock, Note
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.collection import Unanswered, add_note, read_clocks, read_notes
from plumbline.store.database import Selection, deflate, inflate, read_record
from plumbline.store.history import History
from plumbline.store.trends import Pictures
from tests.package.records import record

# --- A console keeps each record once, together with the cursor; also clocks and notes.


NOW = 1795241041.0
DAY_S = 86400.0


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with Collection(tmp_path / "history.sqlite") as opened:
        yield opened


def ids(folder: Path) -> list[str]:
    with History(folder / "history.sqlite") as history:
        return [kept.id for kept in history.records(Selection())]


def unanswered(folder: Path) -> tuple[Unanswered, ...]:
    with Pictures(folder / "history.sqlite", 0.0) as history:
        return history.unanswered()


def test_a_record_with_a_known_id_is_not_kept_twice(tmp_path: Path, collection: Collection) -> None:
    first, second, third = (record(id=name) for name in "abc")
    assert collection.keep("oss1", [first, second], Cursor(2, "b"), NOW) == 2
    assert collection.keep("oss1", [second, third], Cursor(3, "c"), NOW) == 1
    assert ids(tmp_path) == ["a", "b", "c"]
    assert collection.cursor("oss1") == Cursor(3, "c")
    assert collection.cursor("oss2") == Cursor()


def test_a_console_compresses_records_and_reads_those_of_earlier_versions(
    tmp_path: Path, collection: Collection
) -> None:
    with History(tmp_path / "history.sqlite") as history:
        history.save(record(id="a", component="a"))
        history.save(record(id="b", component="a", retransmits=7))
        collection.keep("oss1", [record(id="c", component="a")], Cursor(1, "c"), NOW)
        assert [kept.id for kept in history.records(Selection())] == ["a", "b", "c"]
        ((key, body),) = history.series("ost", "a").items()
        assert read_record(body, history.path) == record(id="c", component="a")
        retransmits = [document["retransmits"] for document in history.documents(key, 9)]
        assert retransmits == [None, 7, None]
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
    ("message", "reason"),
    [
        ("database or disk is full", "no space is left on"),
        # SQLite's message also if a full disk has no room for its index
        ("disk I/O error", "is full, or cannot be read or written; free some space"),
        ("attempt to write a readonly database", "why .* is mounted read-only"),
    ],
)
def test_the_cursor_stays_if_a_record_cannot_be_kept(
    tmp_path: Path, collection: Collection, message: str, reason: str
) -> None:
    collection.keep("oss1", [record(id="a")], Cursor(1, "a"), NOW)
    collection.change(
        "CREATE TRIGGER full BEFORE INSERT ON records WHEN NEW.id = 'c' "
        f"BEGIN SELECT raise(ABORT, '{message}'); END"
    )
    with pytest.raises(StoreError, match=reason):
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


def test_running_measurements_of_nodes_are_independent(
    tmp_path: Path, collection: Collection
) -> None:
    disk, target = Running("raw", "disk", NOW), Running("ost", "OST0", NOW)
    collection.replace_running("oss1", [disk])
    collection.replace_running("client1", [target])
    collection.failed("oss1", "no route", NOW)
    with History(tmp_path / "history.sqlite") as history:
        assert history.running() == (target,)


def test_old_records_are_dropped_once_a_day(collection: Collection) -> None:
    assert collection.prune_is_due(NOW)
    assert not collection.prune_is_due(NOW + 600)
    assert collection.prune_is_due(NOW + DAY_S)
    # also after the clock was stepped back
    assert collection.prune_is_due(NOW - 900 * DAY_S)


def test_the_latest_offset_of_a_clock_is_kept(collection: Collection) -> None:
    first, second = NodeClock("oss2", 1000.0, 0.1, 0.2), NodeClock("oss1", 2000.0, 0.25, 0.1)
    for clock in (NodeClock("oss1", 1000.0, -3.0, 0.5), first, second):
        collection.clock(clock)
    assert set(read_clocks(collection)) == {first, second}


def test_notes_are_read_in_the_order_of_their_dates(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    add_note(path, Note(2000.0, "Lustre 2.15.8"))
    add_note(path, Note(1000.0, "new disks"))
    assert read_notes(path) == (Note(1000.0, "new disks"), Note(2000.0, "Lustre 2.15.8"))


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


# --- Deflated text of a record is read back unchanged, and damage is detected.


TEXT = json.dumps(record().to_json(), separators=(",", ":"))


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("")
@example(TEXT)
def test_deflated_and_plain_text_are_both_read(text: str) -> None:
    assert inflate(deflate(text)) == text
    assert inflate(text) == text


def test_a_deflated_record_has_at_most_a_third_of_its_bytes() -> None:
    assert len(deflate(TEXT)) < len(TEXT) / 3


def test_histories_of_earlier_versions_can_be_read() -> None:
    """Another compression dictionary would make all of them unreadable."""
    deflated = "78f9bc46df9dc3cca879a9e54ab5005777071e"
    assert inflate(bytes.fromhex(deflated)) == '{"schema":1,"id":"new"}'


@pytest.mark.parametrize("place", range(len(deflate(TEXT))))
def test_damaged_text_is_detected(place: int) -> None:
    deflated = deflate(TEXT)
    assert inflate(deflated[:place]) == ""
    for bit in range(8):
        flipped = bytes([deflated[place] ^ 1 << bit])
        assert inflate(deflated[:place] + flipped + deflated[place + 1 :]) in ("", TEXT)


def test_anything_but_a_record_inflates_to_empty_text() -> None:
    bomb = zlib.compress(bytes(80 << 20))
    for content in (b"", b"{}", zlib.compress(b"{}", 9)[:-1], bomb):
        assert inflate(content) == ""
