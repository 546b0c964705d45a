"""Published verdicts of a node equal its judgement at every time until the next run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest

from plumbline.judge.judging import Judging
from plumbline.judge.node import JudgedNode, judge_node
from plumbline.model.codec import read_document
from plumbline.model.errors import StoreError
from plumbline.model.evidence import Subject
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.limits import Limits, Range
from plumbline.model.record import Operation, Record
from plumbline.model.series import Running, Series, Snapshot
from plumbline.model.verdict import State, Verdict
from plumbline.model.verdict_files import file_name
from plumbline.site.checks import Verdicts
from plumbline.site.published import publish
from plumbline.store.history import History
from plumbline.store.snapshot import load_snapshot
from tests.package.judgements import (
    NOW,
    REFERENCE,
    checked,
    checked_node,
    evidence,
    expectation,
    host_expectation,
    sent,
    series,
    snapshot,
    write,
)
from tests.package.parallel_runs import expected, ran
from tests.package.records import record

HOUR_S = 3600.0
SLOW = {("ost", "scratch-OST0003", False): evidence(ratio=0.4)}


def targets(count: int, every_s: float = 0.0) -> list[Series]:
    """Return writes and reads of targets, measured one after another."""
    measured = []
    for number in range(count):
        end = NOW - HOUR_S + number * every_s
        for operation, rate in ((Operation.WRITE, 195e6), (Operation.READ, 80e6)):
            when: dict[str, Any] = {
                "started_at": end - 10,
                "finished_at": end + 60 * (rate < 100e6),
            }
            name = f"scratch-OST{number + 3:04}"
            measured.append(series(rate, operation=operation, component=name, **when))
    return measured


def entries(count: int = 2) -> list[Expectation]:
    """Return expectations of a number of targets."""
    return [expectation(component=f"scratch-OST{number + 3:04}") for number in range(count)]


class Node:
    """A node in a folder."""

    def __init__(self, folder: Path, expected: list[Expectation], measured: Snapshot) -> None:
        self.folder, self.all_entries, self.measurements = folder, expected, measured
        self.expectations = write(folder, expected, measured)[1]
        self.verdicts = folder / "verdicts"
        self.changed = Verdicts(self.expectations, self.verdicts)(measured)

    def checked(self, subject: Subject, now: float) -> Verdict:
        """Return the verdict of a check at a time."""
        return checked(self.verdicts, subject, self.expectations, now)

    def judged(self, subject: Subject, now: float) -> Verdict:
        """Return the verdict of judging at a time."""
        judging = Judging(self.measurements, self.measurements, now)
        layer = [entry for entry in self.all_entries if entry.layer == subject[0]]
        if subject[2]:
            (verdict,) = judging.groups(layer)
        else:
            (entry,) = (entry for entry in layer if entry.component == subject[1])
            (verdict,) = judging.components([entry])
        return verdict


def assert_same(checked: Verdict, judged: Verdict) -> None:
    """Compare everything that a check prints."""
    for name in ("state", "sentence", "evidence", "figures", "group"):
        assert getattr(checked, name) == getattr(judged, name)


MOMENTS = [0, 0.01, 0.02, 0.5, 34.9, 35.0001, 35.01, 35.02, 36, 40, 1000]
"""Hours since the snapshot, one hour after the writes; reads ended later and become stale later."""


@pytest.mark.slow
@pytest.mark.parametrize("hours", MOMENTS)
@pytest.mark.parametrize(
    "subject",
    [("ost", "scratch-OST0003", False), ("ost", "scratch", True), ("net", "oss3", False)]
    + [("fs", "scratch", True), ("fs", "OST2", False)],
    ids=str,
)
def test_a_check_and_judging_agree_at_every_time(
    tmp_path: Path, subject: Subject, hours: float
) -> None:
    series_of_node = [
        *targets(2),
        sent("oss1", 116e6),
        sent("oss2", 24e6),
        *ran([200e6, 201e6, 80e6, 2e8]),
    ]
    all_entries = [*entries(), host_expectation("oss1", "oss2"), *expected()]
    node = Node(tmp_path, all_entries, snapshot(*series_of_node, known=SLOW))
    now = NOW + hours * HOUR_S
    assert_same(node.checked(subject, now), node.judged(subject, now))
    if hours == 1000:
        assert node.checked(subject, now).state is State.UNKNOWN


@pytest.mark.slow
@pytest.mark.parametrize("hours", [*MOMENTS, 35.9, 36.1, 38])
@pytest.mark.parametrize("count", [2, 60])
def test_check_node_and_judging_agree_at_every_time(
    tmp_path: Path, hours: float, count: int
) -> None:
    measured = [*targets(count, every_s=50), sent("oss1", 116e6), sent("oss2", None)]
    expected_here = (*entries(count), host_expectation("oss1", "oss2"))
    node = Node(tmp_path, list(expected_here), snapshot(*measured))
    os.utime(node.expectations, (NOW - HOUR_S, NOW - HOUR_S))
    Verdicts(node.expectations, node.verdicts)(node.measurements)
    now = NOW + hours * HOUR_S
    checked_now = checked_node(node.verdicts, node.expectations, now)
    judged = judge_node(JudgedNode("client1", expected_here, NOW - HOUR_S, now), node.measurements)
    if count == 2 or checked_now.state is not State.WARNING:
        assert_same(checked_now, judged)
    # of many targets some are shown to be stale a little later than the first
    assert checked_now.state is judged.state


@pytest.mark.parametrize(
    ("subject", "ended_at"),
    [
        (("ost", "scratch-OST0003", False), NOW),
        (("net", "oss3", False), NOW - 300),
        (("fs", "scratch", True), NOW - 300),
    ],
    ids=str,
)
def test_a_check_shows_the_age_of_figures_older_than_ten_minutes(
    tmp_path: Path, subject: Subject, ended_at: float
) -> None:
    series_of_node = [*nightly_targets(NOW), sent("oss1", 116e6), *ran([200e6, 201e6, 200e6, 2e8])]
    all_entries = [*entries(1), host_expectation("oss1"), *expected()]
    node = Node(tmp_path, all_entries, snapshot(*series_of_node))
    assert "measured" not in node.checked(subject, ended_at + 600).sentence
    assert "; measured 11 min ago" in node.checked(subject, ended_at + 660).sentence
    for hours in (3, 9):
        checked = node.checked(subject, ended_at + hours * HOUR_S)
        assert checked.state is State.OK
        assert f"; measured {hours} h ago" in checked.sentence


def nightly_targets(end: float) -> list[Series]:
    """Return a healthy write and read of a target that ended at this time."""
    when: dict[str, Any] = {"started_at": end - 10, "finished_at": end}
    return [
        series(rate, operation=operation, **when)
        for operation, rate in ((Operation.WRITE, 201e6), (Operation.READ, 202e6))
    ]


@pytest.mark.parametrize("since", [NOW - 60, NOW - HOUR_S])
@pytest.mark.parametrize("interrupted", [True, False])
def test_a_check_and_judging_agree_on_an_unfinished_run(
    tmp_path: Path, since: float, interrupted: bool
) -> None:
    running = Running("ost", "scratch-OST0003", since, None, interrupted)
    node = Node(tmp_path, entries(), snapshot(*targets(2), running=[running]))
    for name in ("scratch-OST0003", "scratch-OST0004"):
        subject = "ost", name, False
        assert_same(node.checked(subject, NOW), node.judged(subject, NOW))


def test_a_node_without_measurements_is_unknown(tmp_path: Path) -> None:
    path = write(tmp_path, entries(), snapshot())[1]
    os.unlink(tmp_path / "snapshot.json")
    assert publish(path, tmp_path) == 4
    verdict = checked(tmp_path / "verdicts", ("ost", "scratch-OST0003", False), path, time.time())
    assert verdict.state is State.UNKNOWN
    assert verdict.sentence.endswith("client1; run systemctl start plumbline-ost.service there")
    # no snapshot is written: its absence shows that the node waits for its first run
    assert sorted(os.listdir(tmp_path)) == ["expectations.json", "verdicts"]


def test_new_limits_apply_once_they_are_deployed(tmp_path: Path) -> None:
    with History(tmp_path / "history.sqlite") as history:
        for operation in (Operation.WRITE, Operation.READ):
            history.save(fresh(600, operation=operation, id=operation.value, rate=195e6))
    path = write(tmp_path, [expectation()], snapshot())[1]
    assert publish(path, tmp_path) == 3
    assert publish(path, tmp_path) == 0
    load_snapshot(str(tmp_path / "snapshot.json"))
    limits = Limits(warning=Range.parse("99:"))
    write(tmp_path, [expectation(limits=limits)], snapshot())
    assert publish(path, tmp_path) == 3
    verdict = checked(tmp_path / "verdicts", ("ost", "scratch-OST0003", False), path, time.time())
    assert "watching: write 195.0 MB/s, 96 % of baseline" in verdict.sentence


def test_a_group_becomes_stale_with_its_last_member(tmp_path: Path) -> None:
    node = Node(tmp_path, entries(60), snapshot(*targets(60, every_s=50)))
    group = json.loads((node.verdicts / "ost-group@scratch.json").read_text("utf-8"))
    assert len(group["parts"][""]["stages"]) == 2
    # all become stale, and none too early
    subject = "ost", "scratch", True
    end = NOW + 37 * HOUR_S
    assert_same(node.checked(subject, end), node.judged(subject, end))
    fresh = NOW + 34.9 * HOUR_S
    assert_same(node.checked(subject, fresh), node.judged(subject, fresh))


def test_only_changed_verdicts_are_written(tmp_path: Path) -> None:
    node = Node(tmp_path, entries(), snapshot(*targets(2)))
    assert node.changed == 4
    before = {path.name: path.stat().st_ino for path in node.verdicts.iterdir()}
    running = [Running("ost", "scratch-OST0003", NOW)]
    started = snapshot(*targets(2), running=running, now=NOW + 5)
    for changed in (2, 0):
        assert Verdicts(node.expectations, node.verdicts)(started) == changed
    after = {path.name: path.stat().st_ino for path in node.verdicts.iterdir()}
    written = {name for name in before if before[name] != after[name]}
    assert written == {"node-probes.json", "ost-scratch-OST0003.json"}
    # another process may have written in between
    second = Verdicts(node.expectations, node.verdicts)
    assert second(started) == 0
    Verdicts(node.expectations, node.verdicts)(node.measurements)
    assert second(started) == 2


def test_the_verdict_of_a_removed_service_is_deleted(tmp_path: Path) -> None:
    node = Node(tmp_path, entries(), snapshot(*targets(2)))
    write(tmp_path, entries(1), node.measurements)
    (node.verdicts / "notes.txt").write_text("somebody's")
    Verdicts(node.expectations, node.verdicts)(node.measurements)
    assert sorted(path.name for path in node.verdicts.iterdir()) == [
        "node-probes.json",
        "notes.txt",
        "ost-group@scratch.json",
        "ost-scratch-OST0003.json",
    ]


def fresh(ago_s: float, **changes: Any) -> Record:
    """Return a write of 200 MB/s that ended ``ago_s`` seconds ago."""
    end = time.time() - ago_s
    values: dict[str, Any] = {
        "component": "scratch-OST0003",
        "operation": Operation.WRITE,
        "spec_hash": "abc",
        "rate": 2e8,
        "versions": {},
    }
    return record(**{**values, "started_at": end - 10, "finished_at": end, **changes})


KILLED = """
import os, signal, sys, time
from pathlib import Path
from plumbline.site import checks, published
from plumbline.store.history import History
from tests.package.site.test_verdicts import fresh

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

state, path = Path(sys.argv[1]), sys.argv[2]
with History(state / "history.sqlite") as history:
    history.save(fresh(60, id="second", rate=9e7))
{where}
published.publish(path, state)
"""


@pytest.mark.parametrize(
    "where",
    [
        "checks.VerdictFiles.write = die",
        "import plumbline.store.replacing as r, os as o; n = o.replace; "
        "r.os.replace = lambda a, b, **at: die() if b.startswith('ost') else n(a, b, **at)",
    ],
)
def test_a_kill_leaves_the_old_verdict_and_the_next_run_replaces_it(
    tmp_path: Path, where: str
) -> None:
    with History(tmp_path / "history.sqlite") as history:
        history.save(fresh(600, id="first"))
    entry = expectation(references={"write/single": REFERENCE})
    path = write(tmp_path, [entry], snapshot())[1]
    publish(path, tmp_path)
    subject = "ost", "scratch-OST0003", False
    old = (tmp_path / "verdicts" / file_name(subject)).read_bytes()
    words = [sys.executable, "-c", KILLED.format(where=where), str(tmp_path), path]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    assert load_snapshot(str(tmp_path / "snapshot.json")).of("ost", "scratch-OST0003")
    assert (tmp_path / "verdicts" / file_name(subject)).read_bytes() == old
    assert publish(path, tmp_path) > 0
    verdict = checked(tmp_path / "verdicts", subject, path, time.time())
    assert "90.0 MB/s" in verdict.sentence
    assert not [name for name in os.listdir(tmp_path / "verdicts") if name.startswith(".")]


def test_a_link_instead_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    path = write(tmp_path, entries(), snapshot())[1]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "verdicts").symlink_to("elsewhere")
    with pytest.raises(StoreError, match="follows no links: remove it"):
        Verdicts(path, tmp_path / "verdicts")(snapshot())
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_instead_of_a_verdict_is_replaced(tmp_path: Path) -> None:
    node = Node(tmp_path, entries(), snapshot(*targets(2)))
    other = tmp_path / "other"
    other.write_text("precious")
    verdict = node.verdicts / "ost-scratch-OST0003.json"
    verdict.unlink()
    verdict.symlink_to(other)
    assert Verdicts(node.expectations, node.verdicts)(node.measurements) == 1
    assert (other.read_text(), verdict.is_symlink()) == ("precious", False)


def test_a_world_writable_folder_is_refused(tmp_path: Path) -> None:
    node = Node(tmp_path, entries(), snapshot(*targets(2)))
    node.verdicts.chmod(0o777)
    with pytest.raises(StoreError, match="others may write to it: run chmod go-w"):
        Verdicts(node.expectations, node.verdicts)(node.measurements)


def test_verdicts_are_readable_by_their_group_under_any_umask(tmp_path: Path) -> None:
    umask = os.umask(0o077)
    try:
        node = Node(tmp_path, entries(), snapshot(*targets(2)))
    finally:
        os.umask(umask)
    assert node.verdicts.stat().st_mode & 0o777 == 0o751
    modes = {path.stat().st_mode & 0o777 for path in node.verdicts.iterdir()}
    assert modes == {0o640}


def names() -> Iterator[str]:
    """Yield names allowed in a topology, and others."""
    yield from ("a", "a/b", "../a", ".", "", "group@a", "group-a", "a b|c\n", "ä", "x" * 300)
    yield from ("x" * 299 + "/", "\x00", "%2F", "\ud800")


def test_services_have_different_valid_file_names() -> None:
    subjects: dict[str, Optional[Subject]] = {}
    for layer in ("ost", "raw"):
        for name in names():
            for is_group in (True, False):
                file = file_name((layer, name, is_group))
                assert "/" not in file
                assert len(file.encode()) < 255
                assert not file.startswith(".")
                assert subjects.setdefault(file, (layer, name, is_group)) == (layer, name, is_group)


def test_a_published_document_follows_its_schema(tmp_path: Path) -> None:
    node = Node(tmp_path, entries(), snapshot(*targets(2)))
    raw: dict[str, Any] = json.loads((node.verdicts / "ost-scratch-OST0003.json").read_text())
    assert list(raw)[:2] == ["crc32", "schema"]
    assert {"stamp", "judged_at", "ahead", "stale", "parts"} <= set(raw)
    assert {"running", "stages", "lines"} <= set(raw["parts"][""])
    deployed = json.loads(Path(node.expectations).read_text())
    assert read_document(Expectations, deployed).node == "client1"
