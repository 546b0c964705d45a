"""A node that differs from its peers: those of its kind, where most of them agree."""

from __future__ import annotations

from collections import Counter
from typing import Any, Iterable, Iterator, Mapping, NamedTuple

from plumbline.conditions.condition import AREAS, NODE
from plumbline.conditions.grouped import label, shown
from plumbline.conditions.ledger import Ledger
from plumbline.topology.ranges import fold

_LEAST = 3
"""Peers that agree; of two nobody knows which one is wrong."""

_MAJORITY = 0.75
"""Of the nodes that have the condition; less is no rule of the site."""


class Difference(NamedTuple):
    """A condition of ``nodes`` of one kind that ``peers`` others have with another value."""

    kind: str
    area: str
    what: str
    among: str
    nodes: tuple[str, ...]
    value: str
    peers: int
    usual: str

    @property
    def text(self) -> str:
        """Return e.g. ``oss07: scheduler bfq, 23 peers mq-deadline``."""
        return f"{fold(self.nodes)}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """Return the same without the nodes."""
        said = self.area == "lustre" or self.among == NODE or self.among in self.what
        of = "" if said else f" of {self.among}"
        odd, usual = self.value or "none", self.usual or "none"
        return f"{self.what}{of} {odd}, {self.peers} peers {usual}"

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return self._asdict()


def differences(ledgers: Iterable[Ledger], kinds: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return what few nodes of a kind have otherwise than their peers, the most telling first."""
    by_kind: dict[str, list[Ledger]] = {}
    for one in ledgers:
        by_kind.setdefault(kinds.get(one.bill.node, ""), []).append(one)
    found = [each for kind, members in by_kind.items() for each in _of_kind(kind, members)]
    return tuple(sorted(found, key=lambda odd: (AREAS.index(odd.area), odd.what, odd.nodes)))


def _of_kind(kind: str, ledgers: Iterable[Ledger]) -> Iterator[Difference]:
    conditions: dict[tuple[str, str, str], dict[str, set[str]]] = {}
    for ledger in ledgers:
        for one in ledger.bill.conditions:
            having = conditions.setdefault((one.area, one.among, one.name), {})
            having.setdefault(ledger.bill.node, set()).add(shown(one.area, one.name, one.value))
    for (area, among, name), having in conditions.items():
        values = {node: ", ".join(sorted(every)) for node, every in having.items()}
        (usual, peers), *others = Counter(values.values()).most_common()
        if others and peers >= max(_LEAST, _MAJORITY * len(values)):
            for value, _ in others:
                nodes = tuple(sorted(node for node, its in values.items() if its == value))
                what = label(area, among, name)
                yield Difference(kind, area, what, among, nodes, value, peers, usual)
