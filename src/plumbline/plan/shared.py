"""Shared parts that the layer ``shared`` measures, and the flows of each.

The fewest reads that ask a part for all of its rate run at one moment.  Each is a read that a node
makes anyway, one at a time, and its terms are those of that layer; only bytes and seconds are of
this one.  Parts take turns, so that no two of them disturb each other.
"""

from __future__ import annotations

from math import ceil
from typing import Mapping, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.layers import LAYERS
from plumbline.model.layers.layer import Layer
from plumbline.model.layers.shared import SHARED
from plumbline.model.shared import KIND, Flow, SharedReads
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import format_bytes
from plumbline.plan.exposure import Way, exposures
from plumbline.plan.places import Assignment, Place
from plumbline.plan.policy import Policy, SharedLayer, explicit
from plumbline.topology.graph import Topology

_SLOT_S = 60
_SPARE_S = 20.0
"""Time in a turn beside the reads: to look for others' traffic, and to end."""


def shared_parts(
    topology: Topology, policy: Policy, layer: Layer, measured: Sequence[Assignment]
) -> list[Place]:
    """Return the parts whose loss shows only in several reads at once.

    The node of the first flow records and judges the sum.

    Raises:
        DocumentError: a round of all parts would read more than the budget.
    """
    found = [item for item in exposures(topology, measured) if item.way is Way.TOGETHER]
    places = [
        Place(
            item.part.name,
            item.nodes[0],
            item.nodes[0],
            item.part.kind,
            {
                "kind": KIND,
                "flows": [list(flow) for flow in item.flows],
                "capacity_Bps": item.capacity_Bps,
            },
            (item.part.name,),
            layer.steps(),
        )
        for item in found
    ]
    _refuse_too_much(policy, places)
    return places


def _refuse_too_much(policy: Policy, places: Sequence[Place]) -> None:
    budget = rules_of(policy).budget
    read = sum(place.target["capacity_Bps"] * _seconds(policy, place) for place in places)
    if budget is not None and read > budget:
        raise DocumentError(
            f"plumbline_policy: layer shared: a round of {len(places)} parts would read "
            f"{format_bytes(read)}, its budget is {format_bytes(budget)}; lower seconds, or raise "
            "budget"
        )


def rules_of(policy: Policy) -> SharedLayer:
    """Return the rules of shared parts."""
    rules = policy.layer(SHARED.name)
    assert isinstance(rules, SharedLayer)
    return rules


def _seconds(policy: Policy, place: Place) -> float:
    own = explicit(policy, SHARED.name, place.group, place.component, "probe")
    return float(own.get("seconds", SHARED.spec.seconds))


def shared_spec(policy: Policy, place: Place, measured: Sequence[Assignment]) -> ProbeSpec:
    """Return the terms of a part's flows: those of the layer that measures them one at a time.

    A device is read for the given time; a target's file has the bytes that its layer writes.
    """
    flows = flows_of(place.target)
    own = explicit(policy, SHARED.name, place.group, place.component, "probe")
    first = next(
        item
        for item in measured
        if (item.layer, item.component) == (flows[0].layer, flows[0].component)
    )
    spec, seconds = first.spec, _seconds(policy, place)
    size = spec.bytes
    if LAYERS[first.layer].on_devices:
        fastest = max(flow.free_Bps for flow in flows)
        size = own.get("bytes", spec.transfer_bytes * ceil(fastest * seconds / spec.transfer_bytes))
    nodes = len({flow.node for flow in flows})
    return spec._replace(
        bytes=size, seconds=seconds, repeats=1, pattern=f"{len(flows)} reads of {nodes} nodes"
    )


def flows_of(target: Mapping[str, object]) -> tuple[Flow, ...]:
    """Return the flows in the target of a shared part."""
    rows = target["flows"]
    assert isinstance(rows, list)
    return tuple(Flow(*row) for row in rows)


def with_own_terms(policy: Policy, measured: Sequence[Assignment]) -> dict[str, list[SharedReads]]:
    """Return for each node the shared parts that it reads with others, in their turns."""
    nodes: dict[str, list[SharedReads]] = {}
    parts = [item for item in measured if LAYERS[item.layer].joint]
    longest = max((item.spec.seconds for item in parts), default=0.0)
    slot_s = _SLOT_S * ceil((longest + _SPARE_S) / _SLOT_S)
    for number, item in enumerate(parts):
        reads = SharedReads(
            item.component,
            flows_of(item.target),
            item.spec.bytes,
            item.spec.seconds,
            rules_of(policy).max_load,
            number,
            len(parts),
            slot_s,
        )
        for node in reads.nodes:
            nodes.setdefault(node, []).append(reads)
    return nodes
