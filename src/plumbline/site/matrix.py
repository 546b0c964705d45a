"""Matrix of creations, on request: one file on each OST from each MDT of a mounted Lustre.

It shows which connection of an MDT to an OST is broken, and which MDT or OST is slow to create.
Each creation is a process of its own with the lock of its MDT and a time limit, because a call that
waits for a dead server hangs beyond SIGKILL, and with it whoever enters its folder.

Nothing is recorded; files and seconds are bounded, and no file remains.
"""

from __future__ import annotations

import re
from contextlib import ExitStack, suppress
from typing import Any, Callable, Iterator, NamedTuple, Sequence, Union

from plumbline.judge.creations import Finding, Pair, findings, is_judged, mdts_and_osts
from plumbline.measure.lock import Locks
from plumbline.measure.probes.calls import UnprovedError, creation, creation_s, tidying
from plumbline.measure.targets import Target, target_for
from plumbline.measure.targets.mounted import Member, in_pool, system_at
from plumbline.measure.targets.probe_file import OWN
from plumbline.measure.trial import Failure, reach
from plumbline.measure.unit_context import Step
from plumbline.model.command import Check, CommandRunner, Completed, Proof, Within
from plumbline.model.errors import BusyError, SkipTarget, ToolError
from plumbline.model.expectation import Expectation
from plumbline.model.layers.ost import OST
from plumbline.model.record import Flag
from plumbline.model.units import format_duration
from plumbline.model.verdict import State, worst
from plumbline.observe.command import SystemClock, SystemRunner
from plumbline.observe.query import QUICK_S
from plumbline.site.comparison import own_locks
from plumbline.site.measure import Progress, interruptible
from plumbline.site.survey import Survey

MAX_FILES = 1000
_MAX_REPEATS = 5
_MAX_S = 600.0
"""Seconds after which no further creation starts."""
_CREATION_S = 15.0
"""Limit of a creation and its proof; without load they take some hundredths of a second."""
_GIVEN_UP_AFTER = 3
"""Hung creations of an MDT with no other result that end its row: it hangs with all OSTs."""
_ELSEWHERE = re.compile(r"getstripe -([im]) \S+ printed '(\d+)' instead of")


class LeftOut(NamedTuple):
    """An MDT, an OST, or several, and the reason why it is not in the matrix."""

    name: str
    reason: str
    of_metadata: bool = False


class Matrix(NamedTuple):
    """MDTs of a survey and OSTs to create files on, each pair ``repeats`` times.

    ``creation_s`` is the limit of one creation and its proof in seconds.
    """

    survey: Survey
    osts: tuple[Member, ...]
    repeats: int
    left_out: tuple[LeftOut, ...]
    creation_s: float = _CREATION_S

    def locks(self) -> Locks:
        """Return the locks of this user for the MDTs and OSTs."""
        names = [member.name for member in (*self.survey.system.members, *self.osts)]
        point = self.survey.system.mount.point
        return own_locks({name: f"{point}/{name}" for name in names})

    def announcement(self) -> str:
        """Return what will be created and where, and the longest time."""
        rows = len(self.survey.entries)
        return (
            f"{rows} MDTs and {len(self.osts)} OSTs of {self.survey.system.mount.point}: at most "
            f"{rows * len(self.osts) * self.repeats} files are created and removed in "
            f"{self.survey.folder}/{OWN}, one at a time, in about {format_duration(_MAX_S)} at "
            "most; no file remains"
        )

    def commands(self) -> Iterator[tuple[str, ...]]:
        """Yield the call of each creation once."""
        for entry in self.survey.entries:
            target = _target(entry)
            within = target.within()
            place = ("in", within.path) if within else ()
            for ost in self.osts:
                yield (*creation(_proof(target, ost), self.creation_s), *place)


class MatrixResult(NamedTuple):
    """Pairs of a matrix, row by row, and what is wrong with them."""

    matrix: Matrix
    pairs: tuple[Pair, ...]
    left_out: tuple[LeftOut, ...]
    findings: tuple[Finding, ...]
    interrupted: bool = False

    @property
    def untried(self) -> int:
        """Return the number of pairs without any creation."""
        return sum(not pair.seconds and not pair.failed for pair in self.pairs)

    @property
    def state(self) -> State:
        """Return the worst state of what was found; UNKNOWN if an MDT or a pair is not known."""
        known = is_judged(self.pairs) and not self.untried
        missing = any(part.of_metadata for part in self.left_out)
        states = [State.OK if known and not missing else State.UNKNOWN]
        return worst([*states, *(finding.state for finding in self.findings)])

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        mount = self.matrix.survey.system.mount
        mdts, osts = mdts_and_osts(self.pairs)
        return {
            "schema": 1,
            "mount": {"point": mount.point, "kind": mount.kind, "source": mount.source},
            "note": self.matrix.survey.system.note,
            "mdts": list(mdts),
            "osts": list(osts),
            "pairs": [{**pair._asdict(), "typical_s": pair.typical_s} for pair in self.pairs],
            "judged": is_judged(self.pairs),
            "findings": [{**found._asdict(), "state": found.state.name} for found in self.findings],
            "left_out": [part._asdict() for part in self.left_out],
            "untried": self.untried,
            "state": self.state.name,
        }


def matrix_of(run: CommandRunner, survey: Survey, pool: str) -> Matrix:
    """Return the matrix of the MDTs of a survey and the OSTs of a pool, empty for all.

    Raises:
        UsageError: there is no such pool.
        ToolError: a tool is missing or gave no answer.
    """
    try:
        system = system_at(run, survey.system.mount)
        if pool:
            system = in_pool(run, system, pool)
    except SkipTarget as error:
        raise ToolError(str(error)) from error
    osts, most = system.members, max(1, MAX_FILES // len(survey.entries))
    chosen = tuple(osts[number * len(osts) // most] for number in range(most))
    chosen = osts if len(osts) <= most else chosen
    repeats = max(1, min(_MAX_REPEATS, MAX_FILES // (len(chosen) * len(survey.entries))))
    left_out: tuple[LeftOut, ...] = ()
    if len(chosen) < len(osts):
        reason = (
            f"at most {MAX_FILES} files are created, so every {len(osts) / most:.1f}th OST was "
            "taken; choose them with --pool, or fewer MDTs with --index"
        )
        left_out = (LeftOut(f"{len(osts) - most} of {len(osts)} OSTs", reason),)
    return Matrix(survey, chosen, repeats, left_out)


class _Row:
    """One MDT that can be used, with the runner of its processes."""

    def __init__(self, name: str, target: Target, runner: CommandRunner) -> None:
        self.name, self._target = name, target
        self._runner = runner
        self._hung = 0
        self._answers = self._stuck = False

    @property
    def given_up(self) -> bool:
        """True if all is known of it is that creations hang."""
        return self._hung >= _GIVEN_UP_AFTER and not self._answers

    def create(self, ost: Member, pair: Pair, limit_s: float) -> Pair:
        """Return a pair with one more creation, which ends in ``limit_s`` seconds.

        Raises:
            UnprovedError: where the file lies is not understood.
        """
        argv = creation(_proof(self._target, ost), limit_s)
        completed = self._runner(argv, limit_s, self._target.within())
        if completed.hung or completed.timed_out:
            return self._hanging(pair, completed)
        self._answers = True
        try:
            seconds = creation_s(completed)
        except UnprovedError:
            raise
        except (SkipTarget, ToolError) as error:
            return pair.with_failure(_reason(str(error)))
        return pair._replace(seconds=(*pair.seconds, seconds))

    def _hanging(self, pair: Pair, completed: Completed) -> Pair:
        self._hung += 1
        self._stuck = self._stuck or completed.hung
        stuck = " and is stuck in the kernel, where no signal ends it" if completed.hung else ""
        reason = f"the creation gave no answer in {completed.seconds:.0f} s{stuck}"
        return pair._replace(failed=pair.failed + 1, reason=reason, hung=True)

    def tidy(self) -> None:
        """Remove what killed processes left, but not the folder of a stuck one: it would block."""
        if not self._stuck:
            self._runner(tidying(), QUICK_S, self._target.within())

    def remove(self) -> None:
        """Remove the folder that root's run has made."""
        if not self._stuck:
            # the next run removes a folder that resists
            with suppress(SkipTarget, ToolError):
                self._target.remove(self._runner)


def _target(entry: Expectation) -> Target:
    return target_for(entry.target, entry.component, entry.limits.fill_limit)


def _proof(target: Target, ost: Member) -> Proof:
    """Return the proof of a file on one OST, with the layout that puts it there.

    An MDT without a connection to the OST silently takes another one: the captured
    ``lfs setstripe -c 1 -i 3`` ends with 0 then, and the file lies on OST 0.
    """
    index, proof = str(ost.number), target.proof() or Proof()
    placed = Check(("lfs", "getstripe", "-i"), (index,))
    layout = (("lfs", "setstripe", "-c", "1", "-i", index),)
    return proof._replace(files=(*proof.files, placed), layout=layout)


def _reason(text: str) -> str:
    elsewhere = _ELSEWHERE.search(text)
    if not elsewhere:
        return text
    server = "on OST" if elsewhere[1] == "i" else "by MDT"
    return f"its file was created {server} index {elsewhere[2]} instead"


def carry_out(run: CommandRunner, matrix: Matrix, progress: Progress) -> MatrixResult:
    """Create the files, round by round over all pairs, and judge their times.

    Raises:
        StoreError: locks cannot be kept.
        UnprovedError: what ``lfs`` prints about the place of a file is not understood.
    """
    locks, survey = matrix.locks(), matrix.survey
    try:
        with progress() as show, interruptible(), ExitStack() as held:
            rows, lost = _rows(survey.entries, locks, held)
            try:
                columns, unfit = _columns(matrix, locks) if rows else ([], [])
                crossing = _Crossing(rows, columns, matrix.creation_s)
                interrupted = crossing.run(matrix.repeats, show)
            finally:
                for row in rows:
                    row.tidy()
                    if not survey.keeps_folders:
                        row.remove()
    finally:
        locks.dissolve()
        removal = ["rmdir", "--ignore-fail-on-non-empty", "--", OWN]
        run(removal, QUICK_S, Within(survey.folder))
    pairs = tuple(crossing.pairs.values())
    left_out = (*matrix.left_out, *lost, *unfit)
    return MatrixResult(matrix, pairs, left_out, tuple(findings(pairs)), interrupted)


def _rows(
    entries: Sequence[Expectation], locks: Locks, held: ExitStack
) -> tuple[list[_Row], list[LeftOut]]:
    """Return the MDTs that can be used, with their locks held, and the others."""
    rows, lost = list[_Row](), list[LeftOut]()
    for entry in entries:
        row = _row(entry, locks, held)
        if isinstance(row, str):
            lost.append(LeftOut(entry.component, row, of_metadata=True))
        else:
            rows.append(row)
    return rows, lost


def _row(entry: Expectation, locks: Locks, held: ExitStack) -> Union[_Row, str]:
    """Return an MDT with its folder, or the reason why it cannot be used."""
    try:
        descriptor = held.enter_context(locks.hold(entry.layer, entry.component))
    except BusyError as error:
        return str(error)
    target, runner = _target(entry), SystemRunner((descriptor,))
    reached = reach(target, runner, 0)
    if isinstance(reached, Failure):
        return reached.reason
    row = _Row(entry.component, target, runner)
    row.tidy()
    return row


def _columns(matrix: Matrix, locks: Locks) -> tuple[list[Member], list[LeftOut]]:
    """Return the OSTs that take new files, and the others."""
    obstacles = {ost.name: _obstacle(ost, locks) for ost in matrix.osts}
    columns = [ost for ost in matrix.osts if not obstacles[ost.name]]
    return columns, [LeftOut(name, reason) for name, reason in obstacles.items() if reason]


def _obstacle(ost: Member, locks: Locks) -> str:
    """Return why an OST takes no new file, empty if it does."""
    try:
        with locks.hold(OST.name, ost.name) as descriptor:
            state = target_for(ost.keys, ost.name).state(SystemRunner((descriptor,)))
    except (BusyError, SkipTarget, ToolError) as error:
        return str(error)
    drained = f"{ost.name} creates no objects (no_create, it is drained)"
    return drained if Flag.DRAINING in state.flags else ""


class _Crossing:
    """Creations of all pairs; ``pairs`` are by the names of MDT and OST."""

    def __init__(self, rows: Sequence[_Row], columns: Sequence[Member], limit_s: float) -> None:
        self._rows, self._columns, self._limit_s = rows, columns, limit_s
        self._clock = SystemClock()
        self.pairs = {
            (row.name, ost.name): Pair(row.name, ost.name) for row in rows for ost in columns
        }

    def run(self, repeats: int, show: Callable[[Step], None]) -> bool:
        """Create round by round; return whether it was interrupted."""
        total, done = repeats * len(self.pairs), 0
        deadline = self._clock.monotonic() + _MAX_S
        try:
            for _ in range(repeats):
                for ost in self._columns:
                    for row in self._rows:
                        if self._clock.monotonic() < deadline:
                            self._create(row, ost)
                        done += 1
                        show(Step(f"{row.name} on {ost.name}", done, total))
        except KeyboardInterrupt:
            return True
        return False

    def _create(self, row: _Row, ost: Member) -> None:
        pair = self.pairs[row.name, ost.name]
        # a second hung creation would only add a process
        if pair.hung or row.given_up:
            return
        try:
            self.pairs[row.name, ost.name] = row.create(ost, pair, self._limit_s)
        except UnprovedError as error:
            if not any(other.seconds for other in self.pairs.values()):
                # so it is of all pairs, and none of them has failed
                raise
            self.pairs[row.name, ost.name] = pair.with_failure(str(error))
