"""A temporary folder that does not outlive a kill for long: whoever makes one removes such as were.

A run holds the lock of a file in its folder, and the kernel lets go of that when the process is
gone, however it ended.  What this user has made and nobody holds belongs to nobody any more.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator

from plumbline.errors import StoreError
from plumbline.run.lock import same_file

_NAME = re.compile(r"plumbline-\d+-[a-z0-9_]{8}")
"""A process, and what :mod:`tempfile` adds."""
_HELD = "held.lock"
_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a new folder of this user alone, removed afterwards; TMPDIR says where.

    Raises:
        StoreError: it cannot be made.
    """
    try:
        base = Path(tempfile.gettempdir())
        _remove_abandoned(base)
        folder, descriptor = _made(base)
    except OSError as error:
        raise StoreError(
            f"no temporary folder can be made: {error.strerror}: {error.filename}; make room "
            "there, or name another place with TMPDIR"
        ) from error
    try:
        yield folder
    finally:
        remove_folder(folder)
        os.close(descriptor)
        # what the tools of a killed run were still writing at the beginning
        with suppress(OSError):
            _remove_abandoned(base)


def _made(base: Path) -> tuple[Path, int]:
    """Return a new folder and the descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"plumbline-{os.getpid()}-", dir=base))
        descriptor = os.open(folder / _HELD, _FLAGS | os.O_CREAT, 0o600)
        # where a file system has no locks the next run cannot take it either, and leaves it
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if same_file(descriptor, folder / _HELD):
            return folder, descriptor
        # another run has found it before it was locked, and removes it
        os.close(descriptor)


def _remove_abandoned(base: Path) -> None:
    """Remove the folders of this user that no process holds; one that resists is left."""
    for folder in [one for one in base.iterdir() if _NAME.fullmatch(one.name)]:
        with suppress(OSError):
            if folder.lstat().st_uid == os.geteuid():
                _remove_unheld(folder)


def _remove_unheld(folder: Path) -> None:
    """Remove a folder unless a process holds it; raise OSError if that is not certain."""
    descriptor = os.open(folder / _HELD, _FLAGS)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if same_file(descriptor, folder / _HELD):
            remove_folder(folder)
    finally:
        os.close(descriptor)


def remove_folder(folder: Path) -> None:
    """Remove a folder, its lock last: what resists, or is written meanwhile, is the next run's."""
    try:
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != _HELD:
                entry.unlink(missing_ok=True)
        (folder / _HELD).unlink(missing_ok=True)
        folder.rmdir()
    except FileNotFoundError:
        return
    except OSError:
        (folder / _HELD).touch(mode=0o600)
