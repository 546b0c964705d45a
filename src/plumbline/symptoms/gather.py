"""Ask all collectors; what one of them cannot say is said too."""

from __future__ import annotations

from typing import Callable

from plumbline.errors import PlumblineError
from plumbline.symptoms import enclosure, ethernet, kernel, lustre, md, smart, zfs
from plumbline.symptoms.node import Node
from plumbline.symptoms.ports import FIBRE_CHANNEL, INFINIBAND, SAS
from plumbline.symptoms.symptom import Look, Report

Collector = Callable[[Node], Look]

COLLECTORS: dict[str, Collector] = {
    md.NAME: md.look,
    zfs.NAME: zfs.look,
    smart.NAME: smart.look,
    enclosure.NAME: enclosure.look,
    ethernet.NAME: ethernet.look,
    FIBRE_CHANNEL.name: FIBRE_CHANNEL.look,
    INFINIBAND.name: INFINIBAND.look,
    SAS.name: SAS.look,
    lustre.NAME: lustre.look,
    kernel.NAME: kernel.look,
}
"""In the order in which they are asked and shown."""


def gather(node: Node) -> Report:
    """Return what all collectors see; one that cannot look has its reason instead."""
    looks = tuple(_look(node, name, look) for name, look in COLLECTORS.items())
    return Report(node.parts.node, node.now, looks)


def _look(node: Node, name: str, look: Collector) -> Look:
    try:
        return look(node)
    except PlumblineError as error:
        return Look(name, 0, unavailable=str(error))
