"""Replace a file atomically: readers see the old or the new one, never a part."""

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
    """Yield the path of a new file, which replaces ``path`` at the end unless an error occurs.

    The name is unique to this process: if two write at once, the last complete file remains.

    Raises:
        StoreError: the path is a folder, or a device or pipe, which would be lost.
    """
    if not path.name or (path.exists() and not path.is_file()):
        raise StoreError(f"{path} cannot be written: it is no plain file; nothing changed")
    _remove_abandoned(path)
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    # from an earlier process with the same number
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
    """Replace the content of a file atomically and durably; raise OSError if that fails.

    After an error the old file is unchanged.  A file of root is given to the owner of its folder.
    Its permissions are ``mode`` regardless of the umask, or by default 0640 minus the umask.
    The members of ``group`` may read it, if the group exists and includes this user.
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
    """Return a descriptor for writing a new file that did not exist, not even as a link.

    Raises:
        OSError: the file exists, or cannot be created.
    """
    return os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)


def replace_own(path: Path, text: str, *, mode: Optional[int] = None, group: str = "") -> None:
    """Replace the content of a file of this user, as ``replace`` does.

    Raises:
        StoreError: it cannot be written, for the reason given; the old file is unchanged.
    """
    with writing(path):
        replace(path, text, mode=mode, group=group)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an OSError into StoreError with a remedy, for a file or folder to write."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {os.strerror(error.errno or 0)}; nothing changed; see that "
            f"{path.parent} is there, has space and belongs to the user that runs this"
        ) from error


def _let_read(descriptor: int, group: str) -> None:
    """Give a file to a group if possible; otherwise readers report the problem."""
    if group:
        with suppress(KeyError, PermissionError):
            os.fchown(descriptor, -1, getgrnam(group).gr_gid)


def _remove_abandoned(path: Path) -> None:
    """Remove temporary files of killed processes; failures are harmless."""
    for leftover in path.parent.glob(f".{escape(path.name)}.*.new"):
        process = leftover.name.split(".")[-2]
        if process.isdigit() and not Path(f"/proc/{process}").exists():
            with suppress(OSError):
                leftover.unlink()
