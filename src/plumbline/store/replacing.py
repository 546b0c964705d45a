"""Replace a file atomically: readers see the old or the new one, never a part.

The folder may belong to another user, who can exchange everything in it at any moment.  Hence it is
opened once and only its descriptor is used, and owner and permissions are changed by the descriptor
of the new file, before it has the name.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from grp import getgrnam
from pathlib import Path
from stat import S_ISREG
from typing import Iterator, Optional

from plumbline.model.errors import StoreError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


@contextmanager
def replacing(path: Path, mode: int = 0o640) -> Iterator[int]:
    """Yield a descriptor of a new file, which replaces ``path`` at the end unless an error occurs.

    Its name is unique to this process: if two write at once, the last complete file remains.
    ``mode`` is reduced by the umask.  A file of root is given to the owner of its folder.

    Raises:
        StoreError: the path is a folder, or a device or pipe, which would be lost.
        OSError: the file cannot be written.
    """
    if not path.name:
        raise _no_file(path)
    with _opened(path.parent) as folder:
        _refuse_special(path, folder)
        _remove_abandoned(path.name, folder)
        new = f".{path.name}.{os.getpid()}.new"
        # from an earlier process with the same number
        with suppress(FileNotFoundError):
            os.unlink(new, dir_fd=folder)
        try:
            descriptor = os.open(new, _NEW, mode, dir_fd=folder)
            try:
                _keep_owner(descriptor, folder)
                yield descriptor
            finally:
                os.close(descriptor)
            os.replace(new, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(new, dir_fd=folder)
            raise


def replace(path: Path, text: str, *, mode: Optional[int] = None, group: str = "") -> None:
    """Replace the content of a file atomically and durably; raise OSError if that fails.

    After an error the old file is unchanged.  A file of root is given to the owner of its folder.
    Its permissions are ``mode`` regardless of the umask, or by default 0640 minus the umask.
    The members of ``group`` may read it, if the group exists and includes this user.
    """
    with (
        replacing(path) as descriptor,
        open(descriptor, "w", encoding="utf-8", closefd=False) as file,
    ):
        _let_read(descriptor, group)
        if mode is not None:
            os.fchmod(descriptor, mode)
        file.write(text)
        file.flush()
        os.fsync(descriptor)


def make_folder(path: Path) -> None:
    """Create a folder in an existing one unless it is there; root gives it to the owner of that.

    Raises:
        OSError: it cannot be created, or its place is taken by something else.
    """
    with _opened(path.parent) as above, suppress(FileExistsError):
        os.mkdir(path.name, 0o777, dir_fd=above)
        descriptor = os.open(path.name, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
        try:
            # the owner of the folder above may have exchanged it for one with files of root
            if not os.listdir(descriptor):
                _keep_owner(descriptor, above)
        finally:
            os.close(descriptor)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """Open a folder; root follows no link of another user to it."""
    follow = os.geteuid() != 0 or (folder.is_symlink() and folder.lstat().st_uid == 0)
    descriptor = os.open(folder, _FOLDER if follow else _FOLDER | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _refuse_special(path: Path, folder: int) -> None:
    try:
        status = os.stat(path.name, dir_fd=folder)
    except OSError:
        # nothing there, or a link that leads nowhere
        return
    if not S_ISREG(status.st_mode):
        raise _no_file(path)


def _no_file(path: Path) -> StoreError:
    return StoreError(f"{path} cannot be written: it is no plain file; nothing changed")


def _keep_owner(descriptor: int, folder: int) -> None:
    """Give what root has made to the owner of its folder."""
    if os.geteuid() == 0:
        owner = os.fstat(folder)
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


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


def _remove_abandoned(name: str, folder: int) -> None:
    """Remove temporary files of killed processes; failures are harmless."""
    pattern = re.compile(rf"\.{re.escape(name)}\.(\d+)\.new")
    for process in filter(None, map(pattern.fullmatch, os.listdir(folder))):
        if not Path(f"/proc/{process[1]}").exists():
            with suppress(OSError):
                os.unlink(process[0], dir_fd=folder)
