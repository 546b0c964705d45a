"""Suspects of a site, which explain its slow measurements, and the next measurement."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.memory import Memory
from plumbline.locate.document import document
from plumbline.locate.failures import CutOff, cut_off
from plumbline.locate.next_probe import Candidates, NextProbe, next_probe
from plumbline.locate.observation import Site, Vote
from plumbline.locate.observe import WithEarlier, observe
from plumbline.locate.sentences import listed, ordered, quoted, sentence
from plumbline.locate.suspects import Located, locate
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.verdict import State
from plumbline.observe.symptom import SiteSymptoms
from plumbline.site.changed import SharedLoss, differing, less_shared, shared_losses, with_changes
from plumbline.site.nodes import SiteJudgement, judgement
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
        DocumentError: the plan does not say what the parts are, or is damaged.
        StoreError: there is no such history, or it cannot be read.
    """
    with judgement(plan, history, now) as site:
        return locate_in(site, earlier, last_run=last_run)


def locate_in(
    site: SiteJudgement,
    earlier: Mapping[str, Memory] = MappingProxyType({}),
    *,
    last_run: bool = False,
) -> SiteLocated:
    """Return the same of a site that is read already."""
    plan, nodes, now = site.plan, site.nodes, site.now
    if not plan.parts:
        raise DocumentError(
            f"plan {plan.path} does not say what the parts are; write it again with: "
            "plumbline plan -i INVENTORY --json"
        )
    weighing = None if last_run else site.weighing
    every = ((node, nodes[node], memory) for node, memory in site.memories.items())
    missed = {host.host: host for host in cut_off(every, now)}
    memories = {
        node: WithEarlier(memory, earlier[node]) if node in earlier else memory
        for node, memory in site.memories.items()
    }
    observations = list(observe(Site(nodes).measurables(), memories, now, weighing))
    losses = tuple(shared_losses(nodes, weighing)) if weighing else ()
    located, shared = less_shared(locate(observations), losses)
    shared = with_changes(plan, site.history, shared)
    said = collected_symptoms(site.history, plan.nodes, now)
    said = said._replace(symptoms=said.symptoms + differing(plan, site.history, located))
    located = ordered(located, said.symptoms)
    return SiteLocated(located, _probes(located, nodes), said, missed, shared)


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


def _probes(
    located: Located, nodes: Mapping[str, Sequence[Expectation]]
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
