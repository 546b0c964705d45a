"""Coverage: the probe's share of a target's traffic during the measurement.

It comes from the servers' counters, because the measuring client cannot know it.  A record keeps
it in its details.

A counter is read once a second, so the traffic at both ends of a period is known within bounds.

Bytes of others are at most those counted by the server from the last reading before the run until
the first one after it, less the probe's own.  If operations of a run follow each other closely,
these seconds include the probe's adjacent operations.  So the whole run is examined too: the others
moved no fewer bytes during the whole run than during one operation.
"""

from __future__ import annotations

from typing import (
    Annotated,
    Any,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Union,
)

from plumbline.model.codec import positional, read, read_all
from plumbline.model.errors import DocumentError
from plumbline.model.layers.mdt import REQUESTS_OF, REQUESTS_OF_SHORT
from plumbline.model.quantity import OPERATIONS_PER_S
from plumbline.model.record import Flag, Operation, Outcome, Record
from plumbline.model.trend import NodeClock
from plumbline.model.units import format_bytes, format_duration
from plumbline.model.validation import Within, amounts, counts, numbers, times, unicode_text

OTHERS = "others"
"""The key in the details of a record."""


class Job(NamedTuple):
    """The job that moved most on the target; ``seconds`` is the time between the readings.

    On a metadata target it is the one with most ``requests``.
    """

    id: Annotated[str, unicode_text]
    bytes: Annotated[int, counts]
    seconds: Annotated[float, amounts]
    requests: Annotated[int, counts] = 0

    def __str__(self) -> str:
        """Return e.g. ``job 4711 moved 38.0 GB in the 40 s around it``."""
        time = format_duration(self.seconds)
        moved = f"moved {format_bytes(self.bytes)}"
        did = f"sent {self.requests} requests" if self.requests else moved
        return f"job {self.id} {did} in the {time} around it"

    @property
    def amount(self) -> int:
        """Return its requests or bytes, which a target counts."""
        return self.requests or self.bytes


class Others(NamedTuple):
    """Bounds of the coverage, as fractions, by the counters of ``server``.

    If the counters do not show the coverage, both bounds are None and ``unknown`` is the reason.
    If the policy's ``min_coverage`` lies between the bounds, the record has no coverage.
    """

    server: Annotated[str, unicode_text]
    least: Optional[Annotated[float, Within(0, 1)]] = None
    most: Optional[Annotated[float, Within(0, 1)]] = None
    job: Optional[Job] = None
    unknown: Annotated[str, unicode_text] = ""

    def in_doubt(self) -> str:
        """Return the reason why the coverage is unknown."""
        if self.unknown or self.least is None or self.most is None:
            return self.unknown or "nothing was counted"
        between = f"coverage between {self.least:.2f} and {self.most:.2f}"
        return f"{between} by the counters of {self.server}"


def others_of(record: Record) -> Optional[Others]:
    """Return the bounds in a record, None if it was not compared with a server's counters.

    Raises:
        DocumentError: the bounds are damaged.
    """
    raw = (record.details or {}).get(OTHERS)
    try:
        return None if raw is None else read(Others, raw)
    except (KeyError, TypeError) as error:
        raise DocumentError(f"the traffic of others in a record is damaged: {error!r}") from error


class LastRun(NamedTuple):
    """Last run of a component; ``coverage`` is the least of its operations, None if unknown.

    ``job`` is the one that moved most during a ``contended`` run, None if unknown.
    """

    layer: str
    component: str
    coverage: Optional[float]
    contended: bool = False
    job: Optional[Job] = None


LUSTRE = "lustre"
"""Source of counters of clients' bytes, as opposed to disks' bytes."""

PART_S = 300.0
"""Longest time in a record of a server, see plumbline.measure.sample."""

_GAP_S = 0.01
_LATEST_S = 3600.0
_DIRECTIONS = (Operation.READ, Operation.WRITE)
REQUESTS = Operation.define("requests", OPERATIONS_PER_S)
"""All that a metadata target answers, whose bytes nobody counts."""


class Bounds(NamedTuple):
    """Lower bound, interpolated estimate, and upper bound of bytes."""

    least: float
    likely: float
    most: float


def _total(parts: Iterable[Bounds]) -> Bounds:
    return Bounds(*map(sum, zip(*parts)))


@positional
class JobRow(NamedTuple):
    """Bytes read and written by a job between two times in seconds since the epoch."""

    begin: Annotated[float, times]
    end: Annotated[float, times]
    job: Annotated[str, unicode_text]
    read: Annotated[int, counts]
    written: Annotated[int, counts]

    @property
    def amount(self) -> int:
        """Return the bytes of both directions."""
        return self.read + self.written


@positional
class RequestRow(NamedTuple):
    """Requests of a job to a metadata target, by operation, between two such times."""

    begin: Annotated[float, times]
    end: Annotated[float, times]
    job: Annotated[str, unicode_text]
    requests: Mapping[str, Annotated[int, counts]]

    @property
    def amount(self) -> int:
        """Return all requests."""
        return sum(self.requests.values())


class _Bin(NamedTuple):
    begin: float
    end: float
    bytes: float


class _Direction:
    """One counter: the periods in which it was read, and its non-zero bins."""

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
    """Counters of one target during one sampling of a server."""

    def __init__(self, host: str, records: Sequence[Record]) -> None:
        """Take one target's records of layer ``server``; raise DocumentError for damaged ones."""
        self.host = host
        of_metadata = any(record.operation is REQUESTS for record in records)
        counted = (REQUESTS,) if of_metadata else _DIRECTIONS
        self._counters = {operation: _Direction() for operation in counted}
        self.jobs: list[Union[JobRow, RequestRow]] = []
        self._late_s = 0.0
        try:
            for record in records:
                self._take(record)
        except (KeyError, TypeError, ValueError) as error:
            raise DocumentError(f"what {host} counted is damaged: {error!r}") from error

    def covers(self, begin: float, end: float, slack_s: float) -> bool:
        """Return whether all counters were read all the time, by the server's clock."""
        reach_s = slack_s + self._late_s
        return all(
            counter.covers(begin - reach_s, end + reach_s) for counter in self._counters.values()
        )

    def moved(self, begin: float, end: float, slack_s: float) -> Bounds:
        """Return the bytes moved between two times, each known to within ``slack_s`` seconds."""
        slack_s += self._late_s
        return _total(counter.moved(begin, end, slack_s) for counter in self._counters.values())

    def _take(self, record: Record) -> None:
        details = record.details or {}
        if details["source"] != LUSTRE or record.outcome is Outcome.FAILED:
            return
        self.jobs += read_all(JobRow, details.get("jobs", ()))
        self.jobs += read_all(RequestRow, details.get("requests", ()))
        watched = details.get("watched")
        if watched is None:
            return
        first_s, last_s = watched
        Within(0, _LATEST_S)(late_s=details["late_s"])
        numbers(first_s=first_s, last_s=last_s)
        self._late_s = max(self._late_s, details["late_s"])
        direction = self._counters[record.operation]
        direction.spans.append((record.started_at + first_s, record.started_at + last_s))
        direction.bins += _bins(record, details)


def _bins(record: Record, details: Mapping[str, Any]) -> Iterator[_Bin]:
    """Yield the bins with traffic; seconds that share one reading form one bin."""
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


def samplings_of(records: Sequence[Record]) -> list[Sampling]:
    """Return each server's samplings of a target.

    Raises:
        DocumentError: a record is damaged.
    """
    samplings: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        samplings.setdefault((record.host, record.run_id), []).append(record)
    return [Sampling(host, own) for (host, _), own in samplings.items()]


MAX_APART_S = 2.0
"""Limit of clock differences; a larger one may have changed since the measurement."""

_ROUNDING = 0.001
"""Relative error of counted bytes: rates per second are rounded to bytes."""

_MAX_MISSING = 0.02
"""Largest share of the probe's bytes that the counters may miss."""

_MIN_JOB_SHARE = 0.1
"""Least share of the others' bytes at which a job explains them."""


_IN_PYTHON = ("mpi", "calls")
"""Tools that are programs in Python."""


class Coverage(NamedTuple):
    """Coverage of a record, None if uncertain, and its bounds."""

    coverage: Optional[float]
    others: Others


class Servers(NamedTuple):
    """Samplings of servers by target, and clocks by host."""

    counted: Mapping[str, Sequence[Sampling]]
    clocks: Mapping[str, NodeClock]


class _Window(NamedTuple):
    """A period by the client's clock, and the probe's bytes or requests in it."""

    begin: float
    end: float
    own: Bounds


def _own(record: Record) -> Bounds:
    """Return the bytes that a measurement moved, or the requests that it sent."""
    if record.operation not in REQUESTS_OF:
        return Bounds(record.bytes, record.bytes, record.bytes)
    least, most = REQUESTS_OF[record.operation]
    if Flag.SHORT in record.flags:
        least = min(least, REQUESTS_OF_SHORT)
    calls = (record.rate or 0.0) * (record.seconds or 0.0)
    return Bounds(least * calls, (least + most) / 2 * calls, most * calls)


class _Server(NamedTuple):
    """A server's sampling of a target, and the lead of its clock over the client's."""

    counted: Sampling
    ahead_s: float
    slack_s: float

    def covers(self, window: _Window) -> bool:
        begin, end = window.begin + self.ahead_s, window.end + self.ahead_s
        return self.counted.covers(begin, end, self.slack_s)

    def moved(self, window: _Window) -> Bounds:
        begin, end = window.begin + self.ahead_s, window.end + self.ahead_s
        return self.counted.moved(begin, end, self.slack_s)


def covered(
    record: Record, run: Sequence[Record], servers: Servers, min_coverage: float
) -> Optional[Coverage]:
    """Return the coverage of a record by the counters, None until they cover its time.

    ``run`` are all measurements of the same component in the same run, including this one.
    """
    own = _own(record)
    if not own.most:
        return None
    window = _Window(record.started_at, record.finished_at, own)
    matches: list[_Server] = []
    for samplings in servers.counted.values():
        all_servers = (
            _Server(sampling, *_ahead(record.host, sampling.host, servers.clocks))
            for sampling in samplings
        )
        server = next((server for server in all_servers if server.covers(window)), None)
        if server is None:
            return None
        host, apart_s = server.counted.host, abs(server.ahead_s)
        if apart_s - server.slack_s > MAX_APART_S:
            return _unknown(
                host,
                f"the clocks of {record.host} and {host} are {format_duration(apart_s)} apart; "
                "synchronize them",
            )
        matches.append(server)
    if not matches:
        return None
    names = ", ".join(dict.fromkeys(server.counted.host for server in matches))
    traffic = _total(server.moved(window) for server in matches)
    if traffic.most * (1 + _MAX_MISSING) < own.least:
        return _unknown(names, f"the probe {_counted_less(record, own.least, names, traffic.most)}")
    run_window = _run_window(run, window)
    others = _others(matches, window, run_window, traffic)
    least, likely, most = (part / (part + other) for part, other in zip(own, reversed(others)))
    decided = least >= min_coverage or most < min_coverage
    job = _job(record, matches, (run_window or window).own) if least < min_coverage else None
    if job is not None and job.amount < _MIN_JOB_SHARE * others.most:
        job = None
    bounds = Others(names, round(least, 4), round(most, 4), job)
    return Coverage(round(likely, 4) if decided else None, bounds)


def _counted_less(record: Record, own: float, names: str, counted: float) -> str:
    if record.operation in REQUESTS_OF:
        return f"sent {own:.0f} requests, but {names} counted only {counted:.0f} meanwhile"
    return f"moved {format_bytes(own)}, but {names} counted only {format_bytes(counted)} meanwhile"


def _unknown(server: str, reason: str) -> Coverage:
    return Coverage(None, Others(server, unknown=reason))


def _ahead(client: str, server: str, clocks: Mapping[str, NodeClock]) -> tuple[float, float]:
    """Return the lead of a server's clock over a client's, and its uncertainty.

    A clock that was never compared is assumed to be within the accepted difference.
    """
    if client == server:
        return 0.0, 0.0
    unknown = NodeClock("", 0.0, 0.0, MAX_APART_S)
    own, other = clocks.get(client, unknown), clocks.get(server, unknown)
    return other.ahead_s - own.ahead_s, other.within_s + own.within_s


def _run_window(run: Sequence[Record], window: _Window) -> Optional[_Window]:
    """Return the period of all operations of a run; None if they overlap."""
    records = sorted(run, key=lambda sample: sample.started_at)
    records = [record for record in records if _own(record).most]
    if any(record.finished_at > after.started_at for record, after in zip(records, records[1:])):
        return None
    begin, end = records[0].started_at, max(record.finished_at for record in records)
    own = _total(map(_own, records))
    return _Window(begin, end, own) if begin <= window.begin and end >= window.end else None


def _others(
    matches: Sequence[_Server], window: _Window, run_window: Optional[_Window], traffic: Bounds
) -> Bounds:
    """Return bounds of the others' bytes or requests in a window."""
    most = traffic.most * (1 + _ROUNDING) - window.own.least
    if run_window is not None and all(server.covers(run_window) for server in matches):
        moved = _total(server.moved(run_window) for server in matches)
        run_others = moved.most * (1 + _ROUNDING) - run_window.own.least
        # negative: some of the probe's bytes are missing, so the run gives no bound
        most = min(most, run_others) if run_others >= 0 else most
    most = max(0.0, most)
    least = min(most, max(0.0, traffic.least * (1 - _ROUNDING) - window.own.most))
    return Bounds(least, min(most, max(least, traffic.likely - window.own.likely)), most)


def _job(record: Record, matches: Sequence[_Server], own: Bounds) -> Optional[Job]:
    """Return the job with most traffic besides the probe's ``own`` of the run."""
    rows = [
        row
        for server in matches
        for row in server.counted.jobs
        if row.end > record.started_at + server.ahead_s
        and row.begin < record.finished_at + server.ahead_s
    ]
    moved: dict[str, float] = {}
    for row in rows:
        start = -own.likely if _may_be_own(row.job, record) else 0.0
        moved[row.job] = moved.get(row.job, start) + row.amount
    job = max(moved, key=lambda name: moved[name], default="")
    if not job or moved[job] <= 0:
        return None
    seconds = max(row.end for row in rows) - min(row.begin for row in rows)
    amount, seconds = round(moved[job]), round(seconds, 1)
    return (
        Job(job, 0, seconds, amount)
        if record.operation in REQUESTS_OF
        else Job(job, amount, seconds)
    )


def _may_be_own(job: str, record: Record) -> bool:
    """Return whether a job may be the probe, or include it: Lustre names it by program or host.

    The probe has no job id from a scheduler.
    """
    tool = record.tool.name if record.tool else ""
    program = "python" if tool in _IN_PYTHON else tool
    return any(word and word in job for word in (program, record.host))
