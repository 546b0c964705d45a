"""The measurement that would divide an ambiguity set best, and what each outcome would mean.

Each alternative says how fast a measurement would be.  Alternatives that say the same stay together
whatever it shows, so the best measurement leaves the fewest in the mean; among equals the one that
disturbs least.  What was measured since the trouble began is not measured again: it has voted, and
all alternatives agree with it.
"""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple, Optional

from plumbline.locate.candidates import Candidate
from plumbline.locate.observation import Measurable, Vote
from plumbline.locate.suspects import AmbiguitySet, Located, Suspect

ALIKE = 0.15
"""Rates that differ by less of the expected one are taken for the same outcome."""


class Outcome(NamedTuple):
    """One thing a measurement may show, as a share of the expected rate, and who is left then."""

    ratio: float
    alternatives: tuple[tuple[str, ...], ...]


class NextProbe(NamedTuple):
    """What to measure next; ``outcomes`` begin with the slowest."""

    candidate: Candidate
    outcomes: tuple[Outcome, ...]


def next_probe(
    located: Located, ambiguity: AmbiguitySet, candidates: Iterable[Candidate]
) -> Optional[NextProbe]:
    """Return what divides the alternatives best, None where nothing does."""
    begun = max(located.observations[index].since for index in ambiguity.explains)
    known = {
        one.of.name for one in located.observations if one.vote is not Vote.NONE and one.at >= begun
    }
    suspects = {suspect.name: suspect for suspect in ambiguity.suspects}
    best: Optional[tuple[tuple[float, int, str], NextProbe]] = None
    for candidate in candidates:
        if candidate.of.name in known:
            continue
        outcomes = _outcomes(candidate.of, ambiguity, suspects)
        remain = sum(len(one.alternatives) ** 2 for one in outcomes) / len(ambiguity.alternatives)
        rank = (remain, int(candidate.intrusion), candidate.of.name)
        if len(outcomes) > 1 and (best is None or rank < best[0]):
            best = rank, NextProbe(candidate, outcomes)
    return best[1] if best else None


def _outcomes(
    measurable: Measurable, ambiguity: AmbiguitySet, suspects: Mapping[str, Suspect]
) -> tuple[Outcome, ...]:
    """Return the alternatives by the rate that they leave, the slowest first."""
    rated = sorted(
        (min(_ratio(measurable, suspects[name]) for name in names), names)
        for names in ambiguity.alternatives
    )
    groups: list[list[tuple[float, tuple[str, ...]]]] = []
    for ratio, names in rated:
        if groups and ratio - groups[-1][0][0] < ALIKE:
            groups[-1].append((ratio, names))
        else:
            groups.append([(ratio, names)])
    return tuple(Outcome(group[0][0], tuple(names for _, names in group)) for group in groups)


def _ratio(measurable: Measurable, suspect: Suspect) -> float:
    """Return the share of the expected rate that a suspect would leave of a measurement."""
    return min(1.0, suspect.leaves(measurable) / measurable.expected_Bps)
