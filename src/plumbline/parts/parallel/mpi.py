"""MPI: synchronise ranks, and read and write with MPI-IO.

Ranks sleep while they wait: MPI's own barriers keep a core busy, which a working rank may need.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Callable, NamedTuple, NoReturn, Optional

from mpi4py import MPI

from plumbline.model.codec import compact
from plumbline.model.errors import ToolError, reason_in
from plumbline.model.profile import Block, pack
from plumbline.model.ranks import Method, Place, assign, readers
from plumbline.model.record import Operation
from plumbline.observe.folders import open_file, open_folder_of
from plumbline.parts.parallel.job import Job, Result, State, result_name
from plumbline.parts.parallel.operation import (
    Attempt,
    Ended,
    File,
    Move,
    PosixFile,
    Work,
    brief_of,
    drop_cached,
    flush,
    landing,
    not_begun,
    result_of,
    sources,
    unfinished,
    write_whole,
)

_POLL_S = 0.001
_PATIENCE_S = 0.5
_LEAD_S = 0.05
_SPIN_S = 0.002
_ROUNDS = 5


class World:
    """All ranks, seen from this one; ``client`` is the host of this rank."""

    def __init__(self) -> None:
        """Find the other ranks."""
        self._comm = MPI.COMM_WORLD
        self.rank: int = self._comm.Get_rank()
        self.size: int = self._comm.Get_size()
        self.client: str = MPI.Get_processor_name()
        self._behind_s = 0.0
        self._local_pids: list[int] = []

    def share(self, value: Any) -> list[Any]:
        """Return the values of all ranks, in rank order."""
        self.barrier()
        values: list[Any] = self._comm.allgather(value)
        return values

    def from_first(self, value: Any) -> Any:
        """Return the value of rank 0."""
        return self._comm.bcast(value)

    def keep(self, takes_part: bool) -> None:
        """Exclude ranks that take no part, and renumber the others."""
        self._comm = self.together(takes_part)
        self.rank, self.size = self._comm.Get_rank(), self._comm.Get_size()

    def together(self, colour: int) -> Any:
        """Return the communicator of all ranks with the same colour."""
        # a rank that has moved its bytes sleeps until the last one has
        self.barrier()
        return self._comm.Split(colour, self.rank)

    def meet(self) -> list[str]:
        """Return the client of every rank, and remember the processes on this client."""
        everybody = self.share((self.client, os.getpid()))
        self._local_pids = [pid for client, pid in everybody if client == self.client]
        return [client for client, _ in everybody]

    def barrier(self) -> None:
        """Wait for all ranks; raise ToolError if a rank on this client has died.

        Not every launcher ends the other ranks in that case.
        """
        request = self._comm.Ibarrier()
        patience = monotonic() + _PATIENCE_S
        while not request.Test():
            time.sleep(_POLL_S)
            if monotonic() > patience:
                self._look_around(request)
                patience = monotonic() + _PATIENCE_S

    def _look_around(self, request: Any) -> None:
        dead = [pid for pid in self._local_pids if not _is_alive(pid)]
        # the last rank to leave a barrier may find the others gone, but its request is complete
        time.sleep(_PATIENCE_S if dead else 0)
        if dead and not request.Test():
            raise ToolError(f"another rank on {self.client}, process {dead[0]}, has died")

    def compare_clocks(self) -> None:
        """Measure the offset of this clock from rank 0's.

        Cristian's algorithm: of several queries the fastest counts, and its answer is assumed to
        come from the middle of its time.
        """
        for other in range(1, self.size):
            if self.rank == 0:
                self._tell(other)
            elif self.rank == other:
                self._behind_s = self._ask()

    def _tell(self, other: int) -> None:
        for _ in range(_ROUNDS):
            self._comm.recv(source=other)
            self._comm.send(monotonic(), dest=other)

    def _ask(self) -> float:
        answers = []
        for _ in range(_ROUNDS):
            before = monotonic()
            self._comm.send(None, dest=0)
            answer: float = self._comm.recv(source=0)
            after = monotonic()
            answers.append((after - before, answer - (before + after) / 2))
        return min(answers)[1]

    def start_together(self) -> float:
        """Wait for the common start and return it, by this rank's monotonic clock."""
        self.barrier()
        start = self.from_first(monotonic() + _LEAD_S) - self._behind_s
        time.sleep(max(0.0, start - monotonic() - _SPIN_S))
        while monotonic() < start:
            time.sleep(0)
        return float(start)


def _is_alive(pid: int) -> bool:
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
    """Return a function that returns True if all ranks of a communicator agree."""

    def vote(agrees: bool) -> bool:
        result: bool = comm.allreduce(agrees, op=MPI.LAND)
        return result

    return vote


class OpenMode(NamedTuple):
    """Terms of opening a file; ``comm`` has the ranks that open it together."""

    comm: Any
    test: Method


class MpiFile(File):
    """One file at full size, open for one operation of the ranks of a communicator."""

    def __init__(self, path: str, offset: int, write: bool, opened: OpenMode) -> None:
        """Open at ``offset``; raise MPI.Exception if that fails, OSError if it is not safe.

        MPI accepts only a path.  This one leads through the open, checked folder, in which nobody
        else can exchange the file.
        """
        mode = MPI.MODE_WRONLY if write else MPI.MODE_RDONLY
        info = MPI.Info.Create()
        for name, value in opened.test.hints.items():
            info.Set(name, value)
        self._folder = open_folder_of(path)
        try:
            inside = f"/proc/self/fd/{self._folder}/{os.path.basename(path)}"
            self._file = MPI.File.Open(opened.comm, inside, mode, info)
            self._file.Seek(offset)
        except BaseException:
            os.close(self._folder)
            raise
        self.collective = opened.test.collective
        # gathered transfers are moved when a buffer is full, by each rank at another time
        at_once = self.collective and opened.test.aggregation is None
        self.put = _moving(self._file.Write_all if at_once else self._file.Write)
        read = _moving(self._file.Read_all if at_once else self._file.Read)
        self.get = lambda buffers: read(buffers[0])

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


def _moving(call: Callable[[Any, Any], None]) -> Move:
    """Wrap an MPI call to return its bytes."""
    status = MPI.Status()
    count, byte = status.Get_count, MPI.BYTE

    def move(view: memoryview) -> int:
        call([view, len(view), byte], status)
        moved: int = count(byte)
        return moved

    return move


_END, _GATHER, _SCATTER = (bytes([order]) for order in range(3))


class Group:
    """Group of processes; the first one writes and reads for all."""

    def __init__(self, world: World, test: Method) -> None:
        """Find the group of this process; only the writing processes remain in the world."""
        self._comm = world.together(world.rank // test.processes)
        self._piece = test.transfer // test.processes
        self._own = sources(self._piece, direct=False)
        self._landing = landing(self._piece)
        self.writes = self._comm.Get_rank() == 0
        self.is_single = test.processes == 1
        world.keep(self.writes)

    def serve(self) -> None:
        """Send and receive data until the writing process ends."""
        order = bytearray(1)
        while True:
            self._comm.Bcast(order)
            if order == _GATHER:
                self._comm.Gather(_bytes(next(self._own)), None)
            elif order == _SCATTER:
                self._comm.Scatter(None, _bytes(self._landing))
            else:
                return

    def gather(self, view: memoryview) -> None:
        """Gather the data of all processes."""
        self._comm.Bcast(bytearray(_GATHER))
        self._comm.Gather(_bytes(next(self._own)), _bytes(view))

    def scatter(self, view: memoryview) -> None:
        """Send each process its data."""
        self._comm.Bcast(bytearray(_SCATTER))
        self._comm.Scatter(_bytes(view), _bytes(self._landing))

    def end(self) -> None:
        """Release the other processes."""
        self._comm.Bcast(bytearray(_END))


def _bytes(view: memoryview) -> list[Any]:
    return [view, MPI.BYTE]


class GroupFile(File):
    """File whose data one rank gathers before a write, and scatters after a read."""

    def __init__(self, file: File, group: Group) -> None:
        """Take an open file."""
        self._file = file
        self._group = group
        self.put, self.get = self._put, self._get

    def _put(self, view: memoryview) -> int:
        self._group.gather(view)
        return self._file.put(view)

    def _get(self, buffers: list[memoryview]) -> int:
        moved = self._file.get(buffers)
        self._group.scatter(buffers[0])
        return moved

    def sync(self) -> None:
        """Wait until all bytes are on the target."""
        self._file.sync()

    @property
    def position(self) -> Optional[int]:
        """Return the offset of the next call, without waiting for a stuck one."""
        return self._file.position

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def obstacle_to(path: str, write: bool) -> Optional[str]:
    """Try to open a file, and drop its pages before a read; return the obstacle, or None."""
    try:
        descriptor = open_file(path, os.O_WRONLY if write else os.O_RDONLY)
    except OSError as error:
        return _unopened(path, error)
    try:
        if not write:
            drop_cached(descriptor)
    finally:
        os.close(descriptor)
    return None


def _unopened(path: str, error: Exception) -> str:
    return f"{path} cannot be opened: {reason_in(error)}; see that this client may use the file"


_ENDED = 143
"""Exit code of a process ended by SIGTERM."""


class Rank:
    """One rank of a job."""

    def __init__(self, job: Job, world: World, group: Group) -> None:
        """Agree with all ranks on their places."""
        self._job = job
        self._group = group
        self._world = world
        clients = world.meet()
        self._places = assign([place.server for place in job.places], clients)
        self._readers = readers(clients)
        self._unfinished: Optional[Callable[[], Optional[Result]]] = None
        self._written = [job.transfers * job.test.transfer] * world.size
        world.compare_clocks()

    def run(self) -> None:
        """Carry out all operations."""
        for operation in self._job.operations:
            result = self._operation(operation)
            if operation is Operation.WRITE:
                done = result.state in (State.DONE, State.SHORT)
                self._written = self._world.share(result.bytes if done else 0)
        self._world.barrier()

    def keep_unfinished(self) -> None:
        """Store the result so far of a read that is stuck in a call; runs in another thread.

        Nothing is stored for a write, whose bytes may not be safe.
        """
        result = self._unfinished() if self._unfinished is not None else None
        if result is not None:
            self._keep(result, None)

    def _operation(self, operation: Operation) -> Result:
        writes = operation is Operation.WRITE
        # write the file of this rank, or read the file of another
        author = self._world.rank if writes else self._readers[self._world.rank]
        index = self._places[author]
        place = self._job.places[index]
        paths = [place.path for place in self._job.places]
        comm = self._world.together(paths.index(place.path))
        file, obstacle = self._open(place, writes, comm)
        if file is not None and not self._group.is_single:
            file = GroupFile(file, self._group)
        transfers = self._written[author] // self._job.test.transfer
        if self._job.test.collective:
            transfers = least(comm, transfers)
        if not obstacle and not transfers:
            obstacle = f"rank {author} has written nothing here that could be read"
        worker = self._world.rank, self._world.client, place.target
        work = Work(worker, operation, self._job, transfers, voter(comm))
        attempt = Attempt(work, file) if file is not None and not obstacle else None
        start = self._world.start_together()
        if file is None or attempt is None:
            result = self._keep(not_begun(work, obstacle), None)
            if file is not None:
                # the other ranks of a shared file wait for all to close it
                file.close()
            return result
        self._unfinished = partial(_read_so_far, work, attempt, file, place.offset)
        try:
            attempt.make(start)
            self._unfinished = None
        except Ended:
            self._leave(work, attempt, None if file.collective else place.path)
        result = self._keep(result_of(work, attempt), attempt)
        if file.collective and result.state is State.FAILED:
            # the other ranks wait in a call that this rank will never make
            os._exit(1)
        file.close()
        return result

    def _open(
        self, part: Place, writes: bool, comm: object
    ) -> tuple[Optional[File], Optional[str]]:
        """Return the open file, or the reason why it cannot be opened.

        Opening a shared file waits for all its ranks, so they do it only if each of them can.
        """
        test = self._job.test
        if test.api == "mpiio":
            obstacle = obstacle_to(part.path, writes)
            if not voter(comm)(obstacle is None):
                return None, obstacle or f"{part.path} cannot be opened by another rank"
        try:
            if test.api == "mpiio":
                opened = OpenMode(comm, test)
                return MpiFile(part.path, part.offset, writes, opened), None
            return PosixFile(part.path, part.offset, writes, self._job.direct), None
        except (OSError, RuntimeError) as error:
            return None, _unopened(part.path, error)

    def _leave(self, work: Work, attempt: Attempt, path: Optional[str]) -> NoReturn:
        """Store the bytes so far, then flush the file to make them a measurement, and exit.

        The process may be killed during the flush, so the bytes are stored first.  ``path`` is None
        for collective calls, whose partial results are no measurement.
        """
        result = self._keep(brief_of(work, attempt), None)
        if path is not None:
            if work.writes:
                flush(path)
            result = result._replace(state=State.SHORT, end_s=monotonic() - attempt.start)
            self._keep(result, None)
        full = result_of(work, attempt)
        self._keep(full._replace(state=result.state, end_s=result.end_s), attempt)
        os._exit(_ENDED)

    def _keep(self, result: Result, attempt: Optional[Attempt]) -> Result:
        name = result_name(result.operation, result.rank)
        folder = Path(self._job.folder)
        write_whole(folder / f"{name}.json", compact(result).encode())
        if self._job.keep_calls and attempt is not None:
            block = Block(
                result.rank,
                result.client,
                result.target,
                result.operation.value,
                attempt.calls,
            )
            # the run reports missing calls; the measurement is valid
            with suppress(OSError):
                write_whole(folder / f"{name}.calls", pack({}, [block]))
        return result


def _read_so_far(work: Work, attempt: Attempt, file: File, offset: int) -> Optional[Result]:
    """Return the result so far of a read, from its position in the file; None for a write."""
    position = None if work.writes or not attempt.start else file.position
    return None if position is None else unfinished(work, attempt, position - offset)
