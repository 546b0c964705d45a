"""Messages between a console and its nodes: JSON, one line each.

A suspicion by latency is a reason for a node to measure, and nothing else.

The console asks with a :class:`Request`; the node answers with a :class:`Head`, then a line
``[seq, record]`` for each record, then ``{"end": COUNT, "more": BOOL}``, so that an answer that was
cut is seen.  A node that cannot answer says ``{"error": SENTENCE}``.
The console keeps the answer for good before it asks for more, on the same connection.

``since``, where it is given, leaves out records that began before it: who looks for a fault asks
for its own measurements alone.  ``conditions_at`` is when the bill of conditions was taken that the
console has: the node sends its ledger where that has changes since, or is of another day.
``suspected`` is what the console suspects of the node by latency under load, in the place of what
it said before; without it what was said stands.

A cursor is the place of a record in its history and the record's id, which is empty behind one that
could not be read.  Where the node has another record at that place, or none, its history was begun
again, restored or pruned: everything is asked again, and the ids prevent doubles.
"""

from __future__ import annotations

from typing import Annotated, Any, Mapping, NamedTuple, Optional

from plumbline.model.codec import AtMost, lenient, positional, read_document, write_fields
from plumbline.model.errors import DocumentError
from plumbline.model.names import NAME
from plumbline.model.validation import names, times

MOST = 16
"""Most suspicions of one node at once: more do not point to single components."""


def _name(component: str) -> None:
    NAME.refuse("suspected component", component)


@positional
class Suspected(NamedTuple):
    """A component of a layer, and since when it is suspected, in seconds since the epoch."""

    layer: str
    component: Annotated[str, _name]
    since: Annotated[float, times]


Suspects = Annotated[tuple[Suspected, ...], AtMost(MOST)]


SCHEMA = 1
MOST_RECORDS = 500
"""In one answer; with some kilobytes each it stays below a few megabytes."""

_UPDATE = "deploy the roles export and console again, so that both have the same plumbline"


@positional
class Cursor(NamedTuple):
    """Up to where a history was read: the place of a record and its id; 0 and empty at first."""

    seq: int = 0
    id: str = ""


@lenient
class Request(NamedTuple):
    """Ask for at most ``limit`` records after a cursor, none that began before ``since``.

    ``since`` is in seconds since the epoch, by the node's clock; None is all.  ``conditions_at`` is
    by the same clock; None asks for no ledger.  ``suspected`` is None where nobody looks for it.
    """

    after: Cursor
    limit: int = MOST_RECORDS
    since: Optional[Annotated[float, times]] = None
    conditions_at: Optional[Annotated[float, times]] = None
    suspected: Optional[Suspects] = None

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        document = {"schema": SCHEMA, **write_fields(self)}
        return {key: value for key, value in document.items() if value is not None}

    @classmethod
    def from_json(cls, raw: Any) -> Request:
        """Build from the document form; raise DocumentError when it is not understood."""
        request = read_document(cls, raw, SCHEMA, "the request", _UPDATE)
        return request._replace(limit=max(1, min(request.limit, MOST_RECORDS)))


def _names(**values: str) -> None:
    for name, value in values.items():
        names(name, (value,))


@positional
class Begun(NamedTuple):
    """A measurement that a node has begun and not ended, since when in seconds since the epoch."""

    layer: Annotated[str, _names]
    component: Annotated[str, _names]
    since: Annotated[float, times]


@lenient
class Head(NamedTuple):
    """The first line of an answer.

    ``again`` says that the cursor was not of this history, and that the answer begins at its first
    record; ``now`` is the node's clock in seconds since the epoch; ``running`` what is being
    measured; ``symptoms`` the node's document of other evidence, None where it has none;
    ``conditions`` its ledger, None where the console's copy of it will do; ``untaken`` why it could
    not keep what is suspected of it, empty where it could.
    """

    version: str
    now: Annotated[float, times]
    again: bool
    running: tuple[Begun, ...] = ()
    symptoms: Optional[Mapping[str, Any]] = None
    conditions: Optional[Mapping[str, Any]] = None
    untaken: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {"schema": SCHEMA, **write_fields(self)}

    @classmethod
    def from_json(cls, raw: Any) -> Head:
        """Build from the document form; raise DocumentError when it is not understood."""
        if isinstance(raw, dict) and "error" in raw:
            raise DocumentError(f"it says: {raw['error']!s:.500}")
        return read_document(cls, raw, SCHEMA, "its answer", _UPDATE)
