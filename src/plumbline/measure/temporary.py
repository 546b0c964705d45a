"""Temporary folders, and the removal of abandoned ones of killed runs.

A run holds the lock of a file in its folder, and the kernel releases it at any end of the process.
Folders of this user and host without a holder are abandoned.  Other hosts remove their own folders
in a shared place.
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

_ADDED = r"(?P<process>\d+)-[a-z0-9_]{8}"
"""Process that made a folder, and the suffix of :mod:`tempfile`."""

_HELD = "held.lock"
_TRIES = 25
_AGAIN_S = 0.2
_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def temporary_folder(where: str = "") -> Iterator[Path]:
    """Yield a new folder of this user alone in a named place or TMPDIR; remove it afterwards.

    Raises:
        StoreError: it cannot be made, or another user could replace it.
    """
    try:
        base = Path(where or tempfile.gettempdir())
        if where:
            check_place(where)
        _remove_abandoned(base)
        folder, descriptor = _made(base)
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
        # folders that ranks of a killed run were still writing at the beginning
        _remove_abandoned(base)


def _remove(folder: Path) -> None:
    """Remove a folder, also while ranks that lost their launcher still write to it."""
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_AGAIN_S)


def _made(base: Path) -> tuple[Path, int]:
    """Return a new folder and the descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_own()}{os.getpid()}-", dir=base))
        # another run may remove the folder before it is locked
        with suppress(FileNotFoundError):
            descriptor = os.open(folder / _HELD, _FLAGS | os.O_CREAT, 0o600)
            # a file system may have no locks
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if same_file(descriptor, folder / _HELD):
                return folder, descriptor
            os.close(descriptor)


def _remove_abandoned(base: Path) -> None:
    """Remove this user's folders without a holder; a folder that resists stays."""
    pattern = re.compile(re.escape(_own()) + _ADDED)
    with suppress(OSError):
        for folder in list(base.iterdir()):
            name = pattern.fullmatch(folder.name)
            with suppress(OSError):
                if name and folder.lstat().st_uid == os.geteuid():
                    _remove_unheld(folder, int(name["process"]))


def _remove_unheld(folder: Path, process: int) -> None:
    """Remove a folder unless a process holds it; raise OSError if that is not certain."""
    gone = not Path(f"/proc/{process}").exists()
    try:
        descriptor = os.open(folder / _HELD, _FLAGS)
    except FileNotFoundError:
        # just made, or still written by ranks after the death of their run
        if gone:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        if _let_go(descriptor, gone) and same_file(descriptor, folder / _HELD):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _let_go(descriptor: int, gone: bool) -> bool:
    """Return True if nobody has the lock, or, without locks, if the folder's maker is gone."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return gone
    return True


def _own() -> str:
    """Return the prefix of this host's folders."""
    return f"plumbline-{gethostname()}-"
