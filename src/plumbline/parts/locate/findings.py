"""Findings on a site that the path services need, small enough to be kept.

Of the observations only those matter that a suspect may explain; of all others the number that
crosses each path service.  The standing alarms and the symptoms are those of the moment at which
suspects are published.
"""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple, Sequence

from plumbline.model.ages import filled
from plumbline.model.codec import form, lenient
from plumbline.model.published import parts as pieces
from plumbline.model.service import KeptService, PathService, SitePart
from plumbline.model.symptom import SiteSymptoms, Symptom
from plumbline.model.verdict import Judged
from plumbline.parts.locate.failures import FailedHost
from plumbline.parts.locate.observation import Observation, Vote
from plumbline.parts.locate.paths import Site, Votes, path_votes
from plumbline.parts.locate.sentences import quoted, sentence
from plumbline.parts.locate.site import SharedLoss, SiteLocated
from plumbline.parts.locate.suspects import AmbiguitySet, Located, Suspect
from plumbline.site.nodes import SiteJudgement, in_alarm


class _Loss(NamedTuple):
    """A :class:`SharedLoss` without what only the search for changes needs."""

    layer: str
    group: str
    sentence: str
    members: tuple[str, ...]


@lenient
@form(2, "list of suspects", "the next plumbline publish writes it again")
class Findings(NamedTuple):
    """Suspects of the ``nodes`` of a site with their sentences, less symptoms.

    ``votes`` are those of the measurements that cross each path service; ``differing`` are
    differences between hosts, as symptoms; ``alarms`` are the indices of services in alarm.
    """

    nodes: tuple[str, ...]
    paths: tuple[PathService, ...]
    services: tuple[KeptService, ...]
    parts: Mapping[str, SitePart]
    located: Located
    sentences: tuple[str, ...]
    votes: tuple[Votes, ...]
    failed_hosts: tuple[FailedHost, ...]
    losses: tuple[_Loss, ...]
    differing: tuple[Symptom, ...]
    alarms: tuple[int, ...]

    @classmethod
    def of(cls, site: SiteJudgement, suspects: SiteLocated, judged: Iterable[Judged]) -> Findings:
        """Return the findings on a site that is judged."""
        plan, located = site.plan, suspects.located
        named = {suspect.name for cause in located.sets for suspect in cause.suspects}
        return cls(
            tuple(plan.nodes),
            plan.paths,
            tuple(map(KeptService._make, plan.services)),
            {name: part for name, part in plan.parts.items() if name in named},
            reduced(located),
            tuple(
                sentence(located, cause, plan.parts, probe)
                for cause, probe in zip(located.sets, suspects.probes)
            ),
            tuple(path_votes(Site.of(plan), located)),
            tuple(suspects.failed_hosts.values()),
            tuple(_Loss(*loss[:3], tuple(sorted(loss.members))) for loss in suspects.shared),
            suspects.differing,
            tuple(sorted(in_alarm(judged, plan.services))),
        )

    @property
    def site(self) -> Site:
        """Return the part of the plan; of its parts only the suspects."""
        return Site(self.paths, self.services, self.parts)

    def suspects(self, symptoms: SiteSymptoms, now: float) -> SiteLocated:
        """Return the suspects with the symptoms of the nodes, and the ages at ``now``."""
        observations = tuple(
            item._replace(reason=filled(pieces(item.reason), now))
            for item in self.located.observations
        )
        losses = [
            SharedLoss(*loss[:3], frozenset(loss.members), frozenset()) for loss in self.losses
        ]
        return SiteLocated(
            self.located._replace(observations=observations),
            (None,) * len(self.located.sets),
            symptoms,
            {host.host: host for host in self.failed_hosts},
            losses,
            self.differing,
        )

    def texts(self, symptoms: Sequence[Symptom]) -> list[str]:
        """Return a sentence for each ambiguity set, with the symptoms of its suspects."""
        known = (*symptoms, *self.differing)
        return [
            text + quoted(cause, self.parts, known)
            for text, cause in zip(self.sentences, self.located.sets)
        ]


def reduced(located: Located) -> Located:
    """Return a result without the observations that no suspect may explain."""
    names = {suspect.name for cause in located.sets for suspect in cause.suspects}
    kept = [
        index for index, item in enumerate(located.observations) if _may_be_explained(item, names)
    ]
    places = {index: place for place, index in enumerate(kept)}
    return located._replace(
        observations=tuple(located.observations[index] for index in kept),
        sets=tuple(_moved(cause, places) for cause in located.sets),
        unexplained=tuple(places[index] for index in located.unexplained),
    )


def _may_be_explained(item: Observation, suspects: set[str]) -> bool:
    if item.vote is Vote.NONE:
        return bool(item.measured) and not suspects.isdisjoint(item.of.path)
    return item.vote is Vote.BAD


def _moved(cause: AmbiguitySet, places: Mapping[int, int]) -> AmbiguitySet:
    def moved(indices: Iterable[int]) -> tuple[int, ...]:
        return tuple(places[index] for index in indices)

    suspects: list[Suspect] = [
        suspect._replace(explains=moved(suspect.explains), passes=()) for suspect in cause.suspects
    ]
    return cause._replace(suspects=tuple(suspects), explains=moved(cause.explains))
