"""What is as slow as a suspect makes it, and yet too uncertain to accuse anybody.

Such a measurement does not vote; an alarm about it is explained all the same.
"""

from __future__ import annotations

from math import exp
from typing import Iterator, Mapping

from plumbline.locate.observation import Observation, Vote
from plumbline.locate.parts import OVERHEAD, reach
from plumbline.locate.suspects import AmbiguitySet, Located, Suspect

_TWO_RATES = reach(2)


def behind(located: Located, ambiguity: AmbiguitySet) -> Iterator[int]:
    """Yield the observations that do not vote and that every alternative slows as much (indices).

    What is slower than the suspects make it has another fault beside theirs.
    """
    slowing = {one.name: one for one in ambiguity.suspects if not one.drops}
    for index, one in enumerate(located.observations):
        if (
            one.vote is not Vote.NONE
            or not one.measured_Bps
            or slowing.keys().isdisjoint(one.of.path)
        ):
            continue
        found = set(_slowing(one, slowing))
        if all(not found.isdisjoint(alternative) for alternative in ambiguity.alternatives):
            yield index


def _slowing(observation: Observation, suspects: Mapping[str, Suspect]) -> Iterator[str]:
    """Yield the parts that slow an observation to what was measured."""
    highest = observation.measured_Bps * exp(_TWO_RATES * observation.error) * OVERHEAD
    for name in observation.of.path:
        if name in suspects and suspects[name].leaves(observation.of) < min(
            observation.of.expected_Bps, highest
        ):
            yield name
