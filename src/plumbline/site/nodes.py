"""Nodes of a site: what each measures and remembers, and how its services are judged.

A file system whose targets are driven at once is a group that is judged as a whole.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from pathlib import Path
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.component import decide, rulings_on
from plumbline.judge.fs import Ruled, decide_whole, wholes
from plumbline.judge.group import by_group, decide_group
from plumbline.judge.memory import EvidenceSource, Memory, Weighable
from plumbline.judge.pair import judge_pair_host, judge_pair_service
from plumbline.judge.phrases import Ruling, odds_text, of_service, weighed
from plumbline.judge.service import by_evidence, evidence, with_runs
from plumbline.judge.weighing import Weighing
from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.service import Service
from plumbline.model.verdict import Judged, Reason, State, Verdict
from plumbline.store.database import Component
from plumbline.store.history import History
from plumbline.store.plan import SitePlan
from plumbline.store.recent import Recent, groups_of


@contextmanager
def without_collector() -> Iterator[None]:
    """Do without the collector of cycles, of which there are none here.

    It would look through a million values again and again, which takes as long as to judge them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Remembered(NamedTuple):
    """A node of a site: what it measures, what it remembers, and what is known of it together."""

    node: str
    chosen: Sequence[Expectation]
    memory: Recent
    known: Weighing


class Memories:
    """Expectations and records of nodes, read once for one judgement of a site."""

    def __init__(self, history: Path) -> None:
        """Read nothing yet."""
        self.history = history
        self._read: dict[str, tuple[tuple[Expectation, ...], Recent]] = {}
        self._opened: Optional[History] = None
        self._revisions: Mapping[Component, int] = {}

    def read(self, nodes: Iterable[Expectations]) -> None:
        """Read some nodes in advance; raise as :func:`memories` does."""
        with opened(self.history) as kept:
            for node in nodes:
                chosen, memory = self.of(node, kept)
                self._read[node.node] = chosen, memory.settled()

    def release(self, name: str) -> None:
        """Forget a node; who asks for it once more reads it again."""
        self._read.pop(name, None)

    def measured(self, node: Expectations) -> tuple[Expectation, ...]:
        """Return what a node measures; raise DocumentError where that is damaged."""
        found = self._read.get(node.node)
        return found[0] if found else node.every()

    def of(self, node: Expectations, history: History) -> tuple[tuple[Expectation, ...], Recent]:
        """Return what a node measures and remembers, read again where that has changed since."""
        chosen, found = self.measured(node), self._read.get(node.node)
        memory = found[1].again(history, self._revisions_in(history)) if found else None
        return chosen, memory or Recent(history, groups_of(chosen))

    def _revisions_in(self, history: History) -> Mapping[Component, int]:
        """Return how often records have changed, asked for once in each opening of the history."""
        if self._opened is not history:
            self._opened, self._revisions = history, history.revisions()
        return self._revisions


def memories(plan: SitePlan, history: Path) -> Iterator[Remembered]:
    """Yield the nodes of a plan; each remembers until the next is asked for.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the expectations of a node are damaged.
    """
    with opened(history) as kept:
        for node in plan.nodes.values():
            yield remembered(node, kept)


def remembered(node: Expectations, history: History, read: Optional[Memories] = None) -> Remembered:
    """Return a node with what an open history holds of it; some nodes may be ``read`` already."""
    chosen, memory = (read or Memories(history.path)).of(node, history)
    return Remembered(node.node, chosen, memory, Weighing({node.node: chosen}, {node.node: memory}))


@contextmanager
def opened(history: Path) -> Iterator[History]:
    """Open the history of a site for reading; raise StoreError where there is none."""
    require(history)
    with History(history) as kept:
        yield kept


def require(history: Path) -> None:
    """Raise StoreError where there is no such history: to open it would make one."""
    if not history.exists():
        raise StoreError(
            f"there is no history {history}; name with --history the one that holds the records "
            "of all nodes"
        )


class Judging:
    """One judgement of a node, in which each operation of a component is ruled on once."""

    def __init__(
        self,
        memory: Memory,
        known: EvidenceSource,
        now: float,
        *,
        evidence: bool = True,
        last_run: bool = False,
    ) -> None:
        """Judge at ``now`` by what is ``known`` of the last runs together.

        To put ``evidence`` into words takes half of the time.  With ``last_run`` a component is
        judged by its last run alone, as while somebody looks, with the others behind it.
        """
        self._memory = memory
        self._weighed = known
        self._now = now
        self._evidence = evidence
        self._last_run = last_run
        self._known: dict[tuple[str, str], tuple[Ruling, ...]] = {}

    def components(self, chosen: Iterable[Expectation]) -> Iterator[Verdict]:
        """Return the verdicts on components; one whose document is damaged is UNKNOWN."""
        return map(self._component, chosen)

    def groups(self, chosen: Iterable[Expectation]) -> Iterator[Verdict]:
        """Yield the verdict on each group of peers; a node has one component of layer net."""
        expectations = tuple(chosen)
        for members in by_group(expectations).values():
            if len(members) > 1:
                yield self.group(members)
        yield from (self.file_system(whole, members) for whole, members in wholes(expectations))

    def group(self, members: Sequence[Expectation]) -> Verdict:
        """Return the verdict on all members of a group, at least one."""
        layer, group = members[0].layer, members[0].group
        try:
            ruled = [(each, self._rulings(each)) for each in members]
            # looked at only where the group itself has no figure
            shown = (
                (each, self._by_evidence(each, self._weighed.evidence(each.subject)))
                for each in members
            )
            return decide_group(ruled, self._weighed.evidence((layer, group, True)), shown)
        except DocumentError as error:
            return _damaged(layer, group, error)._replace(group=True)

    def file_system(self, whole: Expectation, members: Iterable[Expectation]) -> Verdict:
        """Return the verdict on a file system whose targets, its members, are driven at once."""
        try:
            ruled = [
                (each, self._by_evidence(each, self._weighed.evidence(each.subject)))
                for each in (whole, *members)
            ]
            of = Ruled(ruled[0], tuple(ruled[1:]))
            verdict = decide_whole(of, self._memory.running, self._now)
        except DocumentError as error:
            return _damaged(whole.layer, whole.component, error)._replace(group=True)
        return verdict if self._evidence else verdict._replace(evidence=())

    def _component(self, entry: Expectation) -> Verdict:
        try:
            known = self._weighed.evidence(entry.subject)
            verdict = (
                self._host(entry, known)
                if LAYERS[entry.layer].paired
                else self._target(entry, known)
            )
        except DocumentError as error:
            return _damaged(entry.layer, entry.component, error)
        return verdict if self._evidence else verdict._replace(evidence=())

    def _host(self, entry: Expectation, known: Optional[Evidence]) -> Verdict:
        of = entry, self._memory.of(entry.layer, entry.component), self._memory.running, self._now
        if self._last_run:
            return _with_others(judge_pair_host(*of), known)
        return judge_pair_service(*of, known)

    def _target(self, entry: Expectation, known: Optional[Evidence]) -> Verdict:
        rulings = self._by_evidence(entry, known)
        verdict = decide(entry, rulings, self._memory.running, self._now)
        if self._evidence:
            lines = tuple(line for ruling in rulings for line in evidence(ruling, self._now))
            verdict = verdict._replace(evidence=lines)
        return _with_others(verdict, known) if self._last_run else with_runs(verdict, known)

    def _by_evidence(self, entry: Expectation, known: Optional[Evidence]) -> tuple[Ruling, ...]:
        rulings = self._rulings(entry)
        return rulings if self._last_run else by_evidence(rulings, known)

    def _rulings(self, entry: Expectation) -> tuple[Ruling, ...]:
        place = entry.layer, entry.component
        if place not in self._known:
            self._known[place] = rulings_on(entry, self._memory.of(*place), self._now)
        return self._known[place]


def _with_others(verdict: Verdict, known: Optional[Evidence]) -> Verdict:
    """Return the verdict on the last run alone, with what the last ones say together behind it.

    The odds of a single run are shown to whoever looks, however low they are.
    """
    said = tuple(weighed(known))
    low = verdict.state.alarm and verdict.reason.of_one_run
    sentence = "; ".join((verdict.sentence, *(said or (odds_text(known),) * low)))
    if low or verdict.reason.fine:
        sentence += of_service(known, low=low)
    return verdict._replace(sentence=sentence, evidence=(*said, *verdict.evidence))


def _damaged(layer: str, name: str, error: DocumentError) -> Verdict:
    """Return the verdict where a document is damaged for one component; the others go on."""
    text = f"{name} cannot be judged: {error}"
    return Verdict(layer, name, State.UNKNOWN, Reason.DAMAGED, text)


def in_alarm(judged: Iterable[Judged], services: Iterable[Service]) -> set[int]:
    """Return the places of the services whose verdict is WARNING or CRITICAL."""
    directory = Directory(services)
    places = {service: place for place, service in enumerate(directory.every)}
    found = (directory.find(verdict) for verdict in judged if verdict.verdict.state.alarm)
    return {places[service] for service in found if service}


class Directory:
    """Services of a plan by the verdict that they show."""

    def __init__(self, services: Iterable[Service]) -> None:
        """Take the services of a plan."""
        self.every = tuple(services)
        self._components = {
            (service.node, service.layer, service.component): service
            for service in self.every
            if service.component
        }
        self._groups = {
            (service.node, service.layer, service.group): service
            for service in self.every
            if service.group
        }

    def find(self, judged: Judged) -> Optional[Service]:
        """Return the service of a verdict; None where the plan has none."""
        key = judged.node, judged.verdict.layer, judged.verdict.component
        return (self._groups if judged.verdict.group else self._components).get(key)


class JudgingDaily:
    """Judges the nodes of one fleet day after day."""

    def __call__(
        self, chosen: Sequence[Expectation], memory: Weighable, now: float
    ) -> Iterator[Verdict]:
        """Yield the verdicts on what a node measures, at a moment.

        Only alarms count, so the odds of what raises none are not found.
        """
        if not chosen:
            return
        weighing = Weighing({"": chosen}, {"": memory}, counting=False)
        judging = Judging(memory, weighing, now, evidence=False)
        yield from judging.components(chosen)
        yield from judging.groups(chosen)
