"""Traffic of jobs in the history of a console, by the servers' counters and by logs.

What servers counted lies in the records of their samplings; what was read of logs has a table of
its own.
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
from plumbline.observe.jobs import COUNTERS, JobIo, JobRequests, in_order
from plumbline.store.database import Store, inflated, read_record

KEEP_DAYS = 60
MOST_ROWS = 2_000_000
"""Limit of kept logs: some 500 MB, the latest."""

_KEEP = "INSERT OR REPLACE INTO job_traffic VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_KEPT = "SELECT * FROM job_traffic WHERE end >= ? AND begin <= ?"
_OLD = "DELETE FROM job_traffic WHERE end < ?"
_TOO_MANY = (
    "DELETE FROM job_traffic WHERE rowid IN "
    "(SELECT rowid FROM job_traffic ORDER BY end DESC LIMIT -1 OFFSET ?)"
)
# a sampler puts what jobs moved into the records of reads
_COUNTED = (
    "SELECT body FROM records WHERE started_at BETWEEN ? AND ? AND layer = ? AND operation = ?"
)
_LATE_S = 2 * PART_S
"""A job's row begins no earlier before its record, and ends no later after it."""


class JobTraffic(Store):
    """The history of a console, for whoever asks what jobs have moved; use it in a ``with``."""

    def between(self, begin: float, end: float, target: str = "") -> Iterator[JobIo]:
        """Yield what jobs have moved between two moments, in seconds since the epoch.

        A ``target`` is that alone, by the name that its servers have for it; logs know the site's.

        Raises:
            StoreError: the history cannot be read.
            DocumentError: something in it is damaged.
        """
        yield from self._by_servers(begin, end, target)
        for row in self.rows(_KEPT, (begin, end)):
            io = self._kept(row)
            if target in ("", io.target):
                yield io

    def _by_servers(self, begin: float, end: float, target: str) -> Iterator[JobIo]:
        for record in self._records("jobs", begin, end, target):
            yield from _counted(record)

    def requests(self, begin: float, end: float, target: str = "") -> Iterator[JobRequests]:
        """Yield what jobs have asked metadata targets between two moments, as :meth:`between`."""
        for record in self._records("requests", begin, end, target):
            yield from _asked(record)

    def _records(self, key: str, begin: float, end: float, target: str) -> Iterator[Record]:
        """Yield the records of servers that say something under a key."""
        span = begin - _LATE_S, end + _LATE_S
        values = (*span, SERVER, Operation.READ.value)
        named = (f"{_COUNTED} AND component = ?", (*values, target))
        for (body,) in self.rows(*(named if target else (_COUNTED, values))):
            text = inflated(body)
            if not text or f'"{key}":' in text:
                yield read_record(text, self.path)

    def keep(self, traffic: Iterable[JobIo], now: float) -> None:
        """Keep what logs say for good, and forget what is too old: all of it, or nothing."""
        with self.together():
            for io in traffic:
                self.change(_KEEP, write(io))
            self.change(_OLD, (now - KEEP_DAYS * DAY_S,))
            self.change(_TOO_MANY, (MOST_ROWS,))

    def _kept(self, row: tuple[object, ...]) -> JobIo:
        try:
            return in_order(read(JobIo, row))
        except TypeError as error:
            raise DocumentError(
                f"history {self.path} holds damaged traffic of a job ({error}); read the logs again"
            ) from error


def _counted(record: Record) -> Iterator[JobIo]:
    """Yield what a record of a server says of bytes of jobs."""
    details = record.details or {}
    if details.get("source") != LUSTRE:
        return
    with _damage(record):
        for row in read_all(JobRow, details.get("jobs", ())):
            ways = ((Operation.READ, row.read), (Operation.WRITE, row.written))
            for operation, moved in ways:
                if moved:
                    place = row.job, record.component, operation
                    yield in_order(JobIo(*place, moved, row.begin, row.end, COUNTERS))


def _asked(record: Record) -> Iterator[JobRequests]:
    """Yield what a record of a server says of requests of jobs."""
    with _damage(record):
        for row in read_all(RequestRow, (record.details or {}).get("requests", ())):
            yield JobRequests(row.job, record.component, row.begin, row.end, row.requests)


@contextmanager
def _damage(record: Record) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError, AttributeError) as error:
        raise DocumentError(f"what {record.host} counted of jobs is damaged: {error}") from error
