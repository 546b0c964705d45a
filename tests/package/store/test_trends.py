"""Reading a whole history: courses, pairs, the latest run, changes of versions."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from typing import Any, Iterator, Mapping, Optional

import pytest

from plumbline.model.codec import write
from plumbline.model.errors import DocumentError
from plumbline.model.limits import Limits
from plumbline.model.record import Operation, Record
from plumbline.model.trend import NodeClock
from plumbline.observe.coverage import OTHERS, Job, LastRun, Others
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.database import Store
from plumbline.store.history import History, SeriesKey
from plumbline.store.trends import Pictures
from plumbline.store.version_changes import version_changes
from tests.package.records import failed, record, save

# --- Reading a whole history: courses, pairs and the latest run.


NET = {"layer": "net", "component": "oss1", "partner": "oss2", "operation": Operation.SEND}


def history(folder: Path, *records: Record) -> Path:
    path = folder / "history.sqlite"
    save(path, records)
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


def test_older_records_are_left_out(tmp_path: Path) -> None:
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
        pairs = {(pair.partner, pair.operation): pair for pair in pictures.pairs("net")}
    assert set(pairs) == {("oss2", "send"), ("oss2", "receive"), ("oss3", "send")}
    latest = pairs["oss2", "send"]
    assert (latest.rate, latest.retransmits, latest.started_at) == (9e7, 7, 2000.0)
    assert pairs["oss3", "send"].retransmits is None


def test_the_latest_run_comes_from_the_first_layer_with_one(tmp_path: Path) -> None:
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
    assert [result.component for result in run.records] == ["a", "b"]


def test_a_damaged_record_is_named_with_the_remedy(tmp_path: Path) -> None:
    path = history(tmp_path, record())
    with Store(path) as store:
        store.change("UPDATE records SET body = '{'")
    with Pictures(path, 0.0) as pictures, pytest.raises(DocumentError, match="measure again"):
        pictures.latest_run(("ost",))


def test_a_run_has_the_server_counters_of_its_time(tmp_path: Path) -> None:
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
    assert [sampled.id for sampled in run.servers] == ["meanwhile"]
    assert run.clocks == ()


def test_samples_are_found_despite_a_known_clock_offset(tmp_path: Path) -> None:
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
    assert [sampled.id for sampled in run.servers] == ["an hour ahead"]
    assert run.clocks == (NodeClock("oss1", 20000.0, 3600.0, 0.1),)


def test_the_last_run_of_a_component_has_its_least_coverage_and_the_job_beside_it(
    tmp_path: Path,
) -> None:
    def beside(job: str) -> dict[str, Any]:
        return {OTHERS: write(Others("oss1", 0.2, 0.3, Job(job, 38 * 10**9, 40.0)))}

    path = history(
        tmp_path,
        record(run_id="old", started_at=1000.0, coverage=0.1, details=beside("1")),
        record(run_id="new", started_at=2000.0, coverage=0.9, details=beside("2")),
        record(run_id="new", started_at=2010.0, coverage=0.3, details=beside("3")),
        record(run_id="later", started_at=9000.0, coverage=0.01),
        failed(run_id="broken", started_at=3000.0),
        record(component="b", started_at=2000.0),
        record(component="calm", started_at=2000.0, coverage=0.95, details=beside("4")),
        record(layer="net", component="c", started_at=2000.0, coverage=0.2),
        record(component="no longer planned", started_at=2000.0, coverage=0.2),
    )
    limits = {("ost", name): Limits() for name in ("a", "b", "calm")}
    with Pictures(path, 0.0) as pictures:
        a, b, calm = pictures.last_runs(limits, 500.0, 5000.0)
    assert (a.component, a.coverage, a.job) == ("a", 0.3, Job("3", 38 * 10**9, 40.0))
    assert a.contended
    assert b == LastRun("ost", "b", None)
    assert calm == LastRun("ost", "calm", 0.95)


# --- A new value of a version in records is a change with its moment.


def measured(
    at: float, versions: Optional[Mapping[str, str]], component: str = "a", **values: Any
) -> Record:
    values = {"run_id": f"run at {at}", **values}
    return record(
        started_at=at, finished_at=at + 1, component=component, versions=versions, **values
    )


def changes(folder: Path, *records: Record, since: float = 0.0) -> list[tuple[float, str]]:
    path = folder / "history.sqlite"
    save(path, records)
    with Store(path) as store:
        by_column, *by_body = [version_changes(store, since) for _ in with_less_software(store)]
    assert by_body == [by_column] * 2
    return [(change.at, change.text) for change in by_column]


def with_less_software(store: Store) -> Iterator[None]:
    """Yield once as it is, then with records from before the column of software."""
    yield
    for older in ("seq % 2", "seq"):
        store.change(f"UPDATE records SET software = NULL WHERE {older}")
        yield


def test_an_upgrade_of_many_components_is_one_change(tmp_path: Path) -> None:
    old, new = {"client": "2.3.0", "server": "2.5"}, {"client": "2.4.0", "server": "2.5"}
    nights = [
        measured(at, versions, name)
        for at, versions in ((100.0, old), (200.0, new), (300.0, new))
        for name in ("a", "b")
    ]
    assert changes(tmp_path, *nights) == [(200.0, "client 2.3.0 -> 2.4.0")]


def test_a_rolling_upgrade_is_one_change_with_its_progress(tmp_path: Path) -> None:
    first = [measured(100.0, {"server": "1"}, name) for name in "abc"]
    later = [measured(300.0, {"server": "2"}, "b"), measured(200.0, {"server": "2"}, "c")]
    assert changes(tmp_path, *first, *later) == [(200.0, "server 1 -> 2 (2 of 3 components)")]


def test_an_upgrade_reverted_and_repeated_is_three_changes(tmp_path: Path) -> None:
    nights = [measured(at, {"client": text}) for at, text in enumerate("1121122", start=1)]
    assert changes(tmp_path, *nights) == [
        (3.0, "client 1 -> 2"),
        (4.0, "client 2 -> 1"),
        (6.0, "client 1 -> 2"),
    ]


def test_alternating_clients_of_different_versions_are_no_change(tmp_path: Path) -> None:
    nights = [
        measured(float(at), {"client": f"2.{at % 2}"}, host=f"client{at % 2}") for at in range(6)
    ]
    assert changes(tmp_path, *nights) == []


def test_an_unknown_version_is_no_change(tmp_path: Path) -> None:
    nights = [
        measured(1.0, {"client": "1"}),
        measured(2.0, None),
        failed(started_at=3.0),
        measured(4.0, {}),
        measured(5.0, {"client": "1", "server": "7"}),
        measured(6.0, {"server": "7"}),
        measured(7.0, {"client": "2", "server": "7"}),
    ]
    assert changes(tmp_path, *nights) == [(7.0, "client 1 -> 2")]


def test_server_records_and_older_changes_are_left_out(tmp_path: Path) -> None:
    nights = [measured(1.0, {"client": "1"}), measured(2.0, {"client": "2"})]
    counted = [measured(at, {"os": f"{at}"}, layer="server") for at in (1.0, 2.0, 3.0)]
    assert changes(tmp_path, *nights, *counted, since=2.0) == []


def test_the_first_record_of_a_run_with_versions_counts_for_the_run(tmp_path: Path) -> None:
    steps = (Operation.WRITE, Operation.READ, Operation.REREAD)
    runs = [
        measured(at + number, versions, operation=step, run_id=run)
        for at, run, reported in (
            (1.0, "first", ({}, OLD, OLD)),
            (11.0, "second", (None, NEW, OLD)),
        )
        for number, (step, versions) in enumerate(zip(steps, reported))
    ]
    assert changes(tmp_path, *runs) == [(12.0, "client 2.3.0 -> 2.4.0")]


def test_text_that_looks_like_versions_is_ignored(tmp_path: Path) -> None:
    odd = '"versions":{"client":"9"},"flags":'
    nights = [
        measured(1.0, {"client": odd}, reason=odd, path=("versions", odd)),
        measured(2.0, {"client": odd}, reason=odd, details={"versions": {"client": "8"}}),
        measured(3.0, {"client": "1"}, reason=odd),
    ]
    assert changes(tmp_path, *nights) == [(3.0, f"client {odd} -> 1")]


def since(folder: Path, *records: Record, count: int = 30) -> Optional[float]:
    """Return the moment since which target a has its current versions."""
    with History(folder / "history.sqlite") as opened:
        for run in records:
            opened.save(run)
        key = SeriesKey("ost", "a", "read", "single", "")
        moment, *by_body = [opened.changed_at(key, count) for _ in with_less_software(opened)]
    assert by_body == [moment] * 2
    return moment


OLD, NEW = {"client": "2.3.0", "server": "2.5"}, {"client": "2.4.0", "server": "2.5"}


@pytest.mark.parametrize(
    ("nights", "moment"),
    [
        ([], None),
        ([NEW], None),
        ([NEW, NEW, NEW], None),
        ([OLD, NEW], 2.0),
        ([OLD, NEW, NEW, NEW], 2.0),
        ([NEW, OLD, NEW, NEW], 3.0),
        ([OLD, {"client": "2.3.5"}, NEW], 3.0),
        # an unknown version is no change
        ([OLD, NEW, {"client": "2.4.0"}, None, {}, NEW], 2.0),
        ([OLD, NEW, {"client": "2.4.0"}], 2.0),
        ([NEW, None, NEW], None),
    ],
)
def test_the_current_versions_have_a_first_date(
    tmp_path: Path, nights: list[Optional[dict[str, str]]], moment: Optional[float]
) -> None:
    runs = [measured(float(at), versions) for at, versions in enumerate(nights, start=1)]
    assert since(tmp_path, *runs) == moment


def test_the_versions_of_another_client_are_no_change(tmp_path: Path) -> None:
    nights = [
        *(measured(at, OLD, host="client1") for at in (1.0, 2.0)),
        measured(3.0, NEW, host="client2"),
        measured(4.0, OLD, host="client1"),
        measured(5.0, NEW, host="client2"),
    ]
    assert since(tmp_path, *nights) is None
    assert since(tmp_path, measured(6.0, NEW, host="client1")) == 6.0
    assert since(tmp_path, measured(7.0, OLD, host="client2")) == 7.0


def test_the_versions_of_other_operations_and_components_are_no_change(tmp_path: Path) -> None:
    nights = [
        measured(1.0, NEW),
        measured(2.0, OLD, "b"),
        measured(3.0, OLD, operation=Operation.WRITE),
        measured(4.0, OLD, layer="raw"),
        measured(5.0, NEW),
    ]
    assert since(tmp_path, *nights) is None


def test_only_the_requested_records_are_searched_for_other_versions(tmp_path: Path) -> None:
    nights = [measured(1.0, OLD), *(measured(float(at), NEW) for at in range(2, 6))]
    assert since(tmp_path, *nights, count=4) is None
    assert since(tmp_path, count=5) == 2.0


@pytest.mark.parametrize("versions", ["[1]", '{"client":2}', '"2.15"', "{"])
def test_damaged_versions_are_one_sentence(tmp_path: Path, versions: str) -> None:
    path = tmp_path / "history.sqlite"
    with History(path) as opened:
        opened.save(measured(1.0, {"client": "1"}))
    with Store(path) as store:
        sound = json.dumps({"client": "1"}, separators=(",", ":"))
        # from before the column of software
        store.change(
            "UPDATE records SET software = NULL, body = replace(body, ?, ?)", (sound, versions)
        )
        with pytest.raises(DocumentError, match="damaged versions"):
            version_changes(store, 0.0)
    with pytest.raises(DocumentError, match="damaged versions"):
        since(tmp_path)
