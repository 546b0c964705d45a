"""Suspects of a site, which explain its slow measurements, and the next measurement."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.memory import Memory
from plumbline.judge.weighing import Weighing
from plumbline.locate.document import document
from plumbline.locate.failures import CutOff, cut_off
from plumbline.locate.next_probe import Candidates, NextProbe, next_probe
from plumbline.locate.observation import Observation, Site, Vote
from plumbline.locate.observe import WithEarlier, observe
from plumbline.locate.sentences import listed, ordered, quoted, sentence
from plumbline.locate.suspects import Located, locate
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.verdict import State
from plumbline.observe.symptom import SiteSymptoms
from plumbline.site.changed import SharedLoss, differing, less_shared, shared_losses, with_changes
from plumbline.site.nodes import Memories, opened, without_collector
from plumbline.store.facts import collected_symptoms
from plumbline.store.plan import SitePlan


class SiteLocated(NamedTuple):
    """The suspects of a site, what would divide each set of them, and what the nodes say."""

    located: Located
    probes: Sequence[Optional[NextProbe]]
    said: SiteSymptoms
    cut_off: Mapping[str, CutOff]
    """The servers and nodes that keep targets from being measured, by their names."""
    shared: Sequence[SharedLoss] = ()
    """Losses of whole groups that no part explains."""

    @property
    def state(self) -> State:
        """Return WARNING where something is slow, UNKNOWN where nothing could vote."""
        if self.located.sets or self.located.unexplained or self.shared:
            return State.WARNING
        voted = any(observation.vote is not Vote.NONE for observation in self.located.observations)
        return State.OK if voted else State.UNKNOWN

    def remarks(self) -> list[str]:
        """Return what was not measured, and whose symptoms were left out."""
        return [*self.missed(), *left_out(self.said)]

    def missed(self) -> list[str]:
        """Return what keeps targets from being measured."""
        return [f"Not measured: {host.text}." for host in self.cut_off.values()]

    def to_json(self, plan: SitePlan) -> dict[str, Any]:
        """Return the document form, with what the parts of the plan are."""
        made = document(self.located, plan.parts, self.probes)
        made["remarks"] += self.remarks()
        made["shared"] = [loss.to_json() for loss in self.shared]
        return made


def locate_site(
    plan: SitePlan,
    history: Path,
    now: float,
    earlier: Mapping[str, Memory] = MappingProxyType({}),
    *,
    last_run: bool = False,
) -> SiteLocated:
    """Return what explains the slow measurements of a site, and what would divide each set.

    What votes is the evidence of several runs, with ``last_run`` the verdict on the latest alone;
    symptoms order what is equally likely.  ``earlier`` is what nodes had measured before, which
    does not vote.

    Raises:
        DocumentError: the plan is of an older version, or damaged.
        StoreError: there is no such history, or it cannot be read.
    """
    return locate_remembered(plan, Memories(history), now, earlier, last_run=last_run)


def locate_remembered(
    plan: SitePlan,
    read: Memories,
    now: float,
    earlier: Mapping[str, Memory] = MappingProxyType({}),
    *,
    last_run: bool = False,
) -> SiteLocated:
    """Return the same by what may have been ``read`` already."""
    if not plan.parts:
        raise DocumentError(
            f"plan {plan.path} does not say what the parts are; write it again with: "
            "plumbline plan -i INVENTORY --json"
        )
    nodes = {name: read.measured(node) for name, node in plan.nodes.items()}
    history = read.history
    with without_collector():
        observed = _observations(_Site(plan, read, last_run, earlier), nodes, now)
        located, shared = less_shared(locate(observed.found), observed.losses)
        shared = with_changes(plan, history, shared)
        # a moment that is watched is one for ages alone
        said = collected_symptoms(history, plan.nodes, float(now))
        said = said._replace(symptoms=said.symptoms + differing(plan, history, located))
        located = ordered(located, said.symptoms)
        return SiteLocated(located, _probes(located, nodes), said, observed.cut_off, shared)


def left_out(said: SiteSymptoms) -> list[str]:
    """Return the remark on nodes whose symptoms were left out, nothing where there are none."""
    if not said.left_out:
        return []
    return [f"Left out are the symptoms of {listed(said.left_out, ', of ')}."]


def sentences(plan: SitePlan, found: SiteLocated) -> list[str]:
    """Return a sentence for each ambiguity set, with the symptoms of its suspects."""
    return [
        sentence(found.located, ambiguity_set, plan.parts, probe)
        + quoted(ambiguity_set, plan.parts, found.said.symptoms)
        for ambiguity_set, probe in zip(found.located.sets, found.probes)
    ]


class _Site(NamedTuple):
    """The nodes and what is read of them, what votes, and what was before."""

    plan: SitePlan
    read: Memories
    last_run: bool
    earlier: Mapping[str, Memory]


class _Observed(NamedTuple):
    """Observations of nodes, hosts that keep targets from being measured, and shared losses."""

    found: Sequence[Observation]
    cut_off: Mapping[str, CutOff]
    losses: Sequence[SharedLoss]


def _observations(
    asked: _Site, nodes: Mapping[str, tuple[Expectation, ...]], now: float
) -> _Observed:
    site = Site(nodes)
    observations: list[Observation] = []
    with opened(asked.read.history) as history:
        memories = {
            name: asked.read.of(node, history)[1].settled()
            for name, node in asked.plan.nodes.items()
        }
        weighing = None if asked.last_run else Weighing(nodes, memories)
        every = ((node, nodes[node], memory) for node, memory in memories.items())
        missed = {host.host: host for host in cut_off(every, now)}
        if weighing:
            weighing.take_groups()
        for node, entries in nodes.items():
            memory: Memory = memories.pop(node)
            if node in asked.earlier:
                memory = WithEarlier(memory, asked.earlier[node])
            if weighing:
                weighing.take(expectation.subject for expectation in entries)
            observations += observe(site.of(node), memory, now, weighing)
            _release(node, entries, asked.read, weighing)
        return _Observed(
            observations, missed, tuple(shared_losses(nodes, weighing)) if weighing else ()
        )


def _release(
    node: str, entries: Sequence[Expectation], read: Memories, weighing: Optional[Weighing]
) -> None:
    """Hold no longer what is known of a node: of a large site it is more than all else."""
    read.release(node)
    if weighing:
        weighing.release((expectation.layer, expectation.component) for expectation in entries)


def _probes(
    located: Located, nodes: dict[str, tuple[Expectation, ...]]
) -> list[Optional[NextProbe]]:
    """Return for each ambiguity set what would divide it, None where nothing would."""
    if all(ambiguity.certain for ambiguity in located.sets):
        return [None for _ in located.sets]
    candidates = Candidates(nodes)
    probes: list[Optional[NextProbe]] = []
    for ambiguity_set in located.sets:
        slow = [located.observations[index].of.component for index in ambiguity_set.explains]
        names = [suspect.name for suspect in ambiguity_set.suspects]
        probe = (
            None
            if ambiguity_set.certain
            else next_probe(located, ambiguity_set, candidates.crossing(names, slow))
        )
        probes.append(probe)
    return probes
