"""The history keeps all records in the order of arrival; its recent figures."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any, Callable, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.profile import form
from plumbline.model.record import Flag, Operation, Scenario
from plumbline.model.series import SAMPLES, Running
from plumbline.model.space import SPACE
from plumbline.model.trend import SERVER
from plumbline.store import recent as past
from plumbline.store.database import SCHEMA, Selection, read_record
from plumbline.store.history import KEEP_RECORDS, History, SeriesKey
from plumbline.store.recent import (
    Member,
    PastHistory,
    Rates,
    Recent,
    profile_distances,
    retransmit_shares,
)
from tests.package.judgements import evidence
from tests.package.model.curves import declining, flat
from tests.package.records import failed, record

# --- The history keeps all records in the order of arrival, despite clock steps and kills.


KEY = SeriesKey("ost", "a", "read", "single", "")
OST, GROUP = ("ost", "a", False), ("ost", "a", True)
DAY = 86400.0


def test_a_record_is_read_back_unchanged(history: History) -> None:
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
    assert [selected.id for selected in history.records(selection)] == ids


def test_the_latest_record_is_the_last_to_arrive_even_after_a_clock_step(
    history: History,
) -> None:
    history.save(record(id="before", started_at=9_000.0))
    history.save(record(id="after", started_at=1_000.0, rate=50e6))
    assert read_record(history.series("ost", "a")[KEY], history.path).id == "after"
    assert [point.rate for point in history.points(KEY, 30)] == [50e6, 200e6]


def test_each_partner_of_a_pair_has_its_own_series(history: History) -> None:
    for partner in ("oss3", "oss2"):
        history.save(record(layer="net", operation=Operation.SEND, partner=partner))
    assert [key.partner for key in history.series("net", "a")] == ["oss2", "oss3"]


def test_a_failed_measurement_is_a_point_without_a_rate(history: History) -> None:
    history.save(failed())
    assert history.points(KEY, 1)[0].rate is None
    assert history.rates("run-1", "ost", Operation.READ, Scenario.SINGLE) == {}


def test_a_component_without_records_has_no_series(history: History) -> None:
    assert history.series("ost", "a") == {}


def test_a_run_is_noted_until_it_ends(history: History) -> None:
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


def test_server_records_are_dropped_sooner_except_near_runs_of_all_targets(
    history: History,
) -> None:
    for day in (0, 10, 40):
        history.save(record(layer=SERVER, component="disk1", started_at=day * DAY))
        history.save(record(started_at=day * DAY))
    history.save(record(layer="fs", started_at=10 * DAY + 1800))
    assert history.prune_servers(41 * DAY) == 1
    kept = [sampled.started_at for sampled in history.records(Selection(layer=SERVER))]
    assert kept == [10 * DAY, 40 * DAY]
    assert len(history.points(KEY, 10)) == 3


def test_four_looks_at_space_a_day_are_kept_after_two_days(history: History) -> None:
    hour = DAY / 24
    for number in range(4 * 24):
        for node in ("client1", "client2"):
            look = {"component": "scratch", "partner": node, "started_at": 10 * DAY + number * hour}
            history.save(record(layer=SPACE, **look))
    history.save(record(started_at=10 * DAY))
    # of the first two days four looks of each node are left
    assert history.prune_space(14 * DAY) == 2 * 2 * (24 - 4)
    assert history.prune_space(14 * DAY) == 0
    times = [look.started_at for look in history.records(Selection(layer=SPACE))][:8:2]
    assert times == [10 * DAY + (6 * quarter + 5) * hour for quarter in range(4)]
    assert len(history.points(KEY, 10)) == 1


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        *(
            (older, rf"is of plumbline 0\.1\.0 \(schema {older}\), .* aside \(mv .*\.0\.1\.0\) and")
            for older in (2, 3, 7)
        ),
        (SCHEMA + 1, rf"is of a newer plumbline \(schema {SCHEMA + 1}, .*; update plumbline on"),
    ],
)
def test_another_schema_is_refused_and_left_alone(
    tmp_path: Path, schema: int, sentence: str
) -> None:
    path = tmp_path / "history.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {schema}")
    content = path.read_bytes()
    with pytest.raises(StoreError, match=sentence):
        History(path)
    assert path.read_bytes() == content


def test_a_history_without_the_column_of_software_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with History(path) as history:
        history.save(record(id="before"))
        new = tables(history)
    without_software(path)
    for number in range(2):
        with History(path) as history:
            history.save(record(id=f"after {number}"))
            columns = history.table("SELECT id, software IS NULL FROM records ORDER BY seq")
            assert columns == [("before", 1), *((f"after {run}", 0) for run in range(number + 1))]
            assert tables(history) == new
    with History(path) as history:
        assert [run.id for run in history.records(Selection())] == ["before", "after 0", "after 1"]


def without_software(path: Path) -> None:
    """Make a history of the schema before, with a table as it was created then."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        ((text,),) = database.execute("SELECT sql FROM sqlite_master WHERE name = 'records'")
        triggers = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        for name, _ in (kept := triggers.fetchall()):
            database.execute(f"DROP TRIGGER {name}")
        database.execute("ALTER TABLE records RENAME TO newer")
        shorter, _, _ = text.partition(",\n    -- host and versions")
        database.execute(f"{shorter})")
        columns = ", ".join(row[1] for row in database.execute("PRAGMA table_info(records)"))
        database.execute(f"INSERT INTO records SELECT {columns} FROM newer")
        database.execute("DROP TABLE newer")
        database.execute(
            "CREATE INDEX records_series ON records (layer, component, operation, scenario, "
            "partner, seq, run_id, started_at, rate, coverage, flags)"
        )
        for _, trigger in kept:
            database.execute(trigger)
        database.execute("PRAGMA user_version = 8")


def tables(history: History) -> list[tuple[str, tuple[str, ...]]]:
    """Return the tables and indexes with their columns."""
    names = [name for (name,) in history.table("SELECT name FROM sqlite_master ORDER BY name")]
    return [
        (name, tuple(str(row[-1 if "records_" in name else 1]) for row in rows))
        for name in names
        if (rows := history.table(f"PRAGMA table_info({name})"))
        or (rows := history.table(f"PRAGMA index_info({name})"))
    ]


@pytest.mark.parametrize(
    "content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\7" * 4000]
)
def test_a_damaged_history_names_the_remedy_and_is_not_touched(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "history.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"it is damaged; move it aside \(mv .*\.damaged\)"):
        History(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
def test_a_pipe_or_folder_in_place_of_a_history_is_named(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "history.sqlite")
    with pytest.raises(StoreError, match=r"history.sqlite is no plain file; name the file itself"):
        History(tmp_path / "history.sqlite")


def test_a_history_in_a_missing_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot be opened; see that .*nowhere exists"):
        History(tmp_path / "nowhere" / "history.sqlite")


def test_a_damaged_body_names_the_history(history: History) -> None:
    history.save(record())
    history.change("UPDATE records SET body = '{'")
    with pytest.raises(DocumentError, match=r"history.sqlite holds a damaged record: .*; measure"):
        read_record(history.series("ost", "a")[KEY], history.path)


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


def test_a_full_disk_is_one_sentence_and_earlier_records_are_kept(tmp_path: Path) -> None:
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


def test_two_runs_that_create_a_history_together_lose_no_record(tmp_path: Path) -> None:
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


def test_new_evidence_replaces_the_old(history: History) -> None:
    raw = evidence(what="write", ratio=None, alarm=False, shared=True)
    history.keep_evidence({OST: evidence(), GROUP: evidence(odds=4.0, alarm=False)})
    history.keep_evidence({GROUP: evidence(), ("raw", "sda", False): raw})
    with History(history.path) as again:
        assert again.evidence() == {GROUP: evidence(), ("raw", "sda", False): raw}
        again.keep_evidence({})
    assert history.evidence() == {}


@pytest.mark.parametrize("body", ["{", "[]", "3", "{}", '{"odds":1}', '"text"'])
def test_damaged_evidence_is_one_sentence(history: History, body: str) -> None:
    history.keep_evidence({OST: evidence()})
    history.change("UPDATE evidence SET body = ?", (body,))
    with pytest.raises(
        DocumentError, match=r"history.sqlite holds damaged evidence: .*; measure again to replace"
    ):
        history.evidence()


def test_the_history_counts_revisions_of_a_component(history: History) -> None:
    history.save(record(id="1", component="a"))
    history.save(record(id="2", component="b"))
    history.begin("run-0", Running("ost", "a", 5.0))
    assert history.revisions_of([("ost", "a"), ("ost", "b")]) == {("ost", "a"): 1, ("ost", "b"): 1}
    history.change("UPDATE records SET coverage = 0.5 WHERE component = 'a'")
    history.change("INSERT OR IGNORE INTO records SELECT * FROM records")
    history.change("DELETE FROM records WHERE component = 'b'")
    assert history.revisions_of([("ost", "a"), ("ost", "b")]) == {("ost", "a"): 2, ("ost", "b"): 2}


# --- Samples with the median of their peers and other figures of older records.


DAY_S = 86400.0
NOW = 100 * DAY_S
MEMBERS = {("ost", name): Member("scratch", 0.9) for name in "abc"}

# few values, to get many equal ones
RATES = st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from([1.0, 2.0, 3.0, 5.0, 9.0]))


@given(RATES, st.sampled_from("abcdefgh"))
def test_the_peers_of_a_component_are_all_others(rates: dict[str, float], name: str) -> None:
    peers = [rate for peer, rate in rates.items() if peer != name]
    expected: tuple[Optional[float], int] = (median(peers) if peers else None, len(peers))
    assert Rates(rates).others(name) == expected


def test_a_peer_measured_more_often_since_then_still_counts(history: History) -> None:
    for name, rate in (("a", 100e6), ("b", 300e6), ("c", 200e6)):
        history.save(record(component=name, rate=rate, run_id="night"))
    for number in range(SAMPLES):
        history.save(record(component="b", rate=1e6, run_id=f"again{number}"))
    (series,) = Recent(history, MEMBERS).of("ost", "a")
    assert (series.samples[0].peers_rate, series.samples[0].peers) == (250e6, 2)


def test_a_component_without_a_rate_has_all_others_as_peers(history: History) -> None:
    history.save(failed(component="a"))
    for name, rate in (("b", 300e6), ("c", 200e6)):
        history.save(record(component=name, rate=rate))
    (series,) = Recent(history, MEMBERS).of("ost", "a")
    assert (series.samples[0].peers_rate, series.samples[0].peers) == (250e6, 2)


@pytest.mark.parametrize(
    ("flags", "excluded"),
    [
        ((), False),
        ((Flag.SHORT,), False),
        ((Flag.DEGRADED,), True),
        ((Flag.SHORT, Flag.FAILED_OVER), True),
    ],
)
def test_a_sample_of_a_known_state_is_excluded(
    history: History, flags: tuple[Flag, ...], excluded: bool
) -> None:
    history.save(record(component="a", flags=flags))
    (series,) = Recent(history, MEMBERS).of("ost", "a")
    assert [sample.excluded for sample in series.samples] == [excluded]


def test_operations_are_not_mixed(history: History) -> None:
    for name in "ab":
        history.save(record(component=name, rate=100e6))
        history.save(record(component=name, rate=300e6, operation=Operation.WRITE))
    read, write = Recent(history, MEMBERS).of("ost", "a")
    assert (read.samples[0].peers_rate, write.samples[0].peers_rate) == (100e6, 300e6)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    database = tmp_path / "history.sqlite"
    with History(database) as history:
        for at in (1000.0, 2000.0, 3000.0):
            history.save(record(id=f"{at}", started_at=at, rate=at))
        history.save(failed()._replace(id="failed", started_at=2100.0))
        history.save(record(id="server", layer=SERVER, started_at=2000.0))
        history.begin("run-9", Running("ost", "later", 2900.0, None))
    return database


def test_a_past_history_has_no_later_records(path: Path) -> None:
    with PastHistory(path, 2500.0) as kept:
        ((key, body),) = kept.series("ost", record().component).items()
        assert read_record(body, path).started_at <= 2500.0
        assert all(point.started_at <= 2500.0 for point in kept.points(key, 9))
        assert kept.running() == ()
    with History(path) as history:
        assert len(list(history.records(Selection()))) == 5
        assert len(history.running()) == 1


def test_measurements_since_a_moment_exclude_server_records(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PastHistory(path, 2500.0) as kept:
        runs = kept.since(1500.0)
        assert [(run.started_at, run.rate) for run in runs] == [(2000.0, 2e3), (2100.0, None)]
        monkeypatch.setattr(past, "MAX_RUNS", 1)
        assert kept.since(1500.0) == runs[:1]


PAIR = SeriesKey("net", "oss3", "send", "single", "oss1")
WHOLE = SeriesKey("ost", "a", "read", "single", "")
FLAT = form(flat(120))
STEEP = [round(100 * point) for point in form(declining(120))]


def sent(segments: Optional[int]) -> dict[str, Any]:
    return {
        "layer": "net",
        "component": "oss3",
        "operation": Operation.SEND,
        "partner": "oss1",
        "retransmits": segments,
        "bytes": 1_448_000_000,
    }


def test_the_retransmit_share_of_each_run_is_known_newest_first(history: History) -> None:
    for segments in (20_000, None, 0):
        history.save(record(**sent(segments)))
    assert retransmit_shares(history, PAIR) == [0.0, None, 0.02]
    (series,) = Recent(history, {("net", "oss3"): Member("servers", 0.9)}).of("net", "oss3")
    assert [sample.retransmitted for sample in series.samples] == [0.0, None, 0.02]


def test_the_distance_of_each_profile_from_the_baseline_is_known(history: History) -> None:
    history.save(record(component="a", details={"form": STEEP}))
    history.save(failed(component="a"))
    history.save(record(component="a", details={"form": [100] * 20}))
    last, none, first = profile_distances(history, WHOLE, FLAT)
    assert last == pytest.approx(0, abs=0.04)
    assert none is None
    assert first == pytest.approx(0.15, abs=0.03)
    members = {("ost", "a"): Member("scratch", 0.9, {"read/single": FLAT})}
    (series,) = Recent(history, members).of("ost", "a")
    assert [sample.apart for sample in series.samples] == [last, none, first]
    (series,) = Recent(history, {("ost", "a"): Member("scratch", 0.9)}).of("ost", "a")
    assert {sample.apart for sample in series.samples} == {None}


def test_a_difference_within_the_scatter_of_the_curve_is_zero(history: History) -> None:
    history.save(record(component="a", details={"form": [10, 190, 190, 10, 190, 10]}))
    assert profile_distances(history, WHOLE, FLAT) == [0.0]


@pytest.mark.parametrize(
    "body",
    ["{", "7", '{"details": {"form": "x"}}', '{"details": {"form": [-1, 2]}}', '{"details": 3}'],
)
def test_a_damaged_old_record_gives_no_figures(history: History, body: str) -> None:
    history.save(record(component="a", details={"form": STEEP}))
    history.change("UPDATE records SET body = ?", (body,))
    assert profile_distances(history, WHOLE, FLAT) == [None]
    assert retransmit_shares(history, WHOLE) == [None]
