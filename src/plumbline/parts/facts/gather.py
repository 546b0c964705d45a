"""Run all symptom collectors of a node once; report unavailable ones too."""

from __future__ import annotations

from itertools import chain
from typing import Callable, Iterator, Mapping, NamedTuple

from plumbline.model.errors import PlumblineError
from plumbline.model.symptom import KIND_OF, Look, Report, Symptom
from plumbline.parts.facts import (
    enclosure,
    fabric,
    kernel,
    links,
    lldp,
    lnet,
    lustre,
    md,
    smart,
    zfs,
)
from plumbline.parts.facts.kernel_messages import UNMOUNTED
from plumbline.parts.facts.node import Node

Collector = Callable[[Node], Look]

COLLECTORS: dict[str, Collector] = {
    md.NAME: md.look,
    zfs.NAME: zfs.look,
    smart.NAME: smart.look,
    enclosure.NAME: enclosure.look,
    links.ETHERNET: links.look_at_ethernet,
    lldp.NAME: lldp.look,
    **{ports.name: ports.look for ports in links.PORTS},
    links.PCIE: links.look_at_pcie,
    lnet.NAME: lnet.look,
    lustre.NAME: lustre.look,
    kernel.NAME: kernel.look,
}
"""In the order of running and display."""

DAILY: dict[str, Collector] = {fabric.NAME: fabric.look}
"""Run once a day on the hosts that the policy names, by a verb of their own."""


class SiteCollector(NamedTuple):
    """A site's own collector and its kind."""

    kind: str
    look: Collector


def gather(node: Node, added: Mapping[str, SiteCollector] = {}) -> Report:
    """Return the results of all collectors; an unavailable one gives its reason.

    ``added`` are the site's own collectors by name; they run last.
    """
    own = {name: SiteCollector(KIND_OF[name], look) for name, look in COLLECTORS.items()}
    looks = tuple(look_alone(node, name, collector) for name, collector in {**own, **added}.items())
    return Report(node.parts.node, node.now, _without_unmounted(looks))


def _without_unmounted(looks: tuple[Look, ...]) -> tuple[Look, ...]:
    """Report a target that was unmounted here on purpose as unmounted only.

    The outage is real, so the symptom of the unmount mentions it; the symptoms of the lost
    connection repeat the same outage and are dropped.
    """
    symptoms = [symptom for look in looks for symptom in look.symptoms]
    unmounted = {symptom.component for symptom in symptoms if symptom.kind == UNMOUNTED}
    lost = {
        symptom.component: symptom.sentence
        for symptom in symptoms
        if symptom.collector == lustre.NAME and symptom.kind == lustre.DISCONNECTED
    }

    def resolved(symptom: Symptom) -> Iterator[Symptom]:
        away = lost.get(symptom.component) if symptom.component in unmounted else None
        if away and symptom.kind == UNMOUNTED:
            yield symptom._replace(sentence=f"{symptom.sentence}; {away} until it is mounted again")
        elif not away or (symptom.collector, symptom.kind) not in lustre.OF_AN_OUTAGE:
            yield symptom

    return tuple(
        look._replace(symptoms=tuple(chain.from_iterable(map(resolved, look.symptoms))))
        for look in looks
    )


def look_alone(node: Node, name: str, collector: SiteCollector) -> Look:
    """Return the result of one collector; an unavailable one gives its reason."""
    try:
        return collector.look(node)._replace(kind=collector.kind)
    except PlumblineError as error:
        return Look(name, 0, unavailable=str(error), kind=collector.kind)
