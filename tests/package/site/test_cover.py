"""What ``plumbline collect`` learns of others: the records of a client and those of its server.

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
from plumbline.model.limits import Reference
from plumbline.model.record import Record
from plumbline.observe.command import SystemRunner
from plumbline.observe.coverage import Job, Others, others_of
from plumbline.observe.gather import LocalSystem
from plumbline.observe.job_stats import Jobs
from plumbline.site.cover import cover
from plumbline.store.collection import ConsoleHistory, CoveredRecord
from plumbline.store.database import Selection, inflate
from plumbline.store.history import History
from plumbline.store.plan import load_plan
from tests.package.judgements import BASELINE, expectation
from tests.package.measure.units import FakeClock
from tests.package.observe.servers import OST, counted
from tests.package.records import record, save
from tests.package.site.test_gather import Site
from tests.project.repository import ROOT

MB = 1e6
VERSIONS = {"client": "2.15.5", "server": "2.15.5"}


class Lustre(Site):
    """A client that measures an OST for ten seconds, and the server of that OST."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        target = {"kind": "lustre", "mount": "/scratch", "ost": OST}
        reference = Reference(None, BASELINE._replace(versions=VERSIONS))
        self.entry = expectation(
            component=OST, target=target, host="oss1", references={"read/single": reference}
        ).to_json()
        self.planned("client1", [self.entry])
        self.begin = time.time() - 600

    def probed(self, **changes: Any) -> Record:
        """Measure 80 MB/s for ten seconds."""
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
        (one,) = self.measure("client1", **{**values, **changes})
        return one

    def sampled(self, others_Bps: float, seconds: int = 60, **details: Any) -> None:
        """Count the probe and what others write all the time."""
        read = [80 * MB if 20 <= second < 30 else 0.0 for second in range(seconds)]
        written = [others_Bps] * seconds
        save(
            self.folder / "oss1" / "history.sqlite",
            counted(read, written, start=self.begin, **details),
        )

    def known(self) -> Record:
        """Return the latest record of the OST as the console has it."""
        with History(self.history) as history:
            *_, latest = history.records(Selection(layer="ost"))
        return latest

    def covered(self) -> dict[str, Any]:
        found = cover(self.history, load_plan(str(self.plan)).nodes, time.time())
        return found._asdict()


@pytest.fixture
def lustre(tmp_path: Path) -> Lustre:
    return Lustre(tmp_path)


def collected(lustre: Lustre, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert lustre.collect("--json") == 0
    document = json.loads(capsys.readouterr().out)
    found: dict[str, Any] = document["coverage"]
    return found


def others(record: Record) -> Others:
    found = others_of(record)
    assert found is not None
    return found


def test_a_measurement_gets_the_coverage_that_its_server_has_counted(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    made = lustre.probed()
    jobs = [[lustre.begin + 15, lustre.begin + 35, "4711", 0, 3_600_000_000]]
    lustre.sampled(180 * MB, jobs=jobs)
    assert collected(lustre, capsys) == {"known": 1, "contended": 1, "waiting": 0, "doubts": []}
    kept = lustre.known()
    assert kept.coverage == pytest.approx(80 / 260, abs=0.02)
    assert others(kept).job == Job("4711", 3_600_000_000, 20.0)
    # nothing else of it has changed
    assert kept._replace(coverage=None, details=made.details) == made


def test_who_asks_the_index_gets_the_same(lustre: Lustre) -> None:
    lustre.probed()
    lustre.sampled(180 * MB)
    lustre.collect()
    with History(lustre.history) as history:
        (key,) = history.series("ost", OST)
        (point,) = history.points(key, 5)
    assert point.coverage == lustre.known().coverage


def test_a_quiet_measurement_is_known_to_be_quiet(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    lustre.probed()
    lustre.sampled(0.0)
    assert collected(lustre, capsys) == {"known": 1, "contended": 0, "waiting": 0, "doubts": []}
    assert lustre.known().coverage == 1.0


def test_counters_that_come_later_are_waited_for(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    lustre.probed()
    assert collected(lustre, capsys)["waiting"] == 1
    lustre.sampled(180 * MB, seconds=25)
    assert collected(lustre, capsys)["waiting"] == 1
    assert lustre.known().coverage is None
    lustre.sampled(180 * MB)
    assert collected(lustre, capsys)["contended"] == 1


@pytest.mark.slow
def test_a_doubt_is_kept_once_no_more_can_come(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    lustre.probed()
    lustre.sampled(8 * MB)
    assert collected(lustre, capsys)["waiting"] == 1
    lustre.begin -= 7200
    lustre.probed()
    lustre.sampled(8 * MB)
    (doubt,) = collected(lustre, capsys)["doubts"]
    assert doubt.startswith(f"{OST} read: coverage between 0.")
    assert lustre.known().coverage is None
    assert others(lustre.known()).server == "oss1"
    assert collected(lustre, capsys) == {"known": 0, "contended": 0, "waiting": 1, "doubts": []}


def test_a_coverage_of_its_own_is_left_alone(lustre: Lustre) -> None:
    lustre.probed(coverage=0.97)
    lustre.sampled(180 * MB)
    assert lustre.collect() == 0
    assert lustre.known().coverage == 0.97
    with ConsoleHistory(lustre.history) as history:
        history.cover([CoveredRecord(lustre.known(), 0.3, Others("oss1"))])
    assert lustre.known().coverage == 0.97


def test_what_a_server_counted_and_nobody_understands_is_said(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    lustre.begin -= 7200
    lustre.probed()
    lustre.sampled(180 * MB, watched=["a", "b"])
    (doubt,) = collected(lustre, capsys)["doubts"]
    assert "what oss1 counted is damaged" in doubt


@pytest.mark.slow
def test_a_damaged_record_keeps_no_other_from_its_coverage(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    lustre.probed(run_id="run-0")
    lustre.probed()
    lustre.sampled(180 * MB)
    assert collected(lustre, capsys)["contended"] == 2
    with closing(sqlite3.connect(lustre.history)) as database, database:
        database.create_function("inflated", 1, inflate)
        spoil = "UPDATE records SET coverage = NULL, body = {} WHERE run_id = ?"
        database.execute(spoil.format("'{cut'"), ("run-0",))
        database.execute(
            spoil.format("json_remove(inflated(body), '$.details', '$.coverage')"), ("run-1",)
        )
    assert collected(lustre, capsys) == {"known": 1, "contended": 1, "waiting": 0, "doubts": []}


def test_a_person_reads_it_in_one_line(lustre: Lustre, capsys: pytest.CaptureFixture[str]) -> None:
    lustre.probed()
    lustre.sampled(180 * MB)
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
def test_what_is_no_target_of_lustre_is_not_asked_about(
    target: Optional[dict[str, str]], lustre: Lustre
) -> None:
    lustre.planned("client1", [{**lustre.entry, "target": target}] if target else [])
    lustre.probed()
    lustre.sampled(180 * MB)
    lustre.collect()
    assert lustre.covered() == {"known": 0, "contended": 0, "waiting": 0, "doubts": ()}
    assert lustre.known().coverage is None


def test_a_file_over_several_targets_asks_for_all_of_them(lustre: Lustre) -> None:
    target = {
        "kind": "lustre-striped",
        "mount": "/scratch",
        "osts": f"{OST},scratch-OST0004",
        "stripe_bytes": 1 << 20,
    }
    lustre.planned("client1", [{**lustre.entry, "layer": "fs", "target": target}])
    lustre.measure("client1", component=OST, layer="fs", started_at=lustre.begin + 20)
    lustre.sampled(180 * MB)
    lustre.collect()
    assert lustre.covered()["waiting"] == 1


@pytest.mark.slow
def test_the_console_excuses_what_was_contended_and_names_the_job(
    lustre: Lustre, capsys: pytest.CaptureFixture[str]
) -> None:
    lustre.probed()
    words = ["--plan", str(lustre.plan), "--history", str(lustre.history)]
    lustre.collect()
    capsys.readouterr()
    main(["judge", *words, "-v"])
    assert ", contention unknown: no counters of its server" in capsys.readouterr().out
    jobs = [[lustre.begin + 15, lustre.begin + 35, "4711", 0, 3_600_000_000]]
    lustre.sampled(180 * MB, jobs=jobs)
    lustre.collect()
    capsys.readouterr()
    main(["judge", *words, "-v"])
    said = capsys.readouterr().out
    assert "contended: coverage 0.3" in said
    assert "job 4711 moved 3600.0 MB in the 20 s around it" in said


def test_half_a_year_of_a_large_site_is_not_read_again(lustre: Lustre) -> None:
    with History(lustre.history) as history:
        for day in range(10):
            at = time.time() - day * 86400.0 - 60
            history.save(record(component=OST, started_at=at, finished_at=at + 10))
    with ConsoleHistory(lustre.history) as history:
        found = list(history.uncovered("ost", {OST}, time.time() - 3 * 86400.0))
    assert len(found) == 3


# --- from the files of a server


STATS = (ROOT / "tests/data/lustre/lctl_obdfilter_n_stats.txt").read_text(encoding="utf-8")
JOBS = (ROOT / "tests/data/lustre/lctl_job_stats_n.txt").read_text(encoding="utf-8")
READ_BEFORE, WRITTEN_BEFORE, JOB_BEFORE = 478150656, 747634688, 67108864


class Server:
    """The files in which a real Lustre counts, and a clock that moves them on."""

    def __init__(self, root: Path, clock: FakeClock, others_Bps: float) -> None:
        self._folder = root / "proc/fs/lustre/obdfilter" / OST
        self._folder.mkdir(parents=True)
        self._clock = clock
        self._others_Bps = others_Bps
        self._read, self._written = READ_BEFORE, WRITTEN_BEFORE
        self._begin = clock.wall()
        self._write()

    def wait(self, seconds: float) -> bool:
        """Let the time go by in which the probe reads and a job writes."""
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


def test_what_lustre_counts_on_the_server_is_known_on_the_console(lustre: Lustre) -> None:
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
    lustre.probed()
    lustre.collect()
    kept = lustre.known()
    assert kept.coverage == pytest.approx(80 / 260, abs=0.02)
    assert others(kept).job == Job("alpha.0", 20 * 180_000_000, 20.0)
