"""The course of one rank: operation after operation, in step with all others."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Callable, NoReturn, Optional

from plumbline.model.record import Operation
from plumbline.profile.calls import Block, pack
from plumbline.ranks.job import Job, Result, State, encoded, result_name, write_whole
from plumbline.ranks.layout import Place, assign, readers
from plumbline.ranks.mpiio import MpiFile, OpenMode, obstacle_to
from plumbline.ranks.operation import (
    Attempt,
    Ended,
    File,
    Work,
    brief_of,
    nothing,
    result_of,
    unfinished,
)
from plumbline.ranks.posix import PosixFile, flush
from plumbline.ranks.world import World, least, voter

_ENDED = 143
"""What a shell says of a process that SIGTERM has ended."""


class Rank:
    """One rank of a job."""

    def __init__(self, job: Job, world: World) -> None:
        """Agree with all ranks on who works where."""
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
        """Keep what is known of a read that waits in a call; another thread than the rank's does.

        Of a write nothing is: it is not known to be safe.
        """
        result = self._unfinished() if self._unfinished is not None else None
        if result is not None:
            self._keep(result, None)

    def _operation(self, operation: Operation) -> Result:
        writes = operation is Operation.WRITE
        # what this rank writes, or what another one has written
        author = self._world.rank if writes else self._readers[self._world.rank]
        index = self._places[author]
        place = self._job.places[index]
        who = (self._world.rank, self._world.client, place.target)
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
            result = self._keep(nothing(operation, who, obstacle), None)
            if file is not None:
                # the others of a shared file wait for all to let go of it
                file.close()
            return result
        self._unfinished = partial(_known, work, attempt, file, (place.offset, who))
        try:
            attempt.make(start)
            self._unfinished = None
        except Ended:
            self._leave(work, attempt, None if file.collective else place.path, who)
        result = self._keep(result_of(work, attempt, who), attempt)
        if file.collective and result.state is State.FAILED:
            # the others wait in a call that this rank will never make
            os._exit(1)
        file.close()
        return result

    def _open(
        self, part: Place, writes: bool, comm: object
    ) -> tuple[Optional[File], Optional[str]]:
        """Return the open file, or why it cannot be opened.

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
        self, work: Work, attempt: Attempt, path: Optional[str], who: tuple[int, str, str]
    ) -> NoReturn:
        """Keep what is known, then see what was written safe, which makes it a measurement.

        There may be no time for more than its bytes, so these are kept first.  ``path`` is None
        where calls were made by several ranks together, of which no part is a measurement.
        """
        known = self._keep(brief_of(work, attempt, who), None)
        if path is not None:
            if work.writes:
                flush(path)
            known = known._replace(state=State.SHORT, end_s=monotonic() - attempt.start)
            self._keep(known, None)
        whole = result_of(work, attempt, who)
        self._keep(whole._replace(state=known.state, end_s=known.end_s), attempt)
        os._exit(_ENDED)

    def _keep(self, result: Result, attempt: Optional[Attempt]) -> Result:
        name = result_name(result.operation, result.rank)
        folder = Path(self._job.folder)
        write_whole(folder / f"{name}.json", encoded(result.to_json()))
        if self._job.keep_calls and attempt is not None:
            block = Block(
                result.rank,
                result.client,
                result.target,
                result.operation.value,
                attempt.calls,
            )
            # who started the run misses them, which is no reason to lose the measurement as well
            with suppress(OSError):
                write_whole(folder / f"{name}.calls", pack({}, [block]))
        return result


def _known(
    work: Work, attempt: Attempt, file: File, where: tuple[int, tuple[int, str, str]]
) -> Optional[Result]:
    """Return the result of a read so far, by how far it came from an offset; None of others."""
    offset, who = where
    position = None if work.writes or not attempt.start else file.position
    return None if position is None else unfinished(work, attempt, who, position - offset)
