"""Table of the measurements in which a loss of each part shows, one row for parts alike."""

from __future__ import annotations

from collections import Counter
from typing import Sequence

from plumbline.doors.table import render
from plumbline.model.layers import LAYERS
from plumbline.model.units import format_rate
from plumbline.plan.exposure import Exposed, Exposure, Way, folded
from plumbline.topology.graph import Topology


def exposure_table(topology: Topology, found: Sequence[Exposure]) -> str:
    """Return the table; parts of a range that are alike have one row."""
    sizes = Counter(part.among for part in topology.components.values())
    rows = [
        (
            str(exposed.number),
            exposed.among if exposed.number == sizes[exposed.among] else _some(exposed),
            format_rate(exposed.example.capacity_Bps),
            shown_in(exposed.example),
        )
        for exposed in folded(found)
    ]
    return render(("number", "part", "rate", "a loss of a third shows in"), rows)


def _some(exposed: Exposed) -> str:
    if exposed.number == 1:
        return exposed.example.part.name
    return f"{exposed.number} of {exposed.among}"


def shown_in(exposure: Exposure) -> str:
    """Return the measurements in which a loss shows, ``nothing`` with the reason."""
    if exposure.way is Way.ALONE:
        return "a single measurement"
    if exposure.way is Way.SERVER:
        return "all devices of a server, read at once"
    if exposure.way is Way.TOGETHER:
        noun = "targets" if LAYERS[exposure.flows[0].layer].on_targets else "devices"
        nodes = exposure.nodes
        where = nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes"
        return f"{len(exposure.flows)} {noun}, read at once by {where}"
    if exposure.way is Way.ROUNDS:
        return "all pairs of a slot, tested at once: by the services of their hosts"
    return f"nothing: {exposure.reason}"
