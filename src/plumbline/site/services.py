"""Which service of Nagios shows which verdict."""

from __future__ import annotations

from typing import Iterable, Optional

from plumbline.model.judged import Judged
from plumbline.model.service import Service


def in_alarm(judged: Iterable[Judged], services: Iterable[Service]) -> set[int]:
    """Return the places of the services whose verdict is WARNING or CRITICAL."""
    known = Directory(services)
    places = {service: place for place, service in enumerate(known.every)}
    found = (known.find(one) for one in judged if one.verdict.state.alarm)
    return {places[service] for service in found if service}


class Directory:
    """Which service shows which verdict."""

    def __init__(self, services: Iterable[Service]) -> None:
        """Take the services of a plan."""
        self.every = tuple(services)
        self._components = {
            (one.node, one.layer, one.component): one for one in self.every if one.component
        }
        self._groups = {(one.node, one.layer, one.group): one for one in self.every if one.group}

    def find(self, judged: Judged) -> Optional[Service]:
        """Return the service of a verdict; None where the plan has none."""
        key = judged.node, judged.verdict.layer, judged.verdict.component
        if judged.verdict.group:
            return self._groups.get(key)
        # a document of an older plumbline does not say what is a group
        return self._components.get(key) or self._groups.get(key)
