"""Run a command at low priority and return in any case, even from one stuck in the kernel.

Dates come from the wall clock, durations from the monotonic one: a stepped clock changes a date at
most.

Output comes through pipes: a command fills no more than the pipe once nobody reads it; memory or a
file would grow by gigabytes a second.  An empty pipe is never read: a process
that is stuck, or a child that outlives its command, may keep them open for good.

A process in uninterruptible sleep survives SIGKILL, and :func:`subprocess.run` then waits forever.
Here a command is ended at its limit, waited for a little, and then abandoned.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Optional, Protocol, Sequence

from plumbline.model.command import Completed, Within
from plumbline.model.errors import SkipTarget, ToolError
from plumbline.observe import folders


class Clock(Protocol):
    """Tells the time and waits."""

    def wall(self) -> float:
        """Return seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return seconds since some fixed moment; never goes back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def wall(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds since boot or so."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


UNIT = "PLUMBLINE_UNIT"
"""The environment of every unit has its name, see the role agent."""


def by_hand() -> bool:
    """Return whether a person or another program started this, and no unit."""
    return UNIT not in os.environ


_CHUNK = 1 << 16


class Printed:
    """Standard output and standard error of one command; ``inputs`` are the ends to give to it."""

    def __init__(self, limit_bytes: int) -> None:
        """Take the most bytes that are kept of both together."""
        self._left = limit_bytes
        self._selector = DefaultSelector()
        self._texts: list[bytearray] = []
        self._ends: list[int] = []
        self.endless = False
        for _ in range(2):
            reader, writer = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(reader, False)
            self._texts.append(bytearray())
            self._selector.register(reader, EVENT_READ, self._texts[-1])
            self._ends.append(writer)

    def __enter__(self) -> Printed:
        return self

    def __exit__(self, *_: object) -> None:
        self.begun()
        for key in list(self._selector.get_map().values()):
            self._close(key.fd)
        self._selector.close()

    @property
    def ends(self) -> tuple[int, int]:
        """Return where the command writes its output and its errors."""
        output, errors = self._ends
        return output, errors

    def begun(self) -> None:
        """Let go of the command's ends: from now on it alone has them."""
        while self._ends:
            os.close(self._ends.pop())

    @property
    def over(self) -> bool:
        """True once nobody can print any more, or nothing more is taken."""
        return self.endless or not self._selector.get_map()

    def take(self, wait_s: float) -> bool:
        """Take what is there; wait up to ``wait_s`` for something.  Return whether there was."""
        if self.over:
            return False
        ready = self._selector.select(max(0.0, wait_s))
        for key, _ in ready:
            self._read(key.fd, key.data)
        return bool(ready)

    def texts(self) -> tuple[str, str]:
        """Return output and errors, after taking what is still there."""
        while self.take(0.0):
            pass
        output, errors = (text.decode("utf-8", "replace") for text in self._texts)
        return output, errors

    def _read(self, reader: int, text: bytearray) -> None:
        part = b""
        with suppress(BlockingIOError):
            part = os.read(reader, _CHUNK)
            if not part:
                self._close(reader)
        # more than fits is not kept, and known by that
        text += part[: self._left]
        self.endless = self.endless or len(part) > self._left
        self._left -= min(self._left, len(part))

    def _close(self, reader: int) -> None:
        self._selector.unregister(reader)
        os.close(reader)


PACKAGES = {
    "fio": "fio",
    "sgp_dd": "sg3-utils",
    "netperf": "netperf",
    "netserver": "netperf",
    "iperf3": "iperf3",
    "lfs": "lustre-client",
    "lctl": "lustre-client",
    "lnetctl": "lustre-client",
    "getfattr": "attr",
    "gluster": "glusterfs-cli",
    "findmnt": "util-linux",
    "mpirun": "openmpi-bin",
    "srun": "slurm-client",
    "smartctl": "smartmontools",
    "sg_ses": "sg3-utils",
    "zpool": "zfsutils-linux",
    "ethtool": "ethtool",
}
"""The distribution's package of each tool."""

MAX_OUTPUT_BYTES = 8 << 20
"""More output than this is a tool gone wild; the longest fio report is below 2 MiB."""

_TICK_S = 0.2
_PAUSE_S = 0.05
_SYSTEM_FOLDERS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# kept, because subprocess warns of a process that is forgotten before its end
ABANDONED: list[subprocess.Popen[bytes]] = []


class SystemRunner:
    """Runs commands on this machine: the :class:`~plumbline.model.command.CommandRunner`.

    ``keep_open`` are file descriptors that each command inherits on purpose: the lock of a target
    stays taken while any process that was started for it is still there.  ``stop`` ends what runs,
    as if its limit had come.  ``most_bytes`` is how much one of them may print.
    """

    def __init__(
        self,
        keep_open: Sequence[int] = (),
        stop: Optional[threading.Event] = None,
        grace_s: float = 3.0,
        most_bytes: int = MAX_OUTPUT_BYTES,
    ) -> None:
        self._keep_open = tuple(keep_open)
        self._stop = stop or threading.Event()
        self._grace_s = grace_s
        self._most_bytes = most_bytes

    def __call__(
        self, argv: Sequence[str], timeout_s: float, within: Optional[Within] = None
    ) -> Completed:
        """Run ``argv``, end it after ``timeout_s`` seconds, and return what it left.

        Raises:
            ToolError: it is not installed, cannot be started, or prints without an end.
            SkipTarget: the folder to work in, or its file, is not safe.
        """
        environment = {**os.environ, "LC_ALL": "C", "PATH": search_path()}
        program = locate(argv[0])
        words = [*_entering(within), program, *argv[1:]]
        with Printed(self._most_bytes) as printed:
            started = time.monotonic()
            process = self._start(words, printed, environment)
            timed_out = self._wait(process, started + timeout_s, printed)
            if not timed_out and _survivors(process.pid):
                self._end(process, printed)
            hung = bool(_survivors(process.pid))
            if hung:
                ABANDONED.append(process)
            output, errors = printed.texts()
            if printed.endless and not hung:
                raise ToolError(
                    f"{argv[0]} printed more than {self._most_bytes >> 20} MiB and was ended; run "
                    "it by hand to see what it prints"
                )
            completed = Completed(
                argv=tuple(argv),
                exit_code=None if hung else process.returncode,
                stdout=output,
                stderr=errors,
                seconds=time.monotonic() - started,
                timed_out=timed_out,
                hung=hung,
            )
        if within is not None:
            _refuse_unsafe(completed)
        return completed

    def _start(
        self, argv: list[str], printed: Printed, environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        output, errors = printed.ends
        try:
            return subprocess.Popen(
                [*_low_priority(), *argv],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=environment,
                # who has become another user may stand in a folder of root's, where mpirun crashes
                cwd=None if os.access(".", os.X_OK) else "/",
                start_new_session=True,
                pass_fds=self._keep_open,
            )
        except OSError as error:
            raise ToolError(f"{argv[0]} cannot be started: {error.strerror}") from error
        finally:
            printed.begun()

    def _wait(self, process: subprocess.Popen[bytes], deadline: float, printed: Printed) -> bool:
        """Wait for the end, or bring it about at the deadline; return whether that was needed."""
        try:
            while not self._ended(process, printed, min(_TICK_S, deadline - time.monotonic())):
                if printed.endless or self._stop.is_set() or time.monotonic() >= deadline:
                    self._end(process, printed)
                    return True
        except BaseException:
            self._end(process, printed)
            raise
        return False

    def _end(self, process: subprocess.Popen[bytes], printed: Printed) -> None:
        """End the whole process group: politely, then by force; wait a little after each."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            deadline = time.monotonic() + self._grace_s
            while time.monotonic() < deadline:
                if not self._ended(process, printed, _PAUSE_S):
                    continue
                if not _survivors(process.pid):
                    return
                time.sleep(_PAUSE_S)

    @staticmethod
    def _ended(process: subprocess.Popen[bytes], printed: Printed, wait_s: float) -> bool:
        """Return whether a process is over; give it a while, and take what it prints meanwhile."""
        deadline = time.monotonic() + wait_s
        while not printed.over and time.monotonic() < deadline:
            if process.poll() is not None:
                return True
            printed.take(deadline - time.monotonic())
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True


def any_abandoned() -> bool:
    """Return whether a command that was abandoned is still there."""
    return any(process.poll() is None for process in ABANDONED)


def search_path() -> str:
    """Return PATH with the system's folders added: an unprivileged user's lacks sbin."""
    return f"{os.environ.get('PATH', '')}:{_SYSTEM_FOLDERS}".lstrip(":")


def locate(program: str) -> str:
    """Return where ``program`` lies; raise ToolError, naming its package, when it is nowhere."""
    path = shutil.which(program, path=search_path())
    if path is None:
        package = PACKAGES.get(Path(program).name)
        remedy = f"install the package {package}" if package else "install it or correct its path"
        raise ToolError(f"{program} is not installed on this host; {remedy}")
    return path


def _low_priority() -> list[str]:
    """Return the words that put a command behind everybody else's work."""
    words = []
    for tool, options in (("nice", ("-n", "19")), ("ionice", ("-c", "2", "-n", "7"))):
        # by its path, so that the one does not search for the other
        path = shutil.which(tool, path=_SYSTEM_FOLDERS)
        words += [path, *options] if path else []
    return words


def _survivors(group: int) -> list[int]:
    """Return the processes of a group that still exist; a zombie has let go of everything."""
    with suppress(ProcessLookupError):
        os.killpg(group, 0)
        processes = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [int(entry.name) for entry in processes if _group_of(entry) == group]
    return []


def _group_of(process: Path) -> Optional[int]:
    try:
        # proc(5): "pid (name) state ppid pgrp ..."; the name may hold anything
        stat = (process / "stat").read_text(errors="replace")
        state, _, group = stat.rpartition(")")[2].split()[:3]
    except OSError:
        return None
    return None if state in "ZX" else int(group)


def _entering(within: Optional[Within]) -> list[str]:
    """Return the words that open and check a folder and then become the command after them."""
    if within is None:
        return []
    return [sys.executable, "-IS", folders.__file__, json.dumps(within._asdict()), "--"]


def _refuse_unsafe(completed: Completed) -> None:
    """Raise SkipTarget where a folder was refused and the command not begun."""
    if completed.exit_code == folders.REFUSED and completed.stderr.startswith(folders.MARK):
        raise SkipTarget(completed.stderr[len(folders.MARK) :].strip())
