"""Ask all collectors; what one of them cannot say is said too."""

from __future__ import annotations

from typing import Callable, Mapping, NamedTuple

from plumbline.errors import PlumblineError
from plumbline.symptoms import enclosure, ethernet, kernel, lnet, lustre, md, smart, zfs
from plumbline.symptoms.kinds import KIND_OF
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
    lnet.NAME: lnet.look,
    lustre.NAME: lustre.look,
    kernel.NAME: kernel.look,
}
"""In the order in which they are asked and shown."""


class Added(NamedTuple):
    """A collector of the site's own, and the kind that it looks at."""

    kind: str
    look: Collector


def gather(node: Node, added: Mapping[str, Added] = {}) -> Report:
    """Return what all collectors see; one that cannot look has its reason instead.

    ``added`` are those of the site, by name; they are asked last.
    """
    own = {name: Added(KIND_OF[name], look) for name, look in COLLECTORS.items()}
    looks = tuple(_look(node, name, one) for name, one in {**own, **added}.items())
    return Report(node.parts.node, node.now, looks)


def _look(node: Node, name: str, one: Added) -> Look:
    try:
        return one.look(node)._replace(kind=one.kind)
    except PlumblineError as error:
        return Look(name, 0, unavailable=str(error), kind=one.kind)
