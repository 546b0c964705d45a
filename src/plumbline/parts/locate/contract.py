"""Contract of the part locate with the core and other parts; see ``docs/parts.md``."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, Mapping, Optional, Sequence

from plumbline.judge.judging import Judging
from plumbline.judge.weighing import Weighing
from plumbline.model.service import PathService, Service, SitePart
from plumbline.model.suspects import NEXT, Crossing, Named, Suspects, SuspectSet
from plumbline.model.verdict import State
from plumbline.parts.locate.document import explanations
from plumbline.parts.locate.next_probe import NextProbe
from plumbline.parts.locate.observation import Nodes, Observation, Site, Vote
from plumbline.parts.locate.observe import observe
from plumbline.parts.locate.paths import Site as PathSite
from plumbline.parts.locate.paths import shown_states
from plumbline.parts.locate.publish import DailySuspects, noted
from plumbline.parts.locate.sentences import (
    HEADERS,
    advice,
    remarks,
    rows,
    sentence,
    summary,
    title,
)
from plumbline.parts.locate.site import jobs_on_slow_targets, locate_site
from plumbline.parts.locate.suspects import AmbiguitySet, Located, locate
from plumbline.store.plan import SitePlan

__all__ = ["daily_suspects", "named", "noted", "site_suspects", "suspects"]


def daily_suspects(
    paths: Sequence[PathService], services: Sequence[Service], parts: Mapping[str, SitePart]
) -> DailySuspects:
    """Return who finds the path services of a site in alarm, day after day."""
    return DailySuspects(PathSite(paths, services, parts))


def site_suspects(plan: SitePlan, history: Path, now: float) -> Suspects:
    """Return the suspects of a site at ``now``, in seconds since the epoch.

    Raises:
        DocumentError: the plan or a record is damaged.
        StoreError: there is no such history, or it cannot be read.
    """
    if not plan.parts:
        unknown = (
            "the plan is of an older version and does not say what the parts are; write it again "
            "with plumbline plan --json"
        )
        return Suspects(unknown=unknown)
    found = locate_site(plan, history, now)
    states = shown_states(PathSite.of(plan), found.located)
    shared = [loss.sentence for loss in found.shared]
    jobs = jobs_on_slow_targets(plan, history, found.located)
    return suspects(found.located, found.probes, states, plan.parts, [*shared, *jobs])


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
    return Suspects(sets, HEADERS, [*remarks(located, parts), *beside, summary(located)])


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
        list(dict.fromkeys((low.of.layer, low.of.component) for low in slow)),
        list(_crossings(slow)),
        list(_crossings([located.observations[index] for index in passes])),
        list(rows(located, ambiguity)),
    )


def _crossings(observations: Sequence[Observation]) -> Iterator[Crossing]:
    for observation in observations:
        if observation.vote is not Vote.NONE:
            yield Crossing(observation.of.name, observation.ratio)


def named(nodes: Nodes, judging: Judging, weighing: Weighing) -> Named:
    """Return what is named by the runs of some nodes, all judged at one time."""
    votes = observe(Site(nodes).measurables(), dict.fromkeys(nodes, judging), weighing)
    located = locate(list(votes))
    return Named(
        tuple(ambiguity.alternatives for ambiguity in located.sets),
        frozenset(explanations(located)),
        tuple(located.observations[index].of.name for index in located.unexplained),
    )
