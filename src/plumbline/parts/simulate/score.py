"""Scores of simulated days: false alarms a month, notifications, days until faults show.

Notifications follow from the plan, like dependencies of Nagios and Icinga: a service is silent
while one that it is ``behind`` is in alarm, or a suspect that it belongs to.
"""

from __future__ import annotations

import operator
from collections import Counter
from typing import Callable, Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.judging import Alarming
from plumbline.model.layers import LAYERS
from plumbline.model.service import PathAlarms, PathService, Service
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.parts.simulate.course import Scenario, Today, simulated_days
from plumbline.parts.simulate.fleet import Fault, Fleet, Flow, Losses, Noise, random_faults
from plumbline.parts.simulate.weather import ROUNDING, Capacity

PATH = "path"
"""The layer of suspects."""

_ALARMS = {State.WARNING: 1, State.CRITICAL: 2}
"""States that notify somebody, by severity."""

_MIN_SHARE = 0.5
"""Share of a group's members, or of the partners of a host or adapter, that must be slow for it to
be slow."""


class Source(NamedTuple):
    """Source of an alarm: a layer, or its groups, and the reason."""

    layer: str
    group: bool
    reason: Reason


class Trial(NamedTuple):
    """One fault and its result.

    ``slows`` is the largest share of its rate that a measurement loses when the fault begins, 0 if
    the part has slack or an earlier fault takes more; ``followed`` the days from its first to the
    last, both included.  ``found`` counts days likewise, None without an alarm; ``by`` is the first
    alarm: its service, e.g. ``ost scratch-OST0003`` or ``raw group oss02``, and its sentence;
    ``services`` is the number of services that it made WARNING or CRITICAL, ``notifications`` the
    number of those, suspects included, that notified.  ``hidden`` is whether all components that it
    slows were in alarm before it began.
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
        """Return whether it slows any measurement, and a new alarm could show that."""
        return self.slows > 0 and not self.hidden


class Outcome(NamedTuple):
    """The sum over several fleets of equal length.

    ``healthy_days`` counts verdicts on components that no fault slows, one a day; ``raised`` how
    often one of these, of their groups, or a suspect notified, by source; ``standing`` the days on
    which the alarm stood; ``unknown`` the days without a judgement.  ``false_days`` are the days of
    all fleets with any of these alarms.  ``chance`` has the trials on the same days without the
    faults.  ``planned_bytes`` is the traffic of planned runs, ``confirmed_bytes`` that of
    confirmations.
    """

    fleets: int
    days: int
    healthy_days: int
    raised: Counter[Source]
    standing: Counter[Source]
    unknown: Counter[Source]
    trials: tuple[Trial, ...]
    false_days: int = 0
    chance: tuple[Trial, ...] = ()
    planned_bytes: int = 0
    confirmed_bytes: int = 0


class Score:
    """Counts the days of one simulation in their order."""

    def __init__(
        self,
        fleet: Fleet,
        capacity: Capacity,
        faults: Sequence[Fault],
        days: int,
        suspects: Optional[Suspects] = None,
    ) -> None:
        """Determine the slower measurements of each fault; the simulation has ``days``.

        Without ``suspects`` nobody locates them.
        """
        self._monitoring = MonitoringSystem(fleet.services, fleet.paths, suspects)
        self._days = days
        self._healthy = 0
        self._raised: Counter[Source] = Counter()
        self._standing: Counter[Source] = Counter()
        self._unknown: Counter[Source] = Counter()
        self._false_days = 0
        self._moved = 0, 0
        self._before: dict[Key, int] = {}
        healthy_Bps = capacity.healthy_Bps
        self._slow = {
            fault: _slow(
                fleet, {f: r for f, r in capacity.under([fault]).items() if r < healthy_Bps[f]}
            )
            for fault in faults
        }
        self._accused: dict[Fault, set[Key]] = {fault: set() for fault in faults}
        self._notified: dict[Fault, set[Key]] = {fault: set() for fault in faults}
        self._trials = {
            fault: Trial(
                fault,
                _kind(fleet, fault),
                _slows(capacity, fault, faults),
                days - fault.since + 1,
            )
            for fault in faults
        }

    def take(self, today: Today) -> None:
        """Count the verdicts of one day."""
        self._hide(fault for fault in today.faults if fault.since == today.day)
        notified = self._monitoring.take(today)
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

    def _hide(self, faults: Iterable[Fault]) -> None:
        """Mark faults that only slow components in alarm the day before."""
        for fault in faults:
            components = [key for key in self._slow[fault].most if not key[2]]
            hidden = bool(components) and all(self._before.get(key) for key in components)
            self._trials[fault] = self._trials[fault]._replace(hidden=hidden)

    def _take_paths(self, notified: Notifications, today: Today) -> None:
        """Count the suspects that notify: of a fault that slows half of the members in alarm.

        If several runs of several members make a suspect, none of these may be in alarm yet: then a
        fault that slows half of all members counts.
        """
        faults = list(today.faults)
        slow = {key for fault in faults for key in self._slow[fault].any}
        for name, suspect in notified.paths.items():
            members = suspect.alarms or suspect.members
            hits = {fault: [key in self._slow[fault].most for key in members] for fault in faults}
            causes = [
                fault for fault, own in hits.items() if own and sum(own) >= _MIN_SHARE * len(own)
            ]
            for fault in causes:
                if not self._shared(fault):
                    self._find(fault, today.day, (f"{PATH} {name}", f"{name} is a suspect"))
            self._notify(causes, (PATH, name, False))
            excused = not slow.isdisjoint(suspect.alarms)
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
            # without zeros
            +self._raised,
            +self._standing,
            +self._unknown,
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
        by_group = verdict.group or verdict.reason.below_requirement
        for fault in causes:
            if self._shared(fault) and not by_group:
                # no comparison with peers shows a loss that all share: the alarm is chance
                continue
            accused = self._accused[fault]
            accused.add((verdict.layer, verdict.component, verdict.group))
            self._find(fault, day, by)
            self._trials[fault] = self._trials[fault]._replace(services=len(accused))

    def _shared(self, fault: Fault) -> bool:
        """Return whether a fault slows a release, file system or site, and no part of these."""
        return self._trials[fault].kind in _SHARED_KINDS

    def _find(self, fault: Fault, day: int, by: tuple[str, str]) -> None:
        trial = self._trials[fault]
        if trial.found is None:
            self._trials[fault] = trial._replace(found=day - fault.since + 1, by=by)


def add(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the sum of outcomes, at least one; all courses were of the same length."""
    total, *further = outcomes
    for outcome in further:
        total = Outcome(*map(operator.add, total, outcome))._replace(days=total.days)
    return total


_SHARED_KINDS = ("release", "file system", "site")


def _kind(fleet: Fleet, fault: Fault) -> str:
    """Return the kind of a part, or one of ``_SHARED_KINDS``."""
    if fault.version:
        return "release"
    if fault.component in fleet.kinds:
        return fleet.kinds[fault.component]
    return "file system" if fault.component in fleet.systems else "site"


class _SlowKeys(NamedTuple):
    """Components that a fault slows; of groups ``any`` member, or ``most`` of them."""

    any: frozenset[Key]
    most: frozenset[Key]


def _slows(capacity: Capacity, fault: Fault, faults: Sequence[Fault]) -> float:
    """Return the largest share of its rate that a measurement loses to a fault when it begins."""
    before = [
        earlier
        for earlier in faults
        if earlier.since < fault.since
        and earlier.share == 1
        and (earlier.last is None or earlier.last >= fault.since)
    ]
    rates = {**capacity.healthy_Bps, **capacity.under(before)}
    under = capacity.under([*before, fault])
    lost = max((1 - rate / rates[flow] for flow, rate in under.items()), default=0.0)
    return lost if lost > ROUNDING else 0.0


def _slow(fleet: Fleet, rates: Mapping[Flow, float]) -> _SlowKeys:
    """Return the slower components, the mostly slower hosts and adapters, and their groups."""
    components: set[Key] = set()
    groups: dict[Key, list[bool]] = {}
    for member in fleet.members:
        layer, component = member.key
        flows = list(member.flows())
        slower = [flow in rates for flow in flows]
        if sum(slower) >= _MIN_SHARE * len(flows) if LAYERS[layer].paired else any(slower):
            components.add((layer, component, False))
        groups.setdefault((layer, member.expectation.group, True), []).append(any(slower))
    most = {
        key for key, hits in groups.items() if any(hits) and sum(hits) >= _MIN_SHARE * len(hits)
    }
    some = {key for key, hits in groups.items() if any(hits)}
    return _SlowKeys(frozenset(components | some), frozenset(components | most))


Key = tuple[str, str, bool]
"""Layer, component or group, and whether it is a group."""


Suspects = Callable[[Alarming], PathAlarms]
"""Returns the path services in alarm, day after day."""


class Suspect(NamedTuple):
    """Measurements that a suspect slows if it is at fault; ``alarms`` are those in alarm."""

    members: tuple[Key, ...]
    alarms: tuple[Key, ...]


class Notifications(NamedTuple):
    """Notifications of a day: ``speaking`` services, and those that did not speak before.

    ``paths`` are the new suspects, by the names of their services.
    """

    speaking: frozenset[Key]
    new: frozenset[Key]
    paths: Mapping[str, Suspect]


class MonitoringSystem:
    """The monitoring system of a fleet, day after day."""

    def __init__(
        self,
        services: Sequence[Service],
        paths: Sequence[PathService],
        suspects: Optional[Suspects] = None,
    ) -> None:
        """Read the services of the plan; without ``suspects`` path services are left out."""
        self._services = services
        self._paths = [service for service in paths if service.component] if suspects else []
        self._suspects = suspects
        self._keys = [
            (service.layer, service.component or service.group, bool(service.group))
            for service in services
        ]
        self._places = {key: place for place, key in enumerate(self._keys)}
        self._notified: frozenset[int] = frozenset()
        self._suspected: frozenset[str] = frozenset()

    def take(self, today: Today) -> Notifications:
        """Return the notifications of a day."""
        keys = (
            (verdict.layer, verdict.component, verdict.group)
            for verdict in today.verdicts
            if verdict.state.alarm
        )
        alarms = frozenset(self._places[key] for key in keys if key in self._places)
        suspected, notified_before = PathAlarms(frozenset(), frozenset())
        if self._suspects:
            site = today.nodes, today.judging, today.weighing
            suspected, notified_before = self._suspects(Alarming(*site, alarms))
        speaking = alarms - self._silent(alarms, suspected)
        notified = Notifications(
            self._named(speaking),
            self._named(speaking - self._notified),
            {
                path.name: Suspect(
                    tuple(self._keys[place] for place in path.members),
                    tuple(self._keys[place] for place in path.members if place in alarms),
                )
                for path in self._paths
                if path.name in suspected - self._suspected - notified_before
            },
        )
        # a notified service that is silent now raises no second alarm when it speaks again
        self._notified = (self._notified & alarms) | speaking
        self._suspected = suspected
        return notified

    def _silent(self, alarms: frozenset[int], suspected: frozenset[str]) -> frozenset[int]:
        behind = {place for path in self._paths if path.name in suspected for place in path.members}
        masked = {place for place in alarms if not alarms.isdisjoint(self._services[place].behind)}
        return frozenset(behind | masked)

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
    """Makes a locator without earlier days; None: nobody locates suspects."""


def outcome_of(
    setting: Setting, number: int, show: Optional[Callable[[int], None]] = None
) -> Outcome:
    """Return the outcome of one fleet; it depends only on the seed and its number.

    ``show`` is called after each day.
    """
    seed, site = f"{setting.seed}/{number}", (setting.fleet, setting.capacity)
    faults = setting.faults + random_faults(
        setting.capacity.located,
        setting.random_faults,
        setting.losses,
        setting.days,
        f"{seed}/faults",
    )
    new = any(fault.day == 0 for fault in faults)
    scenario = Scenario(setting.days, setting.noise, faults, seed, new)
    outcome = _scored(setting, faults, simulated_days(*site, scenario), show)
    if faults:
        healthy = scenario._replace(faults=())
        without = _scored(setting, faults, simulated_days(*site, healthy), show)
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
