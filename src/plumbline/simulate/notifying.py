"""Which services notify somebody of an alarm: those that no other service speaks for.

It follows from the plan, as the dependencies that Nagios and Icinga get do: a service is silent
while one that it is ``behind`` is in alarm, or the suspect that it is a member of.
"""

from __future__ import annotations

from typing import Callable, Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.alarming import Alarming
from plumbline.model.expectation import Expectation
from plumbline.model.path_service import PathService
from plumbline.model.service import Service
from plumbline.model.verdict import Verdict
from plumbline.simulate.memory import Memory

Key = tuple[str, str, bool]
"""Layer, component or group, and whether it is a group."""


Suspects = Callable[[Alarming], frozenset[str]]
"""Gives the names of the path services that are in alarm, day after day."""


class Suspect(NamedTuple):
    """What a suspect makes slow if it is at fault; ``alarms`` are in alarm, perhaps none yet."""

    members: tuple[Key, ...]
    alarms: tuple[Key, ...]


class Notified(NamedTuple):
    """What somebody is notified of on a day: services that ``speak``, and those that did not yet.

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
        self._paths = [one for one in paths if one.component] if suspects else []
        self._suspects = suspects
        self._keys = [(one.layer, one.component or one.group, bool(one.group)) for one in services]
        self._places = {key: place for place, key in enumerate(self._keys)}
        self._before: frozenset[int] = frozenset()
        self._told: frozenset[int] = frozenset()
        self._suspected: frozenset[str] = frozenset()

    def take(
        self,
        verdicts: Iterable[Verdict],
        nodes: Mapping[str, Sequence[Expectation]],
        memory: Memory,
        now: float,
    ) -> Notified:
        """Return what is notified on a day with these verdicts."""
        keys = ((one.layer, one.component, one.group) for one in verdicts if one.state.alarm)
        alarms = frozenset(self._places[key] for key in keys if key in self._places)
        suspected: frozenset[str] = frozenset()
        if self._suspects:
            new = alarms - self._before
            suspected = self._suspects(Alarming(nodes, memory, now, alarms, new))
        speaking = alarms - self._silent(alarms, suspected)
        told = Notified(
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
        self._before, self._suspected = alarms, suspected
        return told

    def _silent(self, alarms: frozenset[int], suspected: frozenset[str]) -> frozenset[int]:
        behind = {place for path in self._paths if path.name in suspected for place in path.members}
        borne = {place for place in alarms if not alarms.isdisjoint(self._services[place].behind)}
        return frozenset(behind | borne)

    def _named(self, places: Iterable[int]) -> frozenset[Key]:
        return frozenset(self._keys[place] for place in places)
