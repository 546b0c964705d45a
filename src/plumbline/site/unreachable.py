"""Nodes that do not answer while a fault is looked for: what is not known because of them."""

from __future__ import annotations

from typing import Iterable, Iterator, Mapping, Sequence

from plumbline.layers import PAIRED
from plumbline.locate.failures import fails
from plumbline.locate.investigation import Found
from plumbline.locate.measurables import Nodes
from plumbline.locate.observation import Observation, Vote
from plumbline.locate.sentences import Parts, listed, titled
from plumbline.locate.step import Step
from plumbline.locate.suspects import AmbiguitySet, Located
from plumbline.plan.rounds import Role, turn


class Silence:
    """The nodes that do not answer, beside what the others have measured."""

    def __init__(
        self, nodes: Nodes, silent: Iterable[str], found: Found, outside: Iterable[str] = ()
    ) -> None:
        """Take what each node measures, who is silent, and what was found without them.

        Nobody waits for nodes ``outside`` either, and nothing else is known of them.

        A node that something has crossed without trouble works, though it cannot be logged in to.
        """
        self._nodes = nodes
        self._silent = [name for name in nodes if name in set(silent)]
        self._outside = [name for name in nodes if name in set(outside)]
        self._observations = [one for located in found for one in located.observations]
        crossed = {
            name for one in self._observations if one.vote is Vote.GOOD for name in one.of.path
        }
        self._dead = [name for name in self._silent if name not in crossed]

    def explains(self, located: Located, ambiguity: AmbiguitySet) -> bool:
        """Return whether all that a set explains crosses a silent node and gave no rate at all."""
        return all(self.loses(located.observations[index]) for index in ambiguity.explains)

    def without(self, located: Located) -> Located:
        """Return what was found less the sets that a silent node explains: they accuse nothing."""
        sets = tuple(one for one in located.sets if not self.explains(located, one))
        return located._replace(sets=sets)

    def loses(self, observation: Observation) -> bool:
        """Return whether a measurement gave no rate and crosses a silent node."""
        return _without_rate(observation) and not set(self._dead).isdisjoint(observation.of.path)

    def sentences(self, parts: Parts) -> Iterator[str]:
        """Yield for each silent node what nothing is concluded about, and what that explains.

        The nodes outside have one sentence together.
        """
        for name in self._silent:
            own = [f"{one.layer} {one.component}" for one in self._nodes[name]]
            text = f"Does not answer: {titled(name, parts)}; nothing is concluded about "
            text += f"{listed(own, ', ')}, which it measures."
            lost = [one for one in self._observations if _without_rate(one) and name in one.of.path]
            if name in self._dead and lost:
                many = "measurement that crosses" if len(lost) == 1 else "measurements that cross"
                text += f" That explains {len(lost)} failed {many} it; nothing else is accused."
            yield text
        if outside := [titled(name, parts) for name in self._outside]:
            yield f"Outside of the limit, so not measured on: {listed(outside, ', ')}."

    def idle(self, step: Step) -> dict[str, list[str]]:
        """Return for each slot of a step the nodes that would wait for a partner in vain."""
        hosts = {
            one.component: (name, one.target["hosts"])
            for name, found in self._nodes.items()
            for one in found
            if one.layer in PAIRED
        }
        return {str(slot): list(self._waiting(hosts, slot)) for slot in step.slots}

    def _waiting(self, hosts: Mapping[str, tuple[str, Sequence[str]]], slot: int) -> Iterator[str]:
        unasked = {*self._silent, *self._outside}
        for component, (node, every) in hosts.items():
            met = turn(every, component, slot)
            if met and met.role is Role.INITIATOR and hosts[met.partner][0] in unasked:
                yield node


def _without_rate(observation: Observation) -> bool:
    """Return whether a measurement failed or hung."""
    return observation.vote is Vote.BAD and (fails(observation.of) or not observation.measured_Bps)
