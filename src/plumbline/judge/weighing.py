"""Evidence of all components of a node or site over their last runs.

Services, locating, reports and the simulation all use it to judge speed.  A loss of a whole group
belongs to the group, not to each member.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import chain, islice
from math import inf
from typing import (
    Collection,
    Container,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
)

from plumbline.judge.cases import Compared, case_of, further_runs, last_change, question_of
from plumbline.judge.kinds import MIN_SIZE, Era, Measurement, separate_pairs
from plumbline.judge.losses import best_of, evidence_of
from plumbline.judge.measured import doubt_about, era_of
from plumbline.judge.memory import Weighable
from plumbline.judge.operations import label
from plumbline.judge.pair import of_pair
from plumbline.judge.recursion import weigh
from plumbline.judge.references import Comparison, Groups, References, of_group
from plumbline.judge.rules import known_states
from plumbline.judge.runs import (
    NIGHT_S,
    PEER_NOISE,
    Question,
    Weight,
)
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Operation, Scenario
from plumbline.model.series import Series

Nodes = Mapping[str, Sequence[Expectation]]
Component = tuple[str, str]
"""Layer and name."""
Group = tuple[str, str]
"""Layer and name of a group of peers."""

_MIN_MEMBERS = 2
_NO_EVIDENCE: Mapping[Subject, Optional[Evidence]] = {}


class _Raised(NamedTuple):
    """An alarm since a change: the moment that raised it, in epoch seconds, and the best ratio."""

    at: float
    best: float


Questions = dict[Subject, tuple[Compared, Question]]
"""Questions on some components and groups, with their runs and references."""


class Weighing:
    """Evidence on all measurements of some nodes."""

    def __init__(
        self,
        nodes: Nodes,
        memories: Mapping[str, Weighable],
        *,
        counting: bool = True,
        evidence_before: Mapping[Subject, Optional[Evidence]] = _NO_EVIDENCE,
    ) -> None:
        """Read the memories of the nodes; damaged documents count as unknown.

        With ``counting`` the evidence has the number of further runs that raise an alarm or end it.
        ``evidence_before`` is that on components and groups that have no run since.
        """
        self._counting = counting
        self._limits = {
            (expectation.layer, expectation.component): expectation.limits
            for expectations in nodes.values()
            for expectation in expectations
        }
        self._systems = _systems(nodes)
        self._wholes = _wholes(nodes)
        self._changed: dict[Component, float] = {}
        self._group_of: dict[Component, Group] = {
            (expectation.layer, expectation.component): (
                expectation.layer,
                LAYERS[expectation.layer].peer_group(expectation.group),
            )
            for expectations in nodes.values()
            for expectation in expectations
            if LAYERS[expectation.layer].has_peers
        }
        self._groups: dict[Group, list[Component]] = {}
        for place, group in self._group_of.items():
            self._groups.setdefault(group, []).append(place)
        self._nodes, self._memories = nodes, memories
        self._measured: dict[Component, list[Measurement]] = {}
        for place, source in self._entries():
            self._measured.setdefault(place, []).extend(self._measurements(*source))
        separate_pairs(self._measured)
        self._evidence = dict(evidence_before)
        self._compare()

    @cached_property
    def _sources(self) -> dict[Component, list[tuple[Expectation, Weighable]]]:
        """Return who measures each component, to read it again; a large site is read once."""
        sources: dict[Component, list[tuple[Expectation, Weighable]]] = {}
        for place, source in self._entries():
            sources.setdefault(place, []).append(source)
        return sources

    def _entries(self) -> Iterator[tuple[Component, tuple[Expectation, Weighable]]]:
        """Yield each component with an expectation and the memory of its node."""
        for node, expectations in self._nodes.items():
            for expectation in expectations:
                place = expectation.layer, expectation.component
                yield place, (expectation, self._memories[node])

    def _read(self, place: Component) -> list[Measurement]:
        sources = self._sources[place]
        return [measured for source in sources for measured in self._measurements(*source)]

    def _compare(self) -> None:
        """Begin without references."""
        measurements = list(chain.from_iterable(self._measured.values()))
        self._references = References(measurements, whole=not self._evidence)
        self._compared: dict[Component, Compared] = {}
        self._compared_groups: dict[Optional[Group], Compared] = {}
        self._small_groups: dict[Hashable, tuple[dict[Component, int], Optional[Groups]]] = {}
        self._lost: dict[Hashable, bool] = {}
        self._joint: dict[Component, Compared] = {}
        self._raised: dict[Subject, _Raised] = {}

    def measured_again(self, places: Collection[Component]) -> None:
        """Read further runs of some targets or devices; the evidence on all others stays."""
        self._measured.update((place, self._read(place)) for place in places)
        self._evidence = {
            subject: evidence
            for subject, evidence in self._evidence.items()
            if subject[:2] not in places and not subject[2]
        }
        self._compare()

    def evidence(self, subject: Subject) -> Optional[Evidence]:
        """Return the evidence on a component or group, None if nothing can be compared.

        The first call weighs all subjects, as callers need the others as well.
        """
        if subject not in self._evidence:
            weigh_all([self])
        return self._evidence.get(subject)

    def weighed(self, subject: Subject) -> bool:
        """Return whether the evidence on a component or group is known."""
        return subject in self._evidence

    def known(self, layers: Container[str]) -> dict[Subject, Optional[Evidence]]:
        """Return the evidence so far on components and groups of layers without a run since.

        Layers whose alarms may be joined have one only together.
        """
        measured = {_use_of(layer) for layer, _ in self._measured if layer not in layers}
        return {
            key: evidence
            for key, evidence in self._evidence.items()
            if key[0] in layers and _use_of(key[0]) not in measured
        }

    def all(self) -> dict[Subject, Evidence]:
        """Return the evidence on all components and groups."""
        weigh_all([self])
        return {subject: evidence for subject, evidence in self._evidence.items() if evidence}

    def subjects(self) -> list[Subject]:
        """Return all components and groups."""
        groups = ((*place, True) for place in self._groups)
        return [*((*place, False) for place in self._measured), *groups]

    def questions(self, subjects: Iterable[Subject]) -> Questions:
        """Return the questions on those subjects that are not weighed yet."""
        questions: Questions = {}
        for subject in subjects:
            if subject not in self._evidence:
                self._evidence[subject] = None
                question = self._question_of(subject)
                if question:
                    questions[subject] = question
        return questions

    def answer(self, questions: Questions, weights: Sequence[Weight]) -> None:
        """Keep the evidence on some subjects."""
        more = self._more(questions, weights) if self._counting else {}
        for (subject, (compared, question)), weight in zip(questions.items(), weights):
            evidence = evidence_of(compared, question, weight, more.get(subject))
            self._evidence[subject] = evidence
            raised = weight.raised if evidence.ratio is not None else None
            if raised is not None and self._of_a_change(subject, compared, weight.since):
                self._raised[subject] = _Raised(raised, best_of(compared, evidence))
        self._join_alarms()
        for subject, (compared, _) in questions.items():
            joined = self._evidence[subject]
            lone = any(item.source.noise is not PEER_NOISE for item in compared)
            if joined and joined.alarm and lone and not subject[2]:
                self._evidence[subject] = self._unless_shared(subject[:2], joined)

    def _more(
        self, questions: Questions, weights: Sequence[Weight]
    ) -> dict[Subject, Optional[int]]:
        """Return the number of runs like the last one that raise an alarm or end it."""
        further = {
            subject: further_runs(*question, weight.alarm)
            for (subject, question), weight in zip(questions.items(), weights)
            if LAYERS[subject[0]].grouped and not subject[2]
        }
        alarms = {subject: weight.alarm for subject, weight in zip(questions, weights)}
        weighed = iter(weigh([runs for subjects in further.values() for runs in subjects]))
        more: dict[Subject, Optional[int]] = {}
        for subject, subjects in further.items():
            changed = [next(weighed).alarm is not alarms[subject] for _ in subjects]
            more[subject] = changed.index(True) + 1 if True in changed else None
        return more

    def _question_of(self, subject: Subject) -> Optional[tuple[Compared, Question]]:
        place = subject[:2]
        if subject[2]:
            members = self._groups[place]
            place = members[0]
            compared, shared = self.compared_group(place), self._measurements_of(members)
        else:
            compared = self.compared(place)
            lone = len(self._members(place)) < _MIN_MEMBERS
            shared = [item.measurement for item in compared] if lone else []
        return (compared, question_of(self._limits[place], shared)) if compared else None

    def compared(self, component: Component) -> Compared:
        """Return the measurements of a component that have a reference, with it."""
        if component not in self._compared:
            measurements = self._measured.get(component, ())
            self._compared[component] = list(filter(None, map(self._references.of, measurements)))
        return self._compared[component]

    def compared_group(self, component: Component) -> Compared:
        """Return the joint results of a component's group with their baselines, if it has any."""
        group = self._group_of.get(component)
        if group not in self._compared_groups:
            self._compared_groups[group] = list(self._joint_results(self._members(component)))
        return self._compared_groups[group]

    def group_evidence(self, component: Component) -> Optional[Evidence]:
        """Return the evidence on the group of a component, None without one."""
        group = self._group_of.get(component)
        return self.evidence((*group, True)) if group else None

    def weigh(self, parts: Sequence[Compared]) -> list[Weight]:
        """Return for each part the joint evidence of the measurements that it may slow."""
        return weigh(
            case_of(compared, question_of(compared[0].measurement.limits, ())) for compared in parts
        )

    def _unless_shared(self, component: Component, evidence: Evidence) -> Evidence:
        """Return the evidence on a component without peers, no alarm if its group lost as much."""
        group = self.group_evidence(component)
        if not (group and group.alarm and group.ratio and evidence.ratio):
            return evidence
        shared = evidence.ratio >= (1 - self._limits[component].peer_loss) * group.ratio
        return evidence._replace(alarm=not shared, shared=shared)

    def _join_alarms(self) -> None:
        """Let what one change has slowed as much have one alarm, that of the first.

        It is a group, a component without peers, or one test of all targets of a file system.
        Noise only takes away: one that has lost more has done so in its best run, too.  The alarm
        of the first must show: if its last run was skipped, the next one has the alarm.
        """
        bearers: dict[tuple[str, ...], list[tuple[Subject, Evidence]]] = {}
        for subject in sorted(self._raised, key=lambda each: (self._raised[each].at, each)):
            evidence = self._evidence[subject]
            if evidence is None or evidence.ratio is None:
                continue
            _, test = self._wholes.get(subject[:2], ("", ""))
            others = bearers.setdefault((_use_of(subject[0]), test, evidence.against), [])
            least = self._raised[subject].best / (1 - self._limits_of(subject).peer_loss)
            for bearer, earlier in others:
                is_as_slow = earlier.ratio is not None and earlier.ratio <= least
                if is_as_slow and self._shows_beside(bearer, subject):
                    self._bear(bearer, subject)
                    break
            else:
                self._evidence[subject] = evidence._replace(borne_by="", bears=())
                others.append((subject, evidence))

    def _bear(self, bearer: Subject, borne: Subject) -> None:
        """Make the alarm of ``borne`` the one of ``bearer``."""
        speaks, silent = self._evidence[bearer], self._evidence[borne]
        if speaks and silent:
            (kind, speaker), (kind_of_borne, name) = map(self._called, (bearer, borne))
            named = name if kind_of_borne == kind else f"{kind_of_borne} {name}"
            self._evidence[bearer] = speaks._replace(bears=(*speaks.bears, named))
            self._evidence[borne] = silent._replace(borne_by=f"{kind} {speaker}", bears=())

    def _shows_beside(self, bearer: Subject, borne: Subject) -> bool:
        """Return whether the service of ``bearer`` shows its alarm as long as ``borne`` has one."""
        stale_after_s = self._limits_of(bearer).stale_after_s
        return self._last_shown(bearer) >= self._last_shown(borne) - stale_after_s

    def _last_shown(self, subject: Subject) -> float:
        """Return the start of the latest run that shows the alarm of a service, in epoch seconds.

        A group shows it after any run.  The last run of a component needs a rate, and none in a
        known state, such as a rebuild; ``-inf`` without such a run.
        """
        members = self._groups[subject[:2]] if subject[2] else [subject[:2]]
        latest = [
            series.latest
            for member in members
            for entry, memory in self._sources[member]
            for series in _series(entry, memory)
        ]
        shown = [run for run in latest if run.rate is not None and not known_states(run)]
        return max((run.started_at for run in (latest if subject[2] else shown)), default=-inf)

    def _called(self, subject: Subject) -> tuple[str, str]:
        """Return the kind of a subject in words, and its name."""
        layer, name, is_group = subject
        if is_group:
            return "group", name
        if subject[:2] in self._wholes:
            return "file system", self._wholes[subject[:2]][0]
        return LAYERS[layer].noun, name

    def _is_lone(self, place: Component) -> bool:
        """Return whether a component could have peers, and has none."""
        return place in self._group_of and len(self._members(place)) < _MIN_MEMBERS

    def _of_a_change(self, subject: Subject, compared: Compared, begin: float) -> bool:
        """Return whether the loss of a whole that begins then is that of a change of software."""
        place = subject[:2]
        if not (subject[2] or place in self._wholes or self._is_lone(place)):
            return False
        at = last_change([item.measurement for item in compared])
        if at is None and not subject[2]:
            at = self._changed.get(place)
        return at is not None and abs(begin - at) < NIGHT_S

    def _limits_of(self, subject: Subject) -> Limits:
        place = subject[:2]
        return self._limits[self._groups[place][0] if subject[2] else place]

    def _members(self, component: Component) -> Sequence[Component]:
        """Return the members of a component's group, empty without one."""
        group = self._group_of.get(component)
        return self._groups[group] if group else ()

    def _joint_results(self, members: Sequence[Component]) -> Iterator[Comparison]:
        for compared in self._with_baselines(members):
            yield self._among_groups(compared, members) or compared

    def _among_groups(
        self, compared: Comparison, members: Sequence[Component]
    ) -> Optional[Comparison]:
        """Return a small group compared with others, None without any or if all have lost."""
        if len(members) >= MIN_SIZE or LAYERS[members[0][0]].paired:
            return None
        kind = compared.measurement.kind
        if kind not in self._small_groups:
            self._find_small_groups(members[0][0])
        numbers, groups = self._small_groups[kind]
        if groups is None or self._all_lost(kind, groups.level):
            return None
        return groups.of(numbers[members[0]])

    def _find_small_groups(self, layer: str) -> None:
        """Collect the small groups of a layer with their baselines, by kind."""
        of_kind: dict[Hashable, dict[Component, Comparison]] = {}
        for (group_layer, _), members in self._groups.items():
            if group_layer == layer and len(members) < MIN_SIZE:
                for compared in self._with_baselines(members):
                    groups = of_kind.setdefault(compared.measurement.kind, {})
                    groups[members[0]] = compared
        for kind, groups in of_kind.items():
            numbers = {member: number for number, member in enumerate(groups)}
            enough = len(groups) >= MIN_SIZE
            self._small_groups[kind] = numbers, Groups([*groups.values()]) if enough else None

    def _all_lost(self, kind: Hashable, level: Comparison) -> bool:
        """Return whether all small groups of a kind have lost as one."""
        if kind not in self._lost:
            question = question_of(level.measurement.limits, [level.measurement])
            self._lost[kind] = weigh([case_of([level], question)])[0].alarm
        return self._lost[kind]

    def _with_baselines(self, members: Sequence[Component]) -> Compared:
        """Return the joint results of a group with its baselines; small groups ask again."""
        if len(members) < _MIN_MEMBERS:
            return ()
        if members[0] not in self._joint:
            self._joint[members[0]] = list(self._of_baselines(members))
        return self._joint[members[0]]

    def _of_baselines(self, members: Sequence[Component]) -> Iterator[Comparison]:
        measurements = self._measurements_of(members)
        for what in dict.fromkeys(measurement.what for measurement in measurements):
            same = [measurement for measurement in measurements if measurement.what == what]
            # hosts meet in pairs
            least = len(members) // 2 if LAYERS[members[0][0]].paired else len(members)
            compared = of_group(same, least)
            if compared:
                yield compared

    def _measurements_of(self, members: Sequence[Component]) -> list[Measurement]:
        return [measurement for member in members for measurement in self._measured.get(member, ())]

    def _measurements(self, entry: Expectation, memory: Weighable) -> Iterator[Measurement]:
        for measured in _series(entry, memory):
            latest = measured.latest
            key = f"{latest.operation.value}/{latest.scenario.value}"
            if entry.references and key not in entry.references:
                continue
            partner = _partner(entry, latest.partner)
            if latest.partner and partner is None:
                continue
            yield self._measurement(entry, measured, partner, memory)

    def _measurement(
        self, entry: Expectation, series: Series, partner: Optional[Partner], memory: Weighable
    ) -> Measurement:
        latest = series.latest
        reference = entry.reference(latest.operation, latest.scenario)
        if partner:
            reference = of_pair(entry, partner, latest.operation, reference)
        limits = _any_strength(entry.limits)
        doubt = doubt_about(reference.baseline, latest, limits)
        change = era_of(reference.baseline, latest, limits) if doubt else ""
        changed_at = memory.changed_at(latest) if change or entry.parallel else None
        era = Era(change, changed_at, self._has_peers(entry)) if change else None
        if entry.parallel and changed_at is not None:
            # without a baseline there is no era
            place = entry.layer, entry.component
            self._changed[place] = max(changed_at, self._changed.get(place, changed_at))
        name = partner.name if partner else ""
        return Measurement(
            self._kind(entry, latest.operation, latest.scenario, reference),
            f"{entry.component} {name}",
            series.samples,
            None if doubt and not era else reference.baseline,
            entry.limits,
            reference.ceiling.rate if reference.ceiling else None,
            era,
            label(latest.operation, latest.scenario),
            name,
        )

    def _has_peers(self, entry: Expectation) -> bool:
        return len(self._groups.get((entry.layer, entry.group), ())) >= _MIN_MEMBERS

    def _kind(
        self, entry: Expectation, operation: Operation, scenario: Scenario, reference: Reference
    ) -> Hashable:
        """Return the key of measurements that should give the same, including their ceiling."""
        group = (
            entry.group
            if not LAYERS[entry.layer].on_devices
            else self._systems.get(entry.component, "")
        )
        ceiling = reference.ceiling.rate if reference.ceiling else None
        if entry.parallel:
            group = f"all of {entry.component}"
        return entry.layer, operation, scenario, group or entry.group, ceiling


@lru_cache(maxsize=1000)
def _any_strength(limits: Limits) -> Limits:
    """Return limits by which any baseline counts; here its error is weighed."""
    return limits._replace(min_runs=1, max_spread=inf)


def weigh_all(weighings: Sequence[Weighing]) -> None:
    """Weigh all subjects of several weighings, such as one per day, at once."""
    weigh_subjects([(weighing, weighing.subjects()) for weighing in weighings])


def weigh_subjects(chosen: Sequence[tuple[Weighing, Iterable[Subject]]]) -> None:
    """Weigh some subjects of several weighings at once: a tenth of the time of single calls."""
    batches = [(weighing, weighing.questions(subjects)) for weighing, subjects in chosen]
    weights = iter(
        weigh(case_of(*terms) for _, questions in batches for terms in questions.values())
    )
    for weighing, questions in batches:
        weighing.answer(questions, list(islice(weights, len(questions))))


def _wholes(nodes: Nodes) -> dict[Component, tuple[str, str]]:
    """Return the file system of each test of all its targets, and what further test it is."""
    return {
        (entry.layer, entry.component): (
            entry.file_system,
            str(entry.target.get("test", "")) if entry.further else "",
        )
        for entries in nodes.values()
        for entry in entries
        if entry.parallel
    }


def _use_of(layer: str) -> str:
    """Return what a layer measures: one at a time or at once, targets' data is the same."""
    return "data" if LAYERS[layer].per_target or LAYERS[layer].whole else layer


def _systems(nodes: Nodes) -> dict[str, str]:
    """Return the file system of each part that belongs to a single one."""
    systems: dict[str, set[str]] = {}
    for expectations in nodes.values():
        for expectation in expectations:
            if LAYERS[expectation.layer].per_target:
                for name in expectation.path:
                    systems.setdefault(name, set()).add(expectation.group)
    return {name: next(iter(groups)) for name, groups in systems.items() if len(groups) == 1}


def _series(entry: Expectation, memory: Weighable) -> Sequence[Series]:
    try:
        return memory.of(entry.layer, entry.component)
    except DocumentError:
        # the verdict on the component reports it
        return ()


def _partner(entry: Expectation, name: Optional[str]) -> Optional[Partner]:
    return next((partner for partner in entry.partners if partner.name == name), None)
