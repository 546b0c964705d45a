"""Nodes of a site: what each measures and remembers, and how its services are judged.

A file system whose targets are driven at once is a group that is judged as a whole.
"""

from __future__ import annotations

import gc
import os
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple, Optional

from plumbline.judge.judging import Judging
from plumbline.judge.node import JudgedNode, judge_node
from plumbline.judge.weighing import Weighing
from plumbline.model.errors import StoreError
from plumbline.model.expectation import Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.service import NODE, Service
from plumbline.model.verdict import Judged
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
        self.history = history.path
        self.now = now
        self.nodes = plan.measured()
        self.memories = {
            name: Recent(history, groups_of(measured)).settled()
            for name, measured in self.nodes.items()
        }

    @cached_property
    def weighing(self) -> Weighing:
        """Return the evidence of all runs; who looks at the last run alone does not ask for it."""
        return Weighing(self.nodes, self.memories)

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
