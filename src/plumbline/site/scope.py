"""Scope of a node: what the plan of a site lets it report.

``plumbline collect`` reads each node over a connection of its own, so it knows who speaks.  One
node must not speak for another: a clone, a broken node or an intruder would accuse healthy parts,
or hide faults.  What the plan gives to another node is left out, with a sentence.

What no node of the plan measures stays in the history, and nothing judges it: a target retired
yesterday keeps its records, and one planned tomorrow does not lose its first ones.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional

from plumbline.model.codec import read_document, write
from plumbline.model.command import printable
from plumbline.model.errors import DocumentError
from plumbline.model.exchange import Begun
from plumbline.model.expectation import Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.names import several
from plumbline.model.record import Record
from plumbline.model.shared import FLOWS
from plumbline.model.space import SPACE
from plumbline.model.symptom import TROUBLE, Report, Symptom
from plumbline.model.trend import SERVER

_MAX_NAME = 60
_MAX_KINDS = 20
_MAX_NAMES = 1000


class Noun(NamedTuple):
    """Name of what a node reports."""

    one: str
    many: str


RECORDS = Noun("record", "records")
_RUNS = Noun("run in progress", "runs in progress")
_SYMPTOMS = Noun("symptom", "symptoms")


class _Kind(NamedTuple):
    """Kind of what is left out; ``whose`` is the reason, with a remedy."""

    noun: Noun
    layer: str
    whose: str


class LeftOut:
    """Count of what is left out of the answers of one node."""

    def __init__(self) -> None:
        """Start without any."""
        self._counts: dict[_Kind, int] = {}
        self._names: dict[_Kind, dict[str, None]] = {}

    def add(self, noun: Noun, layer: str, component: str, whose: str) -> None:
        """Count one; ``whose`` is the end of its sentence."""
        kind = _Kind(noun, _short(layer), whose)
        if kind not in self._counts and len(self._counts) >= _MAX_KINDS:
            kind = _Kind(noun, "any layer", "of other nodes as well")
        self._counts[kind] = self._counts.get(kind, 0) + 1
        names = self._names.setdefault(kind, {})
        if len(names) < _MAX_NAMES:
            names[_short(component)] = None

    def sentences(self) -> tuple[str, ...]:
        """Return a sentence for each kind."""
        return tuple(self._sentence(kind, count) for kind, count in self._counts.items())

    def _sentence(self, kind: _Kind, count: int) -> str:
        noun = kind.noun.one if count == 1 else kind.noun.many
        place = f"{kind.layer} {several([*self._names[kind]])}".strip()
        return f"{count} {noun} of {place} left out, {kind.whose}"


def _short(name: str) -> str:
    return printable(name[:_MAX_NAME])


class Scopes:
    """Scopes of all nodes of a plan."""

    def __init__(self, nodes: Mapping[str, Expectations]) -> None:
        """Take the expectations by node."""
        self._nodes = nodes
        self._owners: dict[tuple[str, str], set[str]] = {}
        for node, document in nodes.items():
            for place in _measured_by(document):
                self._owners.setdefault(place, set()).add(node)
        self._parts = {node: frozenset(_parts_of(document)) for node, document in nodes.items()}
        self._known = frozenset().union(*self._parts.values())
        self._lustre = frozenset(_lustre_targets(nodes.values()))

    def of(self, node: str) -> Scope:
        """Return the scope of a node of the plan."""
        return Scope(node, self)

    def owners(self, node: str, layer: str, component: str) -> str:
        """Return the other nodes that measure a component; empty if ``node`` may report it."""
        owners = self._owners.get((layer, component), set())
        if node in owners or (layer == SERVER and self._may_take_over(node, component)):
            return ""
        return several(sorted(owners))

    def sees(self, node: str, part: str) -> bool:
        """Return whether a node may report symptoms of a part.

        These are its own parts, those on its paths, the hosts of its pairs, and the links of the
        fabric that it looks at.  Every client and server of a Lustre file system has connections to
        all targets.
        """
        return part in self._parts[node] or part in self._lustre or part not in self._known

    def _may_take_over(self, node: str, target: str) -> bool:
        """Return whether a server counts a target of its file systems after a failover."""
        systems = {name.rpartition("-")[0] for name in self._nodes[node].served}
        return target in self._lustre and target.rpartition("-")[0] in systems


class Scope(NamedTuple):
    """Records, runs and symptoms that one node may report."""

    node: str
    site: Scopes

    def foreign(self, record: Record) -> str:
        """Return whose record this is, as the end of a sentence; empty if the node may send it."""
        if record.host != self.node:
            return _remedy(f"measured by {_short(record.host)}")
        # looks at space are told apart by the node that took them
        if record.layer == SPACE and record.partner != self.node:
            return _remedy(f"read by {_short(record.partner or 'nobody')}")
        return self._owned(record.layer, record.component)

    def running(self, begun: Iterable[Begun], left_out: LeftOut) -> Iterator[Begun]:
        """Yield the running measurements that the node may report; count the others."""
        for run in begun:
            if whose := self._owned(run.layer, run.component):
                left_out.add(_RUNS, run.layer, run.component, whose)
            else:
                yield run

    def symptoms(
        self, document: Optional[Mapping[str, Any]], left_out: LeftOut
    ) -> Optional[Mapping[str, Any]]:
        """Return a document of symptoms without those of other nodes' parts, which are counted."""
        try:
            report = read_document(Report, document)
        except DocumentError:
            # nothing in it is used, and those who read the copy name the fault
            return document
        if report.node != self.node:
            return {TROUBLE: f"they are those of {_short(report.node)}; deploy the node again"}
        looks = tuple(
            look._replace(symptoms=tuple(self._visible(look.symptoms, left_out)))
            for look in report.looks
        )
        return document if looks == report.looks else write(report._replace(looks=looks))

    def _visible(self, symptoms: Iterable[Symptom], left_out: LeftOut) -> Iterator[Symptom]:
        for symptom in symptoms:
            if self.site.sees(self.node, symptom.component):
                yield symptom
            else:
                whose = "which the plan does not show this node: deploy it and the console"
                left_out.add(_SYMPTOMS, "", symptom.component, whose)

    def _owned(self, layer: str, component: str) -> str:
        owners = self.site.owners(self.node, layer, component)
        return _remedy(f"which the plan lets {owners} measure") if owners else ""


def _remedy(whose: str) -> str:
    return (
        f"{whose}: deploy the node and the console; a clone needs a name of its own, "
        "--another-client a --state of its own"
    )


def _parts_of(document: Expectations) -> Iterator[str]:
    yield from document.components()
    for link in document.fabric or ():
        yield from (link.name, *link.ends)
    # a host looks at its peers of LNet, and knows them by the addresses of its pairs
    for entry in document.entries:
        yield from (partner["name"] for partner in entry.get("partners", ()))


def _measured_by(document: Expectations) -> Iterator[tuple[str, str]]:
    """Yield layer and name of what a node measures or reads, and of what a server counts."""
    for entry in document.entries:
        yield entry["layer"], entry["component"]
        if LAYERS[entry["layer"]].on_devices:
            yield SERVER, entry["component"]
    for target in document.served:
        yield SERVER, target
    for reads in document.shared:
        yield FLOWS, reads.component
    for terms in document.space:
        yield SPACE, terms.file_system


def _lustre_targets(nodes: Iterable[Expectations]) -> Iterator[str]:
    for document in nodes:
        yield from document.served
        for entry in document.entries:
            if entry["target"].get("kind") == "lustre":
                yield entry["component"]
