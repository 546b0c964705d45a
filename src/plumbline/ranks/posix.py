"""Reading and writing by the system's own calls."""

from __future__ import annotations

import os
from functools import partial
from itertools import repeat
from typing import Any, Iterator, Optional

from plumbline.folders import open_file
from plumbline.ranks.buffers import landing, sources
from plumbline.ranks.loops import Move


class PosixFile:
    """One file at full size, open for one operation of one rank."""

    collective = False

    def __init__(self, path: str, offset: int, write: bool, direct: bool) -> None:
        """Open at ``offset``; raise OSError when that fails, or where something else is there."""
        flags = (os.O_WRONLY if write else os.O_RDONLY) | (os.O_DIRECT if direct else 0)
        self._descriptor = open_file(path, flags)
        self._direct = direct
        if not write:
            drop_cached(self._descriptor)
        os.lseek(self._descriptor, offset, os.SEEK_SET)

    def writing(self, transfer: int) -> tuple[Move, Iterator[Any]]:
        """Return what writes, and the buffers to give it."""
        return partial(os.write, self._descriptor), sources(transfer, self._direct)

    def reading(self, transfer: int) -> tuple[Move, Iterator[Any]]:
        """Return what reads, and the buffer to give it each time."""
        return partial(os.readv, self._descriptor), repeat([landing(transfer)])

    def put(self, view: memoryview) -> int:
        """Write a piece of any size."""
        return os.write(self._descriptor, view)

    def get(self, view: memoryview) -> int:
        """Read a piece of any size."""
        return os.readv(self._descriptor, [view])

    def sync(self) -> None:
        """Return when all that was written is on the target."""
        os.fsync(self._descriptor)

    @property
    def position(self) -> Optional[int]:
        """Return where in the file the next call begins, without waiting for one that is stuck."""
        # proc(5): "pos:\t123"; lseek(2) would wait
        with open(f"/proc/self/fdinfo/{self._descriptor}", encoding="ascii") as fdinfo:
            return int(fdinfo.readline().split()[1])

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


def flush(path: str) -> None:
    """Return when all that this client has written to a file is on the target."""
    descriptor = open_file(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def drop_cached(descriptor: int) -> None:
    """Take this one file out of this client's page cache; what was not written back stays there.

    posix_fadvise(2) needs no privilege and touches nothing else of the system.
    """
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
