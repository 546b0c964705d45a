"""Coverage of measurements by the counters of their servers, combined by ``plumbline collect``.

Client and server are folders of this machine, as in the tests of ``collect``; the console judges.
"""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Optional

import pytest

from plumbline.cli import main
from plumbline.measure.sample import Origin, Targets, records_of, sample
from plumbline.model.layers.mdt import MKNOD
from plumbline.model.limits import Reference
from plumbline.model.record import Record
from plumbline.model.trend import NodeClock
from plumbline.observe.command import LocalSystem, SystemRunner
from plumbline.observe.coverage import Coverage, Job, Others, others_of
from plumbline.observe.job_stats import Jobs
from plumbline.site.cover import cover
from plumbline.store.collection import ConsoleHistory
from plumbline.store.database import Selection, inflate
from plumbline.store.history import History
from plumbline.store.plan import load_plan
from tests.package.judgements import BASELINE, expectation
from tests.package.measure.units import FakeClock
from tests.package.observe.servers import MDT, OST, counted, requests
from tests.package.records import record, save
from tests.package.site.test_gather import Site
from tests.project.repository import ROOT

MB = 1e6
VERSIONS = {"client": "2.15.5", "server": "2.15.5"}


class Lustre(Site):
    """A client that measures an OST for ten seconds, and the server of the OST."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        target = {"kind": "lustre", "mount": "/scratch", "ost": OST}
        reference = Reference(None, BASELINE._replace(versions=VERSIONS))
        self.entry = expectation(
            component=OST, target=target, host="oss1", references={"read/single": reference}
        ).to_json()
        self.set_entries("client1", [self.entry])
        self.begin = time.time() - 600

    def probe(self, **changes: Any) -> Record:
        """Save a measurement of 80 MB/s over ten seconds."""
        values = {
            "component": OST,
            "started_at": self.begin + 20,
            "finished_at": self.begin + 30,
            "bytes": 800_000_000,
            "rate": 80 * MB,
            "repeats": (80 * MB,) * 3,
            "versions": VERSIONS,
            "spec_hash": BASELINE.spec_hash,
        }
        (measurement,) = self.measure("client1", **{**values, **changes})
        return measurement

    def save_counters(self, others_Bps: float, seconds: int = 60, **details: Any) -> None:
        """Save server counters of the probe and of constant writes by others."""
        read = [80 * MB if 20 <= second < 30 else 0.0 for second in range(seconds)]
        written = [others_Bps] * seconds
        save(
            self.folder / "oss1" / "history.sqlite",
            counted(read, written, start=self.begin, **details),
        )

    def latest(self) -> Record:
        """Return the latest record of the OST on the console."""
        with History(self.history) as history:
            *_, latest = history.records(Selection(layer="ost"))
        return latest

    def covered(self) -> dict[str, Any]:
        result = cover(self.history, load_plan(str(self.plan)).nodes, time.time())
        return result._asdict()


@pytest.fixture
def lustre(tmp_path: Path) -> Lustre:
    return Lustre(tmp_path)


def test_a_metadata_target_has_its_coverage_from_the_requests_to_it(tmp_path: Path) -> None:
    site = Lustre(tmp_path)
    target = {"kind": "lustre-mdt", "mount": "/scratch", "mdt": MDT}
    entry = expectation(
        layer="mdt",
        component=MDT,
        target=target,
        host="mds1",
        references={"mknod/single": Reference(None, None)},
    )
    site.set_entries("client1", [entry.to_json()])
    times = {"started_at": site.begin + 20, "finished_at": site.begin + 24, "seconds": 2.0}
    calls = {"operation": MKNOD, "bytes": 0, "rate": 500.0, "repeats": (500.0,)}
    save(site.history, [record(layer="mdt", component=MDT, **times, **calls)])
    busy = [1500.0] * 20 + [2000.0] * 4 + [1500.0] * 36
    save(site.history, requests(MDT, busy, start=site.begin))
    with ConsoleHistory(site.history) as history:
        for name in ("client1", "mds1"):
            history.clock(NodeClock(name, site.begin, 0.0, 0.05))
    assert site.covered()["contended"] == 1
    with History(site.history) as history:
        (measured,) = history.records(Selection(layer="mdt"))
    assert measured.coverage == pytest.approx(0.25, abs=0.02)


def coverage(lustre: Lustre, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert lustre.collect("--json") == 0
    document = json.loads(capsys.readouterr().out)
    summary: dict[str, Any] = document["coverage"]
    return summary


def others_in(record: Record) -> Others:
    traffic = others_of(record)
    assert traffic is not None
    return traffic


def test_a_measurement_gets_its_coverage_from_the_counters_of_its_server(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = lustre.probe()
    jobs = [[lustre.begin + 15, lustre.begin + 35, "4711", 0, 3_600_000_000]]
    lustre.save_counters(180 * MB, jobs=jobs)
    assert coverage(lustre, capsys) == {"known": 1, "contended": 1, "waiting": 0, "doubts": []}
    record = lustre.latest()
    assert record.coverage == pytest.approx(80 / 260, abs=0.02)
    assert others_in(record).job == Job("4711", 3_600_000_000, 20.0)
    # all other values are unchanged
    assert record._replace(coverage=None, details=sent.details) == sent


def test_a_quantity_of_a_measurement_has_its_coverage(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    lustre.probe(quantities={"p99": 0.02})
    lustre.save_counters(180 * MB)
    assert lustre.collect() == 0
    with History(lustre.folder / "client1" / "history.sqlite") as history:
        (run,) = history.records(Selection(layer="ost"))
        for quantity in run.quantity_records(("read p99/single",)):
            history.save(quantity)
    assert lustre.collect() == 0
    with History(lustre.history) as history:
        covered = [record.coverage for record in history.records(Selection(layer="ost"))]
    assert covered == [pytest.approx(80 / 260, abs=0.02)] * 2
    # the clocks of nodes are compared anew at each collection
    assert covered[0] == pytest.approx(covered[1], abs=1e-3)


def test_the_index_has_the_same_coverage(lustre: Lustre) -> None:
    lustre.probe()
    lustre.save_counters(180 * MB)
    lustre.collect()
    with History(lustre.history) as history:
        (key,) = history.series("ost", OST)
        (point,) = history.points(key, 5)
    assert point.coverage == lustre.latest().coverage


def test_an_uncontended_measurement_has_full_coverage(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    lustre.probe()
    lustre.save_counters(0.0)
    assert coverage(lustre, capsys) == {"known": 1, "contended": 0, "waiting": 0, "doubts": []}
    assert lustre.latest().coverage == 1.0


def test_a_measurement_waits_for_later_counters(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    lustre.probe()
    assert coverage(lustre, capsys)["waiting"] == 1
    lustre.save_counters(180 * MB, seconds=25)
    assert coverage(lustre, capsys)["waiting"] == 1
    assert lustre.latest().coverage is None
    lustre.save_counters(180 * MB)
    assert coverage(lustre, capsys)["contended"] == 1


@pytest.mark.slow
def test_a_doubt_is_saved_once_no_more_counters_can_arrive(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    lustre.probe()
    lustre.save_counters(8 * MB)
    assert coverage(lustre, capsys)["waiting"] == 1
    lustre.begin -= 7200
    lustre.probe()
    lustre.save_counters(8 * MB)
    (doubt,) = coverage(lustre, capsys)["doubts"]
    assert doubt.startswith(f"{OST} read: coverage between 0.")
    assert lustre.latest().coverage is None
    assert others_in(lustre.latest()).server == "oss1"
    assert coverage(lustre, capsys) == {"known": 0, "contended": 0, "waiting": 1, "doubts": []}


def test_a_coverage_from_the_probe_is_not_replaced(lustre: Lustre) -> None:
    lustre.probe(coverage=0.97)
    lustre.save_counters(180 * MB)
    assert lustre.collect() == 0
    assert lustre.latest().coverage == 0.97
    with ConsoleHistory(lustre.history) as history:
        history.cover([(lustre.latest(), Coverage(0.3, Others("oss1")))])
    assert lustre.latest().coverage == 0.97


def test_damaged_counters_are_reported(lustre: Lustre, capsys: pytest.CaptureFixture[str]) -> None:
    lustre.begin -= 7200
    lustre.probe()
    lustre.save_counters(180 * MB, watched=["a", "b"])
    (doubt,) = coverage(lustre, capsys)["doubts"]
    assert "what oss1 counted is damaged" in doubt


@pytest.mark.slow
def test_a_damaged_record_does_not_stop_the_coverage_of_others(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    lustre.probe(run_id="run-0")
    lustre.probe()
    lustre.save_counters(180 * MB)
    assert coverage(lustre, capsys)["contended"] == 2
    with closing(sqlite3.connect(lustre.history)) as database, database:
        database.create_function("inflated", 1, inflate)
        spoil = "UPDATE records SET coverage = NULL, body = {} WHERE run_id = ?"
        database.execute(spoil.format("'{cut'"), ("run-0",))
        database.execute(
            spoil.format("json_remove(inflated(body), '$.details', '$.coverage')"), ("run-1",)
        )
    assert coverage(lustre, capsys) == {"known": 1, "contended": 1, "waiting": 0, "doubts": []}


def test_coverage_is_summarized_in_one_line(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    lustre.probe()
    lustre.save_counters(180 * MB)
    lustre.collect()
    assert (
        "contention: known for 1 measurements of Lustre targets by their servers' counters, "
        "1 contended; in doubt for 0\n"
    ) in capsys.readouterr().out


@pytest.mark.parametrize(
    "target",
    [{"kind": "directory", "directory": "/mnt/a"}, None],
    ids=["a directory", "not in the plan"],
)
def test_other_targets_than_lustre_get_no_coverage(
    target: Optional[dict[str, str]], lustre: Lustre
) -> None:
    lustre.set_entries("client1", [{**lustre.entry, "target": target}] if target else [])
    lustre.probe()
    lustre.save_counters(180 * MB)
    lustre.collect()
    assert lustre.covered() == {"known": 0, "contended": 0, "waiting": 0, "doubts": ()}
    assert lustre.latest().coverage is None


def test_a_file_over_several_targets_needs_counters_of_all(lustre: Lustre) -> None:
    target = {
        "kind": "lustre-striped",
        "mount": "/scratch",
        "osts": f"{OST},scratch-OST0004",
        "stripe_bytes": 1 << 20,
    }
    lustre.set_entries("client1", [{**lustre.entry, "layer": "fs", "target": target}])
    lustre.measure("client1", component=OST, layer="fs", started_at=lustre.begin + 20)
    lustre.save_counters(180 * MB)
    lustre.collect()
    assert lustre.covered()["waiting"] == 1


@pytest.mark.slow
def test_a_contended_run_is_excluded_and_its_job_named(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    lustre.probe()
    words = ["--plan", str(lustre.plan), "--history", str(lustre.history)]
    lustre.collect()
    capsys.readouterr()
    main(["judge", *words, "-v"])
    assert ", contention unknown: no counters of its server" in capsys.readouterr().out
    jobs = [[lustre.begin + 15, lustre.begin + 35, "4711", 0, 3_600_000_000]]
    lustre.save_counters(180 * MB, jobs=jobs)
    lustre.collect()
    capsys.readouterr()
    main(["judge", *words, "-v"])
    output = capsys.readouterr().out
    assert "contended: coverage 0.3" in output
    assert "job 4711 moved 3600.0 MB in the 20 s around it" in output


def test_old_records_without_coverage_are_not_read_again(lustre: Lustre) -> None:
    with History(lustre.history) as history:
        for day in range(10):
            at = time.time() - day * 86400.0 - 60
            history.save(record(component=OST, started_at=at, finished_at=at + 10))
    with ConsoleHistory(lustre.history) as history:
        uncovered = list(history.uncovered("ost", {OST}, time.time() - 3 * 86400.0))
    assert len(uncovered) == 3


# --- Counters from the files of a server.


STATS = (ROOT / "tests/data/lustre/lctl_obdfilter_n_stats.txt").read_text(encoding="utf-8")
JOBS = (ROOT / "tests/data/lustre/lctl_job_stats_n.txt").read_text(encoding="utf-8")
READ_BEFORE, WRITTEN_BEFORE, JOB_BEFORE = 478150656, 747634688, 67108864


class Server:
    """Counter files of a real Lustre server, updated by a clock."""

    def __init__(self, root: Path, clock: FakeClock, others_Bps: float) -> None:
        self._folder = root / "proc/fs/lustre/obdfilter" / OST
        self._folder.mkdir(parents=True)
        self._clock = clock
        self._others_Bps = others_Bps
        self._read, self._written = READ_BEFORE, WRITTEN_BEFORE
        self._begin = clock.wall()
        self._write()

    def wait(self, seconds: float) -> bool:
        """Pass time while the probe reads and a job writes."""
        self._clock.sleep(seconds)
        second = self._clock.wall() - self._begin
        self._read += round(80 * MB) if 20 < second <= 30 else 0
        self._written += round(self._others_Bps)
        self._write()
        return False

    def _write(self) -> None:
        stats = "snapshot_time" + STATS.split("snapshot_time")[1]
        stats = stats.replace(str(READ_BEFORE), str(self._read))
        (self._folder / "stats").write_text(stats.replace(str(WRITTEN_BEFORE), str(self._written)))
        moved = self._written - WRITTEN_BEFORE + JOB_BEFORE
        (self._folder / "job_stats").write_text(JOBS.replace(str(JOB_BEFORE), str(moved)))


def test_counters_of_a_lustre_server_reach_the_console(lustre: Lustre) -> None:
    clock = FakeClock()
    clock.now = lustre.begin
    server = Server(lustre.folder / "root", clock, 180 * MB)
    files = LocalSystem(SystemRunner(), lustre.folder / "root")
    targets = Targets(files)
    jobs = Jobs(files, list(targets.names), clock)

    def wait(seconds: float) -> bool:
        if round(clock.wall() - lustre.begin) in (15, 35):
            jobs.look()
        return server.wait(seconds)

    (part,) = sample([targets], clock, wait, 60)
    save(
        lustre.folder / "oss1" / "history.sqlite",
        records_of(part, Origin("oss1", "sampling"), {}, jobs.drain()),
    )
    lustre.probe()
    lustre.collect()
    record = lustre.latest()
    assert record.coverage == pytest.approx(80 / 260, abs=0.02)
    assert others_in(record).job == Job("alpha.0", 20 * 180_000_000, 20.0)
