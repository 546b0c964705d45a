"""Suspects that explain the slow measurements of a site, losses of groups, the next measurement.

The judge gives the loss of a group to the group and not to its members, so locating must not name
each of them; a member that is slow beside its peers as well remains a suspect.  Changes of
conditions may explain such a loss.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.group import by_group
from plumbline.judge.memory import Memory
from plumbline.judge.phrases import date_of, over_runs
from plumbline.judge.weighing import Weighing
from plumbline.locate.document import document
from plumbline.locate.failures import CutOff, cut_off
from plumbline.locate.next_probe import Candidates, NextProbe, next_probe
from plumbline.locate.observation import Site, Vote
from plumbline.locate.observe import WithEarlier, observe
from plumbline.locate.sentences import listed, ordered, quoted, sentence
from plumbline.locate.suspects import AmbiguitySet, Located, locate
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation
from plumbline.model.trend import ConditionChange
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State
from plumbline.observe.changes import ChangeGroup, Ledger, differences, grouped, latest, priority
from plumbline.observe.symptom import Direction, SiteSymptoms, Symptom
from plumbline.site.nodes import SiteJudgement, judgement, opened
from plumbline.store.facts import collected_ledgers, collected_symptoms
from plumbline.store.plan import SitePlan

Component = tuple[str, str]
"""Layer and name."""


_LOOK = "Look at what changed for all of them."


class SharedLoss(NamedTuple):
    """The loss of a group as one; ``members`` are names, ``slow`` those that are slow alone too.

    ``since`` is the start of the first slow run in epoch seconds, ``hosts`` are those of the
    members and those that measure them; ``changes`` says what changed there before, a date and
    words, empty where nothing is known to have.
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
        """Return the loss with what changed before it in its sentence, a date and words."""
        if not changes:
            return self
        sentence = self.sentence.replace(_LOOK, f"Since {changes}.")
        return self._replace(sentence=sentence, changes=changes)

    def excuses(self, component: Component) -> bool:
        """Return whether a component is as slow as its group, and no slower."""
        layer, name = component
        return layer == self.layer and name in self.members - self.slow

    def to_json(self) -> dict[str, str]:
        """Return the document form."""
        return {"layer": self.layer, "group": self.group, "sentence": self.sentence}


def shared_losses(
    nodes: Mapping[str, Sequence[Expectation]], known: Weighing
) -> Iterator[SharedLoss]:
    """Yield the groups that have an alarm, by what their runs say together."""
    for (layer, group), members in by_group(chain.from_iterable(nodes.values())).items():
        evidence = known.evidence((layer, group, True))
        if evidence and evidence.alarm:
            names = frozenset(expectation.component for expectation in members)
            slow = (name for name in names if _in_alarm(known, (layer, name)))
            text = _sentence(layer, group, evidence)
            hosts = frozenset(expectation.host for expectation in members)
            measuring = (
                node for node, its in nodes.items() if not names.isdisjoint(_of(its, layer))
            )
            yield SharedLoss(
                layer, group, text, names, frozenset(slow), evidence.since, hosts.union(measuring)
            )


def less_shared(
    located: Located, losses: Sequence[SharedLoss]
) -> tuple[Located, tuple[SharedLoss, ...]]:
    """Return what was located less the members of groups, and the losses that no part explains."""
    explained = [
        (ambiguity_set, _explained(located, ambiguity_set)) for ambiguity_set in located.sets
    ]
    kept = [
        (ambiguity_set, places)
        for ambiguity_set, places in explained
        if not _as_its_group(places, losses)
    ]
    left = tuple(loss for loss in losses if not any(_of_most(loss, places) for _, places in kept))
    return located._replace(sets=tuple(ambiguity_set for ambiguity_set, _ in kept)), left


def _of(measured: Sequence[Expectation], layer: str) -> Iterator[str]:
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
    return {(of.layer, of.component) for of in measurables}


def _as_its_group(places: set[Component], losses: Sequence[SharedLoss]) -> bool:
    """Return whether what a set explains is as slow as its group, and not most of a group."""
    if any(_of_most(loss, places) for loss in losses):
        return False
    return all(any(loss.excuses(place) for loss in losses) for place in places)


def _of_most(loss: SharedLoss, places: set[Component]) -> bool:
    """Return whether what a set explains is most of a group at once."""
    every = {(loss.layer, name) for name in loss.members}
    return 2 * len(places & every) > len(every)


_MOST_NAMED = 4
_PEERS = 24
_WIDE = 0.25
"""Share of the nodes: what changes on fewer is no era of the site."""
_OF_AN_ERA = ("software", "firmware", "lustre")
_LONGEST_S = 30 * DAY_S
"""Before the first slow run, where no run before it is known."""


def with_changes(
    plan: SitePlan, history: Path, losses: Sequence[SharedLoss]
) -> tuple[SharedLoss, ...]:
    """Return shared losses, each with what changed before it on its hosts.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    if not losses:
        return ()
    ledgers, _ = collected_ledgers(history, plan.nodes)
    with opened(history) as kept:
        last = [kept.last_before(loss.layer, loss.members, loss.since) for loss in losses]
    kinds = plan.kinds(ledger.node for ledger in ledgers)
    return tuple(
        loss.after(_said(list(_between(ledgers, loss, good)), kinds))
        for loss, good in zip(losses, last)
    )


def condition_changes(plan: SitePlan, history: Path, since: float) -> list[ConditionChange]:
    """Return the changes on all nodes since a moment, in words, by their dates."""
    ledgers, _ = collected_ledgers(history, plan.nodes)
    kinds = plan.kinds(ledger.node for ledger in ledgers)
    return [
        ConditionChange(
            change.at,
            change.sentence(kinds),
            change.area in _OF_AN_ERA and len(change.nodes) >= _WIDE * len(ledgers),
            frozenset(change.nodes),
        )
        for change in grouped(latest(ledgers, since))
    ]


def differing(plan: SitePlan, history: Path, located: Located) -> tuple[Symptom, ...]:
    """Return what suspected hosts have otherwise than their peers, as symptoms of theirs.

    What several nodes have alike is no sign of one; some peers tell as much as a thousand.
    """
    names = {suspect.name for ambiguity_set in located.sets for suspect in ambiguity_set.suspects}
    kinds = plan.kinds(plan.nodes)
    beside: dict[str, list[str]] = {}
    for host in (name for name in kinds if name in names):
        peers = [name for name, kind in kinds.items() if kind == kinds[host] and name != host]
        beside[host] = [host, *peers[:_PEERS]]
    ledgers, _ = collected_ledgers(history, {name for some in beside.values() for name in some})
    return tuple(
        Symptom("conditions", host, "differs", State.OK, Direction.RAISES, difference.sentence)
        for host, some in beside.items()
        for difference in differences([each for each in ledgers if each.node in some], kinds)
        if difference.nodes == (host,)
    )


def _between(ledgers: Sequence[Ledger], loss: SharedLoss, good: float) -> Iterator[ChangeGroup]:
    """Yield what may have changed after the last good run, at ``good``, and before the loss."""
    begin = max(good, loss.since - _LONGEST_S)
    own = [ledger for ledger in ledgers if ledger.node in loss.hosts]
    yield from grouped(
        (node, change) for node, change in latest(own, begin) if change.before < loss.since
    )


def _said(changes: Sequence[ChangeGroup], kinds: dict[str, str]) -> str:
    """Return e.g. ``2026-11-16: Lustre 2.3.0 -> 2.4.0 on all 24 servers``, the most telling."""
    if not changes:
        return ""
    named = "; ".join(
        change.sentence(kinds) for change in sorted(changes, key=priority)[:_MOST_NAMED]
    )
    more = len(changes) - _MOST_NAMED
    rest = f"; {more} more: plumbline changes" if more > 0 else ""
    return f"{date_of(min(change.at for change in changes))}: {named}{rest}"


class SiteLocated(NamedTuple):
    """The suspects of a site, what would divide each set of them, and what the nodes say."""

    located: Located
    probes: Sequence[Optional[NextProbe]]
    symptoms: SiteSymptoms
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
        return [*self.missed(), *left_out(self.symptoms)]

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
    symptoms = collected_symptoms(site.history, plan.nodes, now)
    symptoms = symptoms._replace(
        symptoms=symptoms.symptoms + differing(plan, site.history, located)
    )
    located = ordered(located, symptoms.symptoms)
    return SiteLocated(located, _probes(located, nodes), symptoms, missed, shared)


def left_out(symptoms: SiteSymptoms) -> list[str]:
    """Return the remark on nodes whose symptoms were left out, nothing where there are none."""
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
