"""Reading and writing by MPI-IO, alone or by all ranks of a file at once."""

from __future__ import annotations

import os
from itertools import repeat
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional

from plumbline.folders import open_file, open_folder_of
from plumbline.ranks.buffers import endless, landing, sources
from plumbline.ranks.loops import Move
from plumbline.ranks.posix import drop_cached
from plumbline.ranks.world import MPI

_SOURCES = 512


class OpenMode(NamedTuple):
    """How a file is opened; ``comm`` are the ranks that open it together."""

    comm: Any
    collective: bool
    hints: Mapping[str, str]


class MpiFile:
    """One file at full size, open for one operation of the ranks of a communicator."""

    def __init__(self, path: str, offset: int, write: bool, opened: OpenMode) -> None:
        """Open at ``offset``; raise MPI.Exception when that fails, OSError where it is not safe.

        MPI takes a path alone: that of the file in its folder as it was opened and checked, in
        which nobody else can exchange it.
        """
        mode = MPI.MODE_WRONLY if write else MPI.MODE_RDONLY
        info = MPI.Info.Create()
        for name, value in opened.hints.items():
            info.Set(name, value)
        self._folder = open_folder_of(path)
        try:
            inside = f"/proc/self/fd/{self._folder}/{os.path.basename(path)}"
            self._file = MPI.File.Open(opened.comm, inside, mode, info)
            self._file.Seek(offset)
        except BaseException:
            os.close(self._folder)
            raise
        self.collective = opened.collective

    def writing(self, transfer: int) -> tuple[Move, Iterator[Any]]:
        """Return what writes, and the buffers to give it."""
        views = sources(transfer, direct=False)
        ready = [_described(next(views)) for _ in range(_SOURCES)]
        call = self._file.Write_all if self.collective else self._file.Write
        return _moving(call), endless(ready)

    def reading(self, transfer: int) -> tuple[Move, Iterator[Any]]:
        """Return what reads, and the buffer to give it each time."""
        call = self._file.Read_all if self.collective else self._file.Read
        return _moving(call), repeat(_described(landing(transfer)))

    def put(self, view: memoryview) -> int:
        """Write a piece of any size."""
        return _moving(self._file.Write)(_described(view))

    def get(self, view: memoryview) -> int:
        """Read a piece of any size."""
        return _moving(self._file.Read)(_described(view))

    def sync(self) -> None:
        """Return when all that was written is on the target."""
        self._file.Sync()

    @property
    def position(self) -> Optional[int]:
        """Return None: MPI tells nothing while a call is stuck."""
        return None

    def close(self) -> None:
        """Let go of the file."""
        self._file.Close()
        os.close(self._folder)


def _described(view: memoryview) -> list[Any]:
    return [view, len(view), MPI.BYTE]


def _moving(call: Callable[[Any, Any], None]) -> Move:
    """Return the call as one that tells its bytes."""
    status = MPI.Status()
    count, byte = status.Get_count, MPI.BYTE

    def move(described: Any) -> int:
        call(described, status)
        moved: int = count(byte)
        return moved

    return move


def obstacle_to(path: str, write: bool) -> Optional[str]:
    """Return why this rank could not open a file, None where it can; drop its pages to read it."""
    try:
        descriptor = open_file(path, os.O_WRONLY if write else os.O_RDONLY)
    except OSError as error:
        return f"{path} cannot be opened: {error}"
    try:
        if not write:
            drop_cached(descriptor)
    finally:
        os.close(descriptor)
    return None
