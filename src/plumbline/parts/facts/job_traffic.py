"""Traffic of jobs in a console's history, from servers' counters and logs.

Traffic counted by servers is part of the records of their samplings; traffic from logs has its own
table.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterable, Iterator

from plumbline.model.codec import read, read_all, write
from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation, Record
from plumbline.model.trend import SERVER
from plumbline.model.units import DAY_S
from plumbline.observe.coverage import LUSTRE, PART_S, JobRow, RequestRow
from plumbline.parts.facts.jobs import COUNTERS, JobIo, JobRequests, in_order
from plumbline.store.database import Store, inflate, read_record

KEEP_DAYS = 60
MAX_ROWS = 2_000_000
"""Most rows kept from logs, the latest ones: about 500 MB."""

_KEEP = "INSERT OR REPLACE INTO job_traffic VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_KEPT = "SELECT * FROM job_traffic WHERE end >= ? AND begin <= ?"
_OLD = "DELETE FROM job_traffic WHERE end < ?"
_TOO_MANY = (
    "DELETE FROM job_traffic WHERE rowid IN "
    "(SELECT rowid FROM job_traffic ORDER BY end DESC LIMIT -1 OFFSET ?)"
)
# a sampler stores the traffic of jobs in the records of reads
_COUNTED = (
    "SELECT body FROM records WHERE started_at BETWEEN ? AND ? AND layer = ? AND operation = ?"
)
_LATE_S = 2 * PART_S
"""Longest time by which a job's row begins before its record, or ends after it."""


class JobTraffic(Store):
    """The job traffic in a console's history; a context manager."""

    def between(self, begin: float, end: float, target: str = "") -> Iterator[JobIo]:
        """Yield the traffic of jobs between two times, in seconds since the epoch.

        ``target`` selects one target by its name on the servers; logs have the site's name.

        Raises:
            StoreError: the history cannot be read.
            DocumentError: the history is damaged.
        """
        for record in self._records("jobs", begin, end, target):
            yield from _record_traffic(record)
        for row in self.rows(_KEPT, (begin, end)):
            io = self._kept(row)
            if target in ("", io.target):
                yield io

    def requests(self, begin: float, end: float, target: str = "") -> Iterator[JobRequests]:
        """Yield the requests of jobs to metadata targets between two times, as :meth:`between`."""
        for record in self._records("requests", begin, end, target):
            yield from _record_requests(record)

    def _records(self, key: str, begin: float, end: float, target: str) -> Iterator[Record]:
        span = begin - _LATE_S, end + _LATE_S
        values = (*span, SERVER, Operation.READ.value)
        target_query = (f"{_COUNTED} AND component = ?", (*values, target))
        for (body,) in self.rows(*(target_query if target else (_COUNTED, values))):
            text = inflate(body)
            if not text or f'"{key}":' in text:
                yield read_record(text, self.path)

    def keep(self, traffic: Iterable[JobIo], now: float) -> None:
        """Store the traffic from logs and delete old rows, in one transaction."""
        with self.transaction():
            for io in traffic:
                self.change(_KEEP, write(io))
            self.change(_OLD, (now - KEEP_DAYS * DAY_S,))
            self.change(_TOO_MANY, (MAX_ROWS,))

    def _kept(self, row: tuple[object, ...]) -> JobIo:
        try:
            return in_order(read(JobIo, row))
        except TypeError as error:
            raise DocumentError(
                f"history {self.path} holds damaged traffic of a job ({error}); read the logs again"
            ) from error


def _record_traffic(record: Record) -> Iterator[JobIo]:
    details = record.details or {}
    if details.get("source") != LUSTRE:
        return
    with _damage(record):
        for row in read_all(JobRow, details.get("jobs", ())):
            directions = ((Operation.READ, row.read), (Operation.WRITE, row.written))
            for operation, moved in directions:
                if moved:
                    key = row.job, record.component, operation
                    yield in_order(JobIo(*key, moved, row.begin, row.end, COUNTERS))


def _record_requests(record: Record) -> Iterator[JobRequests]:
    with _damage(record):
        for row in read_all(RequestRow, (record.details or {}).get("requests", ())):
            yield JobRequests(row.job, record.component, row.begin, row.end, row.requests)


@contextmanager
def _damage(record: Record) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError, AttributeError) as error:
        raise DocumentError(f"what {record.host} counted of jobs is damaged: {error}") from error
