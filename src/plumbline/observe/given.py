"""Open files that a person names: inventories, records, tables, documents.

Anything may stand under such a name.  A pipe would wait for a writer, a device has no end, and a
line may be as long as the file: all of them are refused before memory or time are spent.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from stat import S_ISBLK, S_ISCHR, S_ISDIR, S_ISFIFO, S_ISLNK, S_ISREG, S_ISSOCK
from typing import BinaryIO, Iterator, TextIO, Union

from plumbline.model.units import format_size

_OPENED = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Files that the caller has opened already, as a shell does for ``<(COMMAND)``."""

_KINDS = {
    "pipe": S_ISFIFO,
    "device": lambda mode: S_ISBLK(mode) or S_ISCHR(mode),
    "socket": S_ISSOCK,
}

_MAX_LINE = 16 << 20
"""Characters; a record of a run on 10,000 targets has some 2 million."""


def open_given(path: Union[str, Path]) -> BinaryIO:
    """Open a file for reading; a link is followed.

    Raises:
        OSError: it cannot be opened, or is no plain file; its text says what it is.
    """
    name = os.fspath(path)
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError as error:
        if os.path.islink(name):
            raise OSError(errno.ENOENT, "it is a link that leads nowhere", name) from error
        raise
    try:
        status = os.fstat(descriptor)
        if not name.startswith(_OPENED):
            _refuse_special(status, name)
            _refuse_link_to_secret(status, name)
        os.set_blocking(descriptor, True)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_given(path: Union[str, Path], most: int) -> bytes:
    """Return the bytes of a file of at most ``most``; raise OSError as ``open_given`` does."""
    with open_given(path) as file:
        # check the size first: a file may be a terabyte of zeros
        large = os.fstat(file.fileno()).st_size > most
        data = b"" if large else file.read(most + 1)
    if large or len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {format_size(most)}", os.fspath(path))
    return data


def given_lines(file: TextIO) -> Iterator[str]:
    """Yield the lines of a text; raise OSError for one that is too long."""
    while line := file.readline(_MAX_LINE + 1):
        if len(line) > _MAX_LINE:
            raise OSError(errno.EFBIG, f"a line has more than {format_size(_MAX_LINE)}")
        yield line


def _refuse_special(status: os.stat_result, name: str) -> None:
    if S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not S_ISREG(status.st_mode):
        kind = next(kind for kind, fits in _KINDS.items() if fits(status.st_mode))
        raise OSError(errno.EINVAL, f"it is a {kind} and no plain file", name)


def _refuse_link_to_secret(status: os.stat_result, name: str) -> None:
    """Refuse to show root's files, as messages quote them, to the maker of a link to them."""
    link = os.lstat(name)
    others = os.geteuid() == 0 and S_ISLNK(link.st_mode) and link.st_uid != 0
    if others and link.st_uid != status.st_uid and not status.st_mode & 0o004:
        raise PermissionError(
            errno.EACCES, "it is a link to a file that the owner of the link may not read", name
        )
