"""Verdicts of a whole site, kept from one judgement to the next.

A verdict follows from the plan, the records of its node, the runs that have not ended, the clock
and the code.  The clock counts by comparisons of ages with limits and by ages in texts: texts are
kept with their ages open, and :class:`~plumbline.model.ages.WatchedMoment` says when the first
comparison will come out otherwise.  All else is in what a kept verdict rests on.

Nodes do not depend on one another, so a large site is dealt out to processes: the history is read
once, by whoever judges the node.  What is read for others as well is judged where it is read.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import (
    Any,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    TypeVar,
)

import plumbline
from plumbline.judge.explain import explain
from plumbline.judge.memory import EvidenceSource, Memory
from plumbline.judge.node import JudgedNode, judge_node
from plumbline.judge.phrases import weighed
from plumbline.model.ages import OPEN, WatchedMoment, filled, parts, seconds_since
from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.service import NODE
from plumbline.model.validation import read_json
from plumbline.model.verdict import Judged, Verdict
from plumbline.site.forked import forked
from plumbline.site.nodes import Judging, Memories, memories, remembered, require, without_collector
from plumbline.store.collection import Kept, KeptAnswers
from plumbline.store.database import Component
from plumbline.store.facts import collected_stamp
from plumbline.store.history import History
from plumbline.store.plan import SitePlan
from plumbline.store.snapshot import load_expectations, load_snapshot

_LOCAL_TIME = "/etc/localtime"


CAUSES, PATHS = "causes", "paths"
"""The names of what explains the alarms of a site, and of what is shown of its paths; each node's
verdicts have its own name."""


class Known(NamedTuple):
    """Kept answers by name, and the digest of what the verdicts on each node rest on now."""

    rests_on: Mapping[str, str]
    answers: Mapping[str, Kept]

    def holding(self, name: str, rests_on: str, now: float) -> Optional[Kept]:
        """Return what was kept by a name if it would be found again, else None."""
        found = self.answers.get(name)
        return found if found and found.holds(rests_on, now) else None


def name_of(node: str) -> str:
    """Return the name of the verdicts on a node."""
    return f"node {node}"


def known(
    history: Path, terms: Sequence[object], nodes: Sequence[Expectations], name: str = ""
) -> Known:
    """Return what verdicts on nodes rest on, and the answers that were kept, whatever they rest on.

    ``terms`` is what all of them rest on beside code, time zone and history; of a ``name`` that
    answer alone is read.

    Raises:
        StoreError: the history cannot be read.
    """
    common = repr((*terms, _code(), _time_zone()))
    with KeptAnswers(history) as kept:
        revisions, running = kept.revisions(), kept.running()
        answers = {answer.name: answer for answer in kept.every(name)}
    rests_on = {}
    for node in nodes:
        places = _places(node)
        found = [(place, revisions.get(place, 0), running.get(place)) for place in places]
        rests_on[node.node] = digest((common, found))
    return Known(rests_on, answers)


def keep(history: Path, answers: Sequence[Kept], nodes: Iterable[str]) -> None:
    """Keep new answers, and drop those on nodes that the plan has no longer.

    Where that is not possible, as on a full disk, they are found again next time.
    """
    if answers:
        with suppress(StoreError), KeptAnswers(history) as kept:
            kept.keep(answers, (CAUSES, PATHS, *map(name_of, nodes)))


class Question(NamedTuple):
    """Question about a whole site: the name of the answer, and the way to find it.

    ``find`` makes it, of JSON's own types, at a moment that is watched; it rests on plan, history
    and conditions, and on what ``rests_on`` says besides, such as symptoms.  ``read`` makes of
    these types what is asked for, and raises what :func:`kept_of_site` suppresses where they are
    others.
    """

    name: str
    rests_on: object
    find: Callable[[float], Any]
    read: Callable[[Any], Any]


def kept_of_site(plan: SitePlan, history: Path, now: float, question: Question) -> Any:
    """Return an answer as it was kept where it still holds, else find it and keep it.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    require(history)
    name, rests_on, find, read_answer = question
    before = known(history, (plan.digest,), tuple(plan.nodes.values()), name)
    stamp = digest((tuple(before.rests_on.values()), collected_stamp(history), rests_on))
    held = before.holding(name, stamp, now)
    if held:
        # what was damaged is found again
        with suppress(ValueError, TypeError, KeyError, DocumentError):
            return read_answer(read_json(held.body))
    moment = WatchedMoment(now)
    found = find(moment)
    body = json.dumps(found, separators=(",", ":"))
    keep(history, [Kept(name, stamp, now, moment.until, body)], plan.nodes)
    return read_answer(found)


def digest(value: object) -> str:
    """Return what tells a value from others, by how it is written."""
    return sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()


def written(verdicts: Iterable[Verdict]) -> str:
    """Return verdicts as they are kept: with open ages."""
    return json.dumps([verdict.to_json() for verdict in verdicts], separators=(",", ":"))


def read(kept: Kept) -> Optional[list[Verdict]]:
    """Return verdicts with open ages; None where what was kept is damaged."""
    try:
        return [Verdict.from_json(raw) for raw in read_json(kept.body)]
    except (ValueError, TypeError, DocumentError):
        return None


def closed(verdict: Verdict, now: float) -> Verdict:
    """Return a verdict with its ages at a moment, in epoch seconds."""
    figures = tuple(
        figure._replace(value=value, unit=unit)
        if figure.unit == OPEN and figure.value is not None
        else figure
        for figure in verdict.figures
        for value, unit in (seconds_since(figure.value or 0.0, now),)
    )
    sentence, *evidence = (
        filled(parts(text), now) for text in (verdict.sentence, *verdict.evidence)
    )
    return verdict._replace(sentence=sentence, evidence=tuple(evidence), figures=figures)


def _places(node: Expectations) -> list[Component]:
    return [(entry["layer"], entry["component"]) for entry in node.entries]


@cache
def _code() -> str:
    """Return what tells this code from any other, by the files that it was read from."""
    folder = Path(plumbline.__file__).parent
    found = [(str(path), path.stat()) for path in sorted(folder.rglob("*.py"))]
    return digest([(name, result.st_size, result.st_mtime_ns) for name, result in found])


def _time_zone() -> tuple[Any, ...]:
    """Return what the dates in texts depend on."""
    try:
        changed = os.stat(_LOCAL_TIME).st_mtime_ns
    except OSError:
        changed = 0
    return os.environ.get("TZ"), os.path.realpath(_LOCAL_TIME), changed


_WORTH_A_PROCESS = 500
"""Components; to start a process takes as long as to judge some of these."""

_PROCESSES = 4
"""At most: each takes some 100 MB."""

_Found = TypeVar("_Found")


class Task(NamedTuple):
    """Share of one process in a judgement.

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
    return [
        judged
        for judged in found
        if judged.verdict.layer != NODE and (members or not _member(judged))
    ]


def judge_services(
    plan: SitePlan, history: Path, now: float, read: Optional[Memories] = None
) -> list[Judged]:
    """Return the verdicts that the services of a plan show; as ``judge_site``, and on each node.

    They are kept in the history: nodes of which nothing has changed are not judged again.  What is
    read of the others is left in ``read``.
    """
    found = _judged(plan, history, now, keeping=True, read=read)
    return [judged for judged in found if not _member(judged)]


def _member(judged: Judged) -> bool:
    """Return whether a verdict is on a target that is driven with others, and no service's."""
    return LAYERS[judged.verdict.layer].whole and not judged.verdict.group


def _judged(
    plan: SitePlan, history: Path, now: float, *, keeping: bool, read: Optional[Memories] = None
) -> list[Judged]:
    """Return all verdicts without their evidence, on nodes where the plan has services of them."""
    # one of an older version has none
    nodes = any(service.layer == NODE for service in plan.services)
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
        expectations = tuple(node for node in nodes if node.node not in found)
        task = task._replace(nodes=expectations, rests_on=before.rests_on)
        if task.read:
            task.read.read(expectations)
        # a process that judges what another has read copies every page of it: it counts references
        tasks = [task] if task.read else _tasks(task, expectations)
        new = _judge_all(tasks, _judge_to_keep) if expectations else []
        if keeping:
            keep(task.history, new, plan.nodes)
        found.update((node, read(one) or []) for node, one in _by_node(plan, new))
    return [
        Judged(name, task.now, closed(verdict, task.now))
        for name in plan.nodes
        for verdict in found[name]
    ]


def _kept(before: Known, now: float) -> Iterator[tuple[str, list[Verdict]]]:
    """Yield the nodes whose verdicts hold, with these."""
    for node, rests_on in before.rests_on.items():
        held = before.holding(name_of(node), rests_on, now)
        verdicts = held and read(held)
        if verdicts:
            yield node, verdicts


def _by_node(plan: SitePlan, new: Iterable[Kept]) -> Iterator[tuple[str, Kept]]:
    named = {name_of(node): node for node in plan.nodes}
    return ((named[answer.name], answer) for answer in new)


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
    """Carry out the tasks, each in a process of its own where there are several."""
    if len(tasks) == 1:
        return work(tasks[0])
    return [found for share in forked(work, tasks, len(tasks)) for found in share]


def _judge(task: Task) -> list[Judged]:
    with History(task.history) as history:
        return [
            Judged(node.node, task.now, verdict)
            for node in task.nodes
            for verdict in _judge_node(node, history, task)
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
    _, chosen, memory, weighing = remembered(node, history, task.read)
    judging = Judging(memory, weighing, task.now, evidence=task.evidence)
    alone = [each for each in chosen if task.members or not LAYERS[each.layer].whole]
    verdicts = [*judging.components(alone), *judging.groups(chosen)]
    if task.since is not None and node.entries:
        verdicts.append(judge_node(JudgedNode(node, task.since, task.now, chosen), memory))
    for verdict in verdicts:
        yield verdict if task.evidence else verdict._replace(evidence=())


class Choice(NamedTuple):
    """Choice of a layer and a component; None is every one."""

    layer: Optional[str] = None
    component: Optional[str] = None

    def __str__(self) -> str:
        """Return it in words, for a document that has nothing of it."""
        return f"{self.component or 'component'} in layer {self.layer or ', '.join(LAYERS)}"

    def takes(self, layer: str, component: str) -> bool:
        """Return whether a component of a layer is asked for."""
        return self.component in (None, component) and self.layer in (None, layer)

    def of_node(self, node: Expectations) -> list[Expectation]:
        """Return the expectations asked for; a layer that is not named may be absent.

        Raises:
            DocumentError: there are none, or one is damaged.
        """
        present = {entry.get("layer") for entry in node.entries}
        layers = (self.layer,) if self.layer else [name for name in LAYERS if name in present]
        expectations = [
            each
            for layer in layers
            for each in node.find(layer)
            if self.takes(each.layer, each.component)
        ]
        if not expectations:
            raise DocumentError(
                f"expectations of {node.node} have no {self}; add it to the topology and deploy "
                "the role agent again"
            )
        return expectations


class Place(NamedTuple):
    """Chosen expectations of a node, its records, and the evidence of them."""

    chosen: Sequence[Expectation]
    memory: Memory
    known: EvidenceSource


class Explained(NamedTuple):
    """A verdict, and in lines how it came about."""

    verdict: Verdict
    lines: tuple[str, ...]


def place_here(expectations: str, snapshot: str, choice: Choice) -> tuple[str, Place]:
    """Return the name of this node, and what is asked for of it, from its two documents.

    Raises:
        DocumentError: it has nothing of the kind, or one of them cannot be read.
    """
    node = load_expectations(expectations)
    chosen = choice.of_node(node)
    known = load_snapshot(snapshot)
    return node.node, Place(chosen, known, known)


def judge_here(selection: Place, choice: Choice, now: float, *, last_run: bool) -> list[Verdict]:
    """Return the verdicts asked for of this node; with a component named, without groups."""
    chosen = selection.chosen
    judging = Judging(selection.memory, selection.known, now, last_run=last_run)
    if choice.component:
        return list(judging.components(chosen))
    # what is driven at once is judged as a whole
    alone = [each for each in chosen if not LAYERS[each.layer].whole]
    return [*judging.components(alone), *judging.groups(chosen)]


def judge_there(
    plan: SitePlan, history: Path, choice: Choice, now: float
) -> dict[str, list[Verdict]]:
    """Return the verdicts asked for of a site, by node.

    Raises:
        DocumentError: the plan has nothing of the kind, or is damaged.
        StoreError: there is no such history, or it cannot be read.
    """
    found: dict[str, list[Verdict]] = {}
    named = bool(choice.component)
    for judged in judge_site(plan, history, now, evidence=True, members=named):
        if choice.takes(judged.verdict.layer, judged.verdict.component):
            found.setdefault(judged.node, []).append(judged.verdict)
    if not found:
        raise _not_planned(plan, choice)
    return found


def places_there(plan: SitePlan, history: Path, choice: Choice) -> Iterator[Place]:
    """Yield what is asked for of a site, node by node; raise as ``judge_there`` does."""
    asked = False
    for _, expected, memory, weighing in memories(plan, history):
        chosen = [each for each in expected if choice.takes(each.layer, each.component)]
        if chosen:
            asked = True
            yield Place(chosen, memory, weighing)
    if not asked:
        raise _not_planned(plan, choice)


def explain_all(places: Iterable[Place], now: float) -> Iterator[Explained]:
    """Explain the verdicts on what is expected, each with the memory of the node that expects."""
    for chosen, memory, known in places:
        for expectation, verdict in zip(chosen, Judging(memory, known, now).components(chosen)):
            series = memory.of(expectation.layer, expectation.component)
            yield Explained(
                verdict,
                (
                    *weighed(known.evidence(expectation.subject)),
                    *explain(expectation, series, now),
                ),
            )


def _not_planned(plan: SitePlan, choice: Choice) -> DocumentError:
    return DocumentError(f"plan {plan.path} has no {choice}; add it to the topology and plan again")
