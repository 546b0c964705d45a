"""Scores of a course: false alarms a month, notifications, days until faults show.

Notifications follow from the plan, as dependencies of Nagios and Icinga do: a service is silent
while one that it is ``behind`` is in alarm, or the suspect that it is a member of.
"""

from __future__ import annotations

from collections import Counter
from typing import Callable, Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.weighing import Alarming
from plumbline.model.layers import LAYERS
from plumbline.model.service import PathService, Service
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.simulate.course import Scenario, Today, course
from plumbline.simulate.fleet import Fault, Fleet, Flow, Losses, Noise, random_faults
from plumbline.simulate.weather import Capacity

PATH = "path"
"""The layer of suspects."""

_ALARMS = {State.WARNING: 1, State.CRITICAL: 2}
"""States that notify somebody, by severity."""

_MOST = 0.5
"""Share of the members of a group, or of the partners of a host, that must be slower for it to be
the one that is slow."""


class Source(NamedTuple):
    """Source of an alarm: a layer, or its groups, and the reason."""

    layer: str
    group: bool
    reason: Reason


class Trial(NamedTuple):
    """One fault, and what became of it.

    ``slows`` is the largest share of its rate that a measurement loses, 0 where the part has slack;
    ``followed`` the days from its first to the last, both included.  ``found`` counts days
    likewise, None where no alarm was raised; ``by`` is the first alarm: its service, e.g. ``ost
    scratch-OST0003`` or ``raw group oss02``, and its sentence; ``services`` is how many services
    it made WARNING or CRITICAL, ``notifications`` how many, suspects included, notified of it.
    ``hidden`` says that all components that it slows were in alarm before it began.
    """

    fault: Fault
    kind: str
    slows: float
    followed: int
    found: Optional[int] = None
    by: tuple[str, ...] = ()
    services: int = 0
    notifications: int = 0
    hidden: bool = False

    @property
    def identifiable(self) -> bool:
        """Return whether any measurement is slower for it, and could say so by a new alarm."""
        return self.slows > 0 and not self.hidden


class Outcome(NamedTuple):
    """The sum over some courses of equal length.

    ``healthy_days`` counts verdicts on components that no fault makes slower, one a day;
    ``raised`` how often one of these, of their groups, or a suspect notified, by source;
    ``standing`` on how many of the days it stood; ``unknown`` the days without a judgement.
    ``false_days`` are the days of all fleets on which any of these alarms stood.  ``chance`` is
    what would be said of the faults had there been none: the same days without them.
    ``planned_bytes`` is what planned runs moved, ``confirmed_bytes`` what was measured again.
    """

    fleets: int
    days: int
    healthy_days: int
    raised: Mapping[Source, int]
    standing: Mapping[Source, int]
    unknown: Mapping[Source, int]
    trials: tuple[Trial, ...]
    false_days: int = 0
    chance: tuple[Trial, ...] = ()
    planned_bytes: int = 0
    confirmed_bytes: int = 0


class Score:
    """Takes the days of one course in their order."""

    def __init__(
        self,
        fleet: Fleet,
        capacity: Capacity,
        faults: Sequence[Fault],
        days: int,
        suspects: Optional[Suspects] = None,
    ) -> None:
        """Find out what each fault makes slower; the course has ``days``.

        Without ``suspects`` nobody looks for them.
        """
        self._notifying = Notifying(fleet.services, fleet.paths, suspects)
        self._days = days
        self._healthy = 0
        self._raised: Counter[Source] = Counter()
        self._standing: Counter[Source] = Counter()
        self._unknown: Counter[Source] = Counter()
        self._false_days = 0
        self._moved = 0, 0
        self._before: dict[Key, int] = {}
        healthy_Bps = capacity.healthy_Bps
        slower = {
            fault: {f: r for f, r in capacity.under([fault]).items() if r < healthy_Bps[f]}
            for fault in faults
        }
        self._slow = {fault: _slow(fleet, rates) for fault, rates in slower.items()}
        self._accused: dict[Fault, set[Key]] = {fault: set() for fault in faults}
        self._notified: dict[Fault, set[Key]] = {fault: set() for fault in faults}
        self._trials = {
            fault: Trial(
                fault,
                _kind(fleet, fault),
                max((1 - rate / healthy_Bps[f] for f, rate in rates.items()), default=0.0),
                days - fault.since + 1,
            )
            for fault, rates in slower.items()
        }

    def take(self, today: Today) -> None:
        """Count the verdicts of one day."""
        self._hide(fault for fault in today.faults if fault.since == today.day)
        notified = self._notifying.take(today)
        false = False
        for verdict in today.verdicts:
            key = verdict.layer, verdict.component, verdict.group
            causes = [fault for fault in today.faults if key in self._slow[fault].most]
            severity, before = _ALARMS.get(verdict.state, 0), self._before.get(key, 0)
            self._before[key] = severity
            if severity > before:
                self._credit(causes, verdict, today.day)
            if key in notified.new or (severity > before > 0 and key in notified.speaking):
                self._notify(causes, key)
            if not any(key in self._slow[fault].any for fault in today.faults):
                self._count(verdict, new=key in notified.new)
                false = false or severity > 0
        self._take_paths(notified, today)
        self._false_days += false
        self._moved = today.planned_bytes, today.confirmed_bytes

    def _hide(self, begun: Iterable[Fault]) -> None:
        """Mark faults that slow no component but those in alarm the day before."""
        for fault in begun:
            components = [key for key in self._slow[fault].most if not key[2]]
            hidden = bool(components) and all(self._before.get(key) for key in components)
            self._trials[fault] = self._trials[fault]._replace(hidden=hidden)

    def _take_paths(self, notified: Notified, today: Today) -> None:
        """Count the suspects that notify: of a fault that slows half of what is in alarm there.

        Where several runs of several members make a suspect, none of these may be in alarm yet: a
        fault that slows half of all is meant then.
        """
        there = list(today.faults)
        for name, suspect in notified.paths.items():
            members = suspect.alarms or suspect.members
            slowed = {fault: [key in self._slow[fault].most for key in members] for fault in there}
            causes = [fault for fault, of in slowed.items() if of and sum(of) >= _MOST * len(of)]
            for fault in causes:
                self._find(fault, today.day, (f"{PATH} {name}", f"{name} is a suspect"))
            self._notify(causes, (PATH, name, False))
            excused = any(key in self._slow[fault].any for fault in there for key in suspect.alarms)
            if not causes and not excused:
                self._raised[Source(PATH, False, Reason.SUSPECT)] += 1

    def _notify(self, causes: Iterable[Fault], key: Key) -> None:
        for fault in causes:
            self._notified[fault].add(key)
            number = len(self._notified[fault])
            self._trials[fault] = self._trials[fault]._replace(notifications=number)

    def outcome(self) -> Outcome:
        """Return the counts."""
        return Outcome(
            1,
            self._days,
            self._healthy,
            self._raised,
            self._standing,
            self._unknown,
            tuple(self._trials.values()),
            self._false_days,
            (),
            *self._moved,
        )

    def _count(self, verdict: Verdict, *, new: bool) -> None:
        source = Source(verdict.layer, verdict.group, verdict.reason)
        self._healthy += not verdict.group
        self._raised[source] += new
        self._standing[source] += verdict.state in _ALARMS
        self._unknown[source] += verdict.state is State.UNKNOWN

    def _credit(self, causes: Iterable[Fault], verdict: Verdict, day: int) -> None:
        group = "group " if verdict.group else ""
        by = (f"{verdict.layer} {group}{verdict.component}", verdict.sentence)
        for fault in causes:
            accused = self._accused[fault]
            accused.add((verdict.layer, verdict.component, verdict.group))
            self._find(fault, day, by)
            self._trials[fault] = self._trials[fault]._replace(services=len(accused))

    def _find(self, fault: Fault, day: int, by: tuple[str, str]) -> None:
        """Note the first alarm of a fault."""
        trial = self._trials[fault]
        if trial.found is None:
            self._trials[fault] = trial._replace(found=day - fault.since + 1, by=by)


def add(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the sum of outcomes, at least one; all courses were of the same length."""
    all_outcomes = list(outcomes)
    return Outcome(
        sum(outcome.fleets for outcome in all_outcomes),
        all_outcomes[0].days,
        sum(outcome.healthy_days for outcome in all_outcomes),
        _sum(outcome.raised for outcome in all_outcomes),
        _sum(outcome.standing for outcome in all_outcomes),
        _sum(outcome.unknown for outcome in all_outcomes),
        tuple(trial for outcome in all_outcomes for trial in outcome.trials),
        sum(outcome.false_days for outcome in all_outcomes),
        tuple(trial for outcome in all_outcomes for trial in outcome.chance),
        sum(outcome.planned_bytes for outcome in all_outcomes),
        sum(outcome.confirmed_bytes for outcome in all_outcomes),
    )


def _sum(counts: Iterable[Mapping[Source, int]]) -> dict[Source, int]:
    total: Counter[Source] = Counter()
    for count in counts:
        total.update(count)
    return {source: total[source] for source in sorted(total) if total[source]}


def _kind(fleet: Fleet, fault: Fault) -> str:
    if fault.version:
        return "release"
    if fault.component in fleet.kinds:
        return fleet.kinds[fault.component]
    return "file system" if fault.component in fleet.systems else "site"


class _Slow(NamedTuple):
    """Components and hosts that a fault slows; of groups ``any`` member, or ``most`` of them."""

    any: frozenset[Key]
    most: frozenset[Key]


def _slow(fleet: Fleet, rates: Mapping[Flow, float]) -> _Slow:
    """Return the components that are slower, the hosts most of which is, and their groups."""
    some: set[Key] = set()
    groups: dict[Key, list[bool]] = {}
    for member in fleet.members:
        layer, component = member.key
        flows = list(member.flows())
        slower = [flow in rates for flow in flows]
        if sum(slower) >= _MOST * len(flows) if LAYERS[layer].paired else any(slower):
            some.add((layer, component, False))
        groups.setdefault((layer, member.expectation.group, True), []).append(any(slower))
    most = {key for key, of in groups.items() if any(of) and sum(of) >= _MOST * len(of)}
    touched = {key for key, of in groups.items() if any(of)}
    return _Slow(frozenset(some | touched), frozenset(some | most))


Key = tuple[str, str, bool]
"""Layer, component or group, and whether it is a group."""


Suspects = Callable[[Alarming], frozenset[str]]
"""Gives the names of the path services that are in alarm, day after day."""


class Suspect(NamedTuple):
    """Measurements that a suspect slows if it is at fault; ``alarms`` are those in alarm."""

    members: tuple[Key, ...]
    alarms: tuple[Key, ...]


class Notified(NamedTuple):
    """Notifications of a day: services that ``speak``, and those that did not yet.

    ``paths`` are the suspects that are new, by the names of their services.
    """

    speaking: frozenset[Key]
    new: frozenset[Key]
    paths: Mapping[str, Suspect]


class Notifying:
    """The monitoring system of a fleet, asked day after day."""

    def __init__(
        self,
        services: Sequence[Service],
        paths: Sequence[PathService],
        suspects: Optional[Suspects] = None,
    ) -> None:
        """Know what the plan has; without ``suspects`` the services of paths are not there."""
        self._services = services
        self._paths = [service for service in paths if service.component] if suspects else []
        self._suspects = suspects
        self._keys = [
            (service.layer, service.component or service.group, bool(service.group))
            for service in services
        ]
        self._places = {key: place for place, key in enumerate(self._keys)}
        self._told: frozenset[int] = frozenset()
        self._suspected: frozenset[str] = frozenset()

    def take(self, today: Today) -> Notified:
        """Return the notifications of a day."""
        keys = (
            (verdict.layer, verdict.component, verdict.group)
            for verdict in today.verdicts
            if verdict.state.alarm
        )
        alarms = frozenset(self._places[key] for key in keys if key in self._places)
        suspected: frozenset[str] = frozenset()
        if self._suspects:
            of_today = today.nodes, today.memory, today.weighing, today.now
            suspected = self._suspects(Alarming(*of_today, alarms))
        speaking = alarms - self._silent(alarms, suspected)
        notified = Notified(
            self._named(speaking),
            self._named(speaking - self._told),
            {
                path.name: Suspect(
                    tuple(self._keys[place] for place in path.members),
                    tuple(self._keys[place] for place in path.members if place in alarms),
                )
                for path in self._paths
                if path.name in suspected - self._suspected
            },
        )
        # what was notified and is silent now is no second alarm when it speaks again
        self._told = (self._told & alarms) | speaking
        self._suspected = suspected
        return notified

    def _silent(self, alarms: frozenset[int], suspected: frozenset[str]) -> frozenset[int]:
        behind = {place for path in self._paths if path.name in suspected for place in path.members}
        borne = {place for place in alarms if not alarms.isdisjoint(self._services[place].behind)}
        return frozenset(behind | borne)

    def _named(self, places: Iterable[int]) -> frozenset[Key]:
        return frozenset(self._keys[place] for place in places)


class Setting(NamedTuple):
    """Settings that all fleets share."""

    fleet: Fleet
    capacity: Capacity
    days: int
    noise: Noise
    faults: tuple[Fault, ...]
    random_faults: int
    losses: Losses
    seed: int
    budget: float
    suspects: Optional[Callable[[], Suspects]] = None
    """Gives what looks for suspects, and knows nothing of the days before; None: nobody looks."""


def outcome_of(
    setting: Setting, number: int, show: Optional[Callable[[int], None]] = None
) -> Outcome:
    """Return the outcome of one fleet; it depends on the seed and its number alone.

    ``show`` is called with each day that is over.
    """
    seed, of = f"{setting.seed}/{number}", (setting.fleet, setting.capacity)
    faults = setting.faults + random_faults(
        setting.capacity.components,
        setting.random_faults,
        setting.losses,
        setting.days,
        f"{seed}/faults",
    )
    new = any(fault.day == 0 for fault in faults)
    scenario = Scenario(setting.days, setting.noise, faults, seed, new)
    outcome = _scored(setting, faults, course(*of, scenario), show)
    if faults:
        healthy = scenario._replace(faults=())
        without = _scored(setting, faults, course(*of, healthy), show)
        outcome = outcome._replace(chance=without.trials)
    return outcome


def _scored(
    setting: Setting,
    faults: Sequence[Fault],
    days: Iterable[Today],
    show: Optional[Callable[[int], None]],
) -> Outcome:
    """Return the outcome of days with these faults, present or past."""
    suspects = setting.suspects() if setting.suspects else None
    score = Score(setting.fleet, setting.capacity, faults, setting.days, suspects)
    for today in days:
        score.take(
            today._replace(faults=tuple(fault for fault in faults if fault.blamed(today.day)))
        )
        if show:
            show(today.day)
    return score.outcome()
