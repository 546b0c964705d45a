"""Run all symptom collectors of a node once; report unavailable ones too."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import Callable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.command import CommandRunner, Completed
from plumbline.model.errors import PlumblineError
from plumbline.observe import enclosure, kernel, links, lnet, lustre, md, smart, zfs
from plumbline.observe.kernel_messages import UNMOUNTED
from plumbline.observe.node import MOST_BYTES, Node
from plumbline.observe.symptom import KIND_OF, Look, Report, Symptom

Collector = Callable[[Node], Look]

COLLECTORS: dict[str, Collector] = {
    md.NAME: md.look,
    zfs.NAME: zfs.look,
    smart.NAME: smart.look,
    enclosure.NAME: enclosure.look,
    links.ETHERNET: links.look_at_ethernet,
    **{ports.name: ports.look for ports in links.PORTS},
    links.PCIE: links.look_at_pcie,
    lnet.NAME: lnet.look,
    lustre.NAME: lustre.look,
    kernel.NAME: kernel.look,
}
"""In the order of running and display."""


class SiteCollector(NamedTuple):
    """A site's own collector and its kind."""

    kind: str
    look: Collector


def gather(node: Node, added: Mapping[str, SiteCollector] = {}) -> Report:
    """Return the results of all collectors; an unavailable one gives its reason.

    ``added`` are the site's own collectors by name; they run last.
    """
    own = {name: SiteCollector(KIND_OF[name], look) for name, look in COLLECTORS.items()}
    looks = tuple(_look(node, name, collector) for name, collector in {**own, **added}.items())
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


def _look(node: Node, name: str, collector: SiteCollector) -> Look:
    try:
        return collector.look(node)._replace(kind=collector.kind)
    except PlumblineError as error:
        return Look(name, 0, unavailable=str(error), kind=collector.kind)


class LocalSystem:
    """Files and commands of this machine; ``root`` is / or a copy of another node's files."""

    def __init__(self, runner: CommandRunner, root: Path = Path("/")) -> None:
        self._runner = runner
        self._root = root

    def run(self, argv: Sequence[str], timeout_s: float) -> Completed:
        """Run a command on this machine; raise ToolError if it is not installed."""
        return self._runner(argv, timeout_s)

    def read(self, path: str, most_bytes: int = MOST_BYTES) -> str:
        """Return the stripped text of a small file; empty if it cannot be read.

        Some files of /sys cannot be read while their device is down.
        """
        try:
            with self._below(path).open("rb") as file:
                return file.read(most_bytes).decode("utf-8", "replace").strip()
        # a name with a zero byte is a ValueError
        except (OSError, ValueError):
            return ""

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names in a folder; empty if there is none."""
        try:
            return tuple(sorted(os.listdir(self._below(folder))))
        except (OSError, ValueError):
            return ()

    def real(self, path: str) -> str:
        """Return a path with all links resolved, relative to the root."""
        root = os.path.realpath(self._root)
        if "\0" in path:
            # no file has such a name
            return path
        resolved = os.path.realpath(self._below(path))
        inside = os.path.commonpath([root, resolved]) == root
        return f"/{os.path.relpath(resolved, root)}" if inside else resolved

    def _below(self, path: str) -> Path:
        return self._root / path.lstrip("/")
