"""Simulated tests of pairs, slot by slot: hosts by TCP, adapters by verbs."""

from __future__ import annotations

from math import ceil, exp
from typing import Callable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.layers import LAYERS
from plumbline.model.rounds import cycle, pairs_in
from plumbline.model.units import DAY_S
from plumbline.parts.simulate.days import slots
from plumbline.parts.simulate.fleet import REACHED, Fleet, Flow
from plumbline.parts.simulate.memory import Rate


class Rounds(NamedTuple):
    """The tests of one layer.

    ``flows`` are those of each component, by name.  Components meet only within one of the
    ``circles``: the hosts of a network, or the adapters of a rail there.  Slots follow each other
    after ``slot_s`` seconds, and the tests of a slot begin ``after_s`` seconds after it.
    """

    layer: str
    flows: Mapping[str, Sequence[Flow]]
    circles: Sequence[tuple[str, ...]]
    slot_s: float
    after_s: float

    @property
    def days(self) -> int:
        """Return the number of days until all pairs have met."""
        return ceil(max(cycle(len(circle)) for circle in self.circles) * self.slot_s / DAY_S)

    def day(
        self, number: int, rates_Bps: Mapping[Flow, float], loss: Callable[[str], float]
    ) -> Iterator[tuple[Flow, Rate]]:
        """Yield the tests of a day, the first of which is 1.

        ``rates_Bps`` are the rates of the flows without noise, in bytes per second; ``loss`` gives
        the loss of a test of a layer, a logarithm.
        """
        for slot in slots(number, self.slot_s):
            for circle in self.circles:
                for name, partner in pairs_in(circle, slot):
                    for flow in self.flows[name]:
                        if flow.partner == partner:
                            most_Bps = rates_Bps[flow]
                            rate = min(most_Bps, REACHED * most_Bps * exp(-loss(self.layer)))
                            yield flow, Rate(slot * self.slot_s + self.after_s, rate, (rate,), None)


def rounds_of(fleet: Fleet) -> Iterator[Rounds]:
    """Yield the rounds of each layer that is measured in pairs."""
    for name in (layer.name for layer in LAYERS.values() if layer.paired):
        members = [member for member in fleet.members if member.key[0] == name]
        if members:
            yield Rounds(
                name,
                {member.key[1]: tuple(member.flows()) for member in members},
                sorted({tuple(sorted(member.expectation.target["hosts"])) for member in members}),
                fleet.periods_s[name],
                fleet.after_s.get(name, 0.0),
            )
