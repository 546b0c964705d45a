"""Symptoms: their kinds, the report of a host, and what they say for or against a component."""

from __future__ import annotations

from enum import Enum

from plumbline.model.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.validation import names, numbers, same_schema, texts, times
from plumbline.model.verdict import State

if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping, Optional


SCHEMA = 1

_LOOK = "look again with plumbline symptoms --json"


class Direction(str, Enum):
    """What a symptom does to the suspicion against its component.

    RAISES: a part that fails looks like this.  LOWERS: something that passes makes the part slower
    than it is expected to be, and is no fault of it: a rebuild, a scrub, a failover.
    """

    RAISES = "raises"
    LOWERS = "lowers"


class Symptom(NamedTuple):
    """One thing found.

    ``component`` is the part of the topology that it is about, or the node itself; ``kind`` a
    lasting word for programs; ``severity`` OK for what is worth knowing alone; ``sentence`` is
    quoted in verdicts, without a full stop; ``since`` in seconds since the epoch, None if unknown.
    """

    collector: str
    component: str
    kind: str
    severity: State
    direction: Direction
    sentence: str
    since: Optional[float] = None

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            **self._asdict(),
            "severity": self.severity.name,
            "direction": self.direction.value,
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Symptom:
        """Build from the document form; raise KeyError, TypeError or ValueError."""
        values = {**raw, "severity": State[raw["severity"]]}
        values["direction"] = Direction(raw["direction"])
        symptom = cls(**values)
        names("symptom", symptom[:3] + (symptom.sentence,))
        if symptom.since is not None:
            times(since=symptom.since)
        return symptom


class Rule(NamedTuple):
    """One thing that a collector knows; ``words`` name in braces what differs from case to case."""

    kind: str
    severity: State
    words: str
    direction: Direction = Direction.RAISES

    def symptom(
        self, collector: str, component: str, since: Optional[float] = None, **values: object
    ) -> Symptom:
        """Return the symptom of a component, with the words filled in."""
        sentence = self.words.format(**values)
        return Symptom(
            collector, component, self.kind, self.severity, self.direction, sentence, since
        )


class Look(NamedTuple):
    """What one collector saw.

    ``unavailable`` is why it saw nothing, empty if it did; ``examined`` how many things it looked
    at, which may be none; ``notes`` say what of them could not be asked; ``kind`` is one of KINDS.
    No symptom of an unavailable collector means nothing: not that all is well.
    """

    collector: str
    examined: int
    symptoms: tuple[Symptom, ...] = ()
    notes: tuple[str, ...] = ()
    unavailable: str = ""
    kind: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        raw = self._asdict()
        raw["symptoms"] = [symptom.to_json() for symptom in self.symptoms]
        raw["notes"] = list(self.notes)
        return raw

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Look:
        """Build from the document form; raise KeyError, TypeError or ValueError."""
        values = {**raw, "notes": tuple(raw["notes"])}
        values["symptoms"] = tuple(map(Symptom.from_json, raw["symptoms"]))
        # a look of an older version does not say it
        values.setdefault("kind", KIND_OF.get(raw["collector"], ""))
        look = cls(**values)
        names("look", (look.collector, look.unavailable, look.kind, *look.notes))
        numbers(examined=look.examined)
        return look


class Report(NamedTuple):
    """All looks at one node, at ``looked_at`` seconds since the epoch."""

    node: str
    looked_at: float
    looks: tuple[Look, ...]

    @property
    def symptoms(self) -> tuple[Symptom, ...]:
        """Return everything found, in the order of the collectors."""
        return tuple(symptom for look in self.looks for symptom in look.symptoms)

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {
            "schema": SCHEMA,
            "node": self.node,
            "looked_at": self.looked_at,
            "looks": [look.to_json() for look in self.looks],
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Report:
        """Build from the document form; raise DocumentError when it is not one of this schema."""
        try:
            same_schema(raw, SCHEMA, "the report of symptoms", _LOOK)
            texts("node", (raw["node"],))
            times(looked_at=raw["looked_at"])
            return cls(raw["node"], raw["looked_at"], tuple(map(Look.from_json, raw["looks"])))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DocumentError(f"symptoms are damaged ({error!r}); {_LOOK}") from error


ARRAYS = "arrays"
DISKS = "disks"
ENCLOSURES = "enclosures"
LINKS = "links"
LUSTRE = "lustre"
KERNEL = "kernel"

KINDS = (ARRAYS, DISKS, ENCLOSURES, LINKS, LUSTRE, KERNEL)
"""In the order in which they are shown."""

KIND_OF = {
    "md": ARRAYS,
    "zfs": ARRAYS,
    "smart": DISKS,
    "enclosure": ENCLOSURES,
    "ethernet": LINKS,
    "fibre_channel": LINKS,
    "infiniband": LINKS,
    "sas": LINKS,
    "pcie": LINKS,
    "lnet": LINKS,
    "lustre": LUSTRE,
    "kernel": KERNEL,
}
"""The kind that each collector of plumbline looks at; a command of the site says its own."""


def title(node: str, kind: str = "") -> str:
    """Return what a node is called to Nagios, or one kind of its parts; no host has a space."""
    return f"{node} {kind}" if kind else node


MOST_QUOTED = 2

ORDER = (State.CRITICAL, State.WARNING, State.UNKNOWN, State.OK)
"""Severities, the gravest first."""


class Suspicion(str, Enum):
    """What all symptoms of a component come to."""

    RAISED = "raised"
    LOWERED = "lowered"
    NONE = "none"


def about(component: str, symptoms: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """Return the symptoms of one component, the gravest first and each sentence once."""
    found = {symptom.sentence: symptom for symptom in symptoms if symptom.component == component}
    return gravest(found.values())


def gravest(symptoms: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """Return symptoms in the order of their weight: those that raise a suspicion come first."""
    return tuple(sorted(symptoms, key=_weight))


def suspicion(component: str, symptoms: Iterable[Symptom]) -> Suspicion:
    """Return what the symptoms of a component come to: a fault outweighs a reason to be slow.

    Without any there is NONE: nothing found is no proof of health.
    """
    directions = {symptom.direction for symptom in about(component, symptoms)}
    if Direction.RAISES in directions:
        return Suspicion.RAISED
    return Suspicion.LOWERED if directions else Suspicion.NONE


def phrase(component: str, symptoms: Iterable[Symptom], most: int = MOST_QUOTED) -> str:
    """Return what is appended to a sentence about a component, empty where there is nothing.

    For example ``; kernel: I/O errors of sdb (14 times) since 2026-11-20 02:13 UTC``.
    """
    found = about(component, symptoms)
    if not found:
        return ""
    quoted = ", ".join(map(quote, found[:most]))
    left = len(found) - most
    more = f" and {left} more symptom{'s' if left > 1 else ''}" if left > 0 else ""
    return f"; {quoted}{more}"


def quote(symptom: Symptom) -> str:
    """Return the sentence of a symptom with the time since when it holds."""
    if symptom.since is None:
        return symptom.sentence
    # what has nothing to date does not pay for it
    from datetime import datetime, timezone

    since = datetime.fromtimestamp(symptom.since, timezone.utc)
    return f"{symptom.sentence} since {since:%Y-%m-%d %H:%M} UTC"


def _weight(symptom: Symptom) -> tuple[bool, int, str]:
    lowers = symptom.direction is Direction.LOWERS
    return lowers, ORDER.index(symptom.severity), symptom.sentence
