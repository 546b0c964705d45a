"""Symptoms: their kinds, the report of a host, those of a site that hold, and their weight."""

from __future__ import annotations

from enum import Enum

from plumbline.model.codec import lenient, read_document, write_fields
from plumbline.model.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.units import format_duration
from plumbline.model.validation import counts, times, unicode_text, whole_text
from plumbline.model.verdict import State

if TYPE_CHECKING:
    from typing import Annotated, Any, Iterable, Mapping, Optional


SCHEMA = 1

_LOOK = "look again with plumbline symptoms --json"


class Direction(str, Enum):
    """Effect of a symptom on the suspicion against its component.

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

    collector: Annotated[str, unicode_text]
    component: Annotated[str, unicode_text]
    kind: Annotated[str, unicode_text]
    severity: State
    direction: Direction
    sentence: Annotated[str, unicode_text]
    since: Optional[Annotated[float, times]] = None


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
    """Result of one collector.

    ``unavailable`` is why it saw nothing, empty if it did; ``examined`` how many things it looked
    at, which may be none; ``notes`` say what of them could not be asked; ``kind`` is one of KINDS.
    No symptom of an unavailable collector means nothing: not that all is well.
    """

    collector: Annotated[str, unicode_text]
    examined: Annotated[int, counts]
    symptoms: tuple[Symptom, ...] = ()
    notes: tuple[Annotated[str, unicode_text], ...] = ()
    unavailable: Annotated[str, unicode_text] = ""
    kind: Annotated[str, unicode_text] = ""


@lenient
class Report(NamedTuple):
    """All looks at one node, at ``looked_at`` seconds since the epoch."""

    node: str
    looked_at: Annotated[float, times]
    looks: tuple[Look, ...]

    @property
    def symptoms(self) -> tuple[Symptom, ...]:
        """Return all symptoms, in the order of the collectors."""
        return tuple(symptom for look in self.looks for symptom in look.symptoms)

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {"schema": SCHEMA, **write_fields(self)}

    @classmethod
    def from_json(cls, raw: Any) -> Report:
        """Build from the document form; raise DocumentError when it is not one of this schema."""
        return read_document(cls, raw, SCHEMA, "the report of symptoms", _LOOK)


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
    """Effect of all symptoms of a component together."""

    RAISED = "raised"
    LOWERED = "lowered"
    NONE = "none"


def about(component: str, symptoms: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """Return the symptoms of one component, the gravest first and each sentence once."""
    by_sentence = {
        symptom.sentence: symptom for symptom in symptoms if symptom.component == component
    }
    return gravest(by_sentence.values())


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


def phrase(component: str, symptoms: Iterable[Symptom]) -> str:
    """Return what is appended to a sentence about a component, empty where there is nothing.

    For example ``; kernel: I/O errors of sdb (14 times) since 2026-11-20 02:13 UTC``.
    """
    own = about(component, symptoms)
    if not own:
        return ""
    quoted = ", ".join(map(quote, own[:MOST_QUOTED]))
    unquoted = len(own) - MOST_QUOTED
    more = f" and {unquoted} more symptom{'s' if unquoted > 1 else ''}" if unquoted > 0 else ""
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


HOLDS_S = 3600.0
"""Seconds for which a look holds: six times the period at which the role symptoms looks.

A rebuild that a timer saw before it was stopped, or a node before it died, may be over by now.
"""

TROUBLE = "trouble"
"""The key of a document that stands for one that a node could not give: why, in a sentence."""


class SiteSymptoms(NamedTuple):
    """The symptoms that hold, and each node whose report was left out, with the reason."""

    symptoms: tuple[Symptom, ...] = ()
    left_out: tuple[str, ...] = ()


def site_symptoms(documents: Mapping[str, Any], now: Mapping[str, float]) -> SiteSymptoms:
    """Return the symptoms that hold, from the reports of nodes by their names.

    ``now`` is for each node of the site the time by its own clock, in seconds since the epoch.  No
    report is required, so one that is damaged or old is left out with its reason.
    """
    parts = [_of_node(node, document, now.get(node)) for node, document in documents.items()]
    return SiteSymptoms(
        tuple(symptom for part in parts for symptom in part.symptoms),
        tuple(reason for part in parts for reason in part.left_out),
    )


def _of_node(node: str, document: Any, now: Optional[float]) -> SiteSymptoms:
    try:
        return SiteSymptoms(_holding(document, now))
    except DocumentError as error:
        return SiteSymptoms(left_out=(f"{node} ({error})",))


def _holding(document: Any, now: Optional[float]) -> tuple[Symptom, ...]:
    """Return the symptoms of a report; raise DocumentError with the reason why it does not hold."""
    if now is None:
        raise DocumentError("it is no node of the plan")
    if isinstance(document, dict) and TROUBLE in document:
        raise DocumentError(whole_text(f"{document[TROUBLE]!s:.300}"))
    report = Report.from_json(document)
    age_s = now - report.looked_at
    if age_s > HOLDS_S:
        raise DocumentError(f"its last look is {format_duration(age_s)} old")
    return report.symptoms
