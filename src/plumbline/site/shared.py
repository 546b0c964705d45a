"""What a whole group has lost and no part explains: one sentence, and no member is a suspect.

The judge gives such a loss to the group and not to its members, so locating must not name each of
them; a member that is slow beside its peers as well remains a suspect.
"""

from __future__ import annotations

from itertools import chain
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.judge.group import by_group
from plumbline.judge.phrases import over_runs
from plumbline.judge.weighing import Weighing
from plumbline.locate.suspects import AmbiguitySet, Located
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation

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
        found = known.evidence((layer, group, True))
        if found and found.alarm:
            names = frozenset(one.component for one in members)
            slow = (name for name in names if _in_alarm(known, (layer, name)))
            text = _sentence(layer, group, found)
            hosts = frozenset(one.host for one in members)
            measuring = (
                node for node, its in nodes.items() if not names.isdisjoint(_of(its, layer))
            )
            yield SharedLoss(
                layer, group, text, names, frozenset(slow), found.since, hosts.union(measuring)
            )


def less_shared(
    located: Located, losses: Sequence[SharedLoss]
) -> tuple[Located, tuple[SharedLoss, ...]]:
    """Return what was located less the members of groups, and the losses that no part explains."""
    explained = [(one, _explained(located, one)) for one in located.sets]
    kept = [(one, places) for one, places in explained if not _as_its_group(places, losses)]
    left = tuple(one for one in losses if not any(_of_most(one, places) for _, places in kept))
    return located._replace(sets=tuple(one for one, _ in kept)), left


def _of(measured: Sequence[Expectation], layer: str) -> Iterator[str]:
    return (one.component for one in measured if one.layer == layer)


def _in_alarm(known: Weighing, component: Component) -> bool:
    found = known.evidence((*component, False))
    return found is not None and found.alarm


def _sentence(layer: str, group: str, found: Evidence) -> str:
    return (
        f"Shared loss: {layer} group {group} {found.what} {over_runs(found)}. No part explains it. "
        f"{_LOOK}"
    )


def _explained(located: Located, ambiguity: AmbiguitySet) -> set[Component]:
    found = (located.observations[index].of for index in ambiguity.explains)
    return {(of.layer, of.component) for of in found}


def _as_its_group(places: set[Component], losses: Sequence[SharedLoss]) -> bool:
    """Return whether what a set explains is as slow as its group, and not most of a group."""
    if any(_of_most(one, places) for one in losses):
        return False
    return all(any(one.excuses(place) for one in losses) for place in places)


def _of_most(loss: SharedLoss, places: set[Component]) -> bool:
    """Return whether what a set explains is most of a group at once."""
    every = {(loss.layer, name) for name in loss.members}
    return 2 * len(places & every) > len(every)
