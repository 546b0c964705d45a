"""The records of a console of which nobody knows yet whether others used the target meanwhile.

Once the counters of the servers have said it, it is kept with the record, in all that a judge asks.
A record that has a coverage of its own, or that counters were held against, is left as it is.
"""

from __future__ import annotations

import json
from typing import Collection, Iterator, NamedTuple, Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.model.others import OTHERS, Others
from plumbline.model.record import Record
from plumbline.model.trend import SERVER, NodeClock
from plumbline.store.clocks import read_clocks
from plumbline.store.database import Store
from plumbline.store.deflated import deflated
from plumbline.store.tables import read_record

_OPEN = (
    "SELECT component, body FROM records WHERE started_at >= ? AND layer = ? AND coverage IS NULL "
    "AND rate_Bps IS NOT NULL ORDER BY seq"
)
_RUN = (
    "SELECT body FROM records WHERE run_id = ? AND layer = ? AND component = ? "
    "AND rate_Bps IS NOT NULL"
)
_COUNTED = (
    "SELECT body FROM records WHERE layer = ? AND component = ? AND started_at BETWEEN ? AND ? "
    "ORDER BY started_at"
)
_COVER = "UPDATE records SET coverage = ?, body = ? WHERE id = ? AND coverage IS NULL"


class Found(NamedTuple):
    """What the counters say of a record; the coverage is None where they leave it in doubt."""

    record: Record
    coverage: Optional[float]
    others: Others


class Uncovered(Store):
    """The history of a console, for whoever covers its records; use it in a ``with``.

    Each method raises StoreError when the history cannot be read or written, and DocumentError for
    a damaged record.
    """

    def records(self, layer: str, components: Collection[str], since: float) -> Iterator[Record]:
        """Yield what was measured since, in epoch seconds, and has no coverage.

        One that is damaged is left out: whoever judges says so.
        """
        for component, body in self._database.table(_OPEN, (since, layer)):
            record = self._sound(body) if component in components else None
            if record is not None and OTHERS not in (record.details or {}):
                yield record

    def run(self, record: Record) -> list[Record]:
        """Return all measurements of a record's component in its run."""
        key = record.run_id, record.layer, record.component
        return [read_record(body, self.path) for (body,) in self._database.table(_RUN, key)]

    def counted(self, target: str, begin: float, end: float) -> list[Record]:
        """Return what servers have counted of a target, by records that begin in this time."""
        rows = self._database.table(_COUNTED, (SERVER, target, begin, end))
        return [read_record(body, self.path) for (body,) in rows]

    def clocks(self) -> dict[str, NodeClock]:
        """Return how the clock of each node stood when it was last asked."""
        return {one.node: one for one in read_clocks(self._database)}

    def cover(self, found: Sequence[Found]) -> None:
        """Keep for good what the counters say of records: all of it, or nothing."""
        with self._database.together():
            for one in found:
                self._database.change(_COVER, (one.coverage, deflated(_body(one)), one.record.id))

    def _sound(self, body: object) -> Optional[Record]:
        try:
            return read_record(body, self.path)
        except DocumentError:
            return None


def _body(found: Found) -> str:
    record = found.record
    details = {**(record.details or {}), OTHERS: found.others.to_json()}
    body = record._replace(coverage=found.coverage, details=details).to_json()
    return json.dumps(body, separators=(",", ":"), allow_nan=False)
