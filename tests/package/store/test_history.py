"""The history keeps every record, in the order of arrival, whatever the clock or a kill does."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.record import Operation, Scenario
from plumbline.model.series import Running
from plumbline.model.trend import SERVER
from plumbline.store.database import Selection
from plumbline.store.history import KEEP_RECORDS, History, SeriesKey
from tests.package.judgements import evidence
from tests.package.records import failed, record

KEY = SeriesKey("ost", "a", "read", "single", "")
OST, GROUP = ("ost", "a", False), ("ost", "a", True)
DAY = 86400.0


def test_a_record_comes_back_as_it_was_saved(history: History) -> None:
    saved = record(partner="oss2", versions={"client": "2.17.57"}, fill=0.4)
    history.save(saved)
    assert list(history.records(Selection())) == [saved]


@pytest.mark.parametrize(
    ("selection", "ids"),
    [
        (Selection(), ["1", "2", "3"]),
        (Selection(layer="ost"), ["1", "2"]),
        (Selection(component="b"), ["2", "3"]),
        (Selection(layer="ost", component="b"), ["2"]),
        (Selection(since=2000.0), ["2", "3"]),
        (Selection(run_id="run-9"), ["3"]),
        (Selection(component="nobody"), []),
    ],
)
def test_records_are_selected(history: History, selection: Selection, ids: list[str]) -> None:
    history.save(record(id="1"))
    history.save(record(id="2", component="b", started_at=2000.0))
    history.save(record(id="3", component="b", layer="raw", run_id="run-9", started_at=3000.0))
    assert [found.id for found in history.records(selection)] == ids


def test_the_latest_record_is_the_last_that_came_also_when_the_clock_went_back(
    history: History,
) -> None:
    history.save(record(id="before", started_at=9_000.0))
    history.save(record(id="after", started_at=1_000.0, rate=50e6))
    assert history.latest(KEY).id == "after"
    assert [point.rate for point in history.points(KEY, 30)] == [50e6, 200e6]


def test_each_partner_of_a_pair_has_its_own_series(history: History) -> None:
    for partner in ("oss3", "oss2"):
        history.save(record(layer="net", operation=Operation.SEND, partner=partner))
    assert [key.partner for key in history.series("net", "a")] == ["oss2", "oss3"]


def test_a_failed_measurement_is_a_point_without_a_rate(history: History) -> None:
    history.save(failed())
    assert history.points(KEY, 1)[0].rate is None
    assert history.rates("run-1", "ost", Operation.READ, Scenario.SINGLE) == {}


def test_a_series_that_is_not_there_is_a_sentence(history: History) -> None:
    with pytest.raises(StoreError, match="has no record of ost a read single"):
        history.latest(KEY)


def test_what_runs_is_noted_until_it_ends(history: History) -> None:
    history.begin("run-1", Running("ost", "a", 5.0))
    history.begin("run-2", Running("ost", "a", 7.0))
    assert history.running() == (Running("ost", "a", 7.0),)
    history.end("ost", "a")
    assert history.running() == ()


def test_old_records_go_and_the_latest_of_each_series_stay(history: History) -> None:
    for day in range(KEEP_RECORDS + 20):
        history.save(record(started_at=day * DAY))
    history.save(record(component="seldom", started_at=0.0))
    dropped = history.prune(before=30 * DAY)
    assert dropped == 20
    assert len(history.points(KEY, 1000)) == KEEP_RECORDS
    assert history.series("ost", "seldom")


def test_a_clock_that_jumps_ahead_does_not_cost_the_history(history: History) -> None:
    for day in range(KEEP_RECORDS):
        history.save(record(started_at=day * DAY))
    assert history.prune(before=1e12) == 0


def test_what_servers_counted_goes_sooner_but_beside_runs_of_all_targets(history: History) -> None:
    for day in (0, 10, 40):
        history.save(record(layer=SERVER, component="disk1", started_at=day * DAY))
        history.save(record(started_at=day * DAY))
    history.save(record(layer="fs", started_at=10 * DAY + 1800))
    assert history.prune_servers(41 * DAY) == 1
    kept = [one.started_at for one in history.records(Selection(layer=SERVER))]
    assert kept == [10 * DAY, 40 * DAY]
    assert len(history.points(KEY, 10)) == 3


@pytest.mark.parametrize("schema", [2, 4, 7])
def test_another_schema_is_refused_and_left_alone(tmp_path: Path, schema: int) -> None:
    path = tmp_path / "history.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {schema}")
    content = path.read_bytes()
    with pytest.raises(
        StoreError,
        match=rf"has schema {schema}, this version of plumbline reads 3; update .*\(mv .*\.other\)",
    ):
        History(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\7" * 4000]
)
def test_a_damaged_history_says_what_to_do_and_is_not_touched(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "history.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"it is damaged; move it aside \(mv .*\.damaged\)"):
        History(path)
    assert path.read_bytes() == content


def test_a_history_in_a_folder_that_is_missing_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot be opened; see that .*nowhere exists"):
        History(tmp_path / "nowhere" / "history.sqlite")


def test_a_damaged_body_names_the_history(history: History) -> None:
    history.save(record())
    history.change("UPDATE records SET body = '{'")
    with pytest.raises(DocumentError, match=r"history.sqlite holds a damaged record: .*; measure"):
        history.latest(KEY)


FILL = """
import resource, signal, sys
from pathlib import Path
from plumbline.model.errors import StoreError
from plumbline.store.history import History
from tests.package.records import record
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
history = History(Path(sys.argv[1]))
history.save(record(id="before"))
resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, 80_000))
try:
    for number in range(1000):
        history.save(record(id=str(number)))
        print(number)
except StoreError as error:
    print(error)
"""


def test_a_full_disk_is_a_sentence_and_every_record_before_it_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    ended = subprocess.run(
        [sys.executable, "-c", FILL, str(path)], capture_output=True, text=True, check=True
    )
    *saved, sentence = ended.stdout.splitlines()
    assert f"history {path}: " in sentence
    assert "disk" in sentence
    with History(path) as history:
        assert [kept.id for kept in history.records(Selection())] == ["before", *saved]


KILL = """
import os, sys
from pathlib import Path
from plumbline.store.history import History
from tests.package.records import record
history = History(Path(sys.argv[1]))
for number in range(20):
    history.save(record(id=str(number)))
os.kill(os.getpid(), 9)
"""


def test_a_killed_writer_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    ended = subprocess.run([sys.executable, "-c", KILL, str(path)], check=False)
    assert ended.returncode == -9
    with History(path) as history:
        assert len(list(history.records(Selection()))) == 20


WRITE = """
import sys
from pathlib import Path
from plumbline.store.history import History
from tests.package.records import record
with History(Path(sys.argv[1])) as history:
    for number in range(50):
        history.save(record(id=f"{sys.argv[2]}-{number}"))
"""


def test_two_runs_that_begin_a_history_together_both_keep_everything(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    writers = [subprocess.Popen([sys.executable, "-c", WRITE, path, name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    with History(path) as history:
        assert len(list(history.records(Selection()))) == 100


def test_a_history_belongs_to_its_group(history: History) -> None:
    assert history.path.stat().st_mode & 0o777 == 0o640


def test_bodies_are_plain_json_for_other_tools(history: History) -> None:
    history.save(record(id="x"))
    ((body,),) = history.table("SELECT body FROM records")
    assert json.loads(body)["id"] == "x"


@pytest.mark.parametrize("process", ["", "{", "[1, 2]", '[1, 2, 3, "08:01:7"]', "7"])
def test_a_damaged_note_of_a_run_is_named(history: History, process: str) -> None:
    history.begin("run-1", Running("ost", "a", 1000.0))
    history.change("UPDATE running SET process = ?", (process,))
    with pytest.raises(DocumentError, match="note of a run of ost a is damaged"):
        history.running()


def test_what_is_known_is_kept_in_the_place_of_what_was(history: History) -> None:
    raw = evidence(what="write", ratio=None, alarm=False, shared=True)
    history.keep_evidence({OST: evidence(), GROUP: evidence(odds=4.0, alarm=False)})
    history.keep_evidence({GROUP: evidence(), ("raw", "sda", False): raw})
    with History(history.path) as again:
        assert again.evidence() == {GROUP: evidence(), ("raw", "sda", False): raw}
        again.keep_evidence({})
    assert history.evidence() == {}


@pytest.mark.parametrize("body", ["{", "[]", "3", "{}", '{"odds":1}', '"text"'])
def test_damaged_evidence_is_a_sentence(history: History, body: str) -> None:
    history.keep_evidence({OST: evidence()})
    history.change("UPDATE evidence SET body = ?", (body,))
    with pytest.raises(
        DocumentError, match=r"history.sqlite holds damaged evidence: .*; measure again to replace"
    ):
        history.evidence()


def test_the_history_counts_what_changes_of_a_component(history: History) -> None:
    history.save(record(id="1", component="a"))
    history.save(record(id="2", component="b"))
    history.begin("run-0", Running("ost", "a", 5.0))
    assert history.revisions_of([("ost", "a"), ("ost", "b")]) == {("ost", "a"): 1, ("ost", "b"): 1}
    history.change("UPDATE records SET coverage = 0.5 WHERE component = 'a'")
    history.change("INSERT OR IGNORE INTO records SELECT * FROM records")
    history.change("DELETE FROM records WHERE component = 'b'")
    assert history.revisions_of([("ost", "a"), ("ost", "b")]) == {("ost", "a"): 2, ("ost", "b"): 2}
