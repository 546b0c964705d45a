"""Ask all collectors; what one of them cannot say is said too."""

from __future__ import annotations

from typing import Callable, Iterator, Mapping, NamedTuple

from plumbline.errors import PlumblineError
from plumbline.symptoms import enclosure, ethernet, kernel, lnet, lustre, md, smart, zfs
from plumbline.symptoms.kinds import KIND_OF
from plumbline.symptoms.messages import UNMOUNTED
from plumbline.symptoms.node import Node
from plumbline.symptoms.ports import FIBRE_CHANNEL, INFINIBAND, SAS
from plumbline.symptoms.symptom import Look, Report, Symptom

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
    return Report(node.parts.node, node.now, _settled(looks))


def _settled(looks: tuple[Look, ...]) -> tuple[Look, ...]:
    """Return looks in which a target that was unmounted here on purpose is no suspect.

    Its outage is real, so the unmount says that it lasts; what the lost connection counts is the
    same outage once more.
    """
    every = [symptom for look in looks for symptom in look.symptoms]
    unmounted = {one.component for one in every if one.kind == UNMOUNTED}
    lost = {
        one.component: one.sentence
        for one in every
        if one.collector == lustre.NAME and one.kind == lustre.DISCONNECTED
    }

    def settled(symptom: Symptom) -> Iterator[Symptom]:
        away = lost.get(symptom.component) if symptom.component in unmounted else None
        if away and symptom.kind == UNMOUNTED:
            yield symptom._replace(sentence=f"{symptom.sentence}; {away} until it is mounted again")
        elif not away or (symptom.collector, symptom.kind) not in lustre.OF_AN_OUTAGE:
            yield symptom

    return tuple(
        look._replace(symptoms=tuple(one for each in look.symptoms for one in settled(each)))
        for look in looks
    )


def _look(node: Node, name: str, one: Added) -> Look:
    try:
        return one.look(node)._replace(kind=one.kind)
    except PlumblineError as error:
        return Look(name, 0, unavailable=str(error), kind=one.kind)
