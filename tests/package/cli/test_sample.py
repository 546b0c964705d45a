"""``plumbline sample`` saves its samples, however it ends."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from plumbline.store.database import Selection
from plumbline.store.history import History
from tests.package.cli.driver import SOURCE, Run
from tests.package.parts.facts.symptoms_nodes import expectations
from tests.processes import run_to_end

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
