"""Requested parallel runs and sweeps: targets, points, terms."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, Mapping, NamedTuple, Protocol, Sequence

from plumbline.measure.lock import Locks
from plumbline.measure.session import Session, SessionContext
from plumbline.measure.targets import STRIPED
from plumbline.measure.trial import Recorder
from plumbline.measure.unit_context import Step
from plumbline.model.codec import write
from plumbline.model.errors import UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers.fs import FS
from plumbline.model.limits import Limits, Reference
from plumbline.model.ranks import (
    SPARE_S,
    Method,
    Names,
    RunSize,
    contradiction,
    limit_s,
    pattern,
)
from plumbline.model.record import Operation, Outcome, Record
from plumbline.model.series import Running
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import format_duration
from plumbline.observe.command import SystemClock, SystemRunner, by_hand
from plumbline.parts.parallel.axes import AXES, REPEAT, Grid, Point, Setting, apply
from plumbline.parts.parallel.job import Fixed
from plumbline.parts.parallel.launch import Launch
from plumbline.parts.parallel.run import Course, FsUnit
from plumbline.parts.parallel.sweep import Budget, Ledger, Load, MeasuredPoint
from plumbline.site.measure import run_id_at
from plumbline.store.files import load_document
from plumbline.store.history import History
from plumbline.store.replacing import replace, writing

TOOL = "mpi"
PARALLEL_OPERATIONS = (Operation.WRITE, Operation.READ, Operation.REREAD)
REREAD = (Operation.REREAD,)
"""Operations on files kept by an earlier run."""

ALL = "all"
"""Name of all given directories together."""

_NAMES = Names("--bytes", "--transfer", "--direct")


class Terms(NamedTuple):
    """Terms of a run on any number of targets; ``seconds`` ends each operation.

    ``ranks`` is the number for all targets; ``more`` has further terms as text.  With ``stripes``
    above 1, that many targets count as one, and each file is on all of them.
    """

    test: Method
    ranks: int
    rank_bytes: int
    seconds: float
    fixed: Fixed
    direct: bool
    launch: Launch
    operations: tuple[Operation, ...] = PARALLEL_OPERATIONS
    stripes: int = 1
    more: str = ""

    def spec(self, targets: int) -> ProbeSpec:
        """Return the specification that comparable runs have in common."""
        crowd = RunSize(self.ranks, targets * self.stripes, self.launch.hosts)
        words = [pattern(self.test, crowd, self.fixed.value)]
        words += [format_duration(self.seconds)] if self.fixed is Fixed.TIME else []
        words += ["kept files"] if self.operations == REREAD else []
        words += [f"files over {self.stripes} targets"] if self.stripes > 1 else []
        words += [self.more] if self.more else []
        return ProbeSpec(
            TOOL,
            self.rank_bytes,
            self.seconds,
            self.test.transfer,
            queue_depth=1,
            repeats=1,
            direct=self.direct,
            pattern=", ".join(words),
        )

    def refuse_contradictions(self) -> None:
        """Raise UsageError for contradicting options; the message names one to change."""
        test, gathered = self.test, self.test.aggregation
        trouble = contradiction(test, self.rank_bytes, direct=self.direct, names=_NAMES)
        if trouble:
            raise UsageError(trouble)
        if test.api == "mpiio" and gathered and gathered.buffers > 1:
            raise UsageError(f"MPI-IO, which {test.name} uses, has --gather with one buffer alone")
        if test.processes > 1 and (test.collective or gathered):
            raise UsageError(
                f"{test.name} gathers data by itself; leave --aggregate out, or choose another test"
            )
        if test.collective and gathered:
            raise UsageError(f"{test.name} writes collectively, which --gather would keep it from")


class Members(NamedTuple):
    """Targets of one file system; ``servers`` are known only from an inventory."""

    node: str
    name: str
    entries: tuple[Expectation, ...]
    servers: Mapping[str, str]
    limits: Limits


def member(name: str, group: str, target: Mapping[str, Any], path: tuple[str, ...]) -> Expectation:
    """Return a target of a file system, without expectations of its rate."""
    return Expectation(
        FS.name, name, name, group, target, path, ProbeSpec(TOOL, 0, 0.0), {}, Limits()
    )


def entries_of(members: Members, terms: Terms) -> tuple[Expectation, ...]:
    """Return the expectations of each target and, last, of all together."""
    references = {
        f"{operation.value}/together": Reference(None, None) for operation in terms.operations
    }
    longest = limit_s(terms.seconds, len(terms.operations)) + SPARE_S
    # in its own group, because the sum is no peer of a target
    whole = member(
        members.name, f"{members.name} as a whole", {"kind": "parallel"}, (members.node,)
    )
    return tuple(
        expectation._replace(
            spec=terms.spec(len(members.entries)),
            references=references,
            limits=members.limits._replace(hung_after_s=longest),
            host=members.node,
        )
        for expectation in (*members.entries, whole)
    )


def document_of(members: Members, entries: tuple[Expectation, ...]) -> Expectations:
    """Return the entries as the expectations of this node."""
    return Expectations(members.node, "", tuple(entry.to_json() for entry in entries))


def in_stripes(members: Members, terms: Terms, *, sized: bool = False) -> Members:
    """Return the members as sets of ``terms.stripes`` targets, with files on all of a set.

    Targets that do not fill a set are left out.  ``sized`` sets the size of stripes even if a file
    has only one stripe.

    Raises:
        UsageError: files cannot span several of these targets.
    """
    if terms.stripes == 1 and not sized:
        return members
    for entry in members.entries:
        if entry.target.get("kind") != "lustre":
            what, option = ("files over several targets", "--stripes")
            if sized:
                what, option = ("stripes of a given size", "--stripe-size")
            raise UsageError(
                f"{entry.component} is a target of kind {entry.target.get('kind')}; {what} are "
                f"made on Lustre alone: leave {option} out"
            )
    last = len(members.entries) - terms.stripes
    sets = tuple(
        _set(members.entries[first : first + terms.stripes], terms.test.stripe_bytes)
        for first in range(0, last + 1, terms.stripes)
    )
    return members._replace(entries=sets)


def _set(entries: Sequence[Expectation], stripe_bytes: int) -> Expectation:
    """Return a stripe set as one target, named after its first and the number of the others."""
    first, others = entries[0], len(entries) - 1
    osts = [str(entry.target.get("ost", entry.component)) for entry in entries]
    return first._replace(
        component=f"{first.component}+{others}" if others else first.component,
        target={
            "kind": STRIPED,
            "mount": first.target["mount"],
            "osts": ",".join(osts),
            "stripe_bytes": stripe_bytes,
        },
        path=tuple(dict.fromkeys(part for entry in entries for part in entry.path)),
    )


_EXTRA_AXES = ("stripe_size", "aggregate", "hints")
"""Axes that no other field of a specification contains."""

LAYER = "sweep"
"""Layer of all records of sweeps, which keeps them out of series and verdicts of probes."""

OPERATIONS = (Operation.WRITE, Operation.READ)


class Plan(NamedTuple):
    """A requested sweep; ``common`` has the terms of all points.

    ``bytes`` is per point, ``given`` or chosen by plumbline.  The targets of ``members`` are in the
    order in which points use them.
    """

    members: Members
    grid: Grid
    common: Terms
    bytes: int
    given: bool
    budget: Budget
    alone: bool
    work: str
    state: Path

    def resumed(self, ledger: Ledger) -> Plan:
        """Return the plan with the bytes per point of the earlier calls."""
        return self._replace(bytes=ledger.point_bytes)

    @property
    def work_load(self) -> Load:
        """Return the most bytes and seconds of a point's operations."""
        fixed_time = self.common.fixed is Fixed.TIME
        return Load(self.common.seconds, OPERATIONS, self.size, fixed_time)

    def size(self, point: Point) -> int:
        """Return the bytes that a point writes."""
        setting = self.setting(point)
        return setting.rank_bytes * setting.ranks

    def setting(self, point: Point) -> Setting:
        """Return the terms of a point's run; raise UsageError for an impossible point."""
        targets, hosts = len(self.members.entries), self.common.launch.hosts
        return apply(point, Setting(self.common.test, targets, hosts, self.bytes, self.alone))

    def unit(self, point: Point) -> tuple[FsUnit, Expectation]:
        """Return the run of a point, and the expectation of all its targets together.

        Raises:
            UsageError: the point is impossible on these targets.
        """
        setting = self.setting(point)
        terms = self.common._replace(
            test=setting.test,
            stripes=setting.stripes,
            ranks=setting.ranks,
            rank_bytes=setting.rank_bytes,
            more=", ".join(AXES[axis].phrase(point[axis]) for axis in _EXTRA_AXES if axis in point),
        )
        terms.refuse_contradictions()
        chosen = self.members._replace(entries=self.members.entries[: setting.in_use])
        chosen = in_stripes(chosen, terms, sized="stripe_size" in point)
        *entries, whole = (
            expectation._replace(layer=LAYER) for expectation in entries_of(chosen, terms)
        )
        course = Course(
            terms.test,
            terms.ranks,
            terms.launch,
            self.members.servers,
            terms.fixed,
            self.work,
        )
        return FsUnit(whole, entries, course), whole

    def document(self) -> dict[str, Any]:
        """Return the fields that calls of the same sweep have in common; budgets may differ."""
        common = self.common._asdict()
        common["test"] = self.common.test._asdict()
        return {
            "file_system": self.members.name,
            "targets": [
                [expectation.component, dict(expectation.target)]
                for expectation in self.members.entries
            ],
            # more repeats belong to the same sweep
            "grid": {axis: values for axis, values in self.grid.items() if axis != REPEAT},
            "bytes": self.bytes if self.given else 0,
            "alone": self.alone,
            "common": common,
        }

    @property
    def name(self) -> str:
        """Return the name in the sweep's file name, equal for equal documents."""
        text = json.dumps(self.document(), sort_keys=True)
        return f"{self.members.name}-{sha256(text.encode()).hexdigest()[:12]}"

    @property
    def path(self) -> Path:
        """Return the file of the ledger."""
        return self.state / f"sweep-{self.name}.json"

    def ledger(self) -> Ledger:
        """Return the ledger of finished points; raise DocumentError if its file is damaged."""
        if self.path.exists():
            return load_document(Ledger, str(self.path))
        return Ledger(self.document(), self.bytes)

    def save(self, ledger: Ledger) -> None:
        """Save the ledger; raise StoreError if that fails."""
        with writing(self.path):
            self.path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
            replace(self.path, json.dumps(write(ledger), allow_nan=False, indent=1))


class SweepReporter(Protocol):
    """Reports the progress of a sweep."""

    def begin(self, point: Point) -> None:
        """Report the next point."""
        ...

    def __call__(self, step: Step) -> None:
        """Show a step of the point."""
        ...


class _Records:
    """Journal of one point: records are saved in the history at once.

    Nothing is noted as running, because checks would wait for it.
    """

    def __init__(self, history: History) -> None:
        self.kept: list[Record] = []
        self._history = history

    def begin(self, run_id: str, running: Running) -> None:
        """Note nothing."""

    def end(self, layer: str, component: str) -> None:
        """Note nothing."""

    def interrupt(self, layer: str, component: str) -> None:
        """Note nothing."""

    def running(self) -> tuple[Running, ...]:
        """Return nothing."""
        return ()

    def save(self, record: Record) -> None:
        self._history.save(record)
        self.kept.append(record)


class Points:
    """Measures points one by one."""

    def __init__(self, plan: Plan, history: History, locks: Locks, reporter: SweepReporter) -> None:
        """Take the history for records, and the reporter of points and steps."""
        self._plan = plan
        self._history = history
        self._locks = locks
        self._reporter = reporter
        self._clock = SystemClock()
        self._number = 0

    def measure(self, point: Point) -> MeasuredPoint:
        """Return the result of a point; raise the error of a target that is busy or not permitted.

        Each point is its own run, so points are no peers of each other.
        """
        self._reporter.begin(point)
        self._number += 1
        clock, records = self._clock, _Records(self._history)
        began, begun = clock.wall(), clock.monotonic()
        run_id = f"{run_id_at(began)}.{self._number}"
        unit, whole = self._plan.unit(point)
        session = Session(
            SessionContext(
                journal=records,
                locks=self._locks,
                clock=clock,
                recorder=Recorder(run_id, self._plan.members.node, clock),
                runner=SystemRunner,
                publish=_publish_nothing,
                progress=self._reporter,
                keep_files=False,
                by_hand=by_hand(),
            )
        )
        session.run([unit])
        if session.busy:
            raise session.busy[0]
        setting = self._plan.setting(point)
        return MeasuredPoint(
            point,
            run_id,
            whole.spec.hash(),
            setting.in_use,
            setting.ranks,
            began,
            clock.monotonic() - begun,
            _written(records.kept, whole, unit.planned_bytes),
            _rates(records.kept, whole),
            _reason(records.kept, whole),
        )


def _publish_nothing(_now: float) -> None:
    """Publish no snapshot, because no check reads records of sweeps."""


def _rates(records: Sequence[Record], whole: Expectation) -> dict[Operation, float]:
    return {
        record.operation: record.rate
        for record in records
        if record.component == whole.component and record.rate is not None
    }


def _reason(records: Sequence[Record], whole: Expectation) -> str:
    """Return the reason for missing figures of a point, preferably that of the whole."""
    failed = [record for record in records if record.outcome is not Outcome.OK]
    of_whole = [record for record in failed if record.component == whole.component]
    if failed:
        return (of_whole or failed)[0].reason
    return "" if records else "an earlier run is stuck on a target; see plumbline status"


def _written(records: Sequence[Record], whole: Expectation, planned: int) -> int:
    """Return the bytes reported by the ranks of a point; the planned bytes if a target hung.

    A rank that did not start has written nothing.
    """
    writes = [
        record
        for record in records
        if record.operation is Operation.WRITE and record.component != whole.component
    ]
    if any(record.outcome in (Outcome.HUNG, Outcome.UNANSWERED) for record in writes):
        return planned
    return sum(
        rank["bytes"] for record in writes for rank in (record.details or {}).get("ranks", ())
    )
