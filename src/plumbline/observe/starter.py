"""Start commands by a helper process, which opens their working folders first.

The helper (:mod:`plumbline.observe.folders`) runs at low priority and forks a process for each
command.  That costs less than programs that start one another: nice, ionice, Python, the command.

A helper waits for the end of its command, so one whose command is stuck in the kernel is not used
again.  Locks of targets go from hand to hand: a helper keeps no descriptor of a command.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from select import POLLIN, poll
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.command import Within
from plumbline.observe import folders

SYSTEM_FOLDERS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_ANSWER_S = 10.0


class Process(NamedTuple):
    """A process of this machine: its state as one letter, its parent and its group (proc(5))."""

    pid: int
    state: str
    parent: int
    group: int


def processes() -> Iterator[Process]:
    """Yield the processes that exist; zombies hold no resources and are left out."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            # proc(5): "pid (name) state ppid pgrp ..."; the name may contain any characters
            stat = (entry / "stat").read_text(errors="replace")
            state, parent, group = stat.rpartition(")")[2].split()[:3]
            if state not in "ZX":
                yield Process(int(entry.name), state, int(parent), int(group))


class Helper:
    """Process that starts one command after the other, as long as its parent lives."""

    def __init__(self, program: Sequence[str] = (sys.executable, "-IS", folders.__file__)) -> None:
        """Start the process; raise OSError if that fails."""
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [*_low_priority(), *program],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        """Return whether the process still runs."""
        return self._process.poll() is None

    def begin(self, request: Mapping[str, object], descriptors: Sequence[int]) -> int:
        """Start a command and return its process, the leader of a new group.

        ``descriptors`` become its standard output, its standard error, and its working folder; it
        inherits the others.  Whoever interrupts the wait for the answer ends the command: at low
        priority it may be long under way by then.

        Raises:
            OSError: the helper has ended.
        """
        try:
            self._send(json.dumps(request).encode(), descriptors)
            return folders.receive(self._channel)
        except BaseException:
            self._end_unknown()
            raise

    def _send(self, body: bytes, descriptors: Sequence[int]) -> None:
        for begin in range(0, len(descriptors), folders.MAX_DESCRIPTORS):
            end = begin + folders.MAX_DESCRIPTORS
            size = len(body) if end >= len(descriptors) else 0
            socket.send_fds(self._channel, [folders.number(size)], descriptors[begin:end])
        self._channel.sendall(body)

    def _end_unknown(self) -> None:
        """End the helper and the command that it has begun without telling its process."""
        with suppress(OSError):
            # half a request ends the helper at once; after a whole one it answers
            self._channel.shutdown(socket.SHUT_WR)
        self._answers(_ANSWER_S)
        for process in processes():
            if process.parent == self._process.pid:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        self.close()

    def _answers(self, wait_s: Optional[float]) -> bool:
        """Return whether the helper answers or ends within a time; None waits for ever."""
        answer = poll()
        answer.register(self._channel, POLLIN)
        return bool(answer.poll(None if wait_s is None else wait_s * 1e3))

    def exit_code(self, wait_s: Optional[float]) -> Optional[int]:
        """Return the exit code of the command, negative for a signal; None if it still runs.

        A lost helper counts as a killed command.
        """
        if not self._answers(wait_s):
            return None
        try:
            return os.waitstatus_to_exitcode(folders.receive(self._channel))
        except ConnectionError:
            return -signal.SIGKILL

    def close(self) -> None:
        """End the process, which has no command."""
        self._channel.close()
        self._process.kill()
        self._process.wait()


def request_of(
    argv: Sequence[str], environment: Mapping[str, str], within: Optional[Within]
) -> dict[str, object]:
    """Return the request for a command in the folder ``within``, or in the given one."""
    where = within._asdict() if within else None
    return {"argv": argv, "environment": dict(environment), "within": where}


_FREE: dict[tuple[int, int], list[Helper]] = {}
"""Helpers without a command, by process and user: neither a fork nor other rights share one."""


def _free() -> list[Helper]:
    return _FREE.setdefault((os.getpid(), os.geteuid()), [])


@atexit.register
def _close_free() -> None:
    for helper in _free():
        helper.close()


class Command:
    """Process of one command; its output comes through pipes."""

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        within: Optional[Within] = None,
        keep_open: Sequence[int] = (),
    ) -> None:
        """Start a command in the folder ``within``, or in this process's own one.

        Raises:
            OSError: no helper can be started.
        """
        self.returncode: Optional[int] = None
        self._helper = _helper()
        request = request_of(argv, environment, within)
        readers, writers = zip(os.pipe(), os.pipe())
        self.stdout, self.stderr = (os.fdopen(reader, "rb", buffering=0) for reader in readers)
        folder = _working_folder()
        try:
            self.pid = self._helper.begin(request, (*writers, folder, *keep_open))
        except BaseException:
            self.stdout.close()
            self.stderr.close()
            raise
        finally:
            for descriptor in (*writers, folder):
                os.close(descriptor)

    def poll(self) -> Optional[int]:
        """Return the exit code, None if the command still runs."""
        return self.wait(0.0)

    def wait(self, wait_s: Optional[float] = None) -> Optional[int]:
        """Wait for the end; return the exit code, None if the command still runs."""
        if self.returncode is None:
            self.returncode = self._helper.exit_code(wait_s)
            if self.returncode is not None:
                _free().append(self._helper)
        return self.returncode


def _helper() -> Helper:
    free = _free()
    while free:
        helper = free.pop()
        if helper.alive:
            return helper
        helper.close()
    return Helper()


def _working_folder() -> int:
    """Open this process's working folder, or the root if this user may not enter it.

    After a change of user, the folder may be root's, where mpirun crashes.
    """
    flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
    with suppress(PermissionError):
        return os.open(".", flags)
    return os.open("/", flags)


def _low_priority() -> Iterator[str]:
    """Yield the command prefix for the lowest CPU and I/O priority."""
    for tool, options in (("nice", ("-n", "19")), ("ionice", ("-c", "2", "-n", "7"))):
        # absolute paths, so that nice need not search for ionice
        path = shutil.which(tool, path=SYSTEM_FOLDERS)
        yield from (path, *options) if path else ()
