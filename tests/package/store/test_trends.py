"""A history read at once: courses, pairs and the latest run."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation, Record
from plumbline.model.trend import NodeClock
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.database import Store
from plumbline.store.history import History
from plumbline.store.trends import Pictures
from tests.package.records import failed, record

NET = {"layer": "net", "component": "oss1", "partner": "oss2", "operation": Operation.SEND}


def history(folder: Path, *records: Record) -> Path:
    path = folder / "history.sqlite"
    with History(path) as opened:
        for one in records:
            opened.save(one)
    return path


def test_a_course_is_a_series_in_the_order_of_arrival(tmp_path: Path) -> None:
    path = history(
        tmp_path,
        record(started_at=2000.0, rate=2e8),
        record(component="b"),
        failed(started_at=1500.0),
        record(started_at=3000.0, rate=3e8),
    )
    with Pictures(path, 0.0) as pictures:
        first, second = pictures.courses()
    assert first[:5] == ("ost", "a", "read", "single", "")
    assert list(first.times) == [2000.0, 1500.0, 3000.0]
    assert (first.rates[0], first.rates[2]) == (2e8, 3e8)
    assert isnan(first.rates[1])
    assert second.component == "b"


def test_what_is_older_is_left_out(tmp_path: Path) -> None:
    path = history(tmp_path, record(started_at=1000.0), record(started_at=2000.0))
    with Pictures(path, 1500.0) as pictures:
        (course,) = pictures.courses()
    assert list(course.times) == [2000.0]


def test_a_pair_has_its_latest_test_in_each_direction(tmp_path: Path) -> None:
    path = history(
        tmp_path,
        record(**NET, rate=1e8, retransmits=5, started_at=1000.0),
        record(**NET, rate=9e7, retransmits=7, started_at=2000.0),
        record(**{**NET, "operation": Operation.RECEIVE}),
        record(**{**NET, "partner": "oss3"}),
    )
    with Pictures(path, 0.0) as pictures:
        found = {(one.partner, one.operation): one for one in pictures.pairs()}
    assert set(found) == {("oss2", "send"), ("oss2", "receive"), ("oss3", "send")}
    latest = found["oss2", "send"]
    assert (latest.rate, latest.retransmits, latest.started_at) == (9e7, 7, 2000.0)
    assert found["oss3", "send"].retransmits is None


def test_the_latest_run_is_that_of_the_first_layer_that_has_one(tmp_path: Path) -> None:
    path = history(
        tmp_path,
        record(run_id="old"),
        record(run_id="new", component="a"),
        record(run_id="new", component="b"),
        record(run_id="disks", layer="raw"),
        failed(run_id="broken"),
    )
    with Pictures(path, 0.0) as pictures:
        run = pictures.latest_run(("fs", "ost", "raw"))
        assert pictures.latest_run(("fs",)) is None
    assert run is not None
    assert (run.layer, run.run_id) == ("ost", "new")
    assert [one.component for one in run.records] == ["a", "b"]


def test_an_empty_history_has_nothing(tmp_path: Path) -> None:
    with Pictures(history(tmp_path), 0.0) as pictures:
        assert (pictures.courses(), pictures.pairs()) == ((), ())
        assert pictures.latest_run(("ost",)) is None


def test_a_damaged_record_is_named_with_the_remedy(tmp_path: Path) -> None:
    path = history(tmp_path, record())
    with Store(path) as store:
        store.change("UPDATE records SET body = '{'")
    with Pictures(path, 0.0) as pictures, pytest.raises(DocumentError, match="measure again"):
        pictures.latest_run(("ost",))


def test_a_run_has_what_servers_counted_meanwhile(tmp_path: Path) -> None:
    server = {"layer": "server", "host": "oss1", "component": "disk1"}
    path = history(
        tmp_path,
        record(started_at=10000.0, finished_at=10010.0),
        record(**server, id="meanwhile", started_at=9990.0, finished_at=10020.0),
        record(**server, id="long ago", started_at=8000.0, finished_at=8100.0),
        record(**server, id="after", started_at=10200.0, finished_at=10300.0),
    )
    with Pictures(path, 0.0) as pictures:
        run = pictures.latest_run(["ost"])
    assert run is not None
    assert [one.id for one in run.servers] == ["meanwhile"]
    assert run.clocks == ()


def test_a_clock_that_is_known_to_be_off_hides_no_sample(tmp_path: Path) -> None:
    server = {"layer": "server", "host": "oss1", "component": "disk1"}
    path = history(
        tmp_path,
        record(started_at=10000.0, finished_at=10010.0),
        record(**server, id="an hour ahead", started_at=13590.0, finished_at=13620.0),
    )
    with Collection(path) as collection:
        collection.clock(NodeClock("oss1", 20000.0, 3600.0, 0.1))
    with Pictures(path, 0.0) as pictures:
        run = pictures.latest_run(["ost"])
    assert run is not None
    assert [one.id for one in run.servers] == ["an hour ahead"]
    assert run.clocks == (NodeClock("oss1", 20000.0, 3600.0, 0.1),)
