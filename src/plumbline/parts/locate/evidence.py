"""Evidence on the suspects of a site, as the report draws it, in a form that can be kept."""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.ages import filled
from plumbline.model.published import parts as pieces
from plumbline.model.service import SitePart
from plumbline.model.suspects import NEXT, Crossing, SlowRun, Suspects, SuspectSet
from plumbline.model.verdict import State
from plumbline.parts.locate.next_probe import NextProbe
from plumbline.parts.locate.observation import Observation, Vote
from plumbline.parts.locate.paths import Site, shown_states
from plumbline.parts.locate.sentences import (
    HEADERS,
    advice,
    remarks,
    rows,
    sentence,
    summary,
    title,
)
from plumbline.parts.locate.site import SiteLocated
from plumbline.parts.locate.suspects import AmbiguitySet, Located
from plumbline.store.plan import SitePlan


class Evidence(NamedTuple):
    """Suspects with their evidence, in which ages may be open, and the slow runs behind them."""

    found: Suspects
    slow_runs: tuple[SlowRun, ...]

    @classmethod
    def of(cls, plan: SitePlan, suspects_of_site: SiteLocated) -> Evidence:
        """Return the evidence on the suspects of a site."""
        located, probes, *_ = suspects_of_site
        states = shown_states(Site.of(plan), located)
        shared = [loss.sentence for loss in suspects_of_site.shared]
        found = suspects(located, probes, states, plan.parts, shared)
        return cls(found, tuple(located.slow_runs()))

    def suspects(self, jobs: Sequence[str], now: float) -> Suspects:
        """Return the suspects with the ages at ``now``, and sentences on jobs."""
        *before, votes = self.found.remarks
        sets = tuple(
            found._replace(
                rows=tuple(
                    tuple(filled(pieces(cell), now) for cell in cells) for cells in found.rows
                )
            )
            for found in self.found.sets
        )
        return self.found._replace(sets=sets, remarks=(*before, *jobs, votes))


def suspects(
    located: Located,
    probes: Sequence[Optional[NextProbe]],
    states: Sequence[State],
    parts: Mapping[str, SitePart],
    beside: Sequence[str] = (),
) -> Suspects:
    """Return what was located, each set with its probe and state, and sentences ``beside`` it."""
    sets = [
        _suspect_set(located, ambiguity, state, parts, probe)
        for ambiguity, state, probe in zip(located.sets, states, probes)
    ]
    texts = (*remarks(located, parts), *beside, summary(located))
    return Suspects(tuple(sets), HEADERS, texts)


def _suspect_set(
    located: Located,
    ambiguity: AmbiguitySet,
    state: State,
    parts: Mapping[str, SitePart],
    probe: Optional[NextProbe],
) -> SuspectSet:
    text = sentence(located, ambiguity, parts, probe)
    slow = [located.observations[index] for index in ambiguity.explains]
    passes = sorted({index for suspect in ambiguity.suspects for index in suspect.passes})
    return SuspectSet(
        ambiguity.alternatives,
        title(ambiguity),
        state,
        text,
        f"{text}{advice(ambiguity, parts)}".partition(NEXT)[2],
        tuple(dict.fromkeys((low.of.layer, low.of.component) for low in slow)),
        tuple(_crossings(slow)),
        tuple(_crossings([located.observations[index] for index in passes])),
        tuple(rows(located, ambiguity)),
    )


def _crossings(observations: Sequence[Observation]) -> Iterator[Crossing]:
    for observation in observations:
        if observation.vote is not Vote.NONE:
            yield Crossing(observation.of.name, observation.ratio)
