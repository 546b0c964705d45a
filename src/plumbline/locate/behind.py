"""What is as slow as a suspect makes it, and yet too uncertain to accuse anybody.

Such a measurement does not vote; an alarm about it is explained all the same.
"""

from __future__ import annotations

from math import exp, inf

from plumbline.locate.observation import Vote
from plumbline.locate.parts import OVERHEAD, reach
from plumbline.model.named_tuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Iterator, Mapping

    from plumbline.locate.observation import Observation
    from plumbline.locate.suspects import AmbiguitySet, Located

    _Left = Mapping[tuple[str, str], tuple[float, bool]]

_TWO_RATES = reach(2)


def behind(located: Located, ambiguity: AmbiguitySet) -> Iterator[int]:
    """Yield the observations that do not vote and that every alternative slows as much (indices).

    What is slower than the suspects make it has another fault beside theirs.
    """
    left = {
        (suspect.name, loss.lane): (loss.left_Bps, bool(suspect.alike))
        for suspect in ambiguity.suspects
        if not suspect.drops
        for loss in suspect.losses
    }
    names = {name for name, _ in left}
    for index, one in enumerate(located.observations):
        if one.vote is not Vote.NONE or not one.measured_Bps or names.isdisjoint(one.of.path):
            continue
        slowing = set(_slowing(one, left))
        if all(not slowing.isdisjoint(alternative) for alternative in ambiguity.alternatives):
            yield index


def _slowing(one: Observation, left: _Left) -> Iterator[str]:
    """Yield the parts that slow an observation to what was measured."""
    highest = one.measured_Bps * exp(_TWO_RATES * one.error) * OVERHEAD
    for name, lanes, flows in one.of.crossings():
        for lane in lanes:
            least, alike = left.get((name, lane), (inf, False))
            if alike and one.of.layer == "net":
                continue
            # who runs beside it takes nothing from a stream that is slowed alike
            if least / (1 if alike else flows) < min(one.of.expected_Bps, highest):
                yield name
