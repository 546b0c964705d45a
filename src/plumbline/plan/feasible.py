"""What a node would refuse when it measures is refused where it is planned.

Every target is built and every call of a tool is made up once, as the node will do it; neither
touches the world.
"""

from __future__ import annotations

from typing import Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.layers import WHOLE, layer_of
from plumbline.model.command import Within
from plumbline.model.expectation import PARALLEL
from plumbline.model.limits import Limits
from plumbline.model.spec import ProbeSpec
from plumbline.plan.places import Place
from plumbline.probes import probe_for
from plumbline.probes.interface import Job
from plumbline.targets import target_for


def refuse_infeasible(layer: str, location: Place, spec: ProbeSpec, limits: Limits) -> None:
    """Refuse terms with which a component cannot be measured.

    Raises:
        DocumentError: naming the document, the component, and what would do.
    """
    try:
        subject = _subject(location)
    except DocumentError as error:
        raise DocumentError(f"plumbline_topology: {location.component}: {error}") from error
    where = f"plumbline_policy: layer {layer}: {location.component}"
    try:
        limits.refuse_impossible()
        spec.refuse_impossible()
        if layer not in WHOLE:  # ranks have no choice
            _refuse_tool(layer_of(layer).tools, spec.tool)
            _make_up_calls(location, spec, *subject)
    except (DocumentError, TypeError) as error:
        raise DocumentError(f"{where}: {error}") from error


def _subject(location: Place) -> tuple[str, Optional[Within]]:
    """Return what a tool is called with: the file and where it is found, a device, an address."""
    if location.target["kind"] == PARALLEL:
        return "", None
    if location.target["kind"] == "pair":
        return str(location.target["address"]), None
    within = target_for(location.target, location.component).within()
    return f"{within.path}/{within.file}" if within else str(location.target["device"]), within


def _refuse_tool(known: Sequence[str], tool: str) -> None:
    if tool not in known:
        raise DocumentError(
            f"the tool {tool[:60]!r} does not measure this layer; write one of: {', '.join(known)}"
        )


def _make_up_calls(
    location: Place, spec: ProbeSpec, subject: str, within: Optional[Within]
) -> None:
    probe, target = probe_for(spec.tool), location.target
    for operation in dict.fromkeys(operation for operation, _ in location.steps):
        probe.command(
            Job(
                operation,
                spec,
                subject,
                block_size=target.get("block_size", 512),
                own_address=target.get("address", ""),
                port=target.get("port", 0),
                within=within,
            )
        )
