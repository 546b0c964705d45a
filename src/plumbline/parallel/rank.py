"""One rank of a parallel run: ``mpirun ... python3 -m plumbline.parallel.rank JOBFILE``.

Whatever happens, every rank that can leaves a file for each operation; see :mod:`.job`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Callable, NoReturn, Optional

from plumbline.model.errors import PlumblineError, ToolError
from plumbline.model.record import Operation
from plumbline.model.validation import read_json
from plumbline.parallel.job import Job, Result, State, encoded, result_name, write_whole
from plumbline.parallel.mpi import MpiFile, OpenMode, World, least, obstacle_to, voter
from plumbline.parallel.operation import (
    Attempt,
    Ended,
    PosixFile,
    Work,
    brief_of,
    flush,
    not_begun,
    result_of,
    unfinished,
)
from plumbline.parallel.profile import Block, pack
from plumbline.parallel.terms import Place, assign, readers

if TYPE_CHECKING:
    from plumbline.parallel.operation import File

_ENDED = 143
"""Exit code of a process that SIGTERM has ended."""


class Rank:
    """One rank of a job."""

    def __init__(self, job: Job, world: World) -> None:
        """Agree with all ranks on the place of each."""
        self._job = job
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
        """Keep the result so far of a read that waits in a call; runs in another thread.

        Of a write nothing is: it is not known to be safe.
        """
        result = self._unfinished() if self._unfinished is not None else None
        if result is not None:
            self._keep(result, None)

    def _operation(self, operation: Operation) -> Result:
        writes = operation is Operation.WRITE
        # the file of this rank to write, or of another rank to read
        author = self._world.rank if writes else self._readers[self._world.rank]
        index = self._places[author]
        place = self._job.places[index]
        worker = (self._world.rank, self._world.client, place.target)
        paths = [place.path for place in self._job.places]
        comm = self._world.together(paths.index(place.path))
        file, obstacle = self._open(place, writes, comm)
        transfers = self._written[author] // self._job.test.transfer
        if self._job.test.collective:
            transfers = least(comm, transfers)
        if not obstacle and not transfers:
            obstacle = f"rank {author} has written nothing here that could be read"
        work = Work(operation, self._job, transfers, voter(comm))
        attempt = Attempt(work, file) if file is not None and not obstacle else None
        start = self._world.start_together()
        if file is None or attempt is None:
            result = self._keep(not_begun(operation, worker, obstacle), None)
            if file is not None:
                # the others of a shared file wait for all to let go of it
                file.close()
            return result
        self._unfinished = partial(_read_so_far, work, attempt, file, (place.offset, worker))
        try:
            attempt.make(start)
            self._unfinished = None
        except Ended:
            self._leave(work, attempt, None if file.collective else place.path, worker)
        result = self._keep(result_of(work, attempt, worker), attempt)
        if file.collective and result.state is State.FAILED:
            # the others wait in a call that this rank will never make
            os._exit(1)
        file.close()
        return result

    def _open(
        self, part: Place, writes: bool, comm: object
    ) -> tuple[Optional[File], Optional[str]]:
        """Return the open file, or the reason why it cannot be opened.

        Ranks that share a file open it only when each of them can: they wait for one another.
        """
        test = self._job.test
        if test.api == "mpiio":
            obstacle = obstacle_to(part.path, writes)
            if not voter(comm)(obstacle is None):
                return None, obstacle or f"{part.path} cannot be opened by another rank"
        try:
            if test.api == "mpiio":
                opened = OpenMode(comm, test.collective, test.hints)
                return MpiFile(part.path, part.offset, writes, opened), None
            return PosixFile(part.path, part.offset, writes, self._job.direct), None
        except (OSError, RuntimeError) as error:
            return None, f"{part.path} cannot be opened: {error}"

    def _leave(
        self, work: Work, attempt: Attempt, path: Optional[str], worker: tuple[int, str, str]
    ) -> NoReturn:
        """Keep the bytes so far, then flush the file to make them a measurement.

        The time may end before the flush, so the bytes are kept first.  ``path`` is None for
        collective calls, of which no part is a measurement.
        """
        result = self._keep(brief_of(work, attempt, worker), None)
        if path is not None:
            if work.writes:
                flush(path)
            result = result._replace(state=State.SHORT, end_s=monotonic() - attempt.start)
            self._keep(result, None)
        whole = result_of(work, attempt, worker)
        self._keep(whole._replace(state=result.state, end_s=result.end_s), attempt)
        os._exit(_ENDED)

    def _keep(self, result: Result, attempt: Optional[Attempt]) -> Result:
        name = result_name(result.operation, result.rank)
        folder = Path(self._job.folder)
        write_whole(folder / f"{name}.json", encoded(result))
        if self._job.keep_calls and attempt is not None:
            block = Block(
                result.rank,
                result.client,
                result.target,
                result.operation.value,
                attempt.calls,
            )
            # the run reports missing calls; the measurement is kept
            with suppress(OSError):
                write_whole(folder / f"{name}.calls", pack({}, [block]))
        return result


def _read_so_far(
    work: Work, attempt: Attempt, file: File, where: tuple[int, tuple[int, str, str]]
) -> Optional[Result]:
    """Return the result of a read so far, by its position after an offset; None for a write."""
    offset, worker = where
    position = None if work.writes or not attempt.start else file.position
    return None if position is None else unfinished(work, attempt, worker, position - offset)


_ENDING = (signal.SIGTERM, signal.SIGUSR1)
"""From Open MPI and Slurm the one, from MPICH the other when a rank has died, on any client."""

_LOWEST = 19
_LOOK_S = 0.2
_STUCK_S = 0.2
"""Both together are short against the second after which PMIx ends a rank that lost its server."""
_LAST_S = 4.0


def main(argv: list[str]) -> int:
    """Take part in a run; return 0 when all results of this rank are kept."""
    for number in _ENDING:
        signal.signal(number, _end)
    sys.excepthook = _abort
    # a launcher hands its own priority on, but not to other hosts
    os.nice(_LOWEST)
    stuck = _watch_launcher()
    from plumbline.parallel.mpi import World

    world = World()
    text = Path(argv[1]).read_text(encoding="utf-8") if world.rank == 0 else ""
    job = Job.from_json(read_json(world.from_first(text)))
    if world.size != len(job.places):
        raise ToolError(
            f"{world.size} ranks have found one another instead of {len(job.places)}; "
            "start them with the mpirun of the MPI that mpi4py was built for"
        )
    rank = Rank(job, world)
    stuck.append(rank.keep_unfinished)
    rank.run()
    return 0


def _end(_number: int, _frame: Optional[FrameType]) -> NoReturn:
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise Ended


def _abort(
    kind: type[BaseException], error: BaseException, _traceback: Optional[TracebackType]
) -> NoReturn:
    """End at once; a rank that waits for MPI to finalize would block all others."""
    if isinstance(error, PlumblineError):
        print(f"plumbline: {error}", file=sys.stderr, flush=True)
        os._exit(error.exit_code)
    if isinstance(error, ModuleNotFoundError) and error.name == "mpi4py":
        print(
            f"plumbline: {sys.executable} has no mpi4py; install python3-mpi4py, or name another "
            "Python with --python",
            file=sys.stderr,
            flush=True,
        )
        os._exit(ToolError.exit_code)
    if kind is not Ended:
        sys.__excepthook__(kind, error, _traceback)
    sys.stderr.flush()
    os._exit(1)


def _parents() -> tuple[int, int]:
    """Return the process that started this rank, and its parent if it is only a wrapper.

    A launcher that would kill its ranks at once does not have them as its own children.
    """
    parent = os.getppid()
    with suppress(OSError):
        # proc(5): "pid (name) state ppid ..."
        name, _, rest = Path(f"/proc/{parent}/stat").read_text(encoding="utf-8").rpartition(")")
        if name.endswith("(setsid"):
            return parent, int(rest.split()[1])
    return parent, 0


def _watch_launcher() -> list[Callable[[], None]]:
    """End this rank when its launcher is gone: a killed mpirun must leave no writer.

    What is in the list that is returned is called first where the rank does not end at once: it
    waits for a slow target, in a call that no signal ends.
    """
    parents = _parents()
    stuck: list[Callable[[], None]] = []

    def watch() -> None:
        never = threading.Event()
        while _parents() == parents:
            never.wait(_LOOK_S)
        # first as the launcher would have done it, so that what was measured is written down
        os.kill(os.getpid(), signal.SIGTERM)
        never.wait(_STUCK_S)
        for keep in stuck:
            with suppress(OSError):
                keep()
        never.wait(_LAST_S)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    return stuck


if __name__ == "__main__":
    sys.exit(main(sys.argv))
