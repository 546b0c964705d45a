"""``plumbline counters`` as a process: what it writes, refuses, and does when it is ended."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from plumbline.cli.counters import _families
from plumbline.doors.prometheus import exposition
from plumbline.observe.command import SystemClock
from plumbline.observe.counting import BoundedReads, Counters
from tests.package.cli.driver import COMMAND
from tests.package.observe.lustre_server import make_server
from tests.package.prometheus import complaints

COUNT = [*COMMAND, "counters"]
LOOKED = "plumbline_lustre_looked_timestamp_seconds"


def call(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COUNT, *words], capture_output=True, text=True, check=False)


def test_one_look_goes_to_standard_output() -> None:
    done = call()
    assert done.returncode == 0
    assert f"# TYPE {LOOKED} gauge" in done.stdout


@pytest.mark.parametrize(
    "words", [["--every", "0.5s"], ["--every", "0s", "-o", "x"], ["--every", "2h", "-o", "x"]]
)
def test_a_time_that_makes_no_sense_is_refused(words: list[str]) -> None:
    done = call(*words)
    assert (done.returncode, done.stdout) == (64, "")
    assert "--every takes a time from 1s to 60min" in done.stderr


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    done = call("-o", str(tmp_path / "absent" / "x.prom"))
    assert done.returncode == 74
    assert "x.prom cannot be written" in done.stderr


@pytest.mark.slow
def test_it_writes_until_it_is_ended(tmp_path: Path) -> None:
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
def test_prometheus_reads_what_is_written(tmp_path: Path) -> None:
    make_server(tmp_path, 2)
    clock = SystemClock()
    looked = Counters(BoundedReads(clock), clock, str(tmp_path)).look()
    text = exposition(_families(looked.counts))
    assert 'plumbline_lustre_disk_io_seconds_bucket{source="osd-ldiskfs"' in text
    assert complaints(text) == ""
