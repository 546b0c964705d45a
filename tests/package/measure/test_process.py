"""Whoever finds the note of a run sees whether anything of it is left."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.measure.process import is_alive, this_process
from plumbline.model.series import Process

PRINT = """
import fcntl, os, sys
from plumbline.measure.process import this_process
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
print(*this_process(lock))
"""


@pytest.fixture
def gone(tmp_path: Path) -> Process:
    """A process that has ended; its lock is in ``tmp_path``."""
    source = str(Path(__file__).parents[3] / "src")
    said = subprocess.run(
        [sys.executable, "-c", PRINT, str(tmp_path / "lock")],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return Process(int(said[0]), int(said[1]), said[2], said[3])


def test_a_process_that_is_there_lives(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        assert is_alive(this_process(lock.fileno()))


def test_a_process_that_has_ended_lives_no_longer(gone: Process) -> None:
    assert not is_alive(gone)


def test_another_process_with_the_same_number_is_not_mistaken(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        own = this_process(lock.fileno())
    assert not is_alive(own._replace(started=own.started - 1))


def test_nothing_of_an_earlier_boot_lives(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        own = this_process(lock.fileno())
        assert is_alive(own)
        assert not is_alive(own._replace(boot="10d3cba1-7b9d-4a9e-8b5e-3c0f2a4d6e7f"))


def test_a_tool_that_keeps_the_lock_of_a_run_that_is_gone_lives(
    gone: Process, tmp_path: Path
) -> None:
    with (tmp_path / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert is_alive(gone)
    assert not is_alive(gone)
