"""Weigh what all measurements of a node, or of a whole site, say over their last runs.

The one judge of speed: services, locating, reports and the simulation take what it finds.  What a
whole group has lost is the group's, and not that of each member.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import TYPE_CHECKING, Hashable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.judge.alarm import Alone, Claim, Question, Shared, weigh
from plumbline.judge.measured import doubt_about, era_of, label
from plumbline.judge.noise import ALONE, Noise, Source
from plumbline.judge.pair import of_pair
from plumbline.judge.past import Moments, Past
from plumbline.judge.references import Era, Held, Measurement, References, common
from plumbline.model.evidence import WORTH_A_WORD, Evidence, Subject
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.limits import Limits
from plumbline.model.record import Operation, Scenario
from plumbline.model.reference import Reference
from plumbline.units import DAY_S

if TYPE_CHECKING:
    from plumbline.model.series import Series, Weighable

Nodes = Mapping[str, Sequence[Expectation]]
Component = tuple[str, str]
"""Layer and name."""

_GROUPED = ("ost", "raw")
"""Layers whose groups have a service.  A file system whose targets are driven at once is measured
as a whole, and a node is one host."""
_FEWEST_MEMBERS = 2

_ONE_NIGHT_S = DAY_S / 2

_LEAST_LIMIT = 0.01
"""A smaller loss, a logarithm, no reference tells from none, whatever the policy asks."""


class _Asked(NamedTuple):
    """One measurement of a component: its operation in words, its partner's name if it has one."""

    what: str
    partner: str
    measurement: Measurement


class _Terms(NamedTuple):
    """What a component or group is asked by: its limits, and when its last change was seen."""

    limits: Limits
    change: Optional[float]


class Weighing:
    """What is known of all that some nodes measure."""

    def __init__(
        self, nodes: Nodes, memories: Mapping[str, Weighable], past: Optional[Past] = None
    ) -> None:
        """Take in what the nodes remember; of what is damaged nothing is known.

        ``past`` is given by who weighs the same again after some more runs and asks for alarms
        alone, not for the odds of what raises none: it saves time.
        """
        self._past, self._told = past or Past(), WORTH_A_WORD if past is None else inf
        self._limits = {
            (one.layer, one.component): one.limits for found in nodes.values() for one in found
        }
        self._systems = _systems(nodes)
        self._group_of = {
            (one.layer, one.component): one.group
            for found in nodes.values()
            for one in found
            if one.layer in _GROUPED
        }
        self._groups: dict[tuple[str, str], list[Component]] = {}
        for place, group in self._group_of.items():
            self._groups.setdefault((place[0], group), []).append(place)
        self._asked: dict[Component, list[_Asked]] = {}
        for node, expectations in nodes.items():
            for one in expectations:
                found = list(self._measurements(one, memories[node]))
                self._asked.setdefault((one.layer, one.component), []).extend(found)
        self._references = References(
            [one.measurement for found in self._asked.values() for one in found]
        )
        self._known: dict[Subject, Optional[Evidence]] = {}

    def evidence(self, subject: Subject) -> Optional[Evidence]:
        """Return what the runs of a component or group say, None where nothing can be compared."""
        if subject not in self._known:
            layer, name, is_group = subject
            weigh = self._weigh_group if is_group else self._weigh
            self._known[subject] = weigh((layer, name))
        return self._known[subject]

    def every(self) -> dict[Subject, Evidence]:
        """Return what is known of all components and groups."""
        subjects = [(*place, False) for place in self._asked]
        subjects += [(*place, True) for place in self._groups]
        return {one: found for one in subjects if (found := self.evidence(one))}

    def _weigh(self, place: Component) -> Optional[Evidence]:
        held = [
            (one, found)
            for one in self._asked.get(place, ())
            if (found := self._references.of(one.measurement))
        ]
        if not held:
            return None
        terms = _Terms(self._limits[place], _change([one for one, _ in held]))
        known = self._weighed(held, terms, self._past.of((*place, False)))
        alone = any(other.source.noise is ALONE for _, other in held)
        return self._as_its_group(place, known) if known.alarm and alone else known

    def _as_its_group(self, place: Component, found: Evidence) -> Evidence:
        """Return what is known of a component without peers: its group may have lost as much."""
        if place not in self._group_of:
            return found
        of_all = self.evidence((place[0], self._group_of[place], True))
        if not (of_all and of_all.alarm and of_all.ratio and found.ratio):
            return found
        shared = found.ratio >= (1 - self._limits[place].peer_loss) * of_all.ratio
        return found._replace(alarm=not shared, shared=shared)

    def _weigh_group(self, place: Component) -> Optional[Evidence]:
        members = self._groups[place]
        if len(members) < _FEWEST_MEMBERS:
            return None
        asked = [one for member in members for one in self._asked.get(member, ())]
        held = []
        for what in dict.fromkeys(one.what for one in asked):
            of_all = [one for one in asked if one.what == what]
            found = common([one.measurement for one in of_all], len(members))
            if found:
                held.append((of_all[0], found))
        terms = _Terms(self._limits[members[0]], _change(asked))
        return self._weighed(held, terms, self._past.of((*place, True))) if held else None

    def _weighed(self, alone: _Pairs, terms: _Terms, past: Moments) -> Evidence:
        held = _numbered(alone)
        question = Question(
            max(_LEAST_LIMIT, -log(1 - terms.limits.peer_loss)),
            log(terms.limits.alarm_odds),
            terms.change,
            self._told,
        )
        words = list(dict.fromkeys(one.what for one, _ in held))
        claims = [_claim([pair for pair in held if pair[0].what == what]) for what in words]
        together = [_together(held)] if len(claims) > 1 else []
        weight = weigh(claims, together, question, past)
        losses = [(middle, number) for number, middle in enumerate(weight.middles) if middle]
        lowest, number = min(losses, default=(0.0, 0))
        against = next(other.against for one, other in held if one.what == words[number])
        return Evidence(
            weight.odds,
            question.needed,
            weight.alarm,
            weight.since,
            weight.moments,
            words[number],
            exp(lowest) if losses else None,
            against,
        )

    def _measurements(self, one: Expectation, memory: Weighable) -> Iterator[_Asked]:
        try:
            series = memory.of(one.layer, one.component)
        except DocumentError:
            # the verdict on the component says so
            return
        for found in series:
            latest = found.latest
            key = f"{latest.operation.value}/{latest.scenario.value}"
            if one.references and key not in one.references:
                continue
            partner = _partner(one, latest.partner)
            if latest.partner and partner is None:
                continue
            yield self._measurement(one, found, partner, memory)

    def _measurement(
        self, one: Expectation, found: Series, partner: Optional[Partner], memory: Weighable
    ) -> _Asked:
        latest = found.latest
        reference = one.reference(latest.operation, latest.scenario)
        if partner:
            reference = of_pair(one, partner, reference)
        limits = one.limits._replace(min_runs=1, max_spread=inf)
        doubt = doubt_about(reference.baseline, latest, limits)
        change = era_of(reference.baseline, latest, limits) if doubt else ""
        era = Era(change, memory.changed_at(latest), self._has_fellows(one)) if change else None
        name = partner.name if partner else ""
        return _Asked(
            label(latest.operation, latest.scenario),
            name,
            Measurement(
                self._kind(one, latest.operation, latest.scenario, reference),
                f"{one.component} {name}",
                found.samples,
                None if doubt and not era else reference.baseline,
                one.limits,
                reference.ceiling.rate_Bps if reference.ceiling else None,
                era,
            ),
        )

    def _has_fellows(self, one: Expectation) -> bool:
        return len(self._groups.get((one.layer, one.group), ())) >= _FEWEST_MEMBERS

    def _kind(
        self, one: Expectation, operation: Operation, scenario: Scenario, reference: Reference
    ) -> Hashable:
        """Return what those have in common that should give the same: their ceiling too."""
        group = one.group if one.layer != "raw" else self._systems.get(one.component, "")
        ceiling = reference.ceiling.rate_Bps if reference.ceiling else None
        if one.layer == "net":
            group = ""
        if one.parallel:
            group = f"all of {one.component}"
        return one.layer, operation, scenario, group or one.group, ceiling


def _systems(nodes: Nodes) -> dict[str, str]:
    """Return the file system of each part that belongs to one alone."""
    found: dict[str, set[str]] = {}
    for expectations in nodes.values():
        for one in expectations:
            if one.layer == "ost":
                for name in one.path:
                    found.setdefault(name, set()).add(one.group)
    return {name: next(iter(groups)) for name, groups in found.items() if len(groups) == 1}


def _partner(one: Expectation, name: Optional[str]) -> Optional[Partner]:
    return next((partner for partner in one.partners if partner.name == name), None)


_Pairs = list[tuple[_Asked, Held]]


def _numbered(held: _Pairs) -> _Pairs:
    """Return the same runs, told apart by the operation that they are of."""
    words = list(dict.fromkeys(one.what for one, _ in held))
    found = []
    for one, (source, against) in held:
        number = words.index(one.what)
        runs = tuple(run._replace(source=number) for run in source.runs)
        found.append((one, Held(source._replace(runs=runs), against)))
    return found


def _change(asked: Sequence[_Asked]) -> Optional[float]:
    """Return when software or settings were last seen to have changed, in epoch seconds.

    Each measurement sees it when its own turn comes.  Of those of one night the first is meant: the
    others are later than the moment to which they belong begins.
    """
    seen = [
        one.measurement.era.since
        for one in asked
        if one.measurement.era and one.measurement.era.since is not None
    ]
    last = max(seen, default=0.0)
    return min((at for at in seen if last - at < _ONE_NIGHT_S), default=None)


def _claim(held: _Pairs) -> Claim:
    """Return the claim that one operation is slow; of a host it is slow with all partners."""
    sources = tuple(found.source for _, found in held)
    return Alone(sources[0]) if len(sources) == 1 else Shared(sources)


def _together(held: _Pairs) -> Claim:
    """Return the claim that all operations are slow, of a host with all partners."""
    merged = tuple(
        _merged([found.source for one, found in held if one.partner == name])
        for name in dict.fromkeys(one.partner for one, _ in held)
    )
    return Alone(merged[0]) if len(merged) == 1 else Shared(merged)


def _merged(sources: Sequence[Source]) -> Source:
    """Return several measurements as one, with the noise of the worst of them."""
    runs = sorted(run for source in sources for run in source.runs)
    noise: Noise = max((source.noise for source in sources), key=lambda one: one.lower)
    return Source(tuple(runs), max(source.off for source in sources), noise)
