"""Coverage: the probe's share of the traffic of a target while it was measured.

The counters of the servers tell it; the client that measured cannot know it.  A record keeps it
among its details.

A counter is read once a second, so what went through at the edges of a time is known within bounds.

Bytes of others are at most what the server counted from the last reading before the run until the
first one after it, less the probe's own.  Where the operations of a run follow one another at once
these seconds hold the probe's own neighbours too; so all of its operations are looked at as well,
whose others are no fewer than those of one.
"""

from __future__ import annotations

from typing import Annotated, Any, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from plumbline.model.codec import positional, read, read_all
from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation, Outcome, Record
from plumbline.model.trend import NodeClock
from plumbline.model.units import format_bytes, format_duration
from plumbline.model.validation import Within, amounts, counts, numbers, times, unicode_text

OTHERS = "others"
"""The name among the details of a record."""


class Job(NamedTuple):
    """The job that moved most on the target; ``seconds`` are those of the readings around a run."""

    id: Annotated[str, unicode_text]
    bytes: Annotated[int, counts]
    seconds: Annotated[float, amounts]

    def __str__(self) -> str:
        """Return e.g. ``job 4711 moved 38.0 GB in the 40 s around it``."""
        moved, time = format_bytes(self.bytes), format_duration(self.seconds)
        return f"job {self.id} moved {moved} in the {time} around it"


class Others(NamedTuple):
    """Between what the coverage lies, as fractions, by the counters of ``server``.

    Both are None, and ``unknown`` says why, where these say nothing of the coverage.  Where they
    lie on both sides of the policy's ``min_coverage`` the record has no coverage.
    """

    server: Annotated[str, unicode_text]
    least: Optional[Annotated[float, Within(0, 1)]] = None
    most: Optional[Annotated[float, Within(0, 1)]] = None
    job: Optional[Job] = None
    unknown: Annotated[str, unicode_text] = ""

    def in_doubt(self) -> str:
        """Return why the coverage is not known."""
        if self.unknown or self.least is None or self.most is None:
            return self.unknown or "nothing was counted"
        between = f"coverage between {self.least:.2f} and {self.most:.2f}"
        return f"{between} by the counters of {self.server}"


def others_of(record: Record) -> Optional[Others]:
    """Return what a record says of others, None where no server's counters were held against it.

    Raises:
        DocumentError: that is damaged.
    """
    raw = (record.details or {}).get(OTHERS)
    try:
        return None if raw is None else read(Others, raw)
    except (KeyError, TypeError) as error:
        raise DocumentError(f"what a record says of others is damaged: {error!r}") from error


LUSTRE = "lustre"
"""Source of counters of clients' bytes, not of those of disks."""

PART_S = 300.0
"""A record of a server tells of so many seconds at most, see plumbline.measure.sample."""

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
        return Bounds(*(own + more for own, more in zip(self, other)))


@positional
class JobRow(NamedTuple):
    """Bytes that a job has read and written between two moments in seconds since the epoch."""

    begin: Annotated[float, times]
    end: Annotated[float, times]
    job: Annotated[str, unicode_text]
    read: Annotated[int, counts]
    written: Annotated[int, counts]

    @property
    def bytes(self) -> int:
        """Return what it has moved in both directions."""
        return self.read + self.written


@positional
class RequestRow(NamedTuple):
    """Requests of a job to a metadata target, by operation, between two moments as above."""

    begin: Annotated[float, times]
    end: Annotated[float, times]
    job: Annotated[str, unicode_text]
    requests: Mapping[str, Annotated[int, counts]]


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
        for part in self.bins:
            if part.end > begin - slack_s and part.begin < end + slack_s:
                most += part.bytes
                inside_s = max(0.0, min(part.end, end) - max(part.begin, begin))
                likely += part.bytes * inside_s / (part.end - part.begin)
            if part.begin >= begin + slack_s and part.end <= end - slack_s:
                least += part.bytes
        return Bounds(least, likely, most)


class Sampling:
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
        return all(
            direction.covers(begin - reach_s, end + reach_s) for direction in self._ways.values()
        )

    def moved(self, begin: float, end: float, slack_s: float) -> Bounds:
        """Return what went through; both moments are known to within ``slack_s`` seconds."""
        read, written = (
            direction.moved(begin, end, slack_s + self._late_s) for direction in self._ways.values()
        )
        return read + written

    def _take(self, record: Record) -> None:
        details = record.details or {}
        if details["source"] != LUSTRE or record.outcome is Outcome.FAILED:
            return
        self.jobs += read_all(JobRow, details.get("jobs", ()))
        watched = details.get("watched")
        if watched is None:
            return
        first_s, last_s = watched
        Within(0, _LATEST_S)(late_s=details["late_s"])
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
    place, start, rates = 0, record.started_at, record.profile
    while place < len(rates):
        count = max(1, merged.get(place, 1))
        moved = sum(rates[place : place + count])
        if moved:
            yield _Bin(start + place, start + place + count, moved)
        place += count


def by_sampling(records: Sequence[Record]) -> list[Sampling]:
    """Return what each server counted of a target in each sampling.

    Raises:
        DocumentError: a record is damaged.
    """
    samplings: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        samplings.setdefault((record.host, record.run_id), []).append(record)
    return [Sampling(host, own) for (host, _), own in samplings.items()]


def covering(
    samplings: Sequence[Sampling], begin: float, end: float, slack_s: float
) -> Optional[Sampling]:
    """Return a sampling that has followed the target all the time, None where there is none."""
    return next((sampling for sampling in samplings if sampling.covers(begin, end, slack_s)), None)


MOST_APART_S = 2.0
"""Clocks that differ by more are not kept: nobody knows how far they were apart when measured."""

_COUNTED = 0.001
"""Of what is counted: rates of seconds are whole bytes."""

_FEWER = 0.02
"""By so much fewer than the probe's own bytes may be counted, and not by more."""

_NAMED = 0.1
"""A job that moved less than this share of the others' bytes explains nothing."""


class Coverage(NamedTuple):
    """Coverage of a record, None where it stays in doubt, and its bounds."""

    coverage: Optional[float]
    others: Others


class Servers(NamedTuple):
    """Samplings of servers by target, and the clocks by host."""

    counted: Mapping[str, Sequence[Sampling]]
    clocks: Mapping[str, NodeClock]


class _Window(NamedTuple):
    """A time by the client's clock, and the bytes that the probe moved in it."""

    begin: float
    end: float
    own: float


class _Server(NamedTuple):
    """A server that has followed a target, and by how much its clock is ahead of the client's."""

    counted: Sampling
    ahead_s: float
    slack_s: float


def covered(
    record: Record, run: Sequence[Record], servers: Servers, min_coverage: float
) -> Optional[Coverage]:
    """Return what the counters say of a record, None as long as they do not cover its time.

    ``run`` are all measurements of the same component in the same run, this one among them.
    """
    if not record.bytes:
        return None
    window = _Window(record.started_at, record.finished_at, record.bytes)
    followed: list[_Server] = []
    for samplings in servers.counted.values():
        result = _followed(record, samplings, servers.clocks)
        if result is None or isinstance(result, Coverage):
            return result
        followed.append(result)
    if not followed:
        return None
    names = ", ".join(dict.fromkeys(server.counted.host for server in followed))
    counted = _moved(followed, window)
    if counted.most * (1 + _FEWER) < window.own:
        return _unknown(
            names,
            f"the probe moved {format_bytes(window.own)}, but {names} counted only "
            f"{format_bytes(counted.most)} meanwhile",
        )
    whole = _whole(run, window)
    others_bytes = _others(followed, window, whole, counted)
    least, likely, most = (window.own / (window.own + server) for server in reversed(others_bytes))
    decided = least >= min_coverage or most < min_coverage
    job = _job(record, followed, (whole or window).own) if least < min_coverage else None
    if job is not None and job.bytes < _NAMED * others_bytes.most:
        job = None
    kept = Others(names, round(least, 4), round(most, 4), job)
    return Coverage(round(likely, 4) if decided else None, kept)


def _unknown(server: str, why: str) -> Coverage:
    return Coverage(None, Others(server, unknown=why))


def _followed(
    record: Record, samplings: Sequence[Sampling], clocks: Mapping[str, NodeClock]
) -> Union[_Server, Coverage, None]:
    """Return who has followed a target meanwhile, or why that does not help."""
    for host in dict.fromkeys(sampling.host for sampling in samplings):
        own = [sampling for sampling in samplings if sampling.host == host]
        ahead_s, slack_s = _ahead(record.host, host, clocks)
        begin, end = record.started_at + ahead_s, record.finished_at + ahead_s
        sampling = covering(own, begin, end, slack_s)
        if sampling is None:
            continue
        if abs(ahead_s) - slack_s > MOST_APART_S:
            return _unknown(
                host,
                f"the clocks of {record.host} and {host} are {format_duration(abs(ahead_s))} "
                "apart; synchronize them",
            )
        return _Server(sampling, ahead_s, slack_s)
    return None


def _ahead(client: str, server: str, clocks: Mapping[str, NodeClock]) -> tuple[float, float]:
    """Return how far a server's clock is ahead of a client's, and how well that is known.

    A clock that was never compared is taken to be as far off as one that is kept may be.
    """
    if client == server:
        return 0.0, 0.0
    unknown = NodeClock("", 0.0, 0.0, MOST_APART_S)
    mine, its = clocks.get(client, unknown), clocks.get(server, unknown)
    return its.ahead_s - mine.ahead_s, its.within_s + mine.within_s


def _moved(followed: Sequence[_Server], window: _Window) -> Bounds:
    parts = [
        server.counted.moved(
            window.begin + server.ahead_s, window.end + server.ahead_s, server.slack_s
        )
        for server in followed
    ]
    return sum(parts[1:], parts[0])


def _whole(run: Sequence[Record], window: _Window) -> Optional[_Window]:
    """Return the time of all operations of a run; None where they are not one after the other."""
    records = sorted(run, key=lambda sample: sample.started_at)
    records = [record for record in records if record.bytes]
    if any(record.finished_at > after.started_at for record, after in zip(records, records[1:])):
        return None
    begin, end = records[0].started_at, max(record.finished_at for record in records)
    own = sum(record.bytes for record in records)
    return _Window(begin, end, own) if begin <= window.begin and end >= window.end else None


def _others(
    followed: Sequence[_Server], window: _Window, whole: Optional[_Window], counted: Bounds
) -> Bounds:
    """Return the bytes of others in a window: at least, probably, at most."""
    most = counted.most * (1 + _COUNTED) - window.own
    if whole is not None and all(_covers(server, whole) for server in followed):
        of_whole = _moved(followed, whole).most * (1 + _COUNTED) - whole.own
        # fewer than the probe's own: something of it is not where it is looked for
        most = min(most, of_whole) if of_whole >= 0 else most
    most = max(0.0, most)
    least = min(most, max(0.0, counted.least * (1 - _COUNTED) - window.own))
    return Bounds(least, min(most, max(least, counted.likely - window.own)), most)


def _covers(followed: _Server, window: _Window) -> bool:
    begin, end = window.begin + followed.ahead_s, window.end + followed.ahead_s
    return followed.counted.covers(begin, end, followed.slack_s)


def _job(record: Record, followed: Sequence[_Server], own: float) -> Optional[Job]:
    """Return the job that moved most beside the probe, which moved ``own`` bytes in its run."""
    rows = [
        row
        for server in followed
        for row in server.counted.jobs
        if row.end > record.started_at + server.ahead_s
        and row.begin < record.finished_at + server.ahead_s
    ]
    moved: dict[str, float] = {}
    for row in rows:
        already = -own if _may_be_own(row.job, record) else 0.0
        moved[row.job] = moved.get(row.job, already) + row.bytes
    job = max(moved, key=lambda name: moved[name], default="")
    if not job or moved[job] <= 0:
        return None
    seconds = max(row.end for row in rows) - min(row.begin for row in rows)
    return Job(job, round(moved[job]), round(seconds, 1))


def _may_be_own(job: str, record: Record) -> bool:
    """Return whether a job may be the probe's, or hold it: Lustre names it by program or host.

    No scheduler has given it a number.
    """
    tool = record.tool.name if record.tool else ""
    program = "python" if tool == "mpi" else tool
    return any(word and word in job for word in (program, record.host))
