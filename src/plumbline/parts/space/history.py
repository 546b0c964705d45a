"""Looks at file systems as records of a history: four a day, after two days with all of them.

A record has no rate and names no operation that would be judged.  It travels to the console as
all records do.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Iterator
from uuid import uuid4

from plumbline.model.codec import read, read_all, write
from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation, Outcome, Record, Scenario
from plumbline.model.space import KEPT_TARGETS, KEPT_TERMS, SPACE, SpaceTerms, TargetSpace
from plumbline.model.units import DAY_S
from plumbline.parts.space.outlook import Look
from plumbline.parts.space.trend import RHYTHM_DAYS
from plumbline.store.database import Store, read_record

_REASON = "its space was read, nothing was measured"
_QUERY = (
    "SELECT body FROM records WHERE layer = ? AND component = ? AND partner = ? "
    "AND started_at BETWEEN ? AND ? ORDER BY started_at"
)


def record_of(look: Look, node: str) -> Record:
    """Return the record of a look."""
    whole = look.whole
    return Record(
        id=str(uuid4()),
        run_id=str(uuid4()),
        layer=SPACE,
        component=look.terms.file_system,
        operation=Operation.READ,
        scenario=Scenario.TOGETHER,
        outcome=Outcome.FAILED if look.trouble else Outcome.SKIPPED,
        host=node,
        started_at=look.at,
        finished_at=look.at,
        reason=look.trouble or _REASON,
        # so that a series is of one node
        partner=node,
        fill=whole and round(whole.fill, 5),
        details={KEPT_TERMS: write(look.terms), KEPT_TARGETS: write(look.targets)},
    )


def looks(store: Store, node: str, file_system: str, until: float) -> list[Look]:
    """Return the looks of a node at a file system up to an epoch time, oldest first.

    Damaged records are left out.

    Raises:
        StoreError: the history cannot be read.
    """
    span = (until - RHYTHM_DAYS * DAY_S, until)
    return list(_looks(store, node, file_system, span))


def _looks(store: Store, node: str, file_system: str, span: tuple[float, float]) -> Iterator[Look]:
    for (body,) in store.rows(_QUERY, (SPACE, file_system, node, *span)):
        with suppress(DocumentError):
            yield look_of(read_record(body, store.path))


def look_of(record: Record) -> Look:
    """Return the look of a record; raise DocumentError if it has none, or a damaged one."""
    details = record.details or {}
    try:
        return Look(
            read(SpaceTerms, details[KEPT_TERMS]),
            record.started_at,
            read_all(TargetSpace, details[KEPT_TARGETS]),
            record.reason if record.outcome is Outcome.FAILED else "",
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DocumentError(f"record {record.id} of space is damaged: {error!r:.200}") from error
