"""A temporary folder that does not outlive a kill for long: whoever makes one removes such as were.

A run holds the lock of a file in its folder, and the kernel lets go of that when the process is
gone, however it ended.  What this user has made on this host and nobody holds belongs to nobody any
more.  What other hosts have made in a place that they share is theirs to remove.
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
"""The process that has made a folder, and what :mod:`tempfile` adds."""

_HELD = "held.lock"
_TRIES = 25
_AGAIN_S = 0.2
_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def temporary_folder(where: str = "") -> Iterator[Path]:
    """Give a new folder of this user alone, removed afterwards, in a named place or in TMPDIR.

    Raises:
        StoreError: it cannot be made, or somebody else could exchange it.
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
        # first: of a file that is open NFS keeps another one in the folder
        os.close(descriptor)
        _remove(folder)
        # what the ranks of a killed run were still writing at the beginning
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
        # gone when another run has found it before it was locked
        with suppress(FileNotFoundError):
            descriptor = os.open(folder / _HELD, _FLAGS | os.O_CREAT, 0o600)
            # a file system may have no locks
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if same_file(descriptor, folder / _HELD):
                return folder, descriptor
            os.close(descriptor)


def _remove_abandoned(base: Path) -> None:
    """Remove the folders of this user that no process holds; one that resists is left."""
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
        # just made, or left by ranks that have written for longer than their run has lived
        if gone:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        if _let_go(descriptor, gone) and same_file(descriptor, folder / _HELD):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _let_go(descriptor: int, gone: bool) -> bool:
    """Return whether nobody has a lock, or, where there are no locks, whether its maker is gone."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return gone
    return True


def _own() -> str:
    """Return how the names of this host's folders begin."""
    return f"plumbline-{gethostname()}-"
