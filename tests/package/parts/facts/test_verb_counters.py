"""``plumbline counters`` as a process."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from plumbline.doors.prometheus import exposition
from plumbline.observe.command import SystemClock
from plumbline.parts.facts.counting import BoundedReads, Counters
from plumbline.parts.facts.verbs.counters import _families
from tests.package.cli.driver import COMMAND
from tests.package.observe.lustre_server import make_server
from tests.package.prometheus import complaints
from tests.processes import run_to_end

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
