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
from plumbline.model.record import Operation
from plumbline.model.series import Running
from plumbline.model.trend import NodeClock, Note
from plumbline.observe.jobs import DARSHAN, JobIo
from plumbline.store import job_traffic
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.collection import Unanswered, add_note, read_clocks, read_notes
from plumbline.store.database import Selection, deflate, inflate
from plumbline.store.history import History
from plumbline.store.job_traffic import JobTraffic
from plumbline.store.trends import Pictures
from tests.package.records import record

# --- A console keeps records and cursor together, each record once; clocks and notes beside them.


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
    collection.replace_running("oss1", [disk])
    collection.replace_running("client1", [target])
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


# --- The text of a record in few bytes comes back as it was, and damage is seen.


TEXT = json.dumps(record().to_json(), separators=(",", ":"))


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("")
@example(TEXT)
def test_text_comes_back_whether_it_was_deflated_or_not(text: str) -> None:
    assert inflate(deflate(text)) == text
    assert inflate(text) == text


def test_a_record_takes_a_third_of_its_bytes_at_most() -> None:
    assert len(deflate(TEXT)) < len(TEXT) / 3


def test_histories_that_earlier_versions_wrote_can_still_be_read() -> None:
    """Another dictionary would make all of them unreadable."""
    kept = "78f9bc46df9dc3cca879a9e54ab5005777071e"
    assert inflate(bytes.fromhex(kept)) == '{"schema":1,"id":"new"}'


@pytest.mark.parametrize("place", range(len(deflate(TEXT))))
def test_damage_is_seen(place: int) -> None:
    kept = deflate(TEXT)
    assert inflate(kept[:place]) == ""
    for bit in range(8):
        flipped = bytes([kept[place] ^ 1 << bit])
        assert inflate(kept[:place] + flipped + kept[place + 1 :]) in ("", TEXT)


@pytest.mark.parametrize(
    "kept", [b"", b"{}", zlib.compress(b"{}", 9)[:-1], zlib.compress(bytes(80 << 20))]
)
def test_what_is_no_record_is_empty(kept: bytes) -> None:
    assert inflate(kept) == ""


# --- What jobs have moved stays beside the records, bounded, and nothing of it is lost by damage.


def io(job: str, begin: float) -> JobIo:
    return JobIo(job, "OST0", Operation.WRITE, 5.0, begin, begin + 10, DARSHAN, 0.5, None)


def kept(path: Path) -> list[str]:
    with JobTraffic(path) as traffic:
        return [one.job for one in traffic.between(0.0, 1e12)]


@pytest.fixture
def traffic_path(tmp_path: Path) -> Path:
    path = tmp_path / "history.sqlite"
    with History(path) as kept_:
        kept_.save(record())
    return path


def test_traffic_comes_back_as_it_was_and_of_its_time_alone(traffic_path: Path) -> None:
    found = [io("7", 100.0), io("8", 200.0)]
    with JobTraffic(traffic_path) as traffic:
        assert list(traffic.between(0.0, 1e12)) == []
        traffic.keep(found, 300.0)
        assert list(traffic.between(0.0, 1e12)) == found
        assert list(traffic.between(150.0, 300.0)) == found[1:]
    with History(traffic_path) as records:
        assert len(list(records.records(Selection()))) == 1


def test_what_is_too_old_or_too_much_is_forgotten(
    traffic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_traffic, "MOST_ROWS", 2)
    now = 100 * DAY_S
    found = [io(str(day), day * DAY_S) for day in (1, 96, 97, 98)]
    with JobTraffic(traffic_path) as traffic:
        traffic.keep(found, now)
    assert sorted(kept(traffic_path)) == ["97", "98"]


def test_damaged_traffic_is_named_with_the_remedy(traffic_path: Path) -> None:
    with JobTraffic(traffic_path) as traffic:
        traffic.keep([io("7", 100.0)], 300.0)
        traffic.change("UPDATE job_traffic SET operation = 'x'")
    with pytest.raises(DocumentError, match="read the logs again"):
        kept(traffic_path)
