"""Suspects as a document for programs; docs/locating.md describes its shape.

An uncertain measurement does not vote; an alarm about it is explained all the same.
"""

from __future__ import annotations

from itertools import chain
from math import exp
from typing import Any, Iterator, Mapping, Optional, Sequence

from plumbline.parts.locate.failures import FAILURES, fails, failure_sentence
from plumbline.parts.locate.next_probe import NextProbe
from plumbline.parts.locate.observation import SEGMENTS, Observation, Vote
from plumbline.parts.locate.parts import OVERHEAD, reach
from plumbline.parts.locate.sentences import Parts, remarks, sentence
from plumbline.parts.locate.suspects import AmbiguitySet, Located, Loss, Suspect

_TWO_RATES = reach(2)


def silent(located: Located, ambiguity: AmbiguitySet) -> Iterator[int]:
    """Yield the observations that do not vote and that every alternative slows as much (indices).

    A measurement slower than its suspects allow has a further fault.
    """
    slowing = {suspect.name: suspect for suspect in ambiguity.suspects if not suspect.drops}
    for index, observation in enumerate(located.observations):
        if (
            observation.vote is not Vote.NONE
            or not observation.measured
            or slowing.keys().isdisjoint(observation.of.path)
        ):
            continue
        slowed = set(_slowing(observation, slowing))
        if all(not slowed.isdisjoint(alternative) for alternative in ambiguity.alternatives):
            yield index


def _slowing(observation: Observation, suspects: Mapping[str, Suspect]) -> Iterator[str]:
    """Yield the parts that slow an observation to the measured rate."""
    highest = observation.measured * exp(_TWO_RATES * observation.error) * OVERHEAD
    for name in observation.of.path:
        if name in suspects and suspects[name].leaves(observation.of) < min(
            observation.of.expected, highest
        ):
            yield name


SCHEMA = 1


def explanations(located: Located) -> dict[tuple[str, str], AmbiguitySet]:
    """Return for each slow component, by layer and name, the ambiguity set that explains it.

    If several do, the one that explains most: its alarm becomes a note, the others remain.
    Measurements that do not vote and are as slow as a suspect makes them are explained as well.
    """
    sets: dict[tuple[str, str], AmbiguitySet] = {}
    largest_first = sorted(located.sets, key=lambda ambiguity: -len(ambiguity.explains))
    voting = ((ambiguity, index) for ambiguity in largest_first for index in ambiguity.explains)
    non_voting = (
        (ambiguity, index) for ambiguity in largest_first for index in silent(located, ambiguity)
    )
    for ambiguity, index in chain(voting, non_voting):
        sets.setdefault(_place(located, index), ambiguity)
    return sets


def explained_by(located: Located, ambiguity: AmbiguitySet) -> dict[tuple[str, str], None]:
    """Return the components that an ambiguity set explains, including those that do not vote."""
    return {
        _place(located, index): None for index in (*ambiguity.explains, *silent(located, ambiguity))
    }


def _place(located: Located, index: int) -> tuple[str, str]:
    test = located.observations[index].of
    return test.layer, test.component


def document(
    located: Located, parts: Parts, probes: Sequence[Optional[NextProbe]]
) -> dict[str, Any]:
    """Return the document; ``probes`` are those of the ambiguity sets, in their order."""
    numbers = {id(ambiguity): number for number, ambiguity in enumerate(located.sets)}
    votes = [observation.vote for observation in located.observations]
    return {
        "schema": SCHEMA,
        "complete": located.complete,
        "votes": {vote.value: votes.count(vote) for vote in Vote},
        "sets": [
            _set(
                located, ambiguity_set, parts, sentence(located, ambiguity_set, parts, probe), probe
            )
            for ambiguity_set, probe in zip(located.sets, probes)
        ],
        "unexplained": [_measured(located.observations[index]) for index in located.unexplained],
        "remarks": list(remarks(located, parts)),
        "explained": [
            {"layer": layer, "component": name, "set": numbers[id(ambiguity)]}
            for (layer, name), ambiguity in explanations(located).items()
        ],
    }


def failed_sets(located: Located, parts: Parts) -> list[dict[str, Any]]:
    """Return the explanations of failures, in the form of the sets of the document."""
    return [
        _set(located, ambiguity_set, parts, failure_sentence(located, ambiguity_set, parts))
        for ambiguity_set in located.sets
    ]


def _set(
    located: Located,
    ambiguity: AmbiguitySet,
    parts: Parts,
    text: str,
    probe: Optional[NextProbe] = None,
) -> dict[str, Any]:
    return {
        "sentence": text,
        "certain": ambiguity.certain,
        "alternatives": [list(alternative) for alternative in ambiguity.alternatives],
        "suspects": [_suspect(located, suspect, parts) for suspect in ambiguity.suspects],
        "slow": [_measured(located.observations[index]) for index in ambiguity.explains],
        "next": _next(probe) if probe else None,
    }


def _suspect(located: Located, suspect: Suspect, parts: Parts) -> dict[str, Any]:
    part = parts.get(suspect.name)
    return {
        "component": suspect.name,
        "kind": part.kind if part else None,
        "losses": [_loss(loss) for loss in suspect.losses],
        "explains": [located.observations[index].of.name for index in suspect.explains],
        "not_slowed": [located.observations[index].of.name for index in suspect.passes],
        "alike": list(suspect.alike),
    }


def _loss(loss: Loss) -> dict[str, Any]:
    rate = not loss.lane.startswith((SEGMENTS, FAILURES))
    return {
        "lane": loss.lane,
        "left_Bps": loss.left_Bps if rate else None,
        "needed_Bps": loss.needed_Bps if rate else None,
    }


def _measured(observation: Observation) -> Mapping[str, Any]:
    rate = observation.of.is_rate and not fails(observation.of)
    return {
        "name": observation.of.name,
        "layer": observation.of.layer,
        "component": observation.of.component,
        "operation": observation.of.operation,
        "measured_Bps": observation.measured if rate else None,
        "expected_Bps": observation.of.expected if rate else None,
        "error": observation.error if rate else None,
        "path": list(observation.of.path),
        "reason": observation.reason,
    }


def _next(probe: NextProbe) -> dict[str, Any]:
    test = probe.candidate.of
    return {
        "words": probe.candidate.words,
        "kind": probe.candidate.intrusion.name.lower(),
        "node": test.node,
        "layer": test.layer,
        "component": test.component,
        "operation": test.operation,
        "outcomes": [
            {
                "ratio": outcome.ratio,
                "alternatives": [list(names) for names in outcome.alternatives],
            }
            for outcome in probe.outcomes
        ],
    }
