"""Run one command at low priority and come back in any case, even from one stuck in the kernel.

A process in uninterruptible sleep survives SIGKILL, and :func:`subprocess.run` then waits forever.
Here a command is ended at its limit, waited for a little, and then abandoned.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Optional, Sequence

from plumbline.errors import ToolError
from plumbline.model.command import Completed

PACKAGES = {
    "fio": "fio",
    "sgp_dd": "sg3-utils",
    "netperf": "netperf",
    "netserver": "netperf",
    "iperf3": "iperf3",
    "lfs": "lustre-client",
    "lctl": "lustre-client",
    "getfattr": "attr",
    "gluster": "glusterfs-cli",
    "findmnt": "util-linux",
    "mpirun": "openmpi-bin",
    "srun": "slurm-client",
    "smartctl": "smartmontools",
    "sg_ses": "sg3-utils",
    "zpool": "zfsutils-linux",
}
"""The distribution's package of each tool."""

MAX_OUTPUT_BYTES = 64 << 20
"""More output than this is a tool gone wild; the longest fio report is below 2 MiB."""

_TICK_S = 0.2
_PAUSE_S = 0.05
_SYSTEM_FOLDERS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# kept, because subprocess warns of a process that is forgotten before its end
_ABANDONED: list[subprocess.Popen[bytes]] = []


class SystemRunner:
    """Runs commands on this machine: the :class:`~plumbline.model.command.CommandRunner`.

    ``keep_open`` are file descriptors that each command inherits on purpose: the lock of a target
    stays taken while any process that was started for it is still there.  ``stop`` ends what runs,
    as if its limit had come.
    """

    def __init__(
        self,
        keep_open: Sequence[int] = (),
        stop: Optional[threading.Event] = None,
        grace_s: float = 3.0,
    ) -> None:
        self._keep_open = tuple(keep_open)
        self._stop = stop or threading.Event()
        self._grace_s = grace_s

    def __call__(self, argv: Sequence[str], timeout_s: float) -> Completed:
        """Run ``argv``, end it after ``timeout_s`` seconds, and return what it left.

        Raises:
            ToolError: it is not installed, cannot be started, or prints without an end.
        """
        environment = {**os.environ, "LC_ALL": "C", "PATH": search_path()}
        program = locate(argv[0])
        # memory, not pipes: a stuck child that keeps a pipe open would block the reader, and memory
        # is there when the disk of /tmp is full
        output, errors = os.memfd_create("stdout"), os.memfd_create("stderr")
        try:
            started = time.monotonic()
            process = self._start([program, *argv[1:]], output, errors, environment)
            timed_out = self._wait(process, started + timeout_s, (output, errors))
            if not timed_out and _survivors(process.pid):
                self._end(process)
            hung = bool(_survivors(process.pid))
            if hung:
                _ABANDONED.append(process)
            elif timed_out and _is_wild((output, errors)):
                raise ToolError(
                    f"{argv[0]} printed more than {MAX_OUTPUT_BYTES >> 20} MiB and was ended; run "
                    "it by hand to see what it prints"
                )
            return Completed(
                argv=tuple(argv),
                exit_code=None if hung else process.returncode,
                stdout=_text(output),
                stderr=_text(errors),
                seconds=time.monotonic() - started,
                timed_out=timed_out,
                hung=hung,
            )
        finally:
            os.close(output)
            os.close(errors)

    def _start(
        self, argv: list[str], output: int, errors: int, environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
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

    def _wait(
        self, process: subprocess.Popen[bytes], deadline: float, outputs: Sequence[int]
    ) -> bool:
        """Wait for the end, or bring it about at the deadline; return whether that was needed."""
        try:
            while not self._ended(process, min(_TICK_S, deadline - time.monotonic())):
                if _is_wild(outputs) or self._stop.is_set() or time.monotonic() >= deadline:
                    self._end(process)
                    return True
        except BaseException:
            self._end(process)
            raise
        return False

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End the whole process group: politely, then by force; wait a little after each."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            deadline = time.monotonic() + self._grace_s
            while time.monotonic() < deadline:
                if not self._ended(process, _PAUSE_S):
                    continue
                if not _survivors(process.pid):
                    return
                time.sleep(_PAUSE_S)

    @staticmethod
    def _ended(process: subprocess.Popen[bytes], wait_s: float) -> bool:
        try:
            process.wait(max(0.0, wait_s))
        except subprocess.TimeoutExpired:
            return False
        return True


def search_path() -> str:
    """Return PATH with the system's folders added: an unprivileged user's lacks sbin."""
    return f"{os.environ.get('PATH', '')}:{_SYSTEM_FOLDERS}".lstrip(":")


def locate(program: str) -> str:
    """Return where ``program`` lies; raise ToolError, naming its package, when it is nowhere."""
    found = shutil.which(program, path=search_path())
    if found is None:
        package = PACKAGES.get(Path(program).name)
        remedy = f"install the package {package}" if package else "install it or correct its path"
        raise ToolError(f"{program} is not installed on this host; {remedy}")
    return found


def _low_priority() -> list[str]:
    """Return the words that put a command behind everybody else's work."""
    words = []
    for tool, options in (("nice", ("-n", "19")), ("ionice", ("-c", "2", "-n", "7"))):
        # by its path, so that the one does not search for the other
        found = shutil.which(tool, path=_SYSTEM_FOLDERS)
        words += [found, *options] if found else []
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
        said = (process / "stat").read_text(errors="replace")
        state, _, group = said.rpartition(")")[2].split()[:3]
    except OSError:
        return None
    return None if state in "ZX" else int(group)


def _is_wild(outputs: Sequence[int]) -> bool:
    return any(os.fstat(descriptor).st_size > MAX_OUTPUT_BYTES for descriptor in outputs)


def _text(descriptor: int) -> str:
    size = min(os.fstat(descriptor).st_size, MAX_OUTPUT_BYTES)
    return os.pread(descriptor, size, 0).decode("utf-8", "replace")
