"""The snapshot holds what checks need, is replaced as a whole, and loses nothing of two writers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.record import Operation
from plumbline.model.series import SAMPLES, Running, Snapshot
from plumbline.store.history import History
from plumbline.store.publish import Publisher
from plumbline.store.recent import Member
from tests.package.judgements import evidence
from tests.package.records import failed, record

GROUPS = {("ost", name): Member("scratch", 0.9) for name in "abc"}
GROUPS |= {("ost", "x"): Member("home", 0.9)}


def built(history: History) -> Snapshot:
    snapshot = Publisher(history, Path("unused"), "client1", GROUPS).build(now=5000.0)
    return Snapshot.from_json(json.loads(json.dumps(snapshot.to_json())))


def test_each_operation_has_its_latest_record_and_its_samples_newest_first(
    history: History,
) -> None:
    for number, rate in enumerate((200e6, 190e6)):
        history.save(record(rate=rate, started_at=float(number)))
        history.save(record(rate=rate / 2, operation=Operation.WRITE))
    read, write = built(history).of("ost", "a")
    assert (read.latest.rate, write.latest.rate) == (190e6, 95e6)
    assert [sample.rate for sample in read.samples] == [190e6, 200e6]


def test_the_latest_record_comes_without_what_no_check_reads(history: History) -> None:
    history.save(record())
    (series,) = built(history).of("ost", "a")
    assert (series.latest.profile, series.latest.spec) == ((), None)
    assert series.latest.tool is not None
    assert (series.latest.tool.argv, series.latest.tool.version) == ((), "fio-3.39")
    assert series.latest.details is None


def test_of_a_parallel_run_the_form_of_the_curve_is_kept_and_the_ranks_are_not(
    history: History,
) -> None:
    history.save(record(details={"ranks": [{"rank": 0}], "form": [120, 90, 90, 100, 100]}))
    (series,) = built(history).of("ost", "a")
    assert series.latest.details == {"form": [120, 90, 90, 100, 100]}


def test_osts_that_the_topology_does_not_name_reach_the_checks(history: History) -> None:
    history.save(record(details={"unnamed": ["a-OST0010"]}))
    (series,) = built(history).of("ost", "a")
    assert series.latest.details == {"unnamed": ["a-OST0010"]}


def test_peers_are_the_other_members_of_the_group_in_the_same_run(history: History) -> None:
    for name, rate in (("a", 80e6), ("b", 190e6), ("c", 210e6), ("x", 5e6)):
        history.save(record(component=name, rate=rate))
    history.save(record(component="b", run_id="another", rate=1e6))
    (series,) = built(history).of("ost", "a")
    assert (series.samples[0].peers_rate, series.samples[0].peers) == (200e6, 2)
    (alone,) = built(history).of("ost", "x")
    assert (alone.samples[0].peers_rate, alone.samples[0].peers) == (None, 0)


def test_a_peer_that_failed_does_not_count(history: History) -> None:
    history.save(record(component="a"))
    history.save(failed(component="b"))
    (series,) = built(history).of("ost", "a")
    assert series.samples[0].peers == 0


def test_a_series_is_cut_to_the_samples_that_are_needed(history: History) -> None:
    for _ in range(SAMPLES + 5):
        history.save(record())
    (series,) = built(history).of("ost", "a")
    assert len(series.samples) == SAMPLES


def test_what_is_no_longer_expected_is_left_out_and_what_runs_is_in(history: History) -> None:
    history.save(record(component="retired"))
    history.begin("run-1", Running("ost", "a", 7.0))
    snapshot = built(history)
    assert snapshot.series == {}
    assert snapshot.running == (Running("ost", "a", 7.0),)


def test_what_the_last_runs_say_together_is_published(history: History) -> None:
    for name in "abx":
        history.save(record(component=name))
    group, member = evidence(what="write"), evidence(odds=4.0, alarm=False)
    history.keep_evidence({("ost", "scratch", True): group, ("ost", "a", False): member})
    snapshot = built(history)
    assert snapshot.evidence(("ost", "scratch", True)) == group
    assert snapshot.evidence(("ost", "a", False)) == member
    for nothing in (("ost", "b", False), ("ost", "home", True), ("raw", "scratch", True)):
        assert snapshot.evidence(nothing) is None
    assert [len(snapshot.of("ost", name)) for name in "abx"] == [1, 1, 1]


def test_a_run_that_begins_or_ends_without_weighing_keeps_what_was_known(history: History) -> None:
    history.save(record(component="a"))
    history.keep_evidence({("ost", "a", False): evidence(), ("ost", "scratch", True): evidence()})
    history.begin("run-2", Running("ost", "a", 7.0))
    assert built(history).evidence(("ost", "a", False)) == evidence()
    history.save(record(component="a", run_id="run-2", rate=5e6))
    again = built(history)
    assert again.of("ost", "a")[0].latest.rate == 5e6
    assert again.evidence(("ost", "a", False)) == evidence()
    assert again.evidence(("ost", "scratch", True)) == evidence()


def test_damaged_evidence_is_not_published_as_none(history: History, tmp_path: Path) -> None:
    history.save(record(component="a"))
    history.keep_evidence({("ost", "a", False): evidence()})
    history.change("UPDATE evidence SET body = '{}'")
    with pytest.raises(DocumentError, match="holds damaged evidence"):
        Publisher(history, tmp_path / "snapshot.json", "client1", GROUPS)(now=1.0)


def test_the_file_is_written_for_its_group_and_leaves_no_other(
    history: History, tmp_path: Path
) -> None:
    history.save(record())
    path = tmp_path / "state" / "snapshot.json"
    path.parent.mkdir()
    Publisher(history, path, "client1", GROUPS)(now=1.0)
    Publisher(history, path, "client1", GROUPS)(now=2.0)
    assert json.loads(path.read_text())["written_at"] == 2.0
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(file.name for file in path.parent.iterdir()) == ["snapshot.json", "snapshot.lock"]


FULL = """
import resource, signal, sys
from pathlib import Path
from random import Random
from plumbline.model.errors import StoreError
from plumbline.store.recent import Member
from plumbline.store.history import History
from plumbline.store.publish import Publisher
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with History(Path(sys.argv[1])) as history:
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
    try:
        Publisher(history, Path(sys.argv[2]), "client1", {})(now=9.0)
    except StoreError as error:
        print(error)
"""


def test_a_full_disk_leaves_the_old_snapshot_whole(history: History, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    Publisher(history, path, "client1", GROUPS)(now=1.0)
    ended = subprocess.run(
        [sys.executable, "-c", FULL, str(history.path), str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{path} cannot be written: File too large; nothing changed; see that" in ended.stdout
    assert json.loads(path.read_text())["written_at"] == 1.0


def test_a_folder_that_is_missing_is_a_sentence(history: History, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nowhere/snapshot.json cannot be written"):
        Publisher(history, tmp_path / "nowhere" / "snapshot.json", "client1", {})(now=1.0)


TWO = """
import sys
from pathlib import Path
from random import Random
from plumbline.store.recent import Member
from plumbline.store.history import History
from plumbline.store.publish import Publisher
from tests.package.records import record
layer = sys.argv[2]
groups = {("ost", "a"): Member("", 0.9), ("raw", "a"): Member("", 0.9)}
state = Path(sys.argv[1])
with History(state / "history.sqlite") as history:
    for number in range(40):
        history.save(record(id=f"{layer}-{number}", layer=layer))
        Publisher(history, state / "snapshot.json", "h", groups)(now=float(number))
"""


def test_two_layers_that_finish_together_are_both_in_the_last_snapshot(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", TWO, tmp_path, x]) for x in ("ost", "raw")]
    assert [writer.wait() for writer in writers] == [0, 0]
    snapshot = Snapshot.from_json(json.loads((tmp_path / "snapshot.json").read_text()))
    for layer in ("ost", "raw"):
        (series,) = snapshot.of(layer, "a")
        assert series.latest.id == f"{layer}-39"


@pytest.mark.parametrize("seed", range(4))
def test_who_publishes_again_and_again_reads_only_what_is_new(history: History, seed: int) -> None:
    chance = Random(seed)
    publisher = Publisher(history, Path("unused"), "client1", GROUPS)
    for run in range(40):
        name, start = chance.choice("abcxz"), chance.uniform(0, 4000.0)
        what = chance.randrange(5)
        if what == 0:
            history.save(failed(component=name, run_id=f"run-{run // 3}", started_at=start))
        elif what == 1:
            history.prune(4000.0)
        elif what == 2:
            history.change("UPDATE records SET coverage = 0.3 WHERE component = ?", (name,))
        else:
            rate = chance.uniform(1e8, 2e8)
            history.save(
                record(component=name, run_id=f"run-{run // 3}", started_at=start, rate=rate)
            )
        afresh = Publisher(history, Path("unused"), "client1", GROUPS).build(now=5000.0)
        assert publisher.build(now=5000.0) == afresh


def test_what_has_not_changed_is_not_read_again(history: History) -> None:
    history.save(record(component="a"))
    publisher = Publisher(history, Path("unused"), "client1", GROUPS)
    before = publisher.build(now=5000.0)
    history.change("DROP TRIGGER records_DELETE")
    history.change("DELETE FROM records")
    assert publisher.build(now=5000.0) == before
