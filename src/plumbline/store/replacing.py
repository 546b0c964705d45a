"""Replace a file as a whole, so that who reads it sees the old or the new one, never a part."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from glob import escape
from grp import getgrnam
from pathlib import Path
from typing import Iterator, Optional

from plumbline.model.errors import StoreError
from plumbline.store.database import keep_owner


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give the name of a new file, which takes the place of ``path`` if all goes well.

    It is this process's own: of two that write at once the last one's file stays, and is whole.

    Raises:
        StoreError: the name is that of a folder, or of a device or pipe, which would be lost.
    """
    if not path.name or (path.exists() and not path.is_file()):
        raise StoreError(f"{path} cannot be written: it is no plain file; nothing changed")
    _remove_abandoned(path)
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    # of a process that had the same number
    with suppress(FileNotFoundError):
        new.unlink()
    try:
        yield new
        os.replace(new, path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def replace(path: Path, text: str, *, mode: Optional[int] = None, group: str = "") -> None:
    """Put ``text`` in the place of a file at once and for good; raise OSError if that fails.

    After an error the old file is still there.  Root's file belongs to the owner of its folder.
    It has ``mode`` whatever the process hides by its mask, or without one 0640 less that mask.
    The members of ``group`` may read it where there is such a group and this user is in it.
    """
    with replacing(path) as new:
        descriptor = begin(new, 0o640)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            keep_owner(new)
            _let_read(descriptor, group)
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def begin(new: Path, mode: int) -> int:
    """Return the descriptor of a file to write that nobody had there, not even as a link.

    Raises:
        OSError: it is there, or cannot be made.
    """
    return os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)


def replace_own(path: Path, text: str, *, mode: Optional[int] = None, group: str = "") -> None:
    """Put ``text`` in the place of a file of this user, as ``replace`` does.

    Raises:
        StoreError: it cannot be written; the message says why, and the old file is still there.
    """
    with writing(path):
        replace(path, text, mode=mode, group=group)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise StoreError, with the remedy, for a file or folder that cannot be written."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {os.strerror(error.errno or 0)}; nothing changed; see that "
            f"{path.parent} is there, has space and belongs to the user that runs this"
        ) from error


def _let_read(descriptor: int, group: str) -> None:
    """Give a file to a group; who reads it says so where that was not possible."""
    if group:
        with suppress(KeyError, PermissionError):
            os.fchown(descriptor, -1, getgrnam(group).gr_gid)


def _remove_abandoned(path: Path) -> None:
    """Remove what killed processes have left beside a file; what resists does no harm."""
    for leftover in path.parent.glob(f".{escape(path.name)}.*.new"):
        process = leftover.name.split(".")[-2]
        if process.isdigit() and not Path(f"/proc/{process}").exists():
            with suppress(OSError):
                leftover.unlink()
