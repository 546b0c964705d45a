"""Memory of the judge: recent records of components, and the alarms of a site at one time."""

from __future__ import annotations

from typing import Collection, Mapping, NamedTuple, Optional, Protocol, Sequence

from plumbline.model.evidence import Evidence, Subject
from plumbline.model.expectation import Expectation
from plumbline.model.record import Record
from plumbline.model.series import Running, Series


class Memory(Protocol):
    """Source of measurements: a node's snapshot, or a history."""

    @property
    def running(self) -> tuple[Running, ...]:
        """Return the runs that have not ended."""
        ...

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return every series of a component; raise DocumentError when one is damaged."""
        ...


class Weighable(Memory, Protocol):
    """Memory that also dates changes of versions: a history, or a simulation."""

    def changed_at(self, latest: Record) -> Optional[float]:
        """Return since when a series has its latest versions, None if always, epoch seconds."""
        ...


class EvidenceSource(Protocol):
    """Source of the evidence of the last runs: a node's snapshot, or the weighing itself."""

    def evidence(self, subject: Subject) -> Optional[Evidence]:
        """Return the evidence on a component or group, None if nothing is comparable."""
        ...


class Alarming(NamedTuple):
    """Expectations of each node, and the measurements until ``now``, in epoch seconds.

    ``alarms`` are the places of the services in alarm in the plan, ``new`` those of them that were
    in none the day before.
    """

    nodes: Mapping[str, Sequence[Expectation]]
    memory: Weighable
    now: float
    alarms: Collection[int]
    new: Collection[int]
