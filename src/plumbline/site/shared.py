"""What a whole group has lost and no part explains: one sentence, and no member is a suspect.

The judge gives such a loss to the group and not to its members, so locating must not name each of
them; a member that is slow beside its peers as well remains a suspect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.judge.phrases import over_runs
from plumbline.layers import GROUPED

if TYPE_CHECKING:
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

    def excuses(self, place: Component) -> bool:
        """Return whether a component is as slow as its group, and no slower."""
        layer, name = place
        return layer == self.layer and name in self.members - self.slow

    def to_json(self) -> dict[str, str]:
        """Return the document form."""
        return {"layer": self.layer, "group": self.group, "sentence": self.sentence}


def shared_losses(
    nodes: Mapping[str, Sequence[Expectation]], known: Weighing
) -> Iterator[SharedLoss]:
    """Yield the groups that have an alarm, by what their runs say together."""
    groups: dict[Component, dict[str, None]] = {}
    for one in (one for found in nodes.values() for one in found if one.layer in GROUPED):
        groups.setdefault((one.layer, one.group), {})[one.component] = None
    for (layer, group), members in groups.items():
        found = known.evidence((layer, group, True))
        if found and found.alarm:
            slow = (name for name in members if _in_alarm(known, (layer, name)))
            text = _sentence(layer, group, found)
            yield SharedLoss(layer, group, text, frozenset(members), frozenset(slow))


def less_shared(
    located: Located, losses: Sequence[SharedLoss]
) -> tuple[Located, tuple[SharedLoss, ...]]:
    """Return what was located less the members of groups, and the losses that no part explains."""
    sets = tuple(one for one in located.sets if not _of_a_group(_explained(located, one), losses))
    explained = [_explained(located, one) for one in sets]
    left = tuple(one for one in losses if not _has_a_part(one, explained))
    return located._replace(sets=sets), left


def _in_alarm(known: Weighing, place: Component) -> bool:
    found = known.evidence((*place, False))
    return found is not None and found.alarm


def _sentence(layer: str, group: str, found: Evidence) -> str:
    return (
        f"Shared loss: {layer} group {group} {found.what} {over_runs(found)}. No part explains it; "
        "look at what changed for all of them."
    )


def _explained(located: Located, one: AmbiguitySet) -> set[Component]:
    found = (located.observations[index].of for index in one.explains)
    return {(of.layer, of.component) for of in found}


def _of_a_group(places: set[Component], losses: Iterable[SharedLoss]) -> bool:
    """Return whether a set explains one component alone, whose group is as slow."""
    return len(places) == 1 and any(one.excuses(place) for place in places for one in losses)


def _has_a_part(loss: SharedLoss, explained: Iterable[set[Component]]) -> bool:
    """Return whether a part explains most of a group at once."""
    every = {(loss.layer, name) for name in loss.members}
    return any(2 * len(found & every) > len(every) for found in explained)
