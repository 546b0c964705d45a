"""Judgement of a node or a whole site: expectations and records of each node, and verdicts.

A file system whose targets are driven at once is a group judged as a whole.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.component import Detail
from plumbline.judge.explain import explain
from plumbline.judge.judging import Basis, Judging
from plumbline.judge.memory import EvidenceSource, Memory
from plumbline.judge.node import JudgedNode, judge_node
from plumbline.judge.phrases import weighed
from plumbline.judge.weighing import Weighing
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.names import several
from plumbline.model.series import Snapshot
from plumbline.model.service import NODE, Service
from plumbline.model.verdict import Judged, Verdict
from plumbline.store.history import History
from plumbline.store.plan import SitePlan, without_collector
from plumbline.store.recent import Recent, groups_of


class Choice(NamedTuple):
    """Choice of a layer and a component; None chooses all."""

    layer: Optional[str] = None
    component: Optional[str] = None

    def __str__(self) -> str:
        """Return the choice as text, for a document without it."""
        return f"{self.component or 'component'} in layer {self.layer or ', '.join(LAYERS)}"

    def filter(self, measured: Iterable[Expectation]) -> list[Expectation]:
        """Return the chosen expectations."""
        return [
            entry
            for entry in measured
            if self.layer in (None, entry.layer) and self.component in (None, entry.component)
        ]


_ALL = Choice()


class Judgement(ABC):
    """Nodes at one time: their expectations and records, and the evidence of all runs."""

    name: str
    """Name of the node or site."""
    source: str
    """Name of the document of expectations, for messages."""
    memories: Mapping[str, Memory]
    left_out: list[str]
    """One sentence for each damaged layer of a node that was left out."""

    def __init__(
        self, documents: Mapping[str, Expectations], now: float, layer: Optional[str] = None
    ) -> None:
        """Take the expectations of nodes.

        With ``layer``, another layer with a damaged expectation is left out.

        Raises:
            DocumentError: one is damaged, of ``layer`` if that is given.
        """
        self.now = now
        self.documents = documents
        self.left_out = []
        self._judging: dict[tuple[str, bool, Basis], Judging] = {}
        self.nodes = {
            node: tuple(
                entry
                for name in document.layers()
                for entry in self._readable(document, name, layer)
            )
            for node, document in documents.items()
        }

    def _readable(
        self, document: Expectations, name: str, layer: Optional[str]
    ) -> tuple[Expectation, ...]:
        try:
            return document.find(name)
        except DocumentError as error:
            if layer in (None, name):
                raise
            self.left_out.append(str(error))
            return ()

    @property
    @abstractmethod
    def evidence_source(self) -> EvidenceSource:
        """Return the evidence of all runs."""

    def judging(self, node: str, *, evidence: bool = False, basis: Basis = Basis.RUNS) -> Judging:
        """Return the judge of a node's components, with or without ``evidence`` in words."""
        key = node, evidence, basis
        if key not in self._judging:
            detail = Detail.EVIDENCE if evidence else Detail.SENTENCE
            judging = Judging(self.memories[node], self, self.now, detail=detail, basis=basis)
            self._judging[key] = judging.among(self.nodes[node])
        return self._judging[key]

    def forget_judges(self) -> None:
        """End the judges of all nodes; they would be made again."""
        self._judging.clear()

    def evidence(self, subject: Subject) -> Optional[Evidence]:
        """Return the evidence on a component or group, None if there is none."""
        return self.evidence_source.evidence(subject)

    def verdicts(
        self,
        choice: Choice = _ALL,
        *,
        evidence: bool = False,
        members: bool = False,
        basis: Basis = Basis.RUNS,
    ) -> Iterator[Judged]:
        """Yield the verdicts on components and groups, node by node; no groups for one component.

        With ``members``, targets driven at once have verdicts besides that on the whole; a chosen
        target always has one.
        """
        members = members or choice.component is not None
        for node, measured in self.nodes.items():
            chosen = choice.filter(measured)
            judging = self.judging(node, evidence=evidence, basis=basis)
            single = [entry for entry in chosen if members or not LAYERS[entry.layer].whole]
            groups = () if choice.component else judging.groups(chosen)
            for verdict in (*judging.components(single), *groups):
                shown = evidence or not verdict.evidence
                yield Judged(node, self.now, verdict if shown else verdict._replace(evidence=()))

    def probes(self, node: str, since: float) -> Optional[Verdict]:
        """Return the verdict on the probes expected of a node since ``since``; None without any."""
        measured = self.nodes[node]
        judged = JudgedNode(node, measured, since, self.now)
        return judge_node(judged, self.memories[node]) if measured else None

    def explained(self, choice: Choice) -> Iterator[tuple[Verdict, Sequence[str]]]:
        """Yield the chosen verdicts, each with lines that explain the rules applied."""
        for node, measured in self.nodes.items():
            chosen, memory = choice.filter(measured), self.memories[node]
            verdicts = self.judging(node, evidence=True).components(chosen)
            for entry, verdict in zip(chosen, verdicts):
                lines = explain(entry, memory.of(entry.layer, entry.component), self.now)
                odds = weighed(self.evidence_source.evidence(entry.subject))
                yield verdict, (*odds, *lines)

    def nothing_of(self, choice: Choice) -> DocumentError:
        """Return the error for a choice that no node measures."""
        # slow to import, and most names are right
        from difflib import get_close_matches

        measured = choice._replace(component=None).filter(chain(*self.nodes.values()))
        names = [*dict.fromkeys(entry.component for entry in measured)]
        near = [name for name in names if name.endswith(f":{choice.component}")]
        near = near or get_close_matches(choice.component or "", names)
        hint = f": it has {several(near or names)}" if names else ""
        return DocumentError(
            f"{self.source} has no {choice}; correct the name{hint}, or add it to the topology, "
            "plan and deploy it again"
        )


class NodeJudgement(Judgement):
    """A node, from its expectations and snapshot."""

    def __init__(
        self,
        expectations: Expectations,
        snapshot: Snapshot,
        now: float,
        layer: Optional[str] = None,
    ) -> None:
        """Take the documents, as :class:`Judgement` does."""
        super().__init__({expectations.node: expectations}, now, layer)
        self.name = expectations.node
        self.source = f"the deployed plan of {self.name}"
        self.memories = {self.name: snapshot}
        self._snapshot = snapshot

    @property
    def evidence_source(self) -> EvidenceSource:
        """Return the evidence of the last runs from the snapshot."""
        return self._snapshot


class SiteJudgement(Judgement):
    """All nodes of a plan, weighed together from an open history."""

    def __init__(
        self, plan: SitePlan, history: History, now: float, layer: Optional[str] = None
    ) -> None:
        """Read the last runs of all nodes; see :func:`judgement`."""
        super().__init__(plan.nodes, now, layer)
        self.name, self.source = plan.site, f"plan {plan.path}"
        self.plan = plan
        self.history = history.path
        self.recent = {
            name: Recent(history, groups_of(measured)).without_sources()
            for name, measured in self.nodes.items()
        }
        self.memories = self.recent

    @cached_property
    def weighing(self) -> Weighing:
        """Return the evidence of all runs, computed only if needed."""
        return Weighing(self.nodes, self.recent)

    @property
    def evidence_source(self) -> EvidenceSource:
        """Return the evidence of all runs."""
        return self.weighing

    def services(self) -> list[Judged]:
        """Return the verdicts for the services of the plan, including those on nodes."""
        # no verdicts on probes if the plan has no service for them
        on_nodes = any(service.layer == NODE for service in self.plan.services)
        since = os.stat(self.plan.path).st_mtime if on_nodes else 0.0
        probes = ((name, self.probes(name, since)) for name in self.nodes if on_nodes)
        judged = [
            Judged(name, self.now, verdict._replace(evidence=()))
            for name, verdict in probes
            if verdict
        ]
        return [*self.verdicts(), *judged]


def plan_of_node(document: Expectations) -> SitePlan:
    """Return the plan of a site with one node."""
    return SitePlan({document.node: document}, ())


@contextmanager
def judgement(
    plan: SitePlan, history: Path, now: float, layer: Optional[str] = None
) -> Iterator[SiteJudgement]:
    """Read a site for one judgement, of one layer or all, at ``now`` in seconds since the epoch.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the expectations of a node are damaged, of ``layer`` if that is given.
    """
    with History(history, existing=True) as kept, without_collector():
        site = SiteJudgement(plan, kept, now, layer)
        yield site
        # each judge knows the site: without a collector all would stay in memory
        site.forget_judges()


def in_alarm(judged: Iterable[Judged], services: Iterable[Service]) -> set[int]:
    """Return the indices of the services whose verdict is WARNING or CRITICAL."""
    directory = Directory(services)
    places = {service: place for place, service in enumerate(directory.services)}
    alarms = (directory.find(verdict) for verdict in judged if verdict.verdict.state.alarm)
    return {places[service] for service in alarms if service}


class Directory:
    """Services of a plan, found by verdict."""

    def __init__(self, services: Iterable[Service]) -> None:
        """Take the services of a plan."""
        self.services = tuple(services)
        self._by_subject = {
            (entry.node, entry.layer, entry.component or entry.group, bool(entry.group)): entry
            for entry in self.services
        }

    def find(self, judged: Judged) -> Optional[Service]:
        """Return the service of a verdict; None if the plan has none."""
        verdict = judged.verdict
        return self._by_subject.get((judged.node, verdict.layer, verdict.component, verdict.group))
