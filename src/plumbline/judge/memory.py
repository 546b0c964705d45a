"""Memory of the judge: recent records of components, and the alarms of a site at one time."""

from __future__ import annotations

from typing import Collection, Mapping, NamedTuple, Optional, Protocol, Sequence

from plumbline.model.evidence import Evidence, Subject
from plumbline.model.expectation import Expectation
from plumbline.model.record import Record
from plumbline.model.series import Running, Series


class Memory(Protocol):
    """Where judging finds what was measured: a node's snapshot, or a history itself."""

    @property
    def running(self) -> tuple[Running, ...]:
        """Return what has begun and not ended."""
        ...

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return every series of a component; raise DocumentError when one is damaged."""
        ...


class Weighable(Memory, Protocol):
    """Where weighing finds them: a history, or what is simulated."""

    def changed_at(self, latest: Record) -> Optional[float]:
        """Return since when a series has its latest versions, None if always, epoch seconds."""
        ...


class Knowing(Protocol):
    """What knows what the last runs say: a node's snapshot, or who weighs them."""

    def evidence(self, subject: Subject) -> Optional[Evidence]:
        """Return what they say of a component or group, None where nothing is comparable."""
        ...


class Alarming(NamedTuple):
    """What each node expects and what was measured until ``now``, in epoch seconds.

    ``alarms`` are the places of the services in alarm in the plan, ``new`` those of them that were
    in none the day before.
    """

    nodes: Mapping[str, Sequence[Expectation]]
    memory: Weighable
    now: float
    alarms: Collection[int]
    new: Collection[int]
