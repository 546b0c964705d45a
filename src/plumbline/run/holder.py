"""Who holds a lock file: a run that is there, or what is left of one that is gone."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

from plumbline.model.json_text import read_json
from plumbline.model.validation import numbers

_PIDS = range(1, 1 << 22)
"""PID_MAX_LIMIT of the kernel (proc_sys_kernel(5))."""


class Holder(NamedTuple):
    """Who wrote a lock file: process, host, and the wall clock in seconds since the epoch."""

    pid: int
    host: str
    since: float


class Left(NamedTuple):
    """A run that is gone, and the processes that it has left with the lock."""

    holder: Holder
    orphans: tuple[int, ...]


def read_holder(path: Path) -> Optional[Holder]:
    """Return who signed a lock file; None when it is gone, or not signed in full."""
    try:
        holder = Holder(**read_json(path.read_text()))
        numbers(since=holder.since)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return holder if holder.pid in _PIDS else None


def left_at(path: Path) -> Optional[Left]:
    """Return what a run that is gone has left; None if it is there, or may be for all we see."""
    holder = read_holder(path)
    if holder is None or holder.host != socket.gethostname():
        return None
    orphans = tuple(_processes_with(path))
    if holder.pid in orphans or _belongs_to_another_user(holder.pid):
        return None
    return Left(holder, orphans)


def name_of(pid: int) -> str:
    """Return the name of a process's program; empty when it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return ""


def _belongs_to_another_user(pid: int) -> bool:
    """Return whether a process is there and hides what it has open."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return False


def _processes_with(path: Path) -> Iterator[int]:
    """Yield the processes that have a file open, as far as this user may see."""
    real = os.path.realpath(path)
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with suppress(OSError):
            if any(_leads_to(link, real) for link in folder.iterdir()):
                yield int(folder.parent.name)


def _leads_to(link: Path, path: str) -> bool:
    """Return whether a process has a file open; one of the same name in a container is another.

    Nothing else is looked at: the files of a target that does not answer would not answer either.
    """
    try:
        return os.readlink(link) == path and os.path.samestat(link.stat(), os.stat(path))
    except OSError:
        # closed meanwhile
        return False
