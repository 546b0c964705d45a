"""Snapshot and verdict files of a node."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any, Callable

import pytest

from plumbline.model.codec import read_document
from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.record import Operation
from plumbline.model.series import SAMPLES, Running, Snapshot
from plumbline.store.files import seal
from plumbline.store.history import History
from plumbline.store.publish import Publisher
from plumbline.store.recent import Member
from plumbline.store.snapshot import load_expectations, load_snapshot
from tests.package.judgements import evidence, expectation, series, snapshot, write
from tests.package.records import failed, record
from tests.processes import may_act_for_others

# --- The snapshot has the data for the checks and is replaced as a whole, even by two writers.


GROUPS = {("ost", name): Member("scratch", 0.9) for name in "abc"}
GROUPS |= {("ost", "x"): Member("home", 0.9)}


def built(history: History) -> Snapshot:
    snapshot = Publisher(history, Path("unused"), "client1", GROUPS).build(now=5000.0)
    return read_document(Snapshot, json.loads(json.dumps(snapshot.to_json())))


def test_each_operation_has_its_latest_record_and_its_samples_newest_first(
    history: History,
) -> None:
    for number, rate in enumerate((200e6, 190e6)):
        history.save(record(rate=rate, started_at=float(number)))
        history.save(record(rate=rate / 2, operation=Operation.WRITE))
    read, write = built(history).of("ost", "a")
    assert (read.latest.rate, write.latest.rate) == (190e6, 95e6)
    assert [sample.rate for sample in read.samples] == [190e6, 200e6]


def test_the_latest_record_lacks_fields_that_no_check_reads(history: History) -> None:
    history.save(record())
    (series,) = built(history).of("ost", "a")
    assert (series.latest.profile, series.latest.spec) == ((), None)
    assert series.latest.tool is not None
    assert (series.latest.tool.argv, series.latest.tool.version) == ((), "fio-3.39")
    assert series.latest.details is None


def test_a_parallel_run_keeps_the_form_of_its_curve_and_not_its_ranks(
    history: History,
) -> None:
    history.save(record(details={"ranks": [{"rank": 0}], "form": [120, 90, 90, 100, 100]}))
    (series,) = built(history).of("ost", "a")
    assert series.latest.details == {"form": [120, 90, 90, 100, 100]}


def test_osts_missing_in_the_topology_reach_the_checks(history: History) -> None:
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


def test_a_series_is_cut_to_the_needed_samples(history: History) -> None:
    for _ in range(SAMPLES + 5):
        history.save(record())
    (series,) = built(history).of("ost", "a")
    assert len(series.samples) == SAMPLES


def test_a_snapshot_omits_retired_components_and_includes_running_ones(history: History) -> None:
    history.save(record(component="retired"))
    history.begin("run-1", Running("ost", "a", 7.0))
    snapshot = built(history)
    assert snapshot.series == {}
    assert snapshot.running == (Running("ost", "a", 7.0),)


def test_the_evidence_of_the_last_runs_is_published(history: History) -> None:
    for name in "abx":
        history.save(record(component=name))
    group, member = evidence(what="write"), evidence(odds=4.0, alarm=False)
    history.keep_evidence({("ost", "scratch", True): group, ("ost", "a", False): member})
    snapshot = built(history)
    assert snapshot.evidence(("ost", "scratch", True)) == group
    assert snapshot.evidence(("ost", "a", False)) == member
    for unweighed in (("ost", "b", False), ("ost", "home", True), ("raw", "scratch", True)):
        assert snapshot.evidence(unweighed) is None
    assert [len(snapshot.of("ost", name)) for name in "abx"] == [1, 1, 1]


def test_a_run_without_weighing_keeps_the_earlier_evidence(history: History) -> None:
    history.save(record(component="a"))
    history.keep_evidence({("ost", "a", False): evidence(), ("ost", "scratch", True): evidence()})
    history.begin("run-2", Running("ost", "a", 7.0))
    assert built(history).evidence(("ost", "a", False)) == evidence()
    history.save(record(component="a", run_id="run-2", rate=5e6))
    again = built(history)
    assert again.of("ost", "a")[0].latest.rate == 5e6
    assert again.evidence(("ost", "a", False)) == evidence()
    assert again.evidence(("ost", "scratch", True)) == evidence()


def test_damaged_evidence_is_not_published(history: History, tmp_path: Path) -> None:
    history.save(record(component="a"))
    history.keep_evidence({("ost", "a", False): evidence()})
    history.change("UPDATE evidence SET body = '{}'")
    with pytest.raises(DocumentError, match="holds damaged evidence"):
        Publisher(history, tmp_path / "snapshot.json", "client1", GROUPS)(now=1.0)


def test_the_file_is_readable_by_its_group_and_the_only_one(
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


def test_publishing_into_a_missing_folder_is_one_sentence(history: History, tmp_path: Path) -> None:
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
    snapshot = read_document(Snapshot, json.loads((tmp_path / "snapshot.json").read_text()))
    for layer in ("ost", "raw"):
        (series,) = snapshot.of(layer, "a")
        assert series.latest.id == f"{layer}-39"


@pytest.mark.parametrize("seed", range(4))
def test_incremental_snapshots_equal_those_built_afresh(history: History, seed: int) -> None:
    chance = Random(seed)
    publisher = Publisher(history, Path("unused"), "client1", GROUPS)
    for run in range(40):
        name, start = chance.choice("abcxz"), chance.uniform(0, 4000.0)
        action = chance.randrange(5)
        if action == 0:
            history.save(failed(component=name, run_id=f"run-{run // 3}", started_at=start))
        elif action == 1:
            history.prune(4000.0)
        elif action == 2:
            history.change("UPDATE records SET coverage = 0.3 WHERE component = ?", (name,))
        else:
            rate = chance.uniform(1e8, 2e8)
            history.save(
                record(component=name, run_id=f"run-{run // 3}", started_at=start, rate=rate)
            )
        afresh = Publisher(history, Path("unused"), "client1", GROUPS).build(now=5000.0)
        assert publisher.build(now=5000.0) == afresh


def test_unchanged_records_are_not_read_again(history: History) -> None:
    history.save(record(component="a"))
    publisher = Publisher(history, Path("unused"), "client1", GROUPS)
    before = publisher.build(now=5000.0)
    history.change("DROP TRIGGER records_DELETE")
    history.change("DELETE FROM records")
    assert publisher.build(now=5000.0) == before


# --- A document is accepted if its rightful writer wrote all of it; else one sentence says why.


NOBODY = 65534
SNAPSHOT = snapshot(series())


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    write(tmp_path, [expectation()], SNAPSHOT)
    return tmp_path / "expectations.json", tmp_path / "snapshot.json"


def test_both_documents_are_read_as_they_were_written(paths: tuple[Path, Path]) -> None:
    assert load_expectations(str(paths[0])).find("ost") == (expectation(),)
    assert load_snapshot(str(paths[1])).series == SNAPSHOT.series


def rewrite(**changes: Any) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return damage


def cut(path: Path) -> None:
    path.write_text(path.read_text()[:-200])


def link(path: Path) -> None:
    path.rename(path.with_suffix(".old"))
    path.symlink_to(path.with_suffix(".old"))


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: list[tuple[Callable[[Path], object], str]] = [
    (Path.unlink, r"no such file; (run a probe|deploy the role agent)"),
    (lambda path: path.write_text(""), r"the file is empty; (run a probe|deploy the role agent)"),
    (cut, r"is damaged \(.*(run a probe|deploy the role agent)"),
    (lambda path: path.write_text("hello"), r"is damaged \(Expecting value.*(run|deploy)"),
    (lambda path: path.write_text("[" * 100_000), r"is damaged \(.*(run|deploy)"),
    (lambda path: path.write_bytes(b"\xff\xfe{}"), r"are not text \(invalid start byte\)"),
    (lambda path: path.write_text("[]"), r"is damaged \(no JSON object\); (run|deploy)"),
    (rewrite(schema=9), r"have schema 9|has schema 9"),
    (rewrite(surprise=float("nan")), r"is damaged \(NaN is no number\)"),
    (rewrite(surprise=float("inf")), r"is damaged \(Infinity is no number\)"),
    (link, r"a symbolic link is not followed; name the file itself"),
    (fifo, r"not a regular file; name the file itself"),
    (folder, r"not a regular file|Is a directory"),
    (lambda path: path.chmod(0o646), r"anybody may write it; run chmod o-w "),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_a_damaged_document_is_refused_with_the_remedy(
    paths: tuple[Path, Path], damage: Callable[[Path], object], message: str
) -> None:
    loads: tuple[Callable[[str], object], ...] = (load_expectations, load_snapshot)
    for path, load in zip(paths, loads):
        damage(path)
        with pytest.raises(DocumentError, match=message) as caught:
            load(str(path))
        assert "\n" not in str(caught.value)


NOTE = ["ost", "a", 1000.0]


@pytest.mark.parametrize(
    "damaged",
    [
        ["ost", 1, 1000.0],
        ["ost", "a", "1000"],
        [*NOTE, [1, 2, "boot"], False],
        [*NOTE, [-1, 2, "boot", "08:01:7"], False],
        [*NOTE, [1, 2.5, "boot", "08:01:7"], False],
        [*NOTE, [1, 2, None, "08:01:7"], False],
        [*NOTE, 7, False],
        [*NOTE, None, 1],
        [*NOTE, None, False, 0],
    ],
)
def test_a_damaged_note_of_a_run_is_refused(
    paths: tuple[Path, Path], damaged: list[object]
) -> None:
    rewrite(running=[damaged])(paths[1])
    with pytest.raises(DocumentError, match=r"snapshot /.* is damaged \(.*run a probe"):
        load_snapshot(str(paths[1]))


@pytest.mark.parametrize("number", [0, 1])
def test_a_huge_file_is_refused_before_it_is_read(paths: tuple[Path, Path], number: int) -> None:
    os.truncate(paths[number], 20 << 30)
    with pytest.raises(DocumentError, match=r"21\.5 GB are more than plumbline writes \(64 MiB at"):
        (load_expectations, load_snapshot)[number](str(paths[number]))


@pytest.mark.slow
def test_any_flipped_bit_of_a_sealed_snapshot_is_detected(paths: tuple[Path, Path]) -> None:
    sealed = seal(paths[1].read_text()).encode()
    paths[1].write_bytes(sealed)
    assert load_snapshot(str(paths[1])).series == SNAPSHOT.series
    unnoticed = []
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1 << place % 7
        paths[1].write_bytes(bytes(changed))
        try:
            changed_snapshot = load_snapshot(str(paths[1]))
        except DocumentError:
            continue
        unnoticed.append(place)
        assert changed_snapshot.series == SNAPSHOT.series
    # only the name of the checksum itself
    assert set(unnoticed) <= set(range(2, 7))


def test_a_changed_figure_is_one_sentence(paths: tuple[Path, Path]) -> None:
    sealed = seal(paths[1].read_text())
    paths[1].write_text(sealed.replace("200000000", "210000000"))
    with pytest.raises(DocumentError, match=r"\.json is damaged \(its checksum .*; run a probe to"):
        load_snapshot(str(paths[1]))


def test_a_snapshot_of_an_older_version_has_no_checksum_and_is_read(
    paths: tuple[Path, Path],
) -> None:
    assert b"crc32" not in paths[1].read_bytes()
    assert load_snapshot(str(paths[1])).series == SNAPSHOT.series


def test_a_sealed_snapshot_is_plain_json(paths: tuple[Path, Path]) -> None:
    text = paths[1].read_text()
    raw = json.loads(seal(text))
    assert len(raw.pop("crc32")) == 8
    assert raw == json.loads(text)


@pytest.mark.skipif(not may_act_for_others(), reason="only root can give files away")
def test_a_document_of_another_user_is_refused(paths: tuple[Path, Path]) -> None:
    os.chown(paths[1], NOBODY, NOBODY)
    with pytest.raises(DocumentError, match=r"belongs to user id 65534, neither root"):
        load_snapshot(str(paths[1]))


@pytest.mark.skipif(not may_act_for_others(), reason="only root can give files away")
def test_a_document_of_the_owner_of_its_folder_is_accepted(paths: tuple[Path, Path]) -> None:
    # the user plumbline owns /var/lib/plumbline, and the NRPE user reads there
    os.chown(paths[1], NOBODY, NOBODY)
    os.chown(paths[1].parent, NOBODY, NOBODY)
    assert load_snapshot(str(paths[1])).host == "client1"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_a_line_end_after_a_sealed_snapshot_is_accepted(paths: tuple[Path, Path], end: str) -> None:
    """debug_slow_storage.yml fetches snapshots of nodes with a line end after them."""
    plain = paths[1].read_text()
    expected = load_snapshot(str(paths[1]))
    for text in (plain, plain + end):
        paths[1].write_bytes((seal(text) + end).encode())
        assert load_snapshot(str(paths[1])) == expected
