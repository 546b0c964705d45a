"""The note of a run shows whether any process of it is alive."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

import pytest

from plumbline.measure.process import is_alive, this_process
from plumbline.model.series import Process
from tests.processes import run_to_end

PRINT = """
import fcntl, os, sys
from plumbline.measure.process import this_process
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
print(*this_process(lock))
"""


@pytest.fixture
def dead(tmp_path: Path) -> Process:
    """A process that has ended; its lock is in ``tmp_path``."""
    source = str(Path(__file__).parents[3] / "src")
    program = (sys.executable, "-c", PRINT, tmp_path / "lock")
    words = run_to_end(*program, env={**os.environ, "PYTHONPATH": source}).stdout.split()
    return Process(int(words[0]), int(words[1]), words[2], words[3])


def test_a_running_process_is_alive(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        assert is_alive(this_process(lock.fileno()))


def test_an_ended_process_is_not_alive(dead: Process) -> None:
    assert not is_alive(dead)


def test_another_process_with_the_same_number_is_not_the_same(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        own = Process(*this_process(lock.fileno()))
    assert not is_alive(own._replace(started=own.started - 1))


def test_no_process_of_an_earlier_boot_is_alive(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        own = Process(*this_process(lock.fileno()))
        assert is_alive(own)
        assert not is_alive(own._replace(boot="10d3cba1-7b9d-4a9e-8b5e-3c0f2a4d6e7f"))


def test_a_dead_run_is_alive_while_a_tool_keeps_its_lock(dead: Process, tmp_path: Path) -> None:
    with (tmp_path / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert is_alive(dead)
    assert not is_alive(dead)
