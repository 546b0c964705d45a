"""Run a command at low priority, and return even if it is stuck in the kernel.

Dates come from the wall clock, durations from the monotonic one, so that a clock step changes only
dates.

Output comes through pipes, which bound it after the reader stops; in memory or a file it could
grow by gigabytes per second.  An empty pipe is never read: a stuck process, or a child that
outlives its command, may keep it open forever.

A process in uninterruptible sleep survives SIGKILL, and :func:`subprocess.run` waits for it
forever.  Here a command is killed at its time limit, waited for briefly, and abandoned.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector, SelectorKey
from typing import Optional, Protocol, Sequence

from plumbline.model.command import MAX_FILE_BYTES, CommandRunner, Completed, Within
from plumbline.model.errors import ForbiddenTool, MissingTool, SkipTarget, ToolError
from plumbline.observe import folders
from plumbline.observe.starter import SYSTEM_FOLDERS, Command, Process, processes


class Clock(Protocol):
    """Clock and sleep."""

    def wall(self) -> float:
        """Return seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return seconds since a fixed time; never goes back."""
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
        """Return seconds since about the boot."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


UNIT = "PLUMBLINE_UNIT"
"""Environment variable with the name of the systemd unit, set by the role agent."""


def by_hand() -> bool:
    """Return whether this was started by a person or another program, not by a unit."""
    return UNIT not in os.environ


_CHUNK = 1 << 16


class Output:
    """Standard output and standard error of one command."""

    def __init__(self, process: Command, limit_bytes: int) -> None:
        """Take the limit in bytes for both together."""
        self._left = limit_bytes
        self._selector = DefaultSelector()
        self._texts: list[bytearray] = []
        self.endless = False
        for pipe in (process.stdout, process.stderr):
            os.set_blocking(pipe.fileno(), False)
            self._texts.append(bytearray())
            self._selector.register(pipe, EVENT_READ, self._texts[-1])

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *_: object) -> None:
        for key in list(self._selector.get_map().values()):
            self._close(key)
        self._selector.close()

    @property
    def over(self) -> bool:
        """True after the last writer has closed its pipe, or the limit is exceeded."""
        return self.endless or not self._selector.get_map()

    def take(self, wait_s: float) -> bool:
        """Read available output, waiting up to ``wait_s``; return whether there was any."""
        if self.over:
            return False
        ready = self._selector.select(max(0.0, wait_s))
        for key, _ in ready:
            self._read(key)
        return bool(ready)

    def texts(self) -> tuple[str, str]:
        """Return output and errors, after reading the rest."""
        while self.take(0.0):
            pass
        output, errors = (text.decode("utf-8", "replace") for text in self._texts)
        return output, errors

    def _read(self, key: SelectorKey) -> None:
        part = b""
        with suppress(BlockingIOError):
            part = os.read(key.fd, _CHUNK)
            if not part:
                self._close(key)
        # output beyond the limit is dropped and marks the command as endless
        key.data.extend(part[: self._left])
        self.endless = self.endless or len(part) > self._left
        self._left -= min(self._left, len(part))

    def _close(self, key: SelectorKey) -> None:
        self._selector.unregister(key.fileobj)
        key.fileobj.close()  # type: ignore[union-attr]


PACKAGES = {
    "fio": "fio",
    "sgp_dd": "sg3-utils",
    "netperf": "netperf",
    "netserver": "netperf",
    "iperf3": "iperf3",
    **dict.fromkeys(("ib_write_bw", "ib_read_bw", "ib_read_lat"), "perftest"),
    "lfs": "lustre-client",
    "lctl": "lustre-client",
    "lnetctl": "lustre-client",
    "getfattr": "attr",
    "gluster": "glusterfs-cli",
    "findmnt": "util-linux",
    "lsblk": "util-linux",
    "mpirun": "openmpi-bin",
    "srun": "slurm-client",
    "smartctl": "smartmontools",
    "sg_ses": "sg3-utils",
    "zpool": "zfsutils-linux",
    "ethtool": "ethtool",
    "lldpctl": "lldpd",
    "iblinkinfo": "infiniband-diags",
    "ibqueryerrors": "infiniband-diags",
}
"""Package of each tool."""

MAX_OUTPUT_BYTES = 8 << 20
"""Limit of output; a longer one is a fault of the tool.  fio reports stay below 2 MiB."""

_TICK_S = 0.2
_PAUSE_S = 0.05
_MAX_TURNS = 20
"""Limit of the wait for a killed process that is ready to run, in usual waits."""
ABANDONED: list[Command] = []


class SystemRunner:
    """Runs commands on this machine: the :class:`~plumbline.model.command.CommandRunner`.

    ``keep_open`` are file descriptors that each command inherits: a target stays locked as long as
    any process started for it exists.  ``stop`` ends the running command like its time limit.
    ``most_bytes`` is the limit of its output.
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
        """Run ``argv``, end it after ``timeout_s`` seconds, and return the result.

        Raises:
            ToolError: it is not installed (MissingTool), this user may not execute it
                (ForbiddenTool), it cannot be started, or prints too much.
            SkipTarget: the working folder, or its file, is not safe.
        """
        if within is not None or self._stop.is_set():
            return self._run(argv, timeout_s, within)
        version = _version_of(argv)
        known = _VERSIONS.get(version) if version else _kernel_text(argv, self._most_bytes)
        if known is not None:
            return known
        completed = self._run(argv, timeout_s, within)
        if version and completed.ok:
            _VERSIONS[version] = completed
        return completed

    def _run(self, argv: Sequence[str], timeout_s: float, within: Optional[Within]) -> Completed:
        started = time.monotonic()
        process = self._start(argv, within)
        with Output(process, self._most_bytes) as printed:
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

    def _start(self, argv: Sequence[str], within: Optional[Within]) -> Command:
        environment = {**os.environ, "LC_ALL": "C", "PATH": search_path()}
        command = [locate(argv[0]), *argv[1:]]
        try:
            return Command(command, environment, within, self._keep_open)
        except OSError as error:
            raise ToolError(f"{argv[0]} cannot be started: {error.strerror}") from error

    def _wait(self, process: Command, deadline: float, printed: Output) -> bool:
        """Wait for the end, or end the process at the deadline; return whether that was needed."""
        try:
            while not self._ended(process, printed, min(_TICK_S, deadline - time.monotonic())):
                if printed.endless or self._stop.is_set() or time.monotonic() >= deadline:
                    self._end(process, printed)
                    return True
        except BaseException:
            self._end(process, printed)
            raise
        return False

    def _end(self, process: Command, printed: Output) -> None:
        """End the process group with SIGTERM, then SIGKILL; wait briefly after each."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            sent = time.monotonic()
            while self._worth_waiting(process.pid, number, time.monotonic() - sent):
                if not self._ended(process, printed, _PAUSE_S):
                    continue
                if not _survivors(process.pid):
                    return
                time.sleep(_PAUSE_S)

    def _worth_waiting(self, group: int, number: int, waited_s: float) -> bool:
        """Return whether a group may still end by a signal.

        A killed process that is ready to run is not stuck: on a busy machine it waits for its turn,
        since its priority is low.  So does the helper that tells the exit code of one that is gone.
        """
        if waited_s < self._grace_s:
            return True
        if number != signal.SIGKILL or waited_s > _MAX_TURNS * self._grace_s:
            return False
        alive = _survivors(group)
        return not alive or any(process.state == "R" for process in alive)

    @staticmethod
    def _ended(process: Command, printed: Output, wait_s: float) -> bool:
        """Return whether a process ends within ``wait_s``; read its output meanwhile."""
        deadline = time.monotonic() + wait_s
        while not printed.over and time.monotonic() < deadline:
            if process.poll() is not None:
                return True
            printed.take(deadline - time.monotonic())
        return process.wait(max(0.0, deadline - time.monotonic())) is not None


_KERNEL_TEXT = re.compile(r"/proc/self/mountinfo|/sys/dev/block/\d+:\d+/stat")
"""Files that the kernel writes from memory: their readers wait for no file system or device."""


def _kernel_text(argv: Sequence[str], most_bytes: int) -> Optional[Completed]:
    """Return what the system's cat would print of such a file; None for any other command.

    Half of a probe's processes would be those of cat.
    """
    if len(argv) != 2 or argv[0] != "cat" or not _KERNEL_TEXT.fullmatch(argv[1]):
        return None
    if os.path.dirname(locate(argv[0])) not in SYSTEM_FOLDERS.split(":"):
        return None
    started = time.monotonic()
    code, text, trouble = 0, b"", ""
    try:
        with open(argv[1], "rb") as file:
            text = file.read(most_bytes + 1)
    except OSError as error:
        code, trouble = 1, f"cat: {argv[1]}: {error.strerror}\n"
    if len(text) > most_bytes:
        return None
    printed = text.decode("utf-8", "replace")
    return Completed(tuple(argv), code, printed, trouble, time.monotonic() - started)


_Version = tuple[tuple[str, ...], str, int, int]
_VERSIONS: dict[_Version, Completed] = {}
"""Answers of tools about their version, by command, path, inode and change of the program."""


def _version_of(argv: Sequence[str]) -> Optional[_Version]:
    """Return the key of a question for a tool's version; None for any other command."""
    if len(argv) != 2 or argv[1] not in ("--version", "-V"):
        return None
    path = locate(argv[0])
    try:
        status = os.stat(path)
    except OSError:
        return None
    return tuple(argv), path, status.st_ino, status.st_mtime_ns


def any_abandoned() -> bool:
    """Return whether an abandoned command still exists."""
    return any(process.poll() is None for process in ABANDONED)


def search_path() -> str:
    """Return PATH plus the system's folders; an unprivileged user's PATH lacks sbin."""
    return f"{os.environ.get('PATH', '')}:{SYSTEM_FOLDERS}".lstrip(":")


def locate(program: str) -> str:
    """Return the path of ``program``.

    Raises:
        ForbiddenTool: this user may not execute it.
        MissingTool: it is not installed; the message names its package.
    """
    path = shutil.which(program, path=search_path())
    if path is not None:
        return path
    closed = shutil.which(program, os.F_OK, search_path())
    if closed is not None:
        user = folders.user_name(os.geteuid())
        raise ForbiddenTool(
            f"this user ({user}) may not execute {closed}; look at its mode and owner: ls -l "
            f"{closed}"
        )
    package = PACKAGES.get(Path(program).name)
    remedy = f"install the package {package}" if package else "install it or correct its path"
    raise MissingTool(f"{program} is not installed on this host; {remedy}")


def _survivors(group: int) -> list[Process]:
    """Return the existing processes of a group."""
    with suppress(ProcessLookupError):
        os.killpg(group, 0)
        return [process for process in processes() if process.group == group]
    return []


def _refuse_unsafe(completed: Completed) -> None:
    """Raise SkipTarget if the folder was refused and the command not started."""
    if completed.exit_code == folders.REFUSED and completed.stderr.startswith(folders.MARK):
        raise SkipTarget(completed.stderr[len(folders.MARK) :].strip())


class LocalSystem:
    """Files and commands of this machine; ``root`` is / or a copy of another node's files."""

    def __init__(self, runner: CommandRunner, root: Path = Path("/")) -> None:
        self._runner = runner
        self._root = root

    def run(self, argv: Sequence[str], timeout_s: float) -> Completed:
        """Run a command on this machine; raise ToolError if it is not installed."""
        return self._runner(argv, timeout_s)

    def read(self, path: str, most_bytes: int = MAX_FILE_BYTES) -> str:
        """Return the stripped text of a small file; empty if it cannot be read.

        Some files of /sys cannot be read while their device is down.
        """
        try:
            with self._below(path).open("rb") as file:
                return file.read(most_bytes).decode("utf-8", "replace").strip()
        # a name with a zero byte is a ValueError
        except (OSError, ValueError):
            return ""

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names in a folder; empty if there is none."""
        try:
            return tuple(sorted(os.listdir(self._below(folder))))
        except (OSError, ValueError):
            return ()

    def real(self, path: str) -> str:
        """Return a path with all links resolved, relative to the root."""
        root = os.path.realpath(self._root)
        if "\0" in path:
            # no file has such a name
            return path
        resolved = os.path.realpath(self._below(path))
        inside = os.path.commonpath([root, resolved]) == root
        return f"/{os.path.relpath(resolved, root)}" if inside else resolved

    def _below(self, path: str) -> Path:
        return self._root / path.lstrip("/")
