"""``plumbline counters`` and ``sample``: counters of a host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plumbline.doors.prometheus import exposition
from plumbline.observe.command import SystemClock
from plumbline.parts.facts.counting import BoundedReads, Counters
from plumbline.parts.facts.verbs.counters import _families
from plumbline.store.database import Selection
from plumbline.store.history import History
from tests.package.cli.driver import COMMAND, SOURCE, Run
from tests.package.observe.lustre_server import make_server
from tests.package.parts.facts.symptoms_nodes import expectations
from tests.package.prometheus import complaints
from tests.processes import run_to_end

# --- ``plumbline counters`` as a process.


COUNT = [*COMMAND, "counters"]
TIMESTAMP = "plumbline_lustre_looked_timestamp_seconds"


def test_counters_are_printed_once_by_default() -> None:
    process = run_to_end(*COUNT)
    assert process.returncode == 0
    assert f"# TYPE {TIMESTAMP} gauge" in process.stdout


@pytest.mark.slow
def test_counters_are_written_until_the_command_is_terminated(tmp_path: Path) -> None:
    output = tmp_path / "lustre.prom"
    with subprocess.Popen([*COUNT, "--every", "1s", "-o", str(output)]) as process:
        try:
            deadline = time.monotonic() + 20
            texts: set[str] = set()
            while len(texts) < 2 and time.monotonic() < deadline:
                texts |= {output.read_text()} if output.exists() else set()
                time.sleep(0.05)
        finally:
            process.send_signal(signal.SIGTERM)
    assert len(texts) == 2
    assert process.returncode == 0
    assert output.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["lustre.prom"]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_prometheus_reads_the_counters(tmp_path: Path) -> None:
    make_server(tmp_path, 2)
    clock = SystemClock()
    look = Counters(BoundedReads(), clock, str(tmp_path)).look()
    text = exposition(_families(look.counts))
    assert 'plumbline_lustre_disk_io_seconds_bucket{source="osd-ldiskfs"' in text
    assert complaints(text) == ""


# --- ``plumbline sample`` saves its samples, however it ends.


WATCH = """
import os, signal, sys
from plumbline.cli import main
from plumbline.measure.sample import Devices
read, readings = Devices.read, []
def counted(self):
    readings.append(1)
    if len(readings) == 3:
        os.kill(os.getpid(), signal.SIGTERM)
    return read(self)
Devices.read = counted
sys.exit(main(sys.argv[1:]))
"""
"""The command, terminated in its second interval."""


def words(folder: Path, *options: str) -> list[str]:
    path = str(folder / "none.json")
    return ["sample", "--state", str(folder), "--expectations", path, *options]


@pytest.fixture
def device() -> str:
    devices = [str(path) for path in Path("/dev").iterdir() if path.is_block_device()]
    if not devices:
        pytest.skip("this machine shows no block device")
    return devices[0]


@pytest.mark.slow
def test_sample_watches_a_device_until_sigterm(device: str, tmp_path: Path) -> None:
    ended = run_to_end(
        *(sys.executable, "-c", WATCH, *words(tmp_path, "--device", f"d={device}")),
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        timeout=300,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert " s watched; " in ended.stdout
    with History(tmp_path / "history.sqlite") as history:
        records = list(history.records(Selection()))
    assert {(record.layer, record.component) for record in records} == {("server", "d")}
    assert {record.operation.value for record in records} == {"read", "write"}


@pytest.mark.slow
def test_sample_ends_at_its_limit(device: str, tmp_path: Path, run: Run) -> None:
    start = time.monotonic()
    records = [
        json.loads(line)
        for line in run(
            *words(tmp_path, "--device", f"d={device}", "--limit", "1s", "--json")
        ).out.splitlines()
    ]
    (watched_s,) = {record["details"]["watched_s"] for record in records}
    assert 1 <= watched_s <= round(time.monotonic() - start)


def test_sample_watches_the_devices_in_the_expectations(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "expectations.json"
    path.write_text(json.dumps(expectations("oss1").to_json()), encoding="utf-8")
    lines = run(
        "sample", "--expectations", str(path), "--state", str(tmp_path), code=65
    ).err.splitlines()
    assert len([line for line in lines if line.endswith("it is not watched")]) > 0
