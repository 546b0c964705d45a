"""Published verdicts for the checks of a node: on what it measures, and on its probes.

Runs, and the deployment of other expectations, write the snapshot and publish the verdicts.
"""

from __future__ import annotations

import os
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from plumbline.judge.absence import hang, interruption
from plumbline.judge.fs import file_systems
from plumbline.judge.group import by_group
from plumbline.judge.judging import Judging
from plumbline.judge.node import JudgedNode, damage, judge_layer, turns
from plumbline.judge.phrases import moment
from plumbline.model.ages import CLOCK_STEP_S, NEW_S, OpenMoment, age
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Subject
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.published import Part, Published, Run, Stage, parts
from plumbline.model.series import Running, Series, Snapshot
from plumbline.model.service import NODE
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.store.files import (
    LOCKS,
    VERDICTS_FOLDER,
)
from plumbline.store.publish import VerdictFiles
from plumbline.store.snapshot import load_expectations
from plumbline.store.verdicts import stamp_of

_MAX_MOMENTS = 8
"""Most stages of a verdict: judging a large group again for each member takes long, and the next
measurement judges the whole group anyway."""

_MAX_STEPS = 16
"""Most steps in which the targets of a node, measured one after another, are shown to be stale."""

_AFTER_S = 0.001
"""Added to the time after which a verdict is stale, as it is not yet stale at that time."""


class _Service(NamedTuple):
    """A service: its subject, and the components whose records count.

    ``alone`` is True if it is measured as one and may hang: a component, or a file system whose
    targets are driven at once, which is then the first member.  It is False for a group.
    ``peers`` are all components that the node measures.
    """

    subject: Subject
    members: Sequence[Expectation]
    alone: bool
    peers: Sequence[Expectation]

    def verdict(self, memory: _Memory, now: float) -> Verdict:
        judging = Judging(memory, memory.taken, now).among(self.peers)
        if not self.alone:
            return judging.group(self.members)
        if self.subject[2]:
            return judging.file_system(next(file_systems(self.members)))
        return next(iter(judging.components(self.members)))

    def turns(self, memory: _Memory) -> Iterator[float]:
        """Yield the future times that change the verdict.

        A record becomes stale, or is no longer dated ahead, or is shown with its age.  If there are
        too many for a group, only the last one counts, when the whole group is stale.
        """
        ends = [(end, entry.limits) for entry in self.members for end in _ends(entry, memory)]
        stale = {end - CLOCK_STEP_S for end, _ in ends}
        stale |= {end + limits.stale_after_s for end, limits in ends}
        old = {end + NEW_S for end, _ in ends if self.alone}
        for moments in (stale, old):
            coming = sorted(moment for moment in moments if moment + _AFTER_S > memory.now)
            yield from coming if len(coming) <= _MAX_MOMENTS else coming[-1:]

    def running(self, snapshot: Snapshot) -> Iterator[Run]:
        first = self.members[0]
        for run in _runs(first, snapshot) if self.alone else ():
            limit_s, now = first.limits.hung_after_s, OpenMoment(snapshot.written_at)
            text = parts(f"{self.subject[1]} {hang(run, limit_s, first.layer, now)}")
            remark = interruption(run, first.layer)
            hangs_at = run.since + limit_s
            yield Run(run.interrupted, run.process, hangs_at, State.CRITICAL, text, remark)


class _Probes(NamedTuple):
    """The probes of a layer, as the service of their node shows them."""

    subject: Subject
    members: Sequence[Expectation]
    since: float

    def verdict(self, memory: _Memory, now: float) -> Verdict:
        """Return the verdict on the probes; raise DocumentError if a record is damaged."""
        return judge_layer(self.subject[1], self._judged(now), memory)

    def turns(self, memory: _Memory) -> Iterator[float]:
        """Yield the future times that change the verdict; of many in a row some are left out.

        The first and the last of a row count, when the state changes.
        """
        times = sorted(turns(self.subject[1], self._judged(memory.now), memory))
        coming = [turn for turn in times if turn + _AFTER_S > memory.now]
        many = len(coming) > _MAX_STEPS
        step_s = (coming[-1] - coming[0]) / _MAX_STEPS if many else 0.0
        before = -inf
        for turn, following in zip(coming, [*coming[1:], inf]):
            if turn - before >= step_s or following - turn >= step_s:
                yield turn
                before = turn

    def running(self, snapshot: Snapshot) -> Iterator[Run]:
        """Yield the unfinished runs; one that hangs has the alarm of its component."""
        for entry in self.members:
            limit_s, now = entry.limits.hung_after_s, OpenMoment(snapshot.written_at)
            for run in _runs(entry, snapshot):
                text = parts(f"{entry.layer} {hang(run, limit_s, entry.layer, now)}")
                yield Run(run.interrupted, run.process, run.since + limit_s, State.OK, text, "")

    def _judged(self, now: float) -> JudgedNode:
        return JudgedNode("", self.members, self.since, now)


_Judgeable = Union[_Service, _Probes]


class _Memory:
    """Content of a snapshot, with the series of each component parsed once.

    ``running`` is empty, because checks look for running processes themselves.
    """

    running: tuple[Running, ...] = ()

    def __init__(self, snapshot: Snapshot) -> None:
        """Parse nothing yet."""
        self.taken, self.now = snapshot, snapshot.written_at
        self._of = lru_cache(maxsize=None)(snapshot.of)

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return every series of a component; raise DocumentError if one is damaged."""
        return self._of(layer, component)


class Verdicts:
    """Writer of a node's verdicts beside its snapshot, by the deployed expectations."""

    def __init__(self, expectations: str, folder: Path) -> None:
        """Take the path of the expectations, which may be replaced during a run."""
        self._path = expectations
        self._files = VerdictFiles(folder)
        self._stamp: Optional[str] = None
        self._node = ""
        self._services: tuple[_Service, ...] = ()
        self._probes: tuple[_Probes, ...] = ()
        self._cache: dict[Subject, tuple[Any, float, Part]] = {}

    def __call__(self, snapshot: Snapshot) -> int:
        """Write changed verdicts, and return the number of their services.

        Raises:
            DocumentError: the expectations are missing or damaged.
            StoreError: the verdicts cannot be written.
        """
        stamp = stamp_of(self._path)
        if stamp != self._stamp:
            self._expect()
            self._stamp, self._cache = stamp, {}
        memory = _Memory(snapshot)
        return self._files.write(self._published(memory, stamp))

    def _expect(self) -> None:
        """Read the expectations; the role replaces their file if they change."""
        node, since = load_expectations(self._path), os.stat(self._path).st_mtime
        self._node, self._services = node.node, tuple(_services(node))
        layers = JudgedNode("", node.every(), since, since).layers()
        self._probes = tuple(
            _Probes((NODE, layer, False), members, since) for layer, members in layers.items()
        )

    def _published(self, memory: _Memory, stamp: str) -> Iterator[Published]:
        for service in self._services:
            judged_at, part = self._part(service, memory)
            yield _document(service.subject, stamp, judged_at, {"": part})
        at = memory.now
        try:
            layers = {probes.subject[1]: self._part(probes, memory)[1] for probes in self._probes}
        except DocumentError as error:
            damaged = Stage(0.0, State.UNKNOWN, Reason.DAMAGED, (damage(error),))
            layers = {"": Part((damaged,))}
        published = _document((NODE, self._node, False), stamp, at, layers)
        yield published._replace(locks=memory.taken.locks or LOCKS)

    def _part(self, service: _Judgeable, memory: _Memory) -> tuple[float, Part]:
        """Return when a service was judged and its verdict; judge it only if its inputs change."""
        snapshot = memory.taken
        running = tuple(service.running(snapshot))
        inputs = _inputs(service, snapshot), running
        before, judged_at, cached = self._cache.get(service.subject, (None, 0.0, None))
        # valid until the end of its first stage
        if cached and before == inputs and all(memory.now < s.since for s in cached.stages[1:2]):
            return judged_at, cached
        part = Part(tuple(_stages(service, memory)), running)
        self._cache[service.subject] = inputs, memory.now, part
        return memory.now, part


def _document(
    subject: Subject, stamp: str, judged_at: float, parts_of: Mapping[str, Part]
) -> Published:
    open_age = age(judged_at, OpenMoment(judged_at))
    ahead = (
        f"{subject[1]} was judged {moment(judged_at)}, {open_age} of the clock; set the clock of "
        "this node (chronyc tracking) and probe again"
    )
    return Published(*subject, stamp, judged_at, parts_of, parts(ahead))


def _services(node: Expectations) -> Iterator[_Service]:
    """Yield each expected component, each group, and each file system as a whole."""
    expectations = node.every()
    for entry in expectations:
        yield _Service(entry.subject, (entry,), alone=True, peers=expectations)
    for (layer, group), members in by_group(expectations).items():
        yield _Service((layer, group, True), members, alone=False, peers=expectations)
    for system in file_systems(expectations):
        subject = system.whole.layer, system.whole.component, True
        yield _Service(subject, system.entries, alone=True, peers=expectations)


def _inputs(service: _Judgeable, snapshot: Snapshot) -> Any:
    """Return the parts of a snapshot that the verdict of a service depends on."""
    layer, name, _ = service.subject
    return (
        [
            snapshot.series.get(f"{expectation.layer}/{expectation.component}")
            for expectation in service.members
        ],
        snapshot.groups.get(f"{layer}/{name}"),
    )


def _runs(entry: Expectation, snapshot: Snapshot) -> Iterator[Running]:
    for run in snapshot.running:
        if (run.layer, run.component) == (entry.layer, entry.component):
            yield run


def _stages(service: _Judgeable, memory: _Memory) -> Iterator[Stage]:
    """Yield the verdict on a service now, and after each time that changes it."""
    before: Optional[Stage] = None
    changes = {turn + _AFTER_S for turn in service.turns(memory)}
    for at in (memory.now, *sorted(changes)):
        stage = Stage.of(at if before else 0.0, service.verdict(memory, OpenMoment(at)))
        if before is None or stage._replace(since=before.since) != before:
            yield stage
            before = stage


def _ends(entry: Expectation, memory: _Memory) -> list[float]:
    """Return the end of the latest record of each series of a component."""
    try:
        return [series.latest.finished_at for series in memory.of(entry.layer, entry.component)]
    except DocumentError:
        # the verdict reports the damage
        return []


def published_by(expectations: str, state: Path) -> Verdicts:
    """Return the writer of the verdicts of a node with its snapshot in ``state``."""
    return Verdicts(expectations, state / VERDICTS_FOLDER)
