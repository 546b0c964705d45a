"""Carry out a run on this node and judge it."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Callable, ContextManager, Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.weighing import Weighing
from plumbline.measure.lock import Locks
from plumbline.measure.session import Session, SessionContext
from plumbline.measure.trial import Recorder
from plumbline.measure.unit_context import Step, Unit
from plumbline.model.errors import DocumentError, PlumblineError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.record import Record
from plumbline.model.series import Snapshot
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Verdict
from plumbline.observe.command import SystemClock, SystemRunner, by_hand
from plumbline.site.nodes import Judging
from plumbline.site.verdicts import Verdicts
from plumbline.store.history import KEEP_DAYS, History, Selection
from plumbline.store.publish import Publisher
from plumbline.store.recent import groups_of

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)

Progress = Callable[[], ContextManager[Callable[[Step], None]]]
"""Begins to show how far a run is, and gives what shows each step."""


class RunOptions(NamedTuple):
    """Options of a run; ``limit_s`` None is no limit but each measurement's own.

    ``run_id`` is the run's name where it was noted before, None for a new one.  ``verdicts`` writes
    what checks read, None where no check asks about what is measured.
    """

    locks: Locks
    snapshot: Path
    progress: Progress
    limit_s: Optional[float] = None
    keep_files: bool = True
    run_id: Optional[str] = None
    verdicts: Optional[Verdicts] = None

    def then(self, snapshot: Snapshot) -> None:
        """Write the verdicts that follow from a snapshot."""
        # those of expectations that are damaged by now stand, and checks see that they are old
        with suppress(DocumentError):
            if self.verdicts:
                self.verdicts(snapshot)


class Result(NamedTuple):
    """Result of a run."""

    run_id: str
    records: tuple[Record, ...]
    verdicts: tuple[Verdict, ...]
    busy: tuple[PlumblineError, ...]
    interrupted: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            "run_id": self.run_id,
            "records": [record.to_json() for record in self.records],
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
            "busy": [str(error) for error in self.busy],
        }


def measure(
    expectations: Expectations, units: Sequence[Unit], history: History, options: RunOptions
) -> Result:
    """Measure all units, keep and publish the records, judge what was measured, and keep that too.

    Raises:
        StoreError: a record cannot be kept.
        KeyboardInterrupt: a person or the service manager has ended the run before its first
            record; otherwise the result has what there is.
    """
    clock, node, expected = SystemClock(), expectations.node, expectations.every()
    groups = groups_of(expected)
    run_id = options.run_id or run_id_at(clock.wall())
    publisher = Publisher(history, options.snapshot, node, groups, options.then)
    with options.progress() as show, interruptible():
        session = Session(
            SessionContext(
                journal=history,
                locks=options.locks,
                clock=clock,
                recorder=Recorder(run_id, node, clock, expectations.targets()),
                runner=SystemRunner,
                publish=publisher,
                progress=show,
                limit_s=options.limit_s,
                keep_files=options.keep_files,
                by_hand=by_hand(),
            )
        )
        session.settle_killed(groups)
        interrupted = _run(session, units)
    records = tuple(history.records(Selection(run_id=run_id)))
    if interrupted and not records:
        raise KeyboardInterrupt
    recorded = {record.component for record in records}
    history.prune(clock.wall() - KEEP_DAYS * DAY_S)
    snapshot = publisher(
        clock.wall(), lambda memory: Weighing({node: expected}, {node: memory}).every()
    )
    chosen = [
        entry
        for entry in _measured(units)
        if not interrupted or entry.component in recorded
        # of what another run is measuring for the first time there is nothing to say yet
        if not session.busy or snapshot.of(entry.layer, entry.component)
    ]
    judging = Judging(snapshot, snapshot, snapshot.written_at, last_run=True)
    verdicts = tuple(judging.components(chosen))
    for verdict in verdicts:
        history.save_verdict(run_id, clock.wall(), verdict)
    return Result(run_id, records, verdicts, tuple(session.busy), interrupted)


def _run(session: Session, units: Sequence[Unit]) -> bool:
    """Measure all units and return whether somebody has put an end to it."""
    try:
        session.run(units)
    except KeyboardInterrupt:
        return True
    return False


def run_id_at(now: float) -> str:
    """Return the name of a run that this process begins at a moment of the wall clock."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}-{os.getpid()}"


def _measured(units: Sequence[Unit]) -> list[Expectation]:
    """Return the expectation of each component once, in measuring order."""
    found = {task.entry.component: task.entry for unit in units for task in unit.tasks}
    return list(found.values())


@contextmanager
def interruptible() -> Iterator[None]:
    """Let the service manager's signals end a run as a person's Ctrl-C does: tools ended, saved."""

    def interrupt(_number: int, _frame: Optional[FrameType]) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
