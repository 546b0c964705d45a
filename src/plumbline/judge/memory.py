"""Memory of the judge: recent records of components, and their evidence."""

from __future__ import annotations

from typing import Optional, Protocol

from plumbline.model.evidence import Evidence, Subject
from plumbline.model.record import Record
from plumbline.model.series import Running, Series


class Memory(Protocol):
    """Source of measurements: a node's snapshot, or a history."""

    @property
    def running(self) -> tuple[Running, ...]:
        """Return the runs that have not ended."""
        ...

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return every series of a component; raise DocumentError if one is damaged."""
        ...


class Weighable(Memory, Protocol):
    """Memory that also dates changes of versions: a history, or a simulation."""

    def changed_at(self, latest: Record) -> Optional[float]:
        """Return when the latest versions of a series began (epoch seconds), None if always."""
        ...


class EvidenceSource(Protocol):
    """Source of the evidence of the last runs: a node's snapshot, or the weighing itself."""

    def evidence(self, subject: Subject) -> Optional[Evidence]:
        """Return the evidence on a component or group, None if nothing is comparable."""
        ...
