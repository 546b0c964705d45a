"""Check whether a run is alive: its process, or a tool that outlived it.

The checks run as another user, from whom ``hidepid`` hides the process; its lock is visible, and so
is an orphan's.  Inside a container the kernel hides locks whose owner has ended, so a run that left
an orphan counts as interrupted there.

A process is a row of the fields of :class:`plumbline.model.series.Process`.  The checks load this
module, which therefore imports nothing of the package.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

_BOOT = "/proc/sys/kernel/random/boot_id"
_LOCKS = "/proc/locks"
_STARTED = 19
"""Index of field 22 of proc_pid_stat(5) among the fields after the name."""


def this_process(lock: int) -> tuple[int, int, str, str]:
    """Return this process, with the lock that it holds on an open file."""
    result = os.fstat(lock)
    name = f"{os.major(result.st_dev):02x}:{os.minor(result.st_dev):02x}:{result.st_ino}"
    return os.getpid(), _started(os.getpid()) or 0, _text(_BOOT) or "", name


def is_running(process: tuple[int, int, str, str]) -> bool:
    """Return True if a process itself is alive; its tools do not count."""
    pid, started, boot, _ = process
    return _of_this_boot(boot) and _started(pid) == started


def is_alive(process: tuple[int, int, str, str]) -> bool:
    """Return True if a process or a tool with its lock is alive, or locks cannot be read."""
    _, _, boot, lock = process
    if not _of_this_boot(boot):
        return False
    if is_running(process):
        return True
    locks = _text(_LOCKS)
    return locks is None or lock in locks.split()


def _of_this_boot(boot: str) -> bool:
    now = _text(_BOOT)
    return not (now and boot) or now == boot


def _started(pid: int) -> Optional[int]:
    """Return the start of a process in ticks since boot; None if it has ended or is hidden.

    A zombie counts as ended.
    """
    stat = _text(f"/proc/{pid}/stat")
    # proc_pid_stat(5): "pid (name) state ppid ..."; the name may hold anything
    fields = (stat or "").rpartition(")")[2].split()
    if len(fields) <= _STARTED or fields[0] in "ZX":
        return None
    return int(fields[_STARTED])


def _text(path: str) -> Optional[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None
