"""PCIe links of disks and adapters that run below what both of their ends can do.

A card in a slot of fewer lanes or of an older generation is as it was built: the port above it
tells, in /sys/bus/pci/devices, which anybody may read.
"""

from __future__ import annotations

import re
from typing import Iterator, Optional

from plumbline.model.errors import ToolError
from plumbline.model.validation import real
from plumbline.model.verdict import State
from plumbline.observe.node import PCI, Node
from plumbline.observe.symptom import Look, Rule, Symptom

NAME = "pcie"

# mass storage and network, and Fibre Channel, which is a serial bus (pci.ids)
_WATCHED = ("0x01", "0x02", "0x0c04")
_NUMBER = re.compile(r"([\d.]+)(?: GT/s.*)?")
_MOST_LANES = 32
"""Functions without a link of their own tell 0, 63 or 255 lanes."""

RULES = {
    "width": Rule(
        "narrow_link", State.WARNING, "PCIe link of {device} runs on {lanes} of {most} lanes"
    ),
    "speed": Rule(
        "slow_link", State.WARNING, "PCIe link of {device} runs at {speed} of {most} GT/s"
    ),
}


def look(node: Node) -> Look:
    """Look at the links of disks and adapters; raise ToolError where the kernel shows none."""
    devices = [
        name
        for name in node.system.names(PCI)
        if node.system.read(f"{PCI}/{name}/class").startswith(_WATCHED)
    ]
    if not devices:
        raise ToolError(f"{PCI} has no disk or adapter")
    return Look(NAME, len(devices), tuple(one for name in devices for one in _of_link(node, name)))


def _of_link(node: Node, device: str) -> Iterator[Symptom]:
    folder = f"{PCI}/{device}"
    above = node.system.real(folder).rpartition("/")[0]
    lanes = _number(node, f"{folder}/current_link_width")
    most = _number(node, f"{folder}/max_link_width")
    if lanes and most and lanes < most <= _MOST_LANES:
        can = min(most, _number(node, f"{above}/max_link_width") or most)
        if lanes < can:
            yield RULES["width"].symptom(
                NAME, node.parts.of_pci(device), device=device, lanes=f"{lanes:g}", most=f"{can:g}"
            )
    speed = _number(node, f"{folder}/current_link_speed")
    fastest = _number(node, f"{folder}/max_link_speed")
    # of a port that is not known the speed may be the one of its generation
    can = min(fastest or 0.0, _number(node, f"{above}/max_link_speed") or 0.0)
    if speed and speed < can:
        yield RULES["speed"].symptom(
            NAME, node.parts.of_pci(device), device=device, speed=f"{speed:g}", most=f"{can:g}"
        )


def _number(node: Node, path: str) -> Optional[float]:
    match = _NUMBER.fullmatch(node.system.read(path))
    return real(match[1], path) if match else None
