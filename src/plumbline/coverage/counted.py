"""What one server counted of one target without a break: how much went through between two moments.

A counter is read once a second, so what went through at the edges of a time is known within bounds.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.model.record import Operation, Outcome, Record
from plumbline.model.validation import counts, names, numbers, times, within

LUSTRE = "lustre"
"""What counts the bytes of clients, not those of disks."""

PART_S = 300.0
"""A record of a server tells of so many seconds at most, see plumbline.run.sample."""

_GAP_S = 0.01
_LATEST_S = 3600.0
_DIRECTIONS = (Operation.READ, Operation.WRITE)


class Bounds(NamedTuple):
    """Bytes: at least, by interpolation, at most."""

    least: float
    likely: float
    most: float

    def __add__(self, other: object) -> Bounds:
        """Return the sum."""
        assert isinstance(other, Bounds)
        return Bounds(*(one + more for one, more in zip(self, other)))


class JobRow(NamedTuple):
    """What a job has read and written, in bytes, between two moments in seconds since the epoch."""

    begin: float
    end: float
    job: str
    read: int
    written: int

    @property
    def bytes(self) -> int:
        """Return what it has moved in both directions."""
        return self.read + self.written


class _Bin(NamedTuple):
    begin: float
    end: float
    bytes: float


class _Direction:
    """One counter: when it was followed, and what it counted; nothing between its bins."""

    def __init__(self) -> None:
        self.spans: list[tuple[float, float]] = []
        self.bins: list[_Bin] = []

    def covers(self, begin: float, end: float) -> bool:
        reached = begin
        for first, last in sorted(self.spans):
            if first <= reached + _GAP_S:
                reached = max(reached, last)
        return reached + _GAP_S >= end

    def moved(self, begin: float, end: float, slack_s: float) -> Bounds:
        least = likely = most = 0.0
        for one in self.bins:
            if one.end > begin - slack_s and one.begin < end + slack_s:
                most += one.bytes
                inside_s = max(0.0, min(one.end, end) - max(one.begin, begin))
                likely += one.bytes * inside_s / (one.end - one.begin)
            if one.begin >= begin + slack_s and one.end <= end - slack_s:
                least += one.bytes
        return Bounds(least, likely, most)


class Counted:
    """One target as one server has followed it in one sampling."""

    def __init__(self, host: str, records: Sequence[Record]) -> None:
        """Take records of layer ``server`` of one target; raise DocumentError for damaged ones."""
        self.host = host
        self._ways = {way: _Direction() for way in _DIRECTIONS}
        self.jobs: list[JobRow] = []
        self._late_s = 0.0
        try:
            for record in records:
                self._take(record)
        except (KeyError, TypeError, ValueError) as error:
            raise DocumentError(f"what {host} counted is damaged: {error!r}") from error

    def covers(self, begin: float, end: float, slack_s: float) -> bool:
        """Return whether both directions were followed all the time, by the server's clock."""
        reach_s = slack_s + self._late_s
        return all(one.covers(begin - reach_s, end + reach_s) for one in self._ways.values())

    def moved(self, begin: float, end: float, slack_s: float) -> Bounds:
        """Return what went through; both moments are known to within ``slack_s`` seconds."""
        read, written = (
            one.moved(begin, end, slack_s + self._late_s) for one in self._ways.values()
        )
        return read + written

    def _take(self, record: Record) -> None:
        details = record.details or {}
        if details["source"] != LUSTRE or record.outcome is Outcome.FAILED:
            return
        self.jobs += job_rows(details)
        watched = details.get("watched")
        if watched is None:
            return
        first_s, last_s = watched
        within(0, _LATEST_S, late_s=details["late_s"])
        numbers(first_s=first_s, last_s=last_s)
        self._late_s = max(self._late_s, details["late_s"])
        way = self._ways[record.operation]
        way.spans.append((record.started_at + first_s, record.started_at + last_s))
        way.bins += _bins(record, details)


def _bins(record: Record, details: Mapping[str, Any]) -> Iterator[_Bin]:
    """Yield the seconds in which something moved; of several with one reading all together."""
    merged = {}
    for first, count in details.get("merged", ()):
        numbers(first=first)
        counts(count=count)
        merged[first] = count
    place, start, rates = 0, record.started_at, record.profile_Bps
    while place < len(rates):
        count = max(1, merged.get(place, 1))
        moved = sum(rates[place : place + count])
        if moved:
            yield _Bin(start + place, start + place + count, moved)
        place += count


def job_rows(details: Mapping[str, Any]) -> Iterator[JobRow]:
    """Yield what jobs have moved, from the details of a record of layer ``server``.

    Raises:
        TypeError: they are damaged; ValueError for a row of another length.
    """
    for begin, end, job, read, written in details.get("jobs", ()):
        times(begin=begin, end=end)
        names("job", (job,))
        counts(read=read, written=written)
        yield JobRow(begin, end, job, read, written)


class RequestRow(NamedTuple):
    """What a job has asked a metadata target, by operation, between two moments as above."""

    begin: float
    end: float
    job: str
    requests: Mapping[str, int]


def request_rows(details: Mapping[str, Any]) -> Iterator[RequestRow]:
    """Yield what jobs have asked, from the details of a record of layer ``server``.

    Raises:
        TypeError: they are damaged; ValueError or AttributeError for rows of another form.
    """
    for begin, end, job, requests in details.get("requests", ()):
        times(begin=begin, end=end)
        names("job", (job, *requests))
        counts(**requests)
        yield RequestRow(begin, end, job, requests)


def by_sampling(records: Sequence[Record]) -> list[Counted]:
    """Return what each server counted of a target in each sampling.

    Raises:
        DocumentError: a record is damaged.
    """
    found: dict[tuple[str, str], list[Record]] = {}
    for one in records:
        found.setdefault((one.host, one.run_id), []).append(one)
    return [Counted(host, own) for (host, _), own in found.items()]


def covering(
    samplings: Sequence[Counted], begin: float, end: float, slack_s: float
) -> Optional[Counted]:
    """Return a sampling that has followed the target all the time, None where there is none."""
    return next((one for one in samplings if one.covers(begin, end, slack_s)), None)
