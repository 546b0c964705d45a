"""``plumbline sample``: it keeps what it saw, however it ends, and says what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plumbline.store.database import Selection
from plumbline.store.history import History
from tests.package.cli.driver import SOURCE, Run
from tests.package.observe.symptoms_nodes import expectations

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
"""The command, which is told to end in its second interval."""


def words(folder: Path, *more: str) -> list[str]:
    path = str(folder / "none.json")
    return ["sample", "--state", str(folder), "--expectations", path, *more]


@pytest.fixture
def device() -> str:
    found = [str(each) for each in Path("/dev").iterdir() if each.is_block_device()]
    if not found:
        pytest.skip("this machine shows no block device")
    return found[0]


@pytest.mark.slow
def test_it_watches_a_device_until_it_is_told_to_end(device: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WATCH, *words(tmp_path, "--device", f"d={device}")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert " s watched; " in ended.stdout
    with History(tmp_path / "history.sqlite") as history:
        kept = list(history.records(Selection()))
    assert {(one.layer, one.component) for one in kept} == {("server", "d")}
    assert {one.operation.value for one in kept} == {"read", "write"}


@pytest.mark.slow
def test_it_ends_at_its_limit(device: str, tmp_path: Path, run: Run) -> None:
    began = time.monotonic()
    kept = [
        json.loads(line)
        for line in run(
            *words(tmp_path, "--device", f"d={device}", "--limit", "1s", "--json")
        ).out.splitlines()
    ]
    (watched_s,) = {one["details"]["watched_s"] for one in kept}
    assert 1 <= watched_s <= round(time.monotonic() - began)


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--device", "sdb"], 64, "write NAME=PATH"),
        (["--limit", "2h", "--device", "a=/nowhere"], 65, "nothing counts here"),
        (["--device", "a=/nowhere"], 65, "a: /nowhere cannot be found"),
        ([], 65, "none.json: no such file"),
    ],
)
def test_what_cannot_be_watched_is_said(
    more: list[str], code: int, said: str, tmp_path: Path, run: Run
) -> None:
    assert said in run(*words(tmp_path, *more), code=code).err


def test_devices_that_the_node_is_to_measure_are_those_watched(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "expectations.json"
    path.write_text(json.dumps(expectations("oss1").to_json()), encoding="utf-8")
    complaints = run(
        "sample", "--expectations", str(path), "--state", str(tmp_path), code=65
    ).err.splitlines()
    assert len([one for one in complaints if one.endswith("it is not watched")]) > 0
