"""The ranks of a run and how they wait for one another: all that is asked of MPI but files.

Waiting is quiet: MPI's own barriers keep a core busy, which a rank still at work may need.
"""

from __future__ import annotations

import os
import time
from typing import Any, Callable

from mpi4py import MPI

from plumbline.errors import ToolError

__all__ = ["MPI", "World"]

_POLL_S = 0.001
_PATIENCE_S = 0.5
_LEAD_S = 0.05
_SPIN_S = 0.002
_ROUNDS = 5


class World:
    """This rank among all; ``client`` is the host that it runs on."""

    def __init__(self) -> None:
        """Find the other ranks, and how this clock differs from that of rank 0."""
        self._comm = MPI.COMM_WORLD
        self.rank: int = self._comm.Get_rank()
        self.size: int = self._comm.Get_size()
        self.client: str = MPI.Get_processor_name()
        self._behind_s = 0.0
        self._beside: list[int] = []

    def share(self, value: Any) -> list[Any]:
        """Return what every rank gives, in order of ranks."""
        self.barrier()
        values: list[Any] = self._comm.allgather(value)
        return values

    def from_first(self, value: Any) -> Any:
        """Return what rank 0 gives."""
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
        """Learn how far this clock is behind that of rank 0.

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
    """Return the least of what all ranks of a communicator give."""
    result: int = comm.allreduce(value, op=MPI.MIN)
    return result


def voter(comm: Any) -> Callable[[bool], bool]:
    """Return what asks all ranks of a communicator whether each of them agrees."""

    def vote(agrees: bool) -> bool:
        result: bool = comm.allreduce(agrees, op=MPI.LAND)
        return result

    return vote
