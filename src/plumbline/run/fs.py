"""The layer ``fs``: many targets at once, from one or several clients, under MPI.

Files are made and proven before the ranks start and removed when they have ended; see
:mod:`.parallel` for the time between.
"""

from __future__ import annotations

from typing import Generator, Sequence

from plumbline.model.expectation import Expectation
from plumbline.model.record import Record
from plumbline.ranks.job import JOB
from plumbline.run.crew import Files, Member, Share
from plumbline.run.launch_command import command
from plumbline.run.launcher import assumed
from plumbline.run.parallel import Course, Run
from plumbline.run.trial import tasks_of
from plumbline.run.unit_context import UnitContext


class FsUnit:
    """All targets of one file system: ``whole`` is the file system, ``members`` its targets."""

    def __init__(self, whole: Expectation, members: Sequence[Expectation], course: Course) -> None:
        """Raise DocumentError when an operation is not known."""
        self._whole = whole
        self._members = tuple(members)
        self._course = course
        parts = [tasks_of(entry) for entry in (*members, whole)]
        # operation by operation, the whole last
        self.tasks = tuple(task for tasks in zip(*parts) for task in tasks)
        self._operations = tuple(task.operation for task in tasks_of(whole))
        spec = whole.spec
        self._share = Share(
            course.ranks_per_target,
            spec.bytes // spec.transfer_bytes * spec.transfer_bytes,
            course.test.shared,
        )

    @property
    def planned_bytes(self) -> int:
        """All bytes that the run writes."""
        if self._course.files is Files.FOUND:
            return 0
        return self._share.bytes * len(self._members)

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Return the call of the launcher, as it is by its name."""
        launch = self._course.launch
        ranks = self._share.ranks * len(self._members)
        romio = bool(self._course.test.hints)
        return (command(launch, assumed(launch), ranks, f"FOLDER/{JOB}", romio=romio),)

    def measure(self, context: UnitContext) -> Generator[Record, None, None]:
        """Yield one record for each operation of each target and of the whole."""
        crew = [
            Member(entry, self._server(entry), self._share, context.runners[entry.component])
            for entry in self._members
        ]
        files = self._course.files
        kept = files is Files.FOUND
        try:
            _muster(crew, self._share, files)
            yield from Run(self._whole, self._course, self._share, context).records(
                crew, self.tasks
            )
            kept = kept or (files is Files.KEEP and all(one.failure is None for one in crew))
        finally:
            for member in crew if not kept else ():
                member.remove()

    def _server(self, entry: Expectation) -> str:
        return self._course.servers.get(entry.component, entry.component)


def _muster(crew: Sequence[Member], share: Share, files: Files) -> None:
    """Look at all targets and make their files; those that cannot take part say why."""
    for member in crew:
        member.look(files)
    for member in crew:
        member.look_again(files)
    ready = [member for member in crew if member.failure is None]
    for member in ready if files is Files.FOUND else ():
        member.find()
    for member in ready if files is not Files.FOUND else ():
        beside = sum(member.shares_with(other) for other in ready) - 1
        member.make(share.bytes * beside)
