"""Nodes of a site: what each measures and remembers, and how its services are judged.

A file system whose targets are driven at once is a group that is judged as a whole.
"""

from __future__ import annotations

import gc
import os
from contextlib import contextmanager
from pathlib import Path
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.component import decide, rulings_on
from plumbline.judge.fs import Ruled, decide_whole, wholes
from plumbline.judge.group import by_group, decide_group
from plumbline.judge.memory import EvidenceSource, Memory
from plumbline.judge.node import JudgedNode, judge_node
from plumbline.judge.pair import judge_pair_host, judge_pair_service
from plumbline.judge.phrases import Ruling, odds_text, of_service, weighed
from plumbline.judge.service import by_evidence, evidence, with_runs
from plumbline.judge.weighing import Weighing
from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.service import NODE, Service
from plumbline.model.verdict import Judged, Reason, State, Verdict
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
    """Records of one node, and their evidence."""

    memory: Recent
    weighing: Weighing


def remembered(node: Expectations, history: History) -> Remembered:
    """Return the records of one node in an open history, weighed beside one another."""
    measured = node.every()
    memory = Recent(history, groups_of(measured))
    return Remembered(memory, Weighing({node.node: measured}, {node.node: memory}))


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


class Judgement:
    """All nodes of a site at one moment: what each measures and remembers, all weighed together."""

    def __init__(self, plan: SitePlan, history: History, now: float) -> None:
        """Read the last runs of all nodes; see :func:`judgement`."""
        self.plan = plan
        self.now = now
        self.nodes = plan.measured()
        self.memories = {
            name: Recent(history, groups_of(measured)).settled()
            for name, measured in self.nodes.items()
        }
        self.weighing = Weighing(self.nodes, self.memories)

    def judging(self, node: str, *, evidence: bool = False) -> Judging:
        """Return the judge of what a node measures; ``evidence`` as for :class:`Judging`."""
        return Judging(self.memories[node], self.weighing, self.now, evidence=evidence)

    def verdicts(self, *, evidence: bool = False, members: bool = False) -> Iterator[Judged]:
        """Yield the verdicts on all components and groups, node by node.

        With ``members`` targets that are driven at once have verdicts of their own beside that of
        the whole.
        """
        for node, measured in self.nodes.items():
            judging = self.judging(node, evidence=evidence)
            alone = [each for each in measured if members or not LAYERS[each.layer].whole]
            for verdict in (*judging.components(alone), *judging.groups(measured)):
                yield Judged(node, self.now, verdict if evidence else verdict._replace(evidence=()))

    def services(self) -> list[Judged]:
        """Return the verdicts that the services of the plan show, those on nodes among them."""
        # no verdict on probes where the plan has no service of them
        on_nodes = any(service.layer == NODE for service in self.plan.services)
        since = os.stat(self.plan.path).st_mtime if on_nodes else 0.0
        judged = list(self.verdicts())
        for name, measured in self.nodes.items() if on_nodes else ():
            if measured:
                node = JudgedNode(self.plan.nodes[name], since, self.now, measured)
                verdict = judge_node(node, self.memories[name])._replace(evidence=())
                judged.append(Judged(name, self.now, verdict))
        return judged


@contextmanager
def judgement(plan: SitePlan, history: Path, now: float) -> Iterator[Judgement]:
    """Read a site for one judgement at ``now``, in seconds since the epoch.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the expectations of a node are damaged.
    """
    with opened(history) as kept, without_collector():
        yield Judgement(plan, kept, now)


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


def judge_day(
    nodes: Mapping[str, Sequence[Expectation]], memory: Memory, weighing: Weighing, now: float
) -> Iterator[Verdict]:
    """Yield the verdicts on all that the nodes of one fleet measure, by one memory of all."""
    for measured in nodes.values():
        judging = Judging(memory, weighing, now, evidence=False)
        yield from judging.components(measured)
        yield from judging.groups(measured)
