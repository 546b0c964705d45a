"""Capacities of all parts of a site, in each direction."""

from __future__ import annotations

from typing import NamedTuple, Optional

from plumbline.model.record import Operation
from plumbline.topology.ceiling import Capacities
from plumbline.topology.graph import Component, Topology

_AWAY = (Operation.WRITE, Operation.SEND)


class Speeds(NamedTuple):
    """The capacities of all parts of a site, in each direction."""

    reads: Capacities
    writes: Capacities
    verbs: Capacities
    """Those of RDMA, the same in both directions."""

    def of(self, operation: Operation, kind: str = "") -> Capacities:
        """Return the capacities of the parts in the direction of ``operation``.

        A part's write is towards storage, its read away from it: a client that sends uses the
        direction of writes, a server (``kind`` of the sending or receiving host) that of reads.
        """
        return self.writes if (operation in _AWAY) is not (kind == "server") else self.reads


def speeds(topology: Topology) -> Speeds:
    """Return the capacities of a site; the same mapping twice if both directions are equal."""
    parts = topology.components.items()
    reads = {name: part.read_Bps for name, part in parts}
    writes = {name: part.write_Bps for name, part in parts}
    verbs = {name: verbs_of(part) for name, part in parts}
    return Speeds(reads, reads if reads == writes else writes, verbs)


def verbs_of(part: Component) -> Optional[float]:
    """Return the bytes per second of RDMA through a part; None if it never limits."""
    if part.verbs_Bps is not None:
        return part.verbs_Bps
    rates = [rate for rate in (part.read_Bps, part.write_Bps) if rate is not None]
    return min(rates, default=None)
