"""Symptoms: kinds, the report of a node, the current symptoms of a site, and their weight."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Iterable, Mapping, NamedTuple, Optional

from plumbline.model.codec import form, lenient, read_document
from plumbline.model.errors import DocumentError
from plumbline.model.units import format_duration
from plumbline.model.validation import counts, storable, times, unicode_text
from plumbline.model.verdict import State

REMEDY = "look again with: plumbline symptoms --save"


class Direction(str, Enum):
    """Effect of a symptom on the suspicion against its component.

    RAISES: a failing part looks like this.  LOWERS: a temporary condition slows the part, which is
    no fault: a rebuild, a scrub, a failover.
    """

    RAISES = "raises"
    LOWERS = "lowers"


class Symptom(NamedTuple):
    """One observation about a component.

    ``component`` is a part of the topology, or the node itself; ``kind`` a stable word for
    programs; ``severity`` OK for mere information; ``sentence`` is quoted in verdicts, without a
    full stop; ``since`` in seconds since the epoch, None if unknown.
    """

    collector: Annotated[str, unicode_text]
    component: Annotated[str, unicode_text]
    kind: Annotated[str, unicode_text]
    severity: State
    direction: Direction
    sentence: Annotated[str, unicode_text]
    since: Optional[Annotated[float, times]] = None


class Look(NamedTuple):
    """Result of one collector.

    ``unavailable`` is the reason why it could not look, empty if it could; ``examined`` the number
    of parts examined, possibly 0; ``notes`` name the parts that could not be queried; ``kind`` is
    one of KINDS.  An unavailable collector without symptoms does not mean that all is well.
    """

    collector: Annotated[str, unicode_text]
    examined: Annotated[int, counts]
    symptoms: tuple[Symptom, ...] = ()
    notes: tuple[Annotated[str, unicode_text], ...] = ()
    unavailable: Annotated[str, unicode_text] = ""
    kind: Annotated[str, unicode_text] = ""


@lenient
@form(1, "report of symptoms", REMEDY)
class Report(NamedTuple):
    """Results of all collectors of one node at ``looked_at``, in seconds since the epoch."""

    node: str
    looked_at: Annotated[float, times]
    looks: tuple[Look, ...]

    @property
    def symptoms(self) -> tuple[Symptom, ...]:
        """Return all symptoms, in the order of the collectors."""
        return tuple(symptom for look in self.looks for symptom in look.symptoms)


ARRAYS = "arrays"
DISKS = "disks"
ENCLOSURES = "enclosures"
LINKS = "links"
LUSTRE = "lustre"
KERNEL = "kernel"

KINDS = (ARRAYS, DISKS, ENCLOSURES, LINKS, LUSTRE, KERNEL)
"""In display order."""

KIND_OF = {
    "md": ARRAYS,
    "zfs": ARRAYS,
    "smart": DISKS,
    "enclosure": ENCLOSURES,
    "ethernet": LINKS,
    "lldp": LINKS,
    "fibre_channel": LINKS,
    "infiniband": LINKS,
    "sas": LINKS,
    "pcie": LINKS,
    "lnet": LINKS,
    "fabric": LINKS,
    "lustre": LUSTRE,
    "kernel": KERNEL,
}
"""The kind of each built-in collector; a site command names its own."""


def title(node: str, kind: str = "") -> str:
    """Return the Nagios name of a node, or of one kind of its parts; host names have no space."""
    return f"{node} {kind}" if kind else node


MAX_QUOTED = 2

ORDER = (State.CRITICAL, State.WARNING, State.UNKNOWN, State.OK)
"""Severities, most severe first."""


class Suspicion(str, Enum):
    """Combined effect of all symptoms of a component."""

    RAISED = "raised"
    LOWERED = "lowered"
    NONE = "none"


def about(component: str, symptoms: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """Return the symptoms of one component, most severe first, each sentence once."""
    by_sentence = {
        symptom.sentence: symptom for symptom in symptoms if symptom.component == component
    }
    return by_severity(by_sentence.values())


def by_severity(symptoms: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """Sort symptoms by weight: those that raise the suspicion come first."""
    return tuple(sorted(symptoms, key=_weight))


def suspicion(component: str, symptoms: Iterable[Symptom]) -> Suspicion:
    """Return the combined effect of a component's symptoms: a fault outweighs a reason to be slow.

    NONE if there are no symptoms, which is no proof of health.
    """
    directions = {symptom.direction for symptom in about(component, symptoms)}
    if Direction.RAISES in directions:
        return Suspicion.RAISED
    return Suspicion.LOWERED if directions else Suspicion.NONE


def phrase(component: str, symptoms: Iterable[Symptom]) -> str:
    """Return the symptoms as an appendix to a sentence about a component, empty without any.

    For example ``; kernel: I/O errors of sdb (14 times) since 2026-11-20 02:13 UTC``.
    """
    own = about(component, symptoms)
    if not own:
        return ""
    quoted = ", ".join(map(quote, own[:MAX_QUOTED]))
    unquoted = len(own) - MAX_QUOTED
    more = f" and {unquoted} more symptom{'s' if unquoted > 1 else ''}" if unquoted > 0 else ""
    return f"; {quoted}{more}"


def quote(symptom: Symptom) -> str:
    """Return the sentence of a symptom and its start time."""
    if symptom.since is None:
        return symptom.sentence
    # imported only if needed: it slows the start of a check
    from datetime import datetime, timezone

    since = datetime.fromtimestamp(symptom.since, timezone.utc)
    return f"{symptom.sentence} since {since:%Y-%m-%d %H:%M} UTC"


def _weight(symptom: Symptom) -> tuple[bool, int, str]:
    lowers = symptom.direction is Direction.LOWERS
    return lowers, ORDER.index(symptom.severity), symptom.sentence


VALID_S = 3600.0
"""Seconds for which a report is valid: six times the period of the role symptoms.

A rebuild in an older report may be over: the timer was stopped, or the node died.
"""

TROUBLE = "trouble"
"""Key of the reason in a document that replaces a missing report."""


class SiteSymptoms(NamedTuple):
    """The current symptoms, and each node without a usable report, with the reason."""

    symptoms: tuple[Symptom, ...] = ()
    left_out: tuple[str, ...] = ()


def site_symptoms(documents: Mapping[str, Any], now: Mapping[str, float]) -> SiteSymptoms:
    """Return the current symptoms from the reports by node name.

    ``now`` is the time by each node's own clock, in seconds since the epoch.  Reports are
    optional, so a damaged or old one is left out with its reason.
    """
    parts = [_node_symptoms(node, document, now.get(node)) for node, document in documents.items()]
    return SiteSymptoms(
        tuple(symptom for part in parts for symptom in part.symptoms),
        tuple(reason for part in parts for reason in part.left_out),
    )


def _node_symptoms(node: str, document: Any, now: Optional[float]) -> SiteSymptoms:
    try:
        return SiteSymptoms(_current(node, document, now))
    except DocumentError as error:
        return SiteSymptoms(left_out=(f"{node} ({error})",))


def _current(node: str, document: Any, now: Optional[float]) -> tuple[Symptom, ...]:
    """Return the symptoms of a report; raise DocumentError with the reason if it is not usable."""
    if now is None:
        raise DocumentError("it is no node of the plan")
    if isinstance(document, dict) and TROUBLE in document:
        raise DocumentError(storable(f"{document[TROUBLE]!s:.300}"))
    report = read_document(Report, document)
    if report.node != node:
        raise DocumentError(f"they are those of {storable(report.node):.60}")
    age_s = now - report.looked_at
    if age_s > VALID_S:
        raise DocumentError(f"its last look is {format_duration(age_s)} old")
    return report.symptoms
