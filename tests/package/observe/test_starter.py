"""A helper starts commands one after the other, and never keeps what it gives them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.observe.command import SystemRunner
from plumbline.observe.starter import Command, Helper, request_of
from tests.package.waiting import alive, eventually

RUN = SystemRunner()
PARENT = ["sh", "-c", "echo $PPID"]


def text(command: Command) -> str:
    """Return the output of a command after its end."""
    output, errors = command.stdout.read(), command.stderr.read()
    command.wait()
    command.stdout.close()
    command.stderr.close()
    assert errors == b""
    return output.decode()


def run(argv: list[str], keep_open: tuple[int, ...] = ()) -> Command:
    return Command([f"/bin/{argv[0]}", *argv[1:]], os.environ, None, keep_open)


def test_one_helper_starts_many_commands() -> None:
    assert len({RUN(PARENT, 20).stdout for _ in range(3)}) == 1


def test_a_helper_that_waits_for_a_command_is_not_used_for_another_one() -> None:
    sleeping = run(["sleep", "60"])
    busy = Path(f"/proc/{sleeping.pid}/stat").read_text().rpartition(")")[2].split()[1]
    try:
        assert text(run(PARENT)).strip() != busy
    finally:
        os.killpg(sleeping.pid, signal.SIGKILL)
        text(sleeping)
    assert sleeping.returncode == -signal.SIGKILL


def test_a_lost_helper_counts_as_a_killed_command_which_is_ended(tmp_path: Path) -> None:
    # a helper that is lost before it has answered has started nothing
    script = f"echo $$ > {tmp_path}/pid; sleep 0.5; kill -9 $PPID; exec sleep 60"
    done = RUN(["sh", "-c", script], 50)
    assert (done.exit_code, done.hung, done.timed_out) == (-9, False, False)
    eventually(lambda: not alive(int((tmp_path / "pid").read_text())))
    assert RUN(["echo", "next"], 20).stdout == "next\n"


def test_a_forked_process_starts_a_helper_of_its_own() -> None:
    before = text(run(PARENT))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, text(run(PARENT)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 100).decode() not in ("", before)
    os.close(reader)
    os.close(writer)


def test_a_command_inherits_hundreds_of_locks_and_the_helper_none(tmp_path: Path) -> None:
    """A parallel run holds the lock of each target."""
    locks = [os.open(tmp_path / f"{n}.lock", os.O_CREAT | os.O_RDWR) for n in range(600)]
    try:
        listing = "ls -l /proc/self/fd /proc/$PPID/fd"
        command = run(["sh", "-c", listing], tuple(locks))
        assert text(command).count(".lock") == len(locks)
    finally:
        for lock in locks:
            os.close(lock)


def test_a_command_that_writes_into_a_closed_pipe_ends() -> None:
    done = RUN(["sh", "-c", "yes | head -n 1; exec yes | :"], 50)
    assert (done.stdout, done.ok) == ("y\n", True)
    assert "0000000001000" not in RUN(["grep", "SigIgn", "/proc/self/status"], 20).stdout


def test_a_helper_ends_with_the_process_that_started_it() -> None:
    words = (
        "import os; from plumbline.observe.command import SystemRunner;"
        f"print(SystemRunner()({PARENT!r}, 20).stdout, flush=True);"
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    eventually(lambda: not alive(int(done.stdout)))


def test_a_helper_that_cannot_be_started_is_an_error() -> None:
    helper = Helper(("/no/such/program",))
    with pytest.raises(ConnectionError):
        helper.begin({}, (1, 2, 0))
    helper.close()


def test_an_interruption_ends_a_command_whose_process_is_not_known_yet(tmp_path: Path) -> None:
    """At low priority a helper may answer long after its command has begun."""
    late = (
        "import time; from plumbline.observe import folders; told = folders.number;"
        "folders.number = lambda value: (time.sleep(1), told(value))[1]; folders._main()"
    )
    helper = Helper((sys.executable, "-c", late))
    script = f"cd {tmp_path}; echo $$ > new; mv new pid; exec sleep 600"
    request = request_of(["/bin/sh", "-c", script], os.environ, None)
    null, folder = os.open(os.devnull, os.O_RDWR), os.open("/", os.O_PATH)

    def interrupt(*_: object) -> None:
        if (tmp_path / "pid").exists():
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        with pytest.raises(KeyboardInterrupt):
            helper.begin(request, (null, null, folder))
    finally:
        signal.signal(signal.SIGALRM, before)
        os.close(null)
        os.close(folder)
    helper.close()
    eventually(lambda: not alive(int((tmp_path / "pid").read_text())))
