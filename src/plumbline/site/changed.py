"""Losses of whole groups and changes of conditions that may explain them.

The judge gives such a loss to the group and not to its members, so locating must not name each of
them; a member that is slow beside its peers as well remains a suspect.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.judge.group import by_group
from plumbline.judge.phrases import date_of, over_runs
from plumbline.judge.weighing import Weighing
from plumbline.locate.suspects import AmbiguitySet, Located
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation
from plumbline.model.trend import ConditionChange
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State
from plumbline.observe.changes import ChangeGroup, Ledger, differences, grouped, latest, telling
from plumbline.observe.symptom import Direction, Symptom
from plumbline.site.nodes import opened
from plumbline.store.facts import collected_ledgers
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
        told = self.sentence.replace(_LOOK, f"Since {changes}.")
        return self._replace(sentence=told, changes=changes)

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
"""Of the nodes: what changes on fewer is no era of the site."""
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
        change.sentence(kinds) for change in sorted(changes, key=telling)[:_MOST_NAMED]
    )
    more = len(changes) - _MOST_NAMED
    rest = f"; {more} more: plumbline changes" if more > 0 else ""
    return f"{date_of(min(change.at for change in changes))}: {named}{rest}"
