"""Runs on this node: planned runs, confirmations, and comparisons of directories.

A timer confirms low rates with healthy peers; it ends at once if there is nothing to confirm.  All
its state is in the history, so it continues after a kill.

A comparison needs no inventory: expectations are created for it, directories are each other's
peers, and no records are kept.
"""

from __future__ import annotations

import math
import os
import signal
import tempfile
import time
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from socket import gethostname
from types import FrameType
from typing import Any, Callable, ContextManager, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge import confirm as confirming
from plumbline.judge.judging import Basis, Judging
from plumbline.judge.weighing import Weighing
from plumbline.measure.caches import WITHOUT
from plumbline.measure.lock import Locks, OwnLocks
from plumbline.measure.process import is_running
from plumbline.measure.session import Session, SessionContext, units_of
from plumbline.measure.targets.directory import DIRECTORY
from plumbline.measure.targets.metadata import DIRECTORY_METADATA
from plumbline.measure.targets.server_folder import SERVER_FOLDER
from plumbline.measure.temporary import temporary_folder
from plumbline.measure.trial import Recorder
from plumbline.measure.unit_context import Step, Unit
from plumbline.model.codec import compact
from plumbline.model.errors import DocumentError, PlumblineError, StoreError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.layers.layer import Layer
from plumbline.model.layers.ost import OST
from plumbline.model.limits import Limits, Reference
from plumbline.model.published import Unrecorded
from plumbline.model.record import Operation, Record, Scenario
from plumbline.model.series import Snapshot
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import DAY_S, format_rate, format_size
from plumbline.model.verdict import Verdict
from plumbline.model.verdict_files import note_file
from plumbline.observe.command import SystemClock, SystemRunner, by_hand
from plumbline.site.checks import Verdicts
from plumbline.site.nodes import SiteJudgement, plan_of_node
from plumbline.store.database import Selection
from plumbline.store.facts import node_suspicions
from plumbline.store.files import DATABASE, READERS, SNAPSHOT_FILE
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
    judging = Judging(snapshot, snapshot, snapshot.written_at, basis=basis)
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


class Confirmation(NamedTuple):
    """Confirmation at one time: suspicious components, due runs, remaining bytes.

    ``trouble`` is the reason why the console's suspicions are unknown, empty if they are known.
    """

    queue: Sequence[confirming.QueuePlace]
    due: Sequence[confirming.Turn]
    left_bytes: float
    trouble: str = ""


def confirmation(
    expectations: Expectations, layer: str, history: History, now: float
) -> Confirmation:
    """Return the confirmation due at ``now``, in epoch seconds; raise as ``History`` does."""
    entries = expectations.find(layer)
    judged = SiteJudgement(plan_of_node(expectations), history, now)
    suspected, trouble = _suspected(history, layer, now)
    component = judged.judging(expectations.node).component
    state = confirming.Layer(entries, component, judged.weighing, suspected)
    oldest_s = max(entry.limits.stale_after_s for entry in entries)
    past = confirming.PastRuns(
        [run for run in history.confirmed(layer) if run.at <= now],
        history.planned_at(layer, now - oldest_s, now),
    )
    queue = confirming.places(confirming.find_candidates(state), past, now)
    left_bytes = confirming.remaining_bytes(entries[0], past.measured, now)
    turns = confirming.turns(state, queue, past, now)
    return Confirmation(queue, turns, left_bytes, trouble)


def _suspected(history: History, layer: str, now: float) -> tuple[dict[str, float], str]:
    """Return a console's suspicions and an error; damaged ones do not prevent confirmation."""
    try:
        return node_suspicions(history.path.parent, layer, now), ""
    except DocumentError as error:
        return {}, str(error)


def busy_components(history: History) -> list[str]:
    """Return the components that another run is measuring."""
    return [run.component for run in history.running() if run.process and is_running(run.process)]


def confirm(
    expectations: Expectations, layer: str, history: History, options: RunOptions
) -> list[Result]:
    """Carry out one run after another until none is due or the limit is reached.

    ``options`` apply to every run; raises as ``measure`` does.
    """
    deadline = None if options.limit_s is None else time.monotonic() + options.limit_s
    results: list[Result] = []
    while deadline is None or time.monotonic() < deadline:
        now = time.time()
        queue = confirmation(expectations, layer, history, now)
        if not queue.due:
            break
        turn = queue.due[0]
        run_id = f"{run_id_at(now)}-{len(results)}"
        history.begin_confirmation(turn.entries(run_id, now))
        limit_s = None if deadline is None else max(0.0, deadline - time.monotonic())
        units = units_of(layer, turn.steps)
        run = options._replace(limit_s=limit_s, run_id=run_id)
        results.append(measure(expectations, units, history, run))
        if results[-1].interrupted:
            break
    return results


GROUP = "directories"

SECONDS = 10.0
_GIB = 1 << 30
REPEATS = 2
OPERATIONS = ("write/single", "read/single")


def expected(
    directories: Mapping[str, str],
    size_bytes: int,
    layer: Layer = OST,
    operations: Optional[Sequence[Operation]] = None,
) -> Expectations:
    """Return expectations of directories by name; targets have files of ``size_bytes``.

    ``operations`` are those of the layer by default.
    """
    keys = {name: _keys(layer, path) for name, path in directories.items()}
    spec = layer.spec if layer.of_metadata else ProbeSpec("fio", size_bytes, SECONDS)
    measured = layer.operations if operations is None else operations
    entries = [_expectation(layer, name, keys[name], spec, measured) for name in directories]
    return Expectations(gethostname(), "", tuple(entry.to_json() for entry in entries))


def measure_once(
    expectations: Expectations, units: Sequence[Unit], locks: Locks, progress: Progress
) -> Result:
    """Measure and judge units without earlier records, and keep no records."""
    with temporary_folder() as state:
        options = RunOptions(locks, state / SNAPSHOT_FILE, progress, keep_files=False)
        try:
            with History(state / DATABASE) as history:
                return measure(expectations, units, history, options)
        finally:
            locks.dissolve()


def caveat(
    directories: Mapping[str, str], written_bytes: int, memory: int, option_bytes: int
) -> str:
    """Return limits of a measurement: shared devices, and files that fit into ``memory`` bytes.

    A host writes ``written_bytes`` before it reads the first of them; ``option_bytes`` is the value
    of ``--bytes`` for that.
    """
    devices: dict[str, list[str]] = {}
    for name, path in directories.items():
        devices.setdefault(_device(path), []).append(name)
    parts = [
        f"{', '.join(names)} lie on one device: a difference is noise, unless a parallel file "
        "system places their files on different targets"
        for device, names in devices.items()
        if device and len(names) > 1
    ]
    # a re-read writes nothing
    if 0 < written_bytes < memory:
        enough = math.ceil(2 * memory * option_bytes / written_bytes / _GIB)
        parts.append(
            f"{format_size(written_bytes)} fit into the page cache: where direct I/O is not "
            f"honoured, rates are those of memory; --bytes {enough}GiB measures the storage"
        )
    return "; ".join(parts)


def memory_bytes() -> int:
    """Return the memory of this host."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _device(path: str) -> str:
    """Return the device number of a path; empty if the path does not answer."""
    completed = SystemRunner()(["stat", "--format=%d", "--", path], 10.0)
    return completed.stdout.strip() if completed.ok else ""


def _keys(layer: Layer, path: str) -> Mapping[str, str]:
    local = SERVER_FOLDER if layer.on_servers else DIRECTORY
    kind = DIRECTORY_METADATA if layer.of_metadata else local
    return {"kind": kind.name, "directory": path}


def _expectation(
    layer: Layer,
    name: str,
    keys: Mapping[str, str],
    spec: ProbeSpec,
    operations: Sequence[Operation],
) -> Expectation:
    steps = (f"{operation.value}/{Scenario.SINGLE.value}" for operation in operations)
    return Expectation(
        layer=layer.name,
        component=name,
        host=gethostname(),
        group=GROUP,
        target=keys,
        path=(gethostname(), name),
        spec=spec._replace(repeats=REPEATS),
        references={step: Reference(None, None) for step in steps},
        limits=Limits(baselines=False),
    )


def own_locks(places: Mapping[str, str]) -> OwnLocks:
    """Return the locks of this user, shared by simultaneous comparisons."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    base = runtime if os.path.isdir(runtime) else tempfile.gettempdir()
    return OwnLocks(Path(base) / f"plumbline-{os.geteuid()}", SystemClock(), places)


_SERVED, _SAME = 1.5, 1.2
"""Least speedup of a read served by a cache, and greatest of one that is not.

A speedup between them may be noise.
"""

SERVER = "server cache"


class Phase(NamedTuple):
    """One read: the cache dropped last before it, its rate, or the reason why there is none."""

    without: str
    rate_Bps: Optional[float]
    reason: str

    @property
    def name(self) -> str:
        """Return the name of the read."""
        return f"read without {self.without}" if self.without else "read at once"


class Drop(NamedTuple):
    """Gain of a cache: ``times`` is the speedup of a read with it."""

    cache: str
    times: float

    @property
    def served(self) -> Optional[bool]:
        """Return whether the cache served the read, None if that is uncertain."""
        return True if self.times >= _SERVED else False if self.times < _SAME else None


class Caches(NamedTuple):
    """Reads of one target; ``write`` is None if it did not start."""

    component: str
    write: Optional[Record]
    phases: tuple[Phase, ...]

    @property
    def drops(self) -> tuple[Drop, ...]:
        """Return the gain of each dropped cache, the nearest to the reader first.

        The slowest read so far counts, because no cache makes a read slower.
        """
        rates = [(phase.without, phase.rate_Bps) for phase in self.phases if phase.rate_Bps]
        slowest = accumulate((rate for _, rate in rates), min)
        return tuple(Drop(name, before / rate) for before, (name, rate) in zip(slowest, rates[1:]))

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return sentences on the caches that served the reads, and the consequence for probes."""
        if self.write is None or self.write.rate is None:
            reason = self.write.reason if self.write else "it was not begun"
            return (f"{self.component}: nothing is known of its caches, {reason}.",)
        if not self.drops:
            return (f"{self.component}: nothing is known of its caches, none could be dropped.",)
        size = format_size(self.write.bytes)
        sentences = [
            f"The {drop.cache} served {size} just written: {drop.times:.1f} times the rate without "
            "it."
            for drop in self.drops
            if drop.served
        ]
        sentences += [
            f"Whether the {drop.cache} served it is not certain: {drop.times:.1f} times the rate "
            "without it may be noise; try again, or with more bytes."
            for drop in self.drops
            if drop.served is None
        ]
        none = f"No cache that was dropped had served {size} just written."
        return (*(sentences or [none]), self._probe_sentence(size), self._lower_caches())

    def _probe_sentence(self, size: str) -> str:
        """Return a sentence on ``plumbline probe ost``, which bypasses client caches."""
        storage_rate = format_rate(min(phase.rate_Bps for phase in self.phases if phase.rate_Bps))
        server = next((drop for drop in self.drops if drop.cache == SERVER), None)
        if server and server.served:
            return (
                f"A probe of {size} reads from the server's memory, not from its storage, which "
                f"gives {storage_rate}: raise bytes of the layer ost above what the server caches."
            )
        source = "the storage" if server and server.served is False else size
        return f"A probe that passes this client's caches reads {source} at {storage_rate}."

    def _lower_caches(self) -> str:
        dropped = any(drop.cache == SERVER for drop in self.drops)
        return f"What {'an array' if dropped else 'a server or array'} caches was not dropped."

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            "component": self.component,
            "bytes": self.write.bytes if self.write else None,
            "write_Bps": self.write.rate if self.write else None,
            "reads": [phase._asdict() for phase in self.phases],
            "caches": [{**drop._asdict(), "served": drop.served} for drop in self.drops],
            "sentences": list(self.sentences),
        }


def caches_of(component: str, records: Sequence[Record]) -> Caches:
    """Return the caches of one target by its records."""
    component_records = [record for record in records if record.component == component]
    writes = [record for record in component_records if record.operation is Operation.WRITE]
    phases = (
        Phase(str((record.details or {}).get(WITHOUT, "")), record.rate, record.reason)
        for record in component_records
        if record.operation is Operation.READ
    )
    return Caches(component, writes[0] if writes else None, tuple(phases))
