"""What the parts of a site carry in each direction."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional

from plumbline.ceiling import Capacities, Limit
from plumbline.model.record import Operation
from plumbline.plan.places import Step
from plumbline.topology.graph import Topology

Limits = Mapping[tuple[str, str, Step], Optional[Limit]]
"""By layer, component and step; None where nothing on the path has a rate."""

_AWAY = (Operation.WRITE, Operation.SEND)


class Speeds(NamedTuple):
    """The capacities of all parts of a site, in each direction."""

    reads: Capacities
    writes: Capacities

    def of(self, operation: Operation, kind: str = "") -> Capacities:
        """Return what the parts can carry in the direction of ``operation``.

        A part's write is the way towards storage, its read the way back: a client that sends uses
        what writes use, a server (``kind`` of the host that sends or receives) what reads use.
        """
        return self.writes if (operation in _AWAY) is not (kind == "server") else self.reads


def speeds(topology: Topology) -> Speeds:
    """Return the capacities of a site, the same mapping twice where both directions are alike."""
    parts = topology.components.items()
    reads = {name: part.read_Bps for name, part in parts}
    writes = {name: part.write_Bps for name, part in parts}
    return Speeds(reads, reads if reads == writes else writes)
