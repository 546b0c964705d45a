"""First topology of a site, from what a client sees of its mounts; a person completes it.

A client sees which server has which target, the part of a topology that is easily written wrong.
It sees neither rates nor devices nor what lies between.
"""

from __future__ import annotations

import json
import re
from typing import Iterable, Iterator, NamedTuple, Sequence

from plumbline.model.command import printable
from plumbline.topology.names import DECIMAL, HEXADECIMAL, fold_numbers, numeral

_OST_DIGITS = 4


class DraftHost(NamedTuple):
    """A server or client; its ``address`` on the storage network is empty if unknown."""

    name: str
    address: str


class DraftTarget(NamedTuple):
    """A target: its name, its index in the file system, and the name of its server."""

    name: str
    number: int
    server: str


class DraftSystem(NamedTuple):
    """A mounted file system with its targets, in the order of their indices."""

    name: str
    kind: str
    mount: str
    targets: tuple[DraftTarget, ...]


def draft(
    client: DraftHost,
    servers: Sequence[DraftHost],
    systems: Sequence[DraftSystem],
    left_out: Iterable[str],
) -> str:
    """Return the text of ``topology.yml``; ``left_out`` are reasons why targets are not in it."""
    arrays = _Arrays()
    file_systems = [line for system in systems for line in _file_system(system, client, arrays)]
    lines = [
        "---",
        f"# Drafted from the mounts of {printable(client.name)}: which server has which target.",
        "# Rates, network adapters, controllers and devices are missing; see docs/topology.md.",
        *(f"# Left out: {printable(reason)}" for reason in left_out),
        "plumbline_topology:",
        "  schema: 1",
        f"  site: {_text(systems[0].name)}",
        "  parts:",
        "    - {name: network, kind: switch}",
        *(_host(server, "server") for server in servers),
        "    # What each target lies on; a rate makes its ceiling.",
        *arrays.lines(),
        _host(client, "client"),
        "  file_systems:",
        *file_systems,
    ]
    return "\n".join(lines) + "\n"


class _Arrays:
    """Names of what the targets of each server lie on."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def more(self, server: str, count: int) -> str:
        """Return the range of ``count`` further arrays of a server."""
        first = self._counts.get(server, 0) + 1
        self._counts[server] = first + count - 1
        return fold_numbers(f"{server}-array", range(first, first + count), 1)

    def lines(self) -> Iterator[str]:
        """Yield a part for all arrays of each server."""
        for server, count in self._counts.items():
            name = fold_numbers(f"{server}-array", range(1, count + 1), 1)
            yield f"    - {{name: {_text(name)}, kind: array, feeds: {_text(server)}}}"


def _host(host: DraftHost, kind: str) -> str:
    address = f"address: {_text(host.address)}, " if host.address else ""
    return f"    - {{name: {_text(host.name)}, kind: {kind}, {address}feeds: network}}"


def _file_system(system: DraftSystem, client: DraftHost, arrays: _Arrays) -> Iterator[str]:
    yield f"    - name: {_text(system.name)}"
    yield f"      kind: {system.kind}"
    yield f"      mount: {_text(system.mount)}"
    yield f"      client: {_text(client.name)}"
    yield "      targets:"
    by_server: dict[str, list[DraftTarget]] = {}
    for target in system.targets:
        by_server.setdefault(target.server, []).append(target)
    for server, targets in by_server.items():
        name = _range(system.kind, targets)
        part = arrays.more(server, len(targets))
        subvolume = f", subvolume: {_text(name)}" if system.kind == "glusterfs" else ""
        yield f"        - {{name: {_text(name)}, part: {_text(part)}{subvolume}}}"


def _range(kind: str, targets: Sequence[DraftTarget]) -> str:
    """Return the names as a range: the indices of Lustre are hexadecimal, those of bricks not."""
    base, width = (HEXADECIMAL, _OST_DIGITS) if kind == "lustre" else (DECIMAL, 1)
    head = targets[0].name.removesuffix(numeral(targets[0].number, width, base))
    return fold_numbers(head, (target.number for target in targets), width, base)


_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
"""Words that YAML reads as something else than a text."""


def _text(text: str) -> str:
    """Return a text as YAML, quoted unless it is a plain word or path."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    return text if plain else json.dumps(text)
