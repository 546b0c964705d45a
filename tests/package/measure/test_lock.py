"""A target is held by one run, or by orphans of a dead run until they are gone."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Iterator, NamedTuple

import pytest

from plumbline.measure import lock
from plumbline.measure.lock import Locks, OwnLocks, StuckError, abandoned_lock
from plumbline.model.errors import BusyError, StoreError
from plumbline.observe.command import SystemClock, SystemRunner
from tests.package.measure.units import is_free
from tests.processes import can_mount, may_act_for_others

HOLD = """
import subprocess, sys, time
from pathlib import Path
from plumbline.observe.command import SystemClock
from plumbline.measure.lock import Locks
with Locks(Path(sys.argv[1]), SystemClock()).hold("ost", "a") as descriptor:
    tool = subprocess.Popen(sys.argv[2:], pass_fds=[descriptor], start_new_session=True)
    print(tool.pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def locks(tmp_path: Path) -> Locks:
    return Locks(tmp_path / "locks", SystemClock())


class Run(NamedTuple):
    """Another process that holds the lock, and its tool that inherited it."""

    process: subprocess.Popen[str]
    tool: int


@contextmanager
def run_of_another(locks: Locks, *tool: str) -> Iterator[Run]:
    words = [str(locks.directory), *(tool or ("sleep", "60"))]
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, *words], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    run = Run(process, int(process.stdout.readline()))
    try:
        yield run
    finally:
        process.kill()
        with suppress(ProcessLookupError):
            os.kill(run.tool, signal.SIGKILL)
        process.communicate()


@contextmanager
def killed_run(locks: Locks, *tool: str) -> Iterator[Run]:
    """Yield a killed run whose tool is an orphan."""
    with run_of_another(locks, *tool) as run:
        run.process.kill()
        run.process.wait()
        yield run


def test_a_lock_names_its_holder_and_leaves_nothing_behind(locks: Locks) -> None:
    with locks.hold("raw", "oss1/disk 1"):
        (file,) = locks.directory.iterdir()
        assert json.loads(file.read_text())["pid"] == os.getpid()
        assert not is_free(locks, "raw", "oss1/disk 1")
        assert is_free(locks, "raw", "other")
    assert is_free(locks, "raw", "oss1/disk 1")
    assert list(locks.directory.iterdir()) == []


def test_a_second_run_learns_who_holds_the_target(locks: Locks) -> None:
    with run_of_another(locks) as run:
        sentence = f"ost-a is being measured by process {run.process.pid}"
        with pytest.raises(BusyError, match=sentence), locks.hold("ost", "a"):
            pass


@pytest.mark.parametrize("name", ["link", "."])
def test_a_living_run_is_found_by_any_path_of_its_folder(
    locks: Locks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "link").symlink_to(locks.directory)
    monkeypatch.chdir(locks.directory if name == "." else tmp_path)
    with run_of_another(locks) as run:
        sentence = f"ost-a is being measured by process {run.process.pid}"
        other = Locks(Path(name), SystemClock())
        with pytest.raises(BusyError, match=sentence), other.hold("ost", "a"):
            pass


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        "\0" * 40,
        '{"pid": 1}',
        '{"pid": "1", "host": "a", "since": 0}',
        '{"pid": -1, "host": "a", "since": 0}',
        '{"pid": 1, "host": "a", "since": "today"}',
    ],
)
def test_a_lock_with_a_damaged_note_still_counts_as_held(locks: Locks, text: str) -> None:
    with locks.hold("ost", "a"):
        (file,) = locks.directory.iterdir()
        file.write_text(text)
        with pytest.raises(BusyError, match="by another run"), locks.hold("ost", "a"):
            pass


def test_a_component_name_longer_than_a_file_name_is_locked_too(locks: Locks) -> None:
    component, other = "/mnt/" + "a" * 250, "/mnt/" + "a" * 250 + "b"
    with locks.hold("ost", component), locks.hold("ost", other):
        assert len(list(locks.directory.iterdir())) == 2
    with locks.hold("ost", component):
        pass


def test_the_same_process_cannot_hold_a_target_twice(locks: Locks) -> None:
    with locks.hold("ost", "a"), pytest.raises(BusyError), locks.hold("ost", "a"):
        pass


def test_an_orphan_of_a_killed_run_is_ended_and_its_target_taken_over(locks: Locks) -> None:
    with killed_run(locks) as run:
        assert not is_free(locks, "ost", "a"), "the tool inherited the lock"
        with locks.hold("ost", "a"):
            assert f"/{run.tool}/" not in str(list(Path("/proc").glob(f"{run.tool}/fd/*")))


def test_an_orphan_that_just_ends_is_not_a_living_run(
    locks: Locks,
) -> None:
    with killed_run(locks) as run:

        class Meanwhile(SystemClock):
            def sleep(self, seconds: float) -> None:
                with suppress(ProcessLookupError):
                    os.kill(run.tool, signal.SIGKILL)
                super().sleep(seconds)

        with Locks(locks.directory, Meanwhile()).hold("ost", "a"):
            pass


def test_a_target_taken_over_by_another_run_is_not_stuck(
    locks: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    with killed_run(locks), ExitStack() as stack:
        runs: list[Run] = []

        class Meanwhile(SystemClock):
            sleeps = 0

            def sleep(self, seconds: float) -> None:
                super().sleep(seconds)
                self.sleeps += 1
                if self.sleeps == 2:
                    # the tool has been ended by now
                    runs.append(stack.enter_context(run_of_another(locks)))

        with monkeypatch.context() as patched:
            patched.setattr(Locks, "_take", lambda *_: None)  # always a moment too late
            with (
                pytest.raises(BusyError) as caught,
                Locks(locks.directory, Meanwhile()).hold("ost", "a"),
            ):
                pass
        assert not isinstance(caught.value, StuckError)
        assert f"measured by process {runs[0].process.pid} on" in str(caught.value)


FORKS = """
import os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
if os.fork() == 0:
    os.rename(sys.argv[1], sys.argv[1] + ".done")
time.sleep(60)
"""


def test_children_that_an_orphan_starts_before_its_end_are_ended_too(
    locks: Locks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal_file = tmp_path / "word"
    with killed_run(locks, sys.executable, "-c", FORKS, str(signal_file)) as run:
        kill = os.kill

        def forked_and_killed(pid: int, number: int) -> None:
            if pid == run.tool and number == signal.SIGKILL:
                signal_file.touch()
                while signal_file.exists():
                    time.sleep(0.01)
            kill(pid, number)

        with monkeypatch.context() as patched:
            patched.setattr(os, "kill", forked_and_killed)
            with locks.hold("ost", "a"):
                assert (tmp_path / "word.done").exists()


def test_a_stuck_orphan_keeps_its_target(locks: Locks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_ORPHAN_WAIT_S", 0.3)
    with killed_run(locks) as run, monkeypatch.context() as patched:
        patched.setattr(os, "kill", lambda pid, number: None)  # as if stuck in the kernel
        sentence = f"process {run.tool} of a run .* stuck in the kernel"
        with pytest.raises(StuckError, match=sentence), locks.hold("ost", "a"):
            pass


def test_an_invisible_holder_is_not_stuck(locks: Locks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_ORPHAN_WAIT_S", 0.3)
    with killed_run(locks):
        # as in /proc for a user if the tool is another user's
        monkeypatch.setattr(lock, "_processes_with", lambda path: [])
        with pytest.raises(BusyError, match="by another run") as caught, locks.hold("ost", "a"):
            pass
        assert not isinstance(caught.value, StuckError)


def test_a_lock_outlives_its_run_while_an_abandoned_tool_runs(locks: Locks) -> None:
    with locks.hold("ost", "a") as descriptor:
        tool = subprocess.Popen(["sleep", "60"], pass_fds=[descriptor])
    try:
        assert not is_free(locks, "ost", "a")
    finally:
        tool.kill()
        tool.wait()
    assert is_free(locks, "ost", "a")


def test_a_tool_starting_at_release_leaves_no_lock_file(tmp_path: Path) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Clock(SystemClock):
        def sleep(self, seconds: float) -> None:
            started.pop().communicate()

    locks = Locks(tmp_path / "locks", Clock())
    with locks.hold("ost", "a") as descriptor:
        # like a child between fork and exec, which has all descriptors
        started.append(subprocess.Popen(["cat"], pass_fds=[descriptor], stdin=subprocess.PIPE))
    assert started == []
    assert list(locks.directory.iterdir()) == []


def test_tools_inherit_the_lock_from_the_runner(locks: Locks) -> None:
    with locks.hold("ost", "a") as descriptor:
        listing = SystemRunner(keep_open=[descriptor])(["ls", "-l", "/proc/self/fd"], 20).stdout
    assert "ost-a.lock" in listing


def test_a_waiting_run_does_not_take_a_lock_file_that_was_just_removed(locks: Locks) -> None:
    with locks.hold("ost", "a"):
        (file,) = locks.directory.iterdir()
        old = os.open(file, os.O_RDWR)
    assert not lock.same_file(old, file)
    os.close(old)


def test_a_lock_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"locks cannot be kept in .*file/locks: .*--locks"):
        Locks(tmp_path / "file" / "locks", SystemClock())


@pytest.fixture
def own(tmp_path: Path) -> OwnLocks:
    return OwnLocks(tmp_path / "own", SystemClock())


def test_a_users_own_folder_is_dissolved_except_held_locks(own: OwnLocks) -> None:
    (own.directory / "ost-killed.lock").write_text("{}")
    with own.hold("ost", "b"):
        own.dissolve()
        assert [path.name for path in own.directory.iterdir()] == ["ost-b.lock"]
    own.dissolve()
    assert not own.directory.exists()


def test_a_users_own_folder_is_removed_once_an_ended_tool_releases_its_lock(own: OwnLocks) -> None:
    descriptor = os.open(own.directory / "ost-b.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    release = threading.Timer(0.1, os.close, (descriptor,))
    release.start()
    own.dissolve()
    release.join()
    assert not own.directory.exists()


def test_a_folder_dissolved_by_another_run_is_made_anew(own: OwnLocks) -> None:
    other = OwnLocks(own.directory, SystemClock())
    other.dissolve()
    with own.hold("ost", "b"):
        assert own.directory.stat().st_mode & 0o777 == 0o700


def test_the_folder_of_the_system_is_never_dissolved(locks: Locks) -> None:
    locks.dissolve()
    assert locks.directory.exists()


def test_a_link_does_not_count_as_the_users_own_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "own").symlink_to("elsewhere")
    with pytest.raises(StoreError, match="own belongs to somebody else"):
        OwnLocks(tmp_path / "own", SystemClock())


@pytest.mark.skipif(not may_act_for_others(), reason="only root can give a folder to another user")
def test_the_folder_of_another_user_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    os.chown(tmp_path / "own", 65534, 65534)
    with pytest.raises(StoreError, match="own belongs to somebody else"):
        OwnLocks(tmp_path / "own", SystemClock())


IN_A_CONTAINER = """
mount -t tmpfs plumbline-test "$1" && exec 9> "$1/ost-a.lock" && echo ready && exec sleep 60
"""


@pytest.mark.skipif(not can_mount(), reason="mounting needs CAP_SYS_ADMIN")
def test_a_process_with_the_same_lock_path_in_a_container_is_left_alone(
    locks: Locks,
) -> None:
    words = ["unshare", "--mount", "sh", "-c", IN_A_CONTAINER, "sh", str(locks.directory)]
    container = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert container.stdout
    ready = container.stdout.readline()
    try:
        with killed_run(locks) as run:
            abandoned = abandoned_lock(locks.directory / "ost-a.lock")
            assert abandoned
            assert (ready, abandoned.holder.pid, abandoned.orphans) == (
                "ready\n",
                run.process.pid,
                (run.tool,),
            )
    finally:
        container.kill()
        container.communicate()


def test_a_lock_file_with_a_hard_link_is_not_written_to(locks: Locks) -> None:
    precious = locks.directory.parent / "precious"
    precious.write_text("of root")
    os.link(precious, locks.directory / "ost-OST0.lock")
    with pytest.raises(StoreError, match="no plain file with one name"), locks.hold("ost", "OST0"):
        pass
    assert precious.read_text() == "of root"


@pytest.mark.skipif(not may_act_for_others(), reason="only root can give files away")
@pytest.mark.parametrize("content", ["of root", ""])
def test_a_hard_link_in_place_of_a_lock_gives_no_file_of_root_away(
    locks: Locks, content: str
) -> None:
    precious = locks.directory.parent / "precious"
    precious.write_text(content)
    os.chown(locks.directory, 65534, 65534)
    os.link(precious, locks.directory / "ost-OST0.lock")
    with pytest.raises(StoreError, match="no plain file with one name"), locks.hold("ost", "OST0"):
        pass
    assert precious.stat().st_uid == 0


@pytest.mark.skipif(not may_act_for_others(), reason="only root can give files away")
def test_a_lock_of_root_belongs_to_the_owner_of_the_directory(locks: Locks) -> None:
    os.chown(locks.directory, 65534, 65534)
    with locks.hold("ost", "OST0"):
        (file,) = locks.directory.iterdir()
        assert file.stat().st_uid == 65534
