"""Parts of the storage on which several clients measure, who know nothing of one another.

Within a file system nobody has to look: its clients are dealt out by parts (topology.clients).
"""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.layers import SINGLE_TARGETS
from plumbline.model.expectation import Expectation
from plumbline.model.part import SitePart
from plumbline.topology.document import NETWORK

_NO_STORAGE = (*NETWORK, "client", "target")


class Meeting(NamedTuple):
    """Nodes whose measurements of targets meet on some parts of the storage."""

    nodes: tuple[str, ...]
    parts: tuple[str, ...]


def meetings(
    nodes: Mapping[str, Sequence[Expectation]], parts: Mapping[str, SitePart]
) -> Iterator[Meeting]:
    """Yield who meets on which parts, in the order of their paths."""
    crossed: dict[str, dict[str, None]] = {}
    for node, entries in nodes.items():
        for one in entries:
            for name in one.path if one.layer in SINGLE_TARGETS else ():
                if parts[name].kind not in _NO_STORAGE:
                    crossed.setdefault(name, {})[node] = None
    met: dict[tuple[str, ...], list[str]] = {}
    for name, found in crossed.items():
        if len(found) > 1:
            met.setdefault(tuple(found), []).append(name)
    for found_nodes, names in met.items():
        yield Meeting(found_nodes, tuple(names))
