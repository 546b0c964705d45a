"""MPI: ranks that wait for one another, and reading and writing by MPI-IO.

Waiting is quiet: MPI's own barriers keep a core busy, which a rank still at work may need.
"""

from __future__ import annotations

import os
import time
from itertools import repeat
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional

from mpi4py import MPI

from plumbline.model.errors import ToolError
from plumbline.observe.folders import open_file, open_folder_of
from plumbline.parallel.operation import Move, drop_cached, endless, landing, sources

__all__ = ["MPI", "World"]

_POLL_S = 0.001
_PATIENCE_S = 0.5
_LEAD_S = 0.05
_SPIN_S = 0.002
_ROUNDS = 5


class World:
    """This rank among all; ``client`` is the host that it runs on."""

    def __init__(self) -> None:
        """Find the other ranks, and the offset of this clock to that of rank 0."""
        self._comm = MPI.COMM_WORLD
        self.rank: int = self._comm.Get_rank()
        self.size: int = self._comm.Get_size()
        self.client: str = MPI.Get_processor_name()
        self._behind_s = 0.0
        self._beside: list[int] = []

    def share(self, value: Any) -> list[Any]:
        """Return the values of all ranks, in order of ranks."""
        self.barrier()
        values: list[Any] = self._comm.allgather(value)
        return values

    def from_first(self, value: Any) -> Any:
        """Return the value of rank 0."""
        return self._comm.bcast(value)

    def together(self, colour: int) -> Any:
        """Return the communicator of all ranks that give the same colour."""
        return self._comm.Split(colour, self.rank)

    def meet(self) -> list[str]:
        """Return the client of every rank, and remember the processes of those on this one."""
        everybody = self.share((self.client, os.getpid()))
        self._beside = [pid for client, pid in everybody if client == self.client]
        return [client for client, _ in everybody]

    def barrier(self) -> None:
        """Wait until every rank is here; raise ToolError when one on this client has died.

        Not every launcher ends the others then.
        """
        request = self._comm.Ibarrier()
        patience = time.monotonic() + _PATIENCE_S
        while not request.Test():
            time.sleep(_POLL_S)
            if time.monotonic() > patience:
                self._look_around(request)
                patience = time.monotonic() + _PATIENCE_S

    def _look_around(self, request: Any) -> None:
        dead = [pid for pid in self._beside if not _is_there(pid)]
        # the last one to leave a barrier finds the others gone, and so it is over for itself
        time.sleep(_PATIENCE_S if dead else 0)
        if dead and not request.Test():
            raise ToolError(f"another rank on {self.client}, process {dead[0]}, has died")

    def compare_clocks(self) -> None:
        """Measure the offset of this clock to that of rank 0.

        Cristian's algorithm: of some questions the one that was answered fastest counts, and its
        answer is taken to be from the middle of the time that it took.
        """
        for other in range(1, self.size):
            if self.rank == 0:
                self._tell(other)
            elif self.rank == other:
                self._behind_s = self._ask()

    def _tell(self, other: int) -> None:
        for _ in range(_ROUNDS):
            self._comm.recv(source=other)
            self._comm.send(time.monotonic(), dest=other)

    def _ask(self) -> float:
        answers = []
        for _ in range(_ROUNDS):
            before = time.monotonic()
            self._comm.send(None, dest=0)
            first: float = self._comm.recv(source=0)
            after = time.monotonic()
            answers.append((after - before, first - (before + after) / 2))
        return min(answers)[1]

    def start_together(self) -> float:
        """Wait for the common start and return it, by this rank's monotonic clock."""
        self.barrier()
        start = self.from_first(time.monotonic() + _LEAD_S) - self._behind_s
        time.sleep(max(0.0, start - time.monotonic() - _SPIN_S))
        while time.monotonic() < start:
            time.sleep(0)
        return float(start)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def least(comm: Any, value: int) -> int:
    """Return the minimum over all ranks of a communicator."""
    result: int = comm.allreduce(value, op=MPI.MIN)
    return result


def voter(comm: Any) -> Callable[[bool], bool]:
    """Return a function that is True if all ranks of a communicator agree."""

    def vote(agrees: bool) -> bool:
        result: bool = comm.allreduce(agrees, op=MPI.LAND)
        return result

    return vote


_SOURCES = 512


class OpenMode(NamedTuple):
    """Terms of opening a file; ``comm`` are the ranks that open it together."""

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
        """Return the function that writes, and its buffers."""
        views = sources(transfer, direct=False)
        ready = [_described(next(views)) for _ in range(_SOURCES)]
        call = self._file.Write_all if self.collective else self._file.Write
        return _moving(call), endless(ready)

    def reading(self, transfer: int) -> tuple[Move, Iterator[Any]]:
        """Return the function that reads, and its buffer."""
        call = self._file.Read_all if self.collective else self._file.Read
        return _moving(call), repeat(_described(landing(transfer)))

    def put(self, view: memoryview) -> int:
        """Write a piece of any size."""
        return _moving(self._file.Write)(_described(view))

    def get(self, view: memoryview) -> int:
        """Read a piece of any size."""
        return _moving(self._file.Read)(_described(view))

    def sync(self) -> None:
        """Wait until all bytes are on the target."""
        self._file.Sync()

    @property
    def position(self) -> Optional[int]:
        """Return None: MPI gives no position while a call is stuck."""
        return None

    def close(self) -> None:
        """Close the file."""
        self._file.Close()
        os.close(self._folder)


def _described(view: memoryview) -> list[Any]:
    return [view, len(view), MPI.BYTE]


def _moving(call: Callable[[Any, Any], None]) -> Move:
    """Wrap an MPI call to return its bytes."""
    status = MPI.Status()
    count, byte = status.Get_count, MPI.BYTE

    def move(described: Any) -> int:
        call(described, status)
        moved: int = count(byte)
        return moved

    return move


def obstacle_to(path: str, write: bool) -> Optional[str]:
    """Return the reason why this rank cannot open a file, or None; drop its pages before a read."""
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
