"""Locate suspects of a site, losses of whole groups, and the next measurement.

The judge attributes the loss of a group to the group instead of its members, so its members are no
suspects unless they are also slow compared with their peers.  Changes of conditions may explain the
loss of a group.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.group import by_group
from plumbline.judge.judging import Judging
from plumbline.judge.memory import Memory
from plumbline.judge.phrases import over_runs
from plumbline.judge.weighing import Weighing
from plumbline.model import parts
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation
from plumbline.model.suspects import SlowRun
from plumbline.model.symptom import SiteSymptoms, Symptom
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State
from plumbline.parts.locate.document import document
from plumbline.parts.locate.failures import FailedHost, failed_hosts
from plumbline.parts.locate.next_probe import Candidates, NextProbe, next_probe
from plumbline.parts.locate.observation import Site, Vote
from plumbline.parts.locate.observe import WithEarlier, observe
from plumbline.parts.locate.sentences import listed, ordered, quoted, sentence
from plumbline.parts.locate.suspects import AmbiguitySet, Located, locate
from plumbline.site.nodes import SiteJudgement, judgement
from plumbline.store.facts import collected_symptoms
from plumbline.store.history import History
from plumbline.store.plan import SitePlan

Component = tuple[str, str]
"""Layer and name."""


_LOOK = "Look at what changed for all of them."


class SharedLoss(NamedTuple):
    """Loss of a whole group; ``members`` are names, ``slow`` those that are slow by themselves.

    ``since`` is the start of the first slow run in epoch seconds, ``hosts`` has the hosts of the
    members and the measuring nodes, ``changes`` the date and text of changes there before the loss;
    it is empty if none are known.
    """

    layer: str
    group: str
    sentence: str
    members: frozenset[str]
    slow: frozenset[str]
    since: float = 0.0
    hosts: frozenset[str] = frozenset()
    changes: str = ""

    def after(self, changes: str) -> SharedLoss:
        """Return the loss with the changes before it in its sentence."""
        if not changes:
            return self
        sentence = self.sentence.replace(_LOOK, f"Since {changes}.")
        return self._replace(sentence=sentence, changes=changes)

    def excuses(self, component: Component) -> bool:
        """Return whether a component is a member of the group and not slower than it."""
        layer, name = component
        return layer == self.layer and name in self.members - self.slow

    def to_json(self) -> dict[str, str]:
        """Return the document form."""
        return {"layer": self.layer, "group": self.group, "sentence": self.sentence}


def shared_losses(
    nodes: Mapping[str, Sequence[Expectation]], weighing: Weighing
) -> Iterator[SharedLoss]:
    """Yield the groups in alarm by the evidence of all their runs."""
    for (layer, group), members in by_group(chain.from_iterable(nodes.values())).items():
        evidence = weighing.evidence((layer, group, True))
        if evidence and evidence.alarm:
            names = frozenset(expectation.component for expectation in members)
            slow = (name for name in names if _in_alarm(weighing, (layer, name)))
            text = _sentence(layer, group, evidence)
            hosts = frozenset(expectation.host for expectation in members)
            measuring = (
                node
                for node, measured in nodes.items()
                if not names.isdisjoint(_components(measured, layer))
            )
            yield SharedLoss(
                layer, group, text, names, frozenset(slow), evidence.since, hosts.union(measuring)
            )


def less_shared(
    located: Located, losses: Sequence[SharedLoss]
) -> tuple[Located, tuple[SharedLoss, ...]]:
    """Return the located sets without members of lost groups, and the unexplained losses."""
    explained = [
        (ambiguity_set, _explained(located, ambiguity_set)) for ambiguity_set in located.sets
    ]
    kept = [
        (ambiguity_set, places)
        for ambiguity_set, places in explained
        if not _excused(places, losses)
    ]
    rest = tuple(loss for loss in losses if not any(_is_most(loss, places) for _, places in kept))
    return located._replace(sets=tuple(ambiguity_set for ambiguity_set, _ in kept)), rest


def _components(measured: Sequence[Expectation], layer: str) -> Iterator[str]:
    return (expectation.component for expectation in measured if expectation.layer == layer)


def _in_alarm(weighing: Weighing, component: Component) -> bool:
    evidence = weighing.evidence((*component, False))
    return evidence is not None and evidence.alarm


def _sentence(layer: str, group: str, evidence: Evidence) -> str:
    return (
        f"Shared loss: {layer} group {group} {evidence.what} {over_runs(evidence)}. "
        "No part explains it. "
        f"{_LOOK}"
    )


def _explained(located: Located, ambiguity: AmbiguitySet) -> set[Component]:
    measurables = (located.observations[index].of for index in ambiguity.explains)
    return {(flow.layer, flow.component) for flow in measurables}


def _excused(places: set[Component], losses: Sequence[SharedLoss]) -> bool:
    """Return whether all explained components are as slow as their groups, and not most of one."""
    if any(_is_most(loss, places) for loss in losses):
        return False
    return all(any(loss.excuses(place) for loss in losses) for place in places)


def _is_most(loss: SharedLoss, places: set[Component]) -> bool:
    """Return whether the explained components are more than half of a group."""
    members = {(loss.layer, name) for name in loss.members}
    return 2 * len(places & members) > len(members)


_MAX_BEFORE_S = 30 * DAY_S
"""Longest time before the first slow run in which a change may explain it."""


def with_changes(
    plan: SitePlan, history: Path, losses: Sequence[SharedLoss]
) -> tuple[SharedLoss, ...]:
    """Return shared losses, each with the changes before it on its hosts, as far as known.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    if not losses or not parts.is_installed("facts"):
        return tuple(losses)
    with History(history, existing=True) as site_history:
        good = [site_history.last_before(loss.layer, loss.members, loss.since) for loss in losses]
    spans = [
        (loss.hosts, max(last, loss.since - _MAX_BEFORE_S), loss.since)
        for loss, last in zip(losses, good)
    ]
    texts = parts.load("facts", "contract").changes_between(plan, history, spans)
    return tuple(loss.after(text) for loss, text in zip(losses, texts))


def differing(plan: SitePlan, history: Path, located: Located) -> tuple[Symptom, ...]:
    """Return differences of suspected hosts from their peers, as symptoms, as far as known."""
    nothing: tuple[Symptom, ...] = ()
    names = {suspect.name for ambiguity_set in located.sets for suspect in ambiguity_set.suspects}
    return parts.ask("facts", "differing", nothing, plan, history, names)


def jobs_on_slow_targets(plan: SitePlan, history: Path, slow: Sequence[SlowRun]) -> list[str]:
    """Return a sentence on the jobs of each slow target, as far as known."""
    nothing: list[str] = []
    return parts.ask("facts", "jobs_on_slow_targets", nothing, plan, history, slow)


def stages_of_slow_targets(plan: SitePlan, readings: Sequence[str], located: Located) -> list[str]:
    """Return a sentence on the stages of each slow target, as far as known."""
    nothing: list[str] = []
    slow = located.slow_runs()
    return parts.ask("facts", "stages_of_slow_targets", nothing, plan, readings, slow)


class SiteLocated(NamedTuple):
    """Suspects of a site, the probe that would divide each set, and symptoms of the nodes."""

    located: Located
    probes: Sequence[Optional[NextProbe]]
    symptoms: SiteSymptoms
    failed_hosts: Mapping[str, FailedHost]
    """Servers and nodes that prevent measurements, by name."""
    shared: Sequence[SharedLoss] = ()
    """Losses of whole groups that no part explains."""
    differing: tuple[Symptom, ...] = ()
    """Those symptoms that are differences of suspected hosts from their peers."""

    @property
    def state(self) -> State:
        """Return WARNING if something is slow, UNKNOWN if no measurement can vote."""
        if self.located.sets or self.located.unexplained or self.shared:
            return State.WARNING
        voted = any(observation.vote is not Vote.NONE for observation in self.located.observations)
        return State.OK if voted else State.UNKNOWN

    def remarks(self) -> list[str]:
        """Return remarks on missed measurements and missing symptoms."""
        return [*self.missed(), *left_out(self.symptoms)]

    def missed(self) -> list[str]:
        """Return a sentence on each host that prevents measurements."""
        return [f"Not measured: {host.text}." for host in self.failed_hosts.values()]

    def to_json(self, plan: SitePlan) -> dict[str, Any]:
        """Return the document form, with the kinds of parts from the plan."""
        fields = document(self.located, plan.parts, self.probes)
        fields["remarks"] += self.remarks()
        fields["shared"] = [loss.to_json() for loss in self.shared]
        return fields


def locate_site(
    plan: SitePlan,
    history: Path,
    now: float,
    earlier: Mapping[str, Memory] = MappingProxyType({}),
    *,
    last_run: bool = False,
) -> SiteLocated:
    """Return the suspects of a site, and the probe that would divide each set.

    The evidence of several runs votes; with ``last_run`` only the verdict on the latest run.
    Symptoms order equally likely suspects.  ``earlier`` measurements of nodes do not vote.

    Raises:
        DocumentError: the plan has no parts, or is damaged.
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
    """Return the suspects of a site that is already read; see :func:`locate_site`."""
    plan, nodes, now = site.plan, site.nodes, site.now
    if not plan.parts:
        raise DocumentError(
            f"plan {plan.path} does not say what the parts are; write it again with: "
            "plumbline plan -i INVENTORY --json"
        )
    weighing = None if last_run else site.weighing
    measured = ((node, nodes[node], memory) for node, memory in site.memories.items())
    missed = {host.host: host for host in failed_hosts(measured, now)}
    judging = {
        node: Judging(WithEarlier(memory, earlier[node]), site, now)
        if node in earlier
        else site.judging(node)
        for node, memory in site.memories.items()
    }
    observations = list(observe(Site(nodes).measurables(), judging, weighing))
    losses = tuple(shared_losses(nodes, weighing)) if weighing else ()
    located, shared = less_shared(locate(observations), losses)
    shared = with_changes(plan, site.history, shared)
    symptoms = collected_symptoms(site.history, plan.nodes, float(now))
    differences = differing(plan, site.history, located)
    symptoms = symptoms._replace(symptoms=symptoms.symptoms + differences)
    located = ordered(located, symptoms.symptoms)
    return SiteLocated(located, _probes(located, nodes), symptoms, missed, shared, differences)


def left_out(symptoms: SiteSymptoms) -> list[str]:
    """Return a remark on nodes whose symptoms were left out; empty if there are none."""
    if not symptoms.left_out:
        return []
    return [f"Left out are the symptoms of {listed(symptoms.left_out, ', of ')}."]


def sentences(plan: SitePlan, suspects: SiteLocated) -> list[str]:
    """Return a sentence for each ambiguity set, with the symptoms of its suspects."""
    return [
        sentence(suspects.located, ambiguity_set, plan.parts, probe)
        + quoted(ambiguity_set, plan.parts, suspects.symptoms.symptoms)
        for ambiguity_set, probe in zip(suspects.located.sets, suspects.probes)
    ]


def _probes(
    located: Located, nodes: Mapping[str, Sequence[Expectation]]
) -> list[Optional[NextProbe]]:
    """Return the probe that would divide each ambiguity set, None if there is none."""
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
