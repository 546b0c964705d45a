"""What a run of the tests skips, and what it leaves behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import remove_clocks_of_the_dead
from tests.processes import run_to_end
from tests.project.repository import ROOT

_USER = ["unshare", "--user"] if os.geteuid() == 0 else []
"""Begins a command whose user is not root."""


@pytest.mark.slow
@pytest.mark.skipif(
    bool(_USER) and run_to_end(*_USER, "true").returncode != 0, reason="there are no namespaces"
)
def test_without_root_only_the_tests_of_the_lab_are_skipped(tmp_path: Path) -> None:
    tests = ("tests/lab/test_lab.py", "tests/package/model/test_units.py")
    options = ("-n", "0", "-q", "-o", f"cache_dir={tmp_path}")
    run = run_to_end(*_USER, sys.executable, "-m", "pytest", *options, *tests, cwd=ROOT)
    summary = re.search(r"(\d+) passed, (\d+) skipped", run.stdout)
    assert summary, run.stdout
    assert all(int(number) > 10 for number in summary.groups())


@pytest.mark.skipif(shutil.which("faketime") is None, reason="there is no faketime")
def test_clocks_of_killed_processes_are_removed_and_those_of_others_stay() -> None:
    folder = Path("/dev/shm")
    argv = ["faketime", "-f", "2026-01-01 00:00:00", "sh", "-c", "echo; exec sleep 60"]
    before = {*folder.iterdir()}
    with (
        subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as killed,
        subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as alive,
    ):
        for process in (killed, alive):
            assert process.stdout
            process.stdout.readline()
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
        left = {path.name for path in {*folder.iterdir()} - before}
        try:
            assert {f"faketime_shm_{process.pid}" for process in (killed, alive)} <= left
            remove_clocks_of_the_dead(folder)
            left = {path.name for path in folder.iterdir()}
            assert f"faketime_shm_{killed.pid}" not in left
            assert f"sem.faketime_sem_{killed.pid}" not in left
            assert f"faketime_shm_{alive.pid}" in left
        finally:
            os.killpg(alive.pid, signal.SIGKILL)
            alive.wait()
            remove_clocks_of_the_dead(folder)
