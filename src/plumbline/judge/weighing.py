"""Evidence of all components of a node or site over their last runs.

The one judge of speed: services, locating, reports and the simulation take what it finds.  What a
whole group has lost is the group's, and not that of each member.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain, islice
from math import exp, inf, log
from typing import Collection, Hashable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from plumbline.judge.measured import doubt_about, era_of
from plumbline.judge.memory import Memory, Weighable
from plumbline.judge.operations import label
from plumbline.judge.pair import of_pair
from plumbline.judge.recursion import weigh
from plumbline.judge.references import ComparedSource, Era, Measurement, References, common
from plumbline.judge.runs import (
    AT,
    BESIDE_PEERS,
    NUMBER,
    RATIO,
    Change,
    Claim,
    Noise,
    Question,
    Source,
    Weight,
    in_order,
    moments_of,
    since,
)
from plumbline.judge.runs import Subject as Weighed
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Operation, Scenario
from plumbline.model.series import Series
from plumbline.model.units import DAY_S, HOUR_S

_ONE_NIGHT_S = DAY_S / 2
_MOST_MORE = 9
"""Further runs that are thought of at most: nobody measures more of them to see an alarm."""


class NamedMeasurement(NamedTuple):
    """One measurement of a component: its operation in words, its partner's name if it has one."""

    what: str
    partner: str
    measurement: Measurement


Compared = Sequence[tuple[NamedMeasurement, ComparedSource]]
"""Measurements, each with the runs beside its reference."""


def numbered(compared: Compared) -> Compared:
    """Return the same runs, told apart by the operation that they are of."""
    words = list(dict.fromkeys(measurement.what for measurement, _ in compared))
    return [
        (measurement, _with_number(source, words.index(measurement.what)))
        for measurement, source in compared
    ]


def _with_number(compared: ComparedSource, number: int) -> ComparedSource:
    if not number:
        # which all runs have until they are told apart
        return compared
    source = compared.source
    runs = source.runs.copy()
    runs[:, NUMBER] = number
    return compared._replace(source=source._replace(runs=runs))


def last_change(measurements: Sequence[NamedMeasurement]) -> Optional[float]:
    """Return when software or settings were last seen to have changed, in epoch seconds.

    Each measurement sees it when its own turn comes.  Of those of one night the first is meant: the
    others are later than the moment to which they belong begins.
    """
    seen = [
        measurement.measurement.era.since
        for measurement in measurements
        if measurement.measurement.era and measurement.measurement.era.since is not None
    ]
    last = max(seen, default=0.0)
    return min((at for at in seen if last - at < _ONE_NIGHT_S), default=None)


def claims_of(compared: Compared) -> tuple[list[Claim], list[Claim]]:
    """Return the claims of each operation, and those of all together."""
    apart = numbered(compared)
    claims = by_operation(apart)
    return claims, [together(apart)] if len(claims) > 1 else []


def further_runs(compared: Compared, question: Question, alarm: bool) -> list[Weighed]:
    """Return the same with one, two ... more runs like the last ones, where these may change it.

    A low run ends no alarm and a good one raises none.  The further runs follow one another as the
    last ones did.
    """
    limit = -question.limit
    if not alarm and not any((each.source.runs[:, RATIO] < limit).any() for _, each in compared):
        # nearly all components: no run to put in order
        return []
    compared = numbered(compared)
    runs = in_order([source.source.runs for _, source in compared])
    moments = moments_of(runs)
    low = bool((since(runs, moments[-1])[:, RATIO] < limit).any())
    if alarm is low:
        return []
    apart_s = moments[-1] - moments[-2] if len(moments) > 1 else HOUR_S
    return [
        subject_of(
            [
                (measurement, _repeated(source, moments[-1], count, apart_s))
                for measurement, source in compared
            ],
            question,
        )
        for count in range(1, _MOST_MORE + 1)
    ]


def subject_of(compared: Compared, question: Question) -> Weighed:
    """Return what is asked of some measurements."""
    return Weighed(*claims_of(compared), question)


def _repeated(
    compared: ComparedSource, moment: float, count: int, apart_s: float
) -> ComparedSource:
    """Return the same with the runs of the last moment made as often again."""
    source = compared.source
    last = since(source.runs, moment)
    step = np.zeros(last.shape[1])
    step[AT] = apart_s
    further = [last + number * step for number in range(1, count + 1)]
    return compared._replace(source=source._replace(runs=np.concatenate([source.runs, *further])))


def by_operation(compared: Compared) -> list[Claim]:
    """Return for each operation the claim that it is slow; of a host it is with all partners."""
    sources: dict[str, list[Source]] = {}
    for measurement, source in compared:
        sources.setdefault(measurement.what, []).append(source.source)
    return [_claim(tuple(found)) for found in sources.values()]


def _claim(sources: tuple[Source, ...]) -> Claim:
    return Claim(sources)


def together(compared: Compared) -> Claim:
    """Return the claim that all operations are slow, of a host with all partners."""
    merged = tuple(
        _merged([source.source for measurement, source in compared if measurement.partner == name])
        for name in dict.fromkeys(measurement.partner for measurement, _ in compared)
    )
    return Claim(merged)


def _merged(sources: Sequence[Source]) -> Source:
    """Return several measurements as one, with the noise of the worst of them."""
    noise: Noise = max((source.noise for source in sources), key=lambda noise: noise.lower)
    runs = in_order([source.runs for source in sources])
    off, least = (max(values) for values in zip(*((s.off, s.least) for s in sources)))
    return Source(runs, off, noise, least)


def tell_apart(asked: dict[tuple[str, str], list[NamedMeasurement]]) -> None:
    """Give what has no peers a kind of its own: pairs of which most share a host, as on its node.

    Beside one another they do not show that the host is slow.
    """
    ends: dict[Hashable, list[tuple[str, str]]] = {}
    for (layer, name), measurements in asked.items():
        for measurement in measurements if LAYERS[layer].paired else ():
            ends.setdefault(measurement.measurement.kind, []).append((name, measurement.partner))
    most = {kind: Counter(chain(*pairs)).most_common(1)[0][1] for kind, pairs in ends.items()}
    for place, measurements in asked.items():
        asked[place] = [
            one._replace(measurement=_alone(one.measurement))
            if 2 * most.get(one.measurement.kind, 0) > len(ends.get(one.measurement.kind, ()))
            else one
            for one in measurements
        ]


def _alone(measurement: Measurement) -> Measurement:
    return replace(measurement, kind=(measurement.kind, measurement.member))


Nodes = Mapping[str, Sequence[Expectation]]
Component = tuple[str, str]
"""Layer and name."""

_FEWEST_MEMBERS = 2

_LEAST_LIMIT = 0.01
"""A smaller loss, a logarithm, no reference tells from none, whatever the policy asks."""


Questions = dict[Subject, tuple[Compared, Question]]
"""What is asked of some components and groups, with their runs beside the references."""


class _Terms(NamedTuple):
    """Limits of a question, and the change that may have slowed all that is asked about."""

    limits: Limits
    change: Optional[Change]


class Weighing:
    """Evidence of all that some nodes measure."""

    def __init__(
        self,
        nodes: Nodes,
        memories: Mapping[str, Weighable],
        *,
        counting: bool = True,
    ) -> None:
        """Take in what the nodes remember; of what is damaged nothing is known.

        With ``counting`` evidence says how many more runs raise an alarm or end it.
        """
        self._counting = counting
        self._limits = {
            (expectation.layer, expectation.component): expectation.limits
            for expectations in nodes.values()
            for expectation in expectations
        }
        self._systems = _systems(nodes)
        self._group_of = {
            (expectation.layer, expectation.component): LAYERS[expectation.layer].peer_group(
                expectation.group
            )
            for expectations in nodes.values()
            for expectation in expectations
            if LAYERS[expectation.layer].has_peers
        }
        self._groups: dict[tuple[str, str], list[Component]] = {}
        for place, group in self._group_of.items():
            self._groups.setdefault((place[0], group), []).append(place)
        self._measured: dict[Component, list[NamedMeasurement]] = {}
        for node, expectations in nodes.items():
            for expectation in expectations:
                measurements = list(self._measurements(expectation, memories[node]))
                self._measured.setdefault((expectation.layer, expectation.component), []).extend(
                    measurements
                )
        tell_apart(self._measured)
        self._references = References(
            [measurement.measurement for found in self._measured.values() for measurement in found]
        )
        self._compared: dict[Component, Compared] = {}
        self._compared_as_one: dict[Component, Compared] = {}
        self._evidence: dict[Subject, Optional[Evidence]] = {}

    def evidence(self, subject: Subject) -> Optional[Evidence]:
        """Return what the runs of a component or group say, None where nothing can be compared.

        Who asks for one asks for the others as well, so that all are weighed with the first.
        """
        if subject not in self._evidence:
            take_all([self])
        return self._evidence.get(subject)

    def every(self) -> dict[Subject, Evidence]:
        """Return what is known of all components and groups."""
        take_all([self])
        return {subject: found for subject, found in self._evidence.items() if found}

    def subjects(self) -> list[Subject]:
        """Return all components and groups."""
        groups = ((*place, True) for place in self._groups)
        return [*((*place, False) for place in self._measured), *groups]

    def questions(self, subjects: Iterable[Subject]) -> Questions:
        """Return what is asked of some subjects, as far as they are not weighed yet."""
        questions: Questions = {}
        for subject in subjects:
            if subject not in self._evidence:
                self._evidence[subject] = None
                asked = self._question_of(subject)
                if asked:
                    questions[subject] = asked
        return questions

    def answer(self, questions: Questions, weights: Sequence[Weight]) -> None:
        """Keep what the runs of some subjects came to."""
        more = self._more(questions, weights) if self._counting else {}
        for (subject, (compared, question)), weight in zip(questions.items(), weights):
            self._evidence[subject] = _evidence(compared, question, weight, more.get(subject))
        for subject, (compared, _) in questions.items():
            evidence = self._evidence[subject]
            alone = any(other.source.noise is not BESIDE_PEERS for _, other in compared)
            if evidence and evidence.alarm and alone and not subject[2]:
                self._evidence[subject] = self._as_its_group(subject[:2], evidence)

    def _more(
        self, questions: Questions, weights: Sequence[Weight]
    ) -> dict[Subject, Optional[int]]:
        """Return after how many runs like the last one an alarm would be raised or end."""
        further = {
            subject: further_runs(*question, weight.alarm)
            for (subject, question), weight in zip(questions.items(), weights)
            if LAYERS[subject[0]].grouped and not subject[2]
        }
        alarms = {subject: weight.alarm for subject, weight in zip(questions, weights)}
        then = iter(weigh([runs for every in further.values() for runs in every]))
        more: dict[Subject, Optional[int]] = {}
        for subject, every in further.items():
            changed = [next(then).alarm is not alarms[subject] for _ in every]
            more[subject] = changed.index(True) + 1 if True in changed else None
        return more

    def _question_of(self, subject: Subject) -> Optional[tuple[Compared, Question]]:
        place = subject[:2]
        if subject[2]:
            members = self._groups[place]
            compared = self.compared_as_one(members[0])
            terms = self._terms(members[0], self._asked_of(members))
            return (compared, _question(terms)) if compared else None
        compared = self.compared(place)
        if not compared:
            return None
        whole = place not in self._group_of or len(self._members(place)) < _FEWEST_MEMBERS
        terms = self._terms(place, [measurement for measurement, _ in compared] if whole else ())
        return compared, _question(terms)

    def compared(self, component: Component) -> Compared:
        """Return what is measured of a component beside its references, less what has none."""
        if component not in self._compared:
            self._compared[component] = [
                (measurement, source)
                for measurement in self._measured.get(component, ())
                if (source := self._references.of(measurement.measurement))
            ]
        return self._compared[component]

    def compared_as_one(self, component: Component) -> Compared:
        """Return what the group of a component gives as one beside its baselines, if it has any."""
        group = component[0], self._group_of.get(component, "")
        if group not in self._compared_as_one:
            self._compared_as_one[group] = list(self._as_one(self._members(component)))
        return self._compared_as_one[group]

    def of_its_group(self, component: Component) -> Optional[Evidence]:
        """Return what is known of the group of a component as one, None where it has none."""
        group = self._group_of.get(component)
        return None if group is None else self.evidence((component[0], group, True))

    def weigh(self, parts: Sequence[Compared]) -> list[Evidence]:
        """Return for each part what measurements say together that it may slow, one at least."""
        questions = [
            (compared, _question(_Terms(compared[0][0].measurement.limits, None)))
            for compared in parts
        ]
        weights = weigh([subject_of(*question) for question in questions])
        return [_evidence(*question, weight, None) for question, weight in zip(questions, weights)]

    def _as_its_group(self, component: Component, found: Evidence) -> Evidence:
        """Return what is known of a component without peers: its group may have lost as much."""
        of_all = self.of_its_group(component)
        if not (of_all and of_all.alarm and of_all.ratio and found.ratio):
            return found
        shared = found.ratio >= (1 - self._limits[component].peer_loss) * of_all.ratio
        return found._replace(alarm=not shared, shared=shared)

    def _terms(self, component: Component, shared: Sequence[NamedMeasurement]) -> _Terms:
        """Return what is asked by; a change is one of ``shared``, not of a single component."""
        limits, at = self._limits[component], last_change(shared)
        if at is None or not limits.change_starts:
            return _Terms(limits, None)
        return _Terms(limits, Change(at, limits.change_starts))

    def _members(self, component: Component) -> Sequence[Component]:
        """Return the members of the group of a component, none where it is in none."""
        return self._groups.get((component[0], self._group_of.get(component, "")), ())

    def _as_one(
        self, members: Sequence[Component]
    ) -> Iterator[tuple[NamedMeasurement, ComparedSource]]:
        if len(members) < _FEWEST_MEMBERS:
            return
        measurements = self._asked_of(members)
        for what in dict.fromkeys(measurement.what for measurement in measurements):
            of_all = [measurement for measurement in measurements if measurement.what == what]
            # two hosts meet at a time
            least = len(members) // 2 if LAYERS[members[0][0]].paired else len(members)
            source = common([measurement.measurement for measurement in of_all], least)
            if source:
                yield of_all[0], source

    def _asked_of(self, members: Sequence[Component]) -> list[NamedMeasurement]:
        return [measurement for member in members for measurement in self._measured.get(member, ())]

    def _measurements(self, entry: Expectation, memory: Weighable) -> Iterator[NamedMeasurement]:
        try:
            series = memory.of(entry.layer, entry.component)
        except DocumentError:
            # the verdict on the component says so
            return
        for found in series:
            latest = found.latest
            key = f"{latest.operation.value}/{latest.scenario.value}"
            if entry.references and key not in entry.references:
                continue
            partner = _partner(entry, latest.partner)
            if latest.partner and partner is None:
                continue
            yield self._measurement(entry, found, partner, memory)

    def _measurement(
        self, entry: Expectation, series: Series, partner: Optional[Partner], memory: Weighable
    ) -> NamedMeasurement:
        latest = series.latest
        reference = entry.reference(latest.operation, latest.scenario)
        if partner:
            reference = of_pair(entry, partner, reference)
        limits = entry.limits._replace(min_runs=1, max_spread=inf)
        doubt = doubt_about(reference.baseline, latest, limits)
        change = era_of(reference.baseline, latest, limits) if doubt else ""
        era = Era(change, memory.changed_at(latest), self._has_fellows(entry)) if change else None
        name = partner.name if partner else ""
        return NamedMeasurement(
            label(latest.operation, latest.scenario),
            name,
            Measurement(
                self._kind(entry, latest.operation, latest.scenario, reference),
                f"{entry.component} {name}",
                series.samples,
                None if doubt and not era else reference.baseline,
                entry.limits,
                reference.ceiling.rate if reference.ceiling else None,
                era,
            ),
        )

    def _has_fellows(self, entry: Expectation) -> bool:
        return len(self._groups.get((entry.layer, entry.group), ())) >= _FEWEST_MEMBERS

    def _kind(
        self, entry: Expectation, operation: Operation, scenario: Scenario, reference: Reference
    ) -> Hashable:
        """Return what those have in common that should give the same: their ceiling too."""
        group = (
            entry.group
            if not LAYERS[entry.layer].on_devices
            else self._systems.get(entry.component, "")
        )
        ceiling = reference.ceiling.rate if reference.ceiling else None
        if entry.parallel:
            group = f"all of {entry.component}"
        return entry.layer, operation, scenario, group or entry.group, ceiling


class Alarming(NamedTuple):
    """Expectations of each node, measurements until ``now``, in epoch seconds, their evidence.

    ``alarms`` are the places of the services in alarm in the plan.
    """

    nodes: Mapping[str, Sequence[Expectation]]
    memory: Memory
    weighing: Weighing
    now: float
    alarms: Collection[int]


def take_all(weighings: Sequence[Weighing]) -> None:
    """Weigh all that several know, such as one for each day, in one go."""
    take([(weighing, weighing.subjects()) for weighing in weighings])


def take(asked: Sequence[tuple[Weighing, Iterable[Subject]]]) -> None:
    """Weigh some subjects of each in one go: a tenth of the time of one after another."""
    every = [(weighing, weighing.questions(subjects)) for weighing, subjects in asked]
    weights = iter(
        weigh([subject_of(*each) for _, questions in every for each in questions.values()])
    )
    for weighing, questions in every:
        weighing.answer(questions, list(islice(weights, len(questions))))


def _question(terms: _Terms) -> Question:
    return Question(
        max(_LEAST_LIMIT, -log(1 - terms.limits.peer_loss)),
        log(terms.limits.alarm_odds),
        log(terms.limits.end_odds),
        terms.change,
    )


def _evidence(
    compared: Compared, question: Question, weight: Weight, more: Optional[int]
) -> Evidence:
    words = list(dict.fromkeys(measurement.what for measurement, _ in compared))
    losses = [(middle, number) for number, middle in enumerate(weight.middles) if middle]
    lowest, number = min(losses, default=(0.0, 0))
    also = [(words[n], exp(middle)) for middle, n in losses if n != number]
    against = next(
        other.against for measurement, other in compared if measurement.what == words[number]
    )
    return Evidence(
        weight.odds,
        question.needed,
        weight.alarm,
        weight.since,
        weight.moments,
        words[number],
        exp(lowest) if losses else None,
        against,
        also=tuple(other for other in also if -log(other[1]) >= question.limit),
        more=more,
        low=weight.low,
    )


def _systems(nodes: Nodes) -> dict[str, str]:
    """Return the file system of each part that belongs to one alone."""
    found: dict[str, set[str]] = {}
    for expectations in nodes.values():
        for expectation in expectations:
            if LAYERS[expectation.layer].per_target:
                for name in expectation.path:
                    found.setdefault(name, set()).add(expectation.group)
    return {name: next(iter(groups)) for name, groups in found.items() if len(groups) == 1}


def _partner(entry: Expectation, name: Optional[str]) -> Optional[Partner]:
    return next((partner for partner in entry.partners if partner.name == name), None)
