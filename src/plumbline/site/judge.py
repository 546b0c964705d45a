"""Judge what all nodes of a site have measured, from its plan and the history of all nodes.

Nodes do not depend on one another, so a large site is dealt out to processes: the history is read
once, by whoever judges the node.  What is read for others as well is judged where it is read.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import (
    Callable,
    Generic,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    TypeVar,
    Union,
)

from plumbline.errors import PlumblineError, StoreError
from plumbline.judge.node import JudgedNode, judge_node
from plumbline.layers import WHOLE
from plumbline.model.ages import WatchedMoment
from plumbline.model.expectation import Expectations
from plumbline.model.judged import Judged
from plumbline.model.service import NODE
from plumbline.model.verdict import Verdict
from plumbline.site.garbage import without_collector
from plumbline.site.judging import Judging
from plumbline.site.kept import Known, closed, keep, known, name_of, written
from plumbline.site.kept import read as verdicts_of
from plumbline.site.nodes import Memories, remembered, require
from plumbline.store.history import History
from plumbline.store.kept import Kept
from plumbline.store.plan import SitePlan

_WORTH_A_PROCESS = 500
"""Components; to start a process takes as long as to judge some of these."""

_PROCESSES = 4
"""At most: each takes some 100 MB."""

_Found = TypeVar("_Found")


class Task(NamedTuple):
    """What one process is to judge.

    ``evidence`` says whether the verdicts keep theirs, ``members`` whether targets that are driven
    at once have verdicts of their own beside that of the whole.  ``since`` is when the plan was
    written, epoch seconds, where the probes of the nodes are judged too, else None.  ``rests_on``
    is, by node, by what the verdicts are found that are to be kept.  ``read`` holds what was read
    of the nodes before, where somebody needs that once more afterwards.
    """

    nodes: tuple[Expectations, ...]
    history: Path
    now: float
    evidence: bool
    members: bool = False
    since: Optional[float] = None
    rests_on: Mapping[str, str] = MappingProxyType({})
    read: Optional[Memories] = None


Work = Callable[[Task], "list[_Found]"]
"""Carries out a task."""


def judge_site(
    plan: SitePlan, history: Path, now: float, *, evidence: bool = False, members: bool = False
) -> list[Judged]:
    """Return the verdicts on all components and groups of a plan, node by node in its order.

    With ``members`` those on targets driven at once are among them.  Without ``evidence`` nodes of
    which nothing has changed since ``judge_services`` kept their verdicts are not judged again;
    nothing is kept here, so that whoever looks leaves the console's answers as they are.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the expectations of a node are damaged.
    """
    if evidence:
        return _judge_plan(plan, Task((), history, now, evidence, members))
    found = _judged(plan, history, now, keeping=False)
    return [one for one in found if one.verdict.layer != NODE and (members or not _member(one))]


def judge_services(
    plan: SitePlan, history: Path, now: float, read: Optional[Memories] = None
) -> list[Judged]:
    """Return the verdicts that the services of a plan show; as ``judge_site``, and on each node.

    They are kept in the history: nodes of which nothing has changed are not judged again.  What is
    read of the others is left in ``read``.
    """
    found = _judged(plan, history, now, keeping=True, read=read)
    return [one for one in found if not _member(one)]


def _member(judged: Judged) -> bool:
    """Return whether a verdict is on a target that is driven with others, and no service's."""
    return judged.verdict.layer in WHOLE and not judged.verdict.group


def _judged(
    plan: SitePlan, history: Path, now: float, *, keeping: bool, read: Optional[Memories] = None
) -> list[Judged]:
    """Return all verdicts without their evidence, on nodes where the plan has services of them."""
    # one of an older version has none
    nodes = any(one.layer == NODE for one in plan.services)
    since = os.stat(plan.path).st_mtime if nodes else None
    task = Task((), history, now, evidence=False, members=True, since=since, read=read)
    return _judge_new(plan, task, keeping=keeping) if plan.digest else _judge_plan(plan, task)


def _judge_plan(plan: SitePlan, task: Task) -> list[Judged]:
    require(task.history)
    with without_collector():
        found = _judge_all(_tasks(task, tuple(plan.nodes.values())), _judge)
    places = {name: place for place, name in enumerate(plan.nodes)}
    return sorted(found, key=lambda judged: places[judged.node])


def _judge_new(plan: SitePlan, task: Task, *, keeping: bool) -> list[Judged]:
    """Judge the nodes whose kept verdicts do not hold any more."""
    require(task.history)
    nodes = tuple(plan.nodes.values())
    before = known(task.history, (plan.digest, task.since), nodes)
    with without_collector():
        found = dict(_kept(before, task.now))
        left = tuple(node for node in nodes if node.node not in found)
        task = task._replace(nodes=left, rests_on=before.rests_on)
        if task.read:
            task.read.read(left)
        # a process that judges what another has read copies every page of it: it counts references
        tasks = [task] if task.read else _tasks(task, left)
        new = _judge_all(tasks, _judge_to_keep) if left else []
        if keeping:
            keep(task.history, new, plan.nodes)
        found.update((node, verdicts_of(one) or []) for node, one in _by_node(plan, new))
    return [
        Judged(name, task.now, closed(one, task.now)) for name in plan.nodes for one in found[name]
    ]


def _kept(before: Known, now: float) -> Iterator[tuple[str, list[Verdict]]]:
    """Yield the nodes whose verdicts hold, with these."""
    for node, rests_on in before.rests_on.items():
        held = before.holding(name_of(node), rests_on, now)
        verdicts = held and verdicts_of(held)
        if verdicts:
            yield node, verdicts


def _by_node(plan: SitePlan, new: Iterable[Kept]) -> Iterator[tuple[str, Kept]]:
    named = {name_of(node): node for node in plan.nodes}
    return ((named[one.name], one) for one in new)


def _tasks(task: Task, nodes: Sequence[Expectations]) -> list[Task]:
    return [task._replace(nodes=share) for share in shares(nodes)]


def shares(nodes: Sequence[Expectations]) -> list[tuple[Expectations, ...]]:
    """Deal the nodes out, the largest first, each to whoever has least."""
    components = sum(len(node.entries) for node in nodes)
    processors = len(os.sched_getaffinity(0))
    count = max(1, min(_PROCESSES, processors, len(nodes), components // _WORTH_A_PROCESS))
    dealt: list[list[Expectations]] = [[] for _ in range(count)]
    sizes = [0] * count
    for node in sorted(nodes, key=lambda node: -len(node.entries)):
        least = sizes.index(min(sizes))
        dealt[least].append(node)
        sizes[least] += len(node.entries)
    return [tuple(share) for share in dealt]


def _judge_all(tasks: Sequence[Task], work: Work[_Found]) -> list[_Found]:
    """Carry out the first task here, each other one in a process that begins as a copy of this."""
    others = [Other(task, work) for task in tasks[1:]]
    try:
        found = work(tasks[0])
        for other in others:
            found += other.result()
    finally:
        for other in others:
            other.end()
    return found


class Other(Generic[_Found]):
    """A process that judges; it needs no message to begin, for it has all that its parent has."""

    def __init__(self, task: Task, work: Work[_Found]) -> None:
        context = multiprocessing.get_context("fork")
        self._receiver, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_answer, args=(task, work, sender), daemon=True)
        self._process.start()
        # so that the end of the process is the end of what can be received
        sender.close()

    @property
    def pid(self) -> int:
        """Return its process id."""
        assert self._process.pid is not None
        return self._process.pid

    def result(self) -> list[_Found]:
        """Wait for its verdicts; raise what it has raised, StoreError when it was killed."""
        try:
            answer: Union[list[_Found], PlumblineError] = self._receiver.recv()
        except (EOFError, OSError) as error:
            raise StoreError(
                "a process that judged was ended from outside; see whether the machine has run "
                "out of memory (journalctl -k), and run again"
            ) from error
        if isinstance(answer, PlumblineError):
            raise answer
        return answer

    def end(self) -> None:
        """End it, in whatever state it is."""
        self._process.terminate()
        self._process.join()
        self._receiver.close()


def _answer(task: Task, work: Work[_Found], sender: Connection) -> None:
    # Ctrl-C reaches parent and child alike, and the parent ends the child
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        sender.send(work(task))
    except PlumblineError as error:
        sender.send(error)


def _judge(task: Task) -> list[Judged]:
    with History(task.history) as history:
        return [
            Judged(node.node, task.now, one)
            for node in task.nodes
            for one in _judge_node(node, history, task)
        ]


def _judge_to_keep(task: Task) -> list[Kept]:
    """Judge with open ages, and find how long that holds."""
    found = []
    with History(task.history) as history:
        for node in task.nodes:
            now, rests_on = WatchedMoment(task.now), task.rests_on[node.node]
            body = written(_judge_node(node, history, task._replace(now=now)))
            found.append(Kept(name_of(node.node), rests_on, task.now, now.until, body))
    return found


def _judge_node(node: Expectations, history: History, task: Task) -> Iterator[Verdict]:
    _, chosen, memory, known = remembered(node, history, task.read)
    judging = Judging(memory, known, task.now, evidence=task.evidence)
    alone = [each for each in chosen if task.members or each.layer not in WHOLE]
    verdicts = [*judging.components(alone), *judging.groups(chosen)]
    if task.since is not None and node.entries:
        verdicts.append(judge_node(JudgedNode(node, task.since, task.now, chosen), memory))
    for verdict in verdicts:
        yield verdict if task.evidence else verdict._replace(evidence=())
