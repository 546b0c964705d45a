"""What a site should give: each measurement alone, peers together, everything at once.

Takes topology and measurements, gives one line for each ceiling, which ``plumbline ceiling`` shows.
"""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Optional, Sequence

from plumbline.ceiling import Limit, in_sum
from plumbline.expect.references import find_limits, find_pair
from plumbline.expect.speeds import Speeds, speeds
from plumbline.layers import PAIRED
from plumbline.layers.net import NET
from plumbline.layers.ost import OST
from plumbline.plan.assignment import Assignment
from plumbline.topology.graph import Topology
from plumbline.topology.sharing import Sharing, sharings


class Line(NamedTuple):
    """One ceiling.

    ``flows`` says of what: ``one``, or targets, clients or servers that run at once, ``number`` of
    them.  ``component`` is what is measured, the part that several cross, or what they all belong
    to.  ``scenario`` is ``single``, ``together`` or ``all``.  ``limit`` is of the sum and None
    where a flow has no part with a rate on its path.  ``each_Bps`` is the lowest and the highest
    rate of a flow.
    """

    layer: str
    flows: str
    number: int
    component: str
    partner: Optional[str]
    operation: str
    scenario: str
    limit: Optional[Limit]
    each_Bps: Optional[tuple[float, float]]
    path: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the line for programs; rates are None and parts empty where there are none."""
        now = self.limit.ceiling if self.limit else None
        then = self.limit.next if self.limit else None
        return {
            "layer": self.layer,
            "component": self.component,
            "partner": self.partner,
            "operation": self.operation,
            "scenario": self.scenario,
            "flows": self.flows,
            "number": self.number,
            "rate_Bps": now.rate_Bps if now else None,
            "limited_by": now.limited_by if now else (),
            "next_Bps": then.rate_Bps if then else None,
            "next_limited_by": then.limited_by if then else (),
            "each_Bps": self.each_Bps,
            "path": self.path,
        }


def measurements(topology: Topology, measured: Sequence[Assignment]) -> Iterator[Line]:
    """Yield the limits of what is measured, layer by layer."""
    limits = find_limits(topology, measured)
    for one in measured:
        for operation, scenario in one.steps:
            limit = limits[one.layer, one.component, (operation, scenario)]
            yield _one(one, None, (operation.value, scenario.value), limit)


def pairs(topology: Topology, measured: Sequence[Assignment]) -> Iterator[Line]:
    """Yield the limits of the network between each two hosts, a pair once."""
    hosts = [one for one in measured if one.layer in PAIRED]
    for index, one in enumerate(hosts):
        for other in hosts[index + 1 :]:
            path, limit = find_pair(topology, one.component, other.component)
            own = one._replace(path=path)
            yield _one(own, other.component, ("send or receive", "single"), limit)


def _one(
    assignment: Assignment, partner: Optional[str], step: tuple[str, str], limit: Optional[Limit]
) -> Line:
    each = (limit.ceiling.rate_Bps,) * 2 if limit else None
    return Line(
        assignment.layer,
        "one",
        1,
        assignment.component,
        partner,
        *step,
        limit,
        each,
        assignment.path,
    )


def at_once(topology: Topology) -> Iterator[Line]:
    """Yield what targets and hosts come to that share a part, and all of them at once."""
    capacities = speeds(topology)
    for sharing in sharings(topology):
        yield from _of_sharing(sharing, capacities)


def _of_sharing(sharing: Sharing, capacities: Speeds) -> Iterator[Line]:
    layer = OST if sharing.flows == "targets" else NET
    away, back = layer.operations
    kind = sharing.flows.rstrip("s")
    sent = in_sum(capacities.of(away, kind), sharing.paths)
    alike = capacities.reads is capacities.writes
    got = sent if alike else in_sum(capacities.of(back, kind), sharing.paths)
    for operation, found in ((away, sent), (back, got)):
        yield Line(
            layer.name,
            sharing.flows,
            len(sharing.paths),
            sharing.of,
            None,
            operation.value,
            "all" if sharing.whole else "together",
            found and found.limit,
            found and (found.lowest_Bps, found.highest_Bps),
            (),
        )
