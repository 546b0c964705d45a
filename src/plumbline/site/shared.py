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


class SharedLoss(NamedTuple):
    """The loss of a group as one; ``members`` are names, ``slow`` those that are slow alone too."""

    layer: str
    group: str
    sentence: str
    members: frozenset[str]
    slow: frozenset[str]

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
            yield SharedLoss(layer, group, text, names, frozenset(slow))


def less_shared(
    located: Located, losses: Sequence[SharedLoss]
) -> tuple[Located, tuple[SharedLoss, ...]]:
    """Return what was located less the members of groups, and the losses that no part explains."""
    explained = [(one, _explained(located, one)) for one in located.sets]
    kept = [(one, places) for one, places in explained if not _as_its_group(places, losses)]
    left = tuple(one for one in losses if not any(_of_most(one, places) for _, places in kept))
    return located._replace(sets=tuple(one for one, _ in kept)), left


def _in_alarm(known: Weighing, component: Component) -> bool:
    found = known.evidence((*component, False))
    return found is not None and found.alarm


def _sentence(layer: str, group: str, found: Evidence) -> str:
    return (
        f"Shared loss: {layer} group {group} {found.what} {over_runs(found)}. No part explains it; "
        "look at what changed for all of them."
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
