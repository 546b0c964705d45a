"""Messages between the console and its nodes: JSON, one message per line.

The console sends a :class:`Request`; the node answers with a :class:`Head`, then a line
``[seq, record]`` for each record, then ``{"end": COUNT, "more": BOOL}``, which reveals a truncated
answer.  A node that cannot answer sends ``{"error": SENTENCE}``.  The console stores an answer
before it requests more on the same connection.

``since``, if given, leaves out older records: a search for a fault needs only its own measurements.
``conditions_at`` is the time of the console's copy of the node's conditions: the node sends its
ledger if it has changes since then, or is from another day.  ``suspected`` are the console's
current suspicions of the node by latency under load; without it the earlier ones remain.  A
suspicion only makes the node measure.

A cursor is the position of a record in the node's history and the record's id, which is empty after
an unreadable record.  If the node has another record or none at that position, its history was
restarted, restored or pruned: the console requests everything again, and the ids prevent doubles.
"""

from __future__ import annotations

from typing import Annotated, Any, Mapping, NamedTuple, Optional

from plumbline.model.codec import AtMost, form, lenient, positional
from plumbline.model.names import NAME
from plumbline.model.validation import Within, names, times

MAX_SUSPICIONS = 16
"""Most suspicions of one node at once; more would not point to single components."""


def _name(component: str) -> None:
    NAME.refuse("suspected component", component)


@positional
class Suspected(NamedTuple):
    """Suspicion of a component, with its start in seconds since the epoch."""

    layer: str
    component: Annotated[str, _name]
    since: Annotated[float, times]


Suspects = Annotated[tuple[Suspected, ...], AtMost(MAX_SUSPICIONS)]


MAX_RECORDS = 500
"""Most records in one answer, which stays below a few megabytes."""

_UPDATE = "deploy the roles export and console again, so that both have the same plumbline"


@positional
class Cursor(NamedTuple):
    """Position and id of the last record read from a history; 0 and empty at first."""

    seq: int = 0
    id: str = ""


@lenient
@form(1, "request", _UPDATE)
class Request(NamedTuple):
    """Request for at most ``limit`` records after a cursor, without those before ``since``.

    ``since`` is in seconds since the epoch, by the node's clock; None means all.
    ``conditions_at`` is by the same clock; None requests no ledger.  ``suspected`` is None if the
    console does not search for suspects.
    """

    after: Cursor
    limit: Annotated[int, Within(1, MAX_RECORDS)] = MAX_RECORDS
    since: Optional[Annotated[float, times]] = None
    conditions_at: Optional[Annotated[float, times]] = None
    suspected: Optional[Suspects] = None


def _names(**values: str) -> None:
    for name, value in values.items():
        names(name, (value,))


@positional
class Begun(NamedTuple):
    """Measurement in progress on a node, with its start in seconds since the epoch."""

    layer: Annotated[str, _names]
    component: Annotated[str, _names]
    since: Annotated[float, times]


@lenient
@form(1, "answer", _UPDATE)
class Head(NamedTuple):
    """First line of an answer.

    ``again`` is True if the cursor did not fit the history, so the answer begins at its first
    record; ``now`` is the node's clock in seconds since the epoch; ``running`` the measurements in
    progress; ``symptoms`` the node's document of symptoms, None without one; ``conditions`` its
    ledger, None if the console's copy is current; ``untaken`` the reason why the node could not
    store its suspicions, empty on success.
    """

    version: str
    now: Annotated[float, times]
    again: bool
    running: tuple[Begun, ...] = ()
    symptoms: Optional[Mapping[str, Any]] = None
    conditions: Optional[Mapping[str, Any]] = None
    untaken: str = ""
