"""Create temporary folders, and remove those that killed runs abandoned.

A run locks a file in its folder, and the kernel releases the lock however the process ends.  An
unlocked folder of this user and host is abandoned.  In a shared place each host removes its own
folders.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import gethostname
from typing import Iterator

from plumbline.measure.lock import same_file
from plumbline.model.errors import StoreError
from plumbline.observe.folders import UnsafeError, check_place

_SUFFIX = r"(?P<process>\d+)-[a-z0-9_]{8}"
"""Process that created a folder, and the suffix from :mod:`tempfile`."""

_LOCK_FILE = "held.lock"
_TRIES = 25
_RETRY_S = 0.2
_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def temporary_folder(where: str = "") -> Iterator[Path]:
    """Yield a new private folder in ``where`` or TMPDIR; remove it afterwards.

    Raises:
        StoreError: the folder cannot be created, or another user could replace it.
    """
    try:
        base = Path(where or tempfile.gettempdir())
        if where:
            check_place(where)
        _remove_abandoned(base)
        folder, descriptor = _create(base)
    except UnsafeError as error:
        raise StoreError(f"{error}; name another place") from error
    except OSError as error:
        raise StoreError(
            f"no temporary folder can be made: {error.strerror}: {error.filename}; make room "
            f"there, or name another place{'' if where else ' with TMPDIR'}"
        ) from error
    try:
        yield folder
    finally:
        # closed first: NFS keeps a hidden copy of an open file in the folder
        os.close(descriptor)
        _remove(folder)
        # ranks of a killed run may have been writing to their folder at the start
        _remove_abandoned(base)


def _remove(folder: Path) -> None:
    """Remove a folder, even if ranks that lost their launcher still write to it."""
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_RETRY_S)


def _create(base: Path) -> tuple[Path, int]:
    """Create and lock a folder; return it and the descriptor that holds the lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_prefix()}{os.getpid()}-", dir=base))
        # another run may remove the folder before it is locked
        with suppress(FileNotFoundError):
            descriptor = os.open(folder / _LOCK_FILE, _FLAGS | os.O_CREAT, 0o600)
            # some file systems have no locks
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if same_file(descriptor, folder / _LOCK_FILE):
                return folder, descriptor
            os.close(descriptor)


def _remove_abandoned(base: Path) -> None:
    """Remove this user's unlocked folders; a folder that cannot be removed stays."""
    pattern = re.compile(re.escape(_prefix()) + _SUFFIX)
    with suppress(OSError):
        for folder in list(base.iterdir()):
            name = pattern.fullmatch(folder.name)
            with suppress(OSError):
                if name and folder.lstat().st_uid == os.geteuid():
                    _remove_unlocked(folder, int(name["process"]))


def _remove_unlocked(folder: Path, process: int) -> None:
    """Remove a folder unless a process holds its lock; raise OSError if that is unclear."""
    ended = not Path(f"/proc/{process}").exists()
    try:
        descriptor = os.open(folder / _LOCK_FILE, _FLAGS)
    except FileNotFoundError:
        # the folder is new, or ranks still write to it after their run died
        if ended:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        if _is_free(descriptor, ended) and same_file(descriptor, folder / _LOCK_FILE):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _is_free(descriptor: int, ended: bool) -> bool:
    """Return True if the lock is free or, without locks, if the folder's process has ended."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return ended
    return True


def _prefix() -> str:
    return f"plumbline-{gethostname()}-"
