"""Whether the process of a run, or a tool that it has left, is still there.

Asked by checks, which run as another user: of a process that is hidden from them (``hidepid``), and
of one that is gone but has left a tool, the lock tells.  Within a container the kernel hides locks
whose owner has ended, and a run that has left a tool counts as interrupted there.
"""

from __future__ import annotations

import os

from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.series import Process

if TYPE_CHECKING:
    from typing import Optional

_BOOT = "/proc/sys/kernel/random/boot_id"
_LOCKS = "/proc/locks"
_STARTED = 19
"""Field 22 of proc_pid_stat(5), counted behind the name."""


def this_process(lock: int) -> Process:
    """Return this process, which holds the lock of an open file."""
    result = os.fstat(lock)
    name = f"{os.major(result.st_dev):02x}:{os.minor(result.st_dev):02x}:{result.st_ino}"
    return Process(os.getpid(), _started(os.getpid()) or 0, _text(_BOOT) or "", name)


def goes_on(process: Process) -> bool:
    """Return whether a process itself is there, whatever tools it would leave."""
    boot = _text(_BOOT)
    of_this_boot = not (boot and process.boot) or boot == process.boot
    return of_this_boot and _started(process.pid) == process.started


def lives(process: Process) -> bool:
    """Return whether a process is there, or a tool that keeps its lock; so where none can tell."""
    boot = _text(_BOOT)
    if boot and process.boot and boot != process.boot:
        return False
    if goes_on(process):
        return True
    locks = _text(_LOCKS)
    return locks is None or process.lock in locks.split()


def _started(pid: int) -> Optional[int]:
    """Return when a process was started, in ticks since the boot; None when it is gone or hidden.

    A zombie has let go of everything.
    """
    said = _text(f"/proc/{pid}/stat")
    # proc_pid_stat(5): "pid (name) state ppid ..."; the name may hold anything
    fields = (said or "").rpartition(")")[2].split()
    if len(fields) <= _STARTED or fields[0] in "ZX":
        return None
    return int(fields[_STARTED])


def _text(path: str) -> Optional[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None
