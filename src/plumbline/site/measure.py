"""One run on this node: measure units, keep, judge and publish their records."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Callable, ContextManager, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.judging import Basis, Judging
from plumbline.judge.weighing import Weighing
from plumbline.measure.lock import Locks
from plumbline.measure.session import Session, SessionContext
from plumbline.measure.trial import Recorder
from plumbline.measure.unit_context import Step, Unit
from plumbline.model.codec import compact
from plumbline.model.errors import DocumentError, PlumblineError, StoreError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.published import Unrecorded
from plumbline.model.record import Record
from plumbline.model.series import Snapshot
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Verdict
from plumbline.model.verdict_files import note_file
from plumbline.observe.command import SystemClock, SystemRunner, by_hand
from plumbline.site.checks import Verdicts
from plumbline.store.database import Selection
from plumbline.store.files import DATABASE, READERS
from plumbline.store.history import KEEP_DAYS, History
from plumbline.store.publish import Publisher
from plumbline.store.recent import groups_of
from plumbline.store.replacing import replace_own

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)

Progress = Callable[[], ContextManager[Callable[[Step], None]]]
"""Context manager that yields the function showing each step of a run."""


class RunOptions(NamedTuple):
    """Options of a run; if ``limit_s`` is None, only each measurement has a limit.

    ``run_id`` is the name of the run, None for a new name.  ``verdicts`` writes the verdicts for
    checks, None if no check asks for these components.
    """

    locks: Locks
    snapshot: Path
    progress: Progress
    limit_s: Optional[float] = None
    keep_files: bool = True
    run_id: Optional[str] = None
    verdicts: Optional[Verdicts] = None

    def write_verdicts(self, snapshot: Snapshot) -> None:
        """Write the verdicts on a snapshot."""
        # with damaged expectations the old verdicts stay, and checks see their age
        with suppress(DocumentError):
            if self.verdicts:
                self.verdicts(snapshot)


class Result(NamedTuple):
    """Result of a run.

    ``odds`` are natural logarithms of the odds that a component is slow, by its name, if known.
    """

    run_id: str
    records: tuple[Record, ...]
    verdicts: tuple[Verdict, ...]
    busy: tuple[PlumblineError, ...]
    interrupted: bool = False
    odds: Mapping[str, float] = {}

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            "run_id": self.run_id,
            "records": [record.to_json() for record in self.records],
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
            "busy": [str(error) for error in self.busy],
        }


@contextmanager
def recording(layer: str, state: Path, locks: Path) -> Iterator[History]:
    """Yield the history of this node for a planned run of a layer.

    If the run cannot be recorded, the next check_node tells it by a note: the verdicts do not show
    it, since they are from before.  The note is removed by a run that is recorded.

    Raises:
        StoreError: the history cannot be opened or written.
        DocumentError: what it holds is damaged.
    """
    try:
        with History(state / DATABASE) as history:
            yield history
    except (StoreError, DocumentError) as error:
        _leave_note(Unrecorded(layer, time.time(), os.path.realpath(state), str(error)), locks)
        raise
    for folder in (state, locks):
        with suppress(OSError):
            os.unlink(note_file(str(folder), layer))


def _leave_note(note: Unrecorded, locks: Path) -> None:
    """Write a note beside the history, or with the locks, which lie in memory on most systems."""
    for folder in (note.state, locks):
        # of a run by hand, by who may write in neither, nobody needs a note
        with suppress(StoreError):
            path = Path(note_file(str(folder), note.layer))
            replace_own(path, compact(note), mode=0o640, group=READERS)
            return


def skipped_first(units: Sequence[Unit], history: History) -> list[Unit]:
    """Return targets that the last run skipped before the others, else in their order.

    If a limit ends every run, it ends another part of them each time.
    """
    layers = {task.entry.layer for unit in units for task in unit.tasks}
    names = {
        (layer, name)
        for layer in layers
        if LAYERS[layer].one_target
        for name in history.skipped(layer)
    }

    def measured(unit: Unit) -> bool:
        return not any((task.entry.layer, task.entry.component) in names for task in unit.tasks)

    return sorted(units, key=measured)


def measure(
    expectations: Expectations, units: Sequence[Unit], history: History, options: RunOptions
) -> Result:
    """Measure all units, keep, judge and publish the records, and return the result.

    Raises:
        StoreError: a record cannot be kept.
        KeyboardInterrupt: a person or the service manager has interrupted the run before its first
            record; later the result has the records so far.
    """
    clock, node, expected = SystemClock(), expectations.node, expectations.every()
    groups = groups_of(expected)
    run_id = options.run_id or run_id_at(clock.wall())
    publisher = Publisher(history, options.snapshot, node, groups, options.write_verdicts)
    publisher.locks = str(options.locks.directory.absolute())
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
        interrupted = _run(session, skipped_first(units, history))
    records = tuple(history.records(Selection(run_id=run_id)))
    if interrupted and not records:
        raise KeyboardInterrupt
    recorded = {record.component for record in records}
    history.prune(clock.wall() - KEEP_DAYS * DAY_S)
    snapshot = publisher(
        clock.wall(), lambda memory: Weighing({node: expected}, {node: memory}).all()
    )
    chosen = [
        entry
        for entry in _measured(units)
        if not interrupted or entry.component in recorded
        # another run may be measuring a component for the first time
        if not session.busy or snapshot.of(entry.layer, entry.component)
    ]
    basis = Basis.LAST_RUN if options.verdicts else Basis.COMPARISON
    judging = Judging(snapshot, snapshot, snapshot.written_at, basis=basis).among(expected)
    verdicts = tuple(judging.components(chosen))
    weighed = ((entry.component, snapshot.evidence(entry.subject)) for entry in chosen)
    odds = {name: evidence.odds for name, evidence in weighed if evidence}
    return Result(run_id, records, verdicts, tuple(session.busy), interrupted, odds)


def _run(session: Session, units: Sequence[Unit]) -> bool:
    """Measure all units and return whether the run was interrupted."""
    try:
        session.run(units)
    except KeyboardInterrupt:
        return True
    return False


def run_id_at(now: float) -> str:
    """Return the name of a run that this process begins at ``now``, in epoch seconds."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}-{os.getpid()}"


def _measured(units: Sequence[Unit]) -> list[Expectation]:
    """Return the expectation of each distinct component, in measuring order."""
    entries = {task.entry.component: task.entry for unit in units for task in unit.tasks}
    return list(entries.values())


@contextmanager
def interruptible() -> Iterator[None]:
    """Make the service manager's signals interrupt a run like Ctrl-C, with its records saved."""

    def interrupt(_number: int, _frame: Optional[FrameType]) -> None:
        raise KeyboardInterrupt

    handlers = {number: signal.signal(number, interrupt) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
