"""All collectors of a node, asked once; what one cannot answer is reported too."""

from __future__ import annotations

import os
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
"""In the order in which they are asked and shown."""


class SiteCollector(NamedTuple):
    """A collector of the site's own, and the kind that it looks at."""

    kind: str
    look: Collector


def gather(node: Node, added: Mapping[str, SiteCollector] = {}) -> Report:
    """Return what all collectors see; one that cannot look has its reason instead.

    ``added`` are those of the site, by name; they are asked last.
    """
    own = {name: SiteCollector(KIND_OF[name], look) for name, look in COLLECTORS.items()}
    looks = tuple(_look(node, name, collector) for name, collector in {**own, **added}.items())
    return Report(node.parts.node, node.now, _settled(looks))


def _settled(looks: tuple[Look, ...]) -> tuple[Look, ...]:
    """Return looks in which a target that was unmounted here on purpose is no suspect.

    Its outage is real, so the unmount says that it lasts; what the lost connection counts is the
    same outage once more.
    """
    symptoms = [symptom for look in looks for symptom in look.symptoms]
    unmounted = {symptom.component for symptom in symptoms if symptom.kind == UNMOUNTED}
    lost = {
        symptom.component: symptom.sentence
        for symptom in symptoms
        if symptom.collector == lustre.NAME and symptom.kind == lustre.DISCONNECTED
    }

    def settled(symptom: Symptom) -> Iterator[Symptom]:
        away = lost.get(symptom.component) if symptom.component in unmounted else None
        if away and symptom.kind == UNMOUNTED:
            yield symptom._replace(sentence=f"{symptom.sentence}; {away} until it is mounted again")
        elif not away or (symptom.collector, symptom.kind) not in lustre.OF_AN_OUTAGE:
            yield symptom

    return tuple(
        look._replace(
            symptoms=tuple(symptom for each in look.symptoms for symptom in settled(each))
        )
        for look in looks
    )


def _look(node: Node, name: str, collector: SiteCollector) -> Look:
    try:
        return collector.look(node)._replace(kind=collector.kind)
    except PlumblineError as error:
        return Look(name, 0, unavailable=str(error), kind=collector.kind)


class LocalSystem:
    """Reads below ``root``, which is / but for a copy of another node's files."""

    def __init__(self, runner: CommandRunner, root: Path = Path("/")) -> None:
        self._runner = runner
        self._root = root

    def run(self, argv: Sequence[str], timeout_s: float) -> Completed:
        """Run a command on this machine; raise ToolError if it is not installed."""
        return self._runner(argv, timeout_s)

    def read(self, path: str, most_bytes: int = MOST_BYTES) -> str:
        """Return a small file's text without blanks at its ends; empty if it cannot be read.

        Some files of /sys refuse to be read while their device is down: they have nothing to say.
        """
        try:
            with self._below(path).open("rb") as file:
                return file.read(most_bytes).decode("utf-8", "replace").strip()
        # a name with a zero byte is refused as a wrong value
        except (OSError, ValueError):
            return ""

    def names(self, folder: str) -> tuple[str, ...]:
        """Return what lies in a folder, in order; nothing where there is none."""
        try:
            return tuple(sorted(os.listdir(self._below(folder))))
        except (OSError, ValueError):
            return ()

    def real(self, path: str) -> str:
        """Return a path with all of its links followed, as seen from the root."""
        root = os.path.realpath(self._root)
        if "\0" in path:
            # no file has such a name
            return path
        resolved = os.path.realpath(self._below(path))
        inside = os.path.commonpath([root, resolved]) == root
        return f"/{os.path.relpath(resolved, root)}" if inside else resolved

    def _below(self, path: str) -> Path:
        return self._root / path.lstrip("/")
