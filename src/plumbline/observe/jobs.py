"""Jobs: what each moved on which target, from Slurm and from the servers.

Keys are those of Slurm 21.08 and later.  A time is a number, or since 23.02 an object with ``set``
and ``number``; 0 is not known yet.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Callable, Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.codec import positional, refuse_impossible
from plumbline.model.command import lines
from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation
from plumbline.model.validation import (
    LATEST,
    Within,
    amounts,
    read_json,
    real,
    times,
    unicode_text,
)
from plumbline.model.validation import whole_text as whole

COUNTERS = "job_stats"
DARSHAN = "Darshan"
"""Sources of the traffic of jobs."""

_LONGEST = 255
_SHOWN = 40


def _short(**values: str) -> None:
    for name, value in values.items():
        if not 0 < len(value) <= _LONGEST:
            raise TypeError(f"a job has the {name} {value!r:.60}")


class Job(NamedTuple):
    """A job as its scheduler knows it; times in seconds since the epoch, ``end`` None: it runs."""

    id: Annotated[str, unicode_text, _short]
    begin: Annotated[float, times]
    end: Optional[Annotated[float, times]] = None
    name: Annotated[str, unicode_text] = ""
    user: Annotated[str, unicode_text] = ""
    nodes: Annotated[str, unicode_text] = ""

    def overlaps(self, begin: float, end: float) -> bool:
        """Return whether it ran at any moment between two."""
        return self.begin < end and (LATEST if self.end is None else self.end) > begin


@positional
class JobIo(NamedTuple):
    """Traffic of a job on a target in one direction, between two moments since the epoch.

    ``small`` and ``unaligned`` are shares of its calls, None where nobody counted them.
    """

    job: Annotated[str, unicode_text]
    target: Annotated[str, unicode_text]
    operation: Operation
    bytes: Annotated[float, amounts]
    begin: Annotated[float, times]
    end: Annotated[float, times]
    source: str
    small: Optional[Annotated[float, Within(0, 1)]] = None
    unaligned: Optional[Annotated[float, Within(0, 1)]] = None

    @property
    def rate_Bps(self) -> Optional[float]:
        """Return bytes per second from the first to the last of it."""
        return self.bytes / (self.end - self.begin) if self.end > self.begin else None

    def within(self, begin: float, end: float) -> Optional[JobIo]:
        """Return what falls between two moments, as if it moved evenly; None where nothing does."""
        first, last = max(self.begin, begin), min(self.end, end)
        whole_s = self.end - self.begin
        if first > last or (first == last and whole_s):
            return None
        moved = self.bytes * (last - first) / whole_s if whole_s else self.bytes
        return self._replace(bytes=moved, begin=first, end=last)


class JobRequests(NamedTuple):
    """Requests of a job to a metadata target between two moments since the epoch."""

    job: str
    target: str
    begin: float
    end: float
    requests: Mapping[str, float]

    @property
    def number(self) -> float:
        """Return how many requests that were."""
        return sum(self.requests.values())

    def within(self, begin: float, end: float) -> Optional[JobRequests]:
        """Return what falls between two moments, as if it asked evenly; None where nothing does."""
        first, last = max(self.begin, begin), min(self.end, end)
        if first >= last:
            return None
        share = (last - first) / (self.end - self.begin)
        requests = {name: count * share for name, count in self.requests.items()}
        return self._replace(begin=first, end=last, requests=requests)


def checked_job(job: Job) -> Job:
    """Return a job whose values are of the right kinds; raise TypeError for another one."""
    refuse_impossible(job)
    if job.end is not None and job.end < job.begin:
        raise TypeError("it ends before it begins")
    return job


def checked_io(io: JobIo) -> JobIo:
    """Return the traffic of a job whose values are plausible; raise TypeError for another one."""
    refuse_impossible(io)
    return in_order(io)


def in_order(io: JobIo) -> JobIo:
    """Return traffic that does not end before it begins; raise TypeError for any other."""
    amounts(seconds=io.end - io.begin)
    return io


def shown(text: Any) -> str:
    """Return a name that somebody else has chosen, safe for a terminal and short for a table."""
    line = " ".join(lines(str(text)))
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."


class Window(NamedTuple):
    """A time in seconds since the epoch."""

    begin: float = 0.0
    end: float = LATEST


def used(ios: Iterable[JobIo], window: Window, target: str = "") -> list[JobIo]:
    """Return what jobs have moved in a time, on one target or on all; the most comes first.

    What one source counts of a job on a target in one direction is one.
    """
    sums: dict[tuple[str, str, Operation, str], JobIo] = {}
    for io in ios:
        part = io.within(*window) if target in ("", io.target) else None
        if part is not None and part.bytes > 0:
            key = io.job, io.target, io.operation, io.source
            sums[key] = _sum(sums[key], part) if key in sums else part
    return [sums[key] for key in sorted(sums, key=lambda key: (-sums[key].bytes, key))]


def asked(parts: Iterable[JobRequests], window: Window, target: str = "") -> list[JobRequests]:
    """Return what jobs have asked metadata targets in a time, those that asked most first."""
    sums: dict[tuple[str, str], JobRequests] = {}
    for requests in parts:
        part = requests.within(*window) if target in ("", requests.target) else None
        if part is not None:
            key = requests.job, requests.target
            sums[key] = _both(sums[key], part) if key in sums else part
    return sorted(sums.values(), key=lambda part: (-part.number, part[:2]))


def _both(first: JobRequests, second: JobRequests) -> JobRequests:
    names = {**first.requests, **second.requests}
    return first._replace(
        begin=min(first.begin, second.begin),
        end=max(first.end, second.end),
        requests={
            name: first.requests.get(name, 0.0) + second.requests.get(name, 0.0) for name in names
        },
    )


def _sum(first: JobIo, second: JobIo) -> JobIo:
    whole = first.bytes + second.bytes
    return first._replace(
        bytes=whole,
        begin=min(first.begin, second.begin),
        end=max(first.end, second.end),
        small=_mean(first.small, second.small, second.bytes / whole),
        unaligned=_mean(first.unaligned, second.unaligned, second.bytes / whole),
    )


def _mean(first: Optional[float], second: Optional[float], weight: float) -> Optional[float]:
    if first is None or second is None:
        return second if first is None else first
    return first * (1 - weight) + second * weight


def without_traffic(jobs: Mapping[str, Job], counted: set[str], window: Window) -> list[Job]:
    """Return the jobs that ran in a time and are not among those of which the use is known."""
    return [job for job in jobs.values() if job.overlaps(*window) and job.id not in counted]


_ASK = "sacct --allusers --json, or --parsable2 --format=JobIDRaw,JobName,User,Start,End,NodeList"

_ID = ("JobIDRaw", "JobID")
_NEVER = ("", "Unknown", "None", "N/A")
_NO_NODES = ("None assigned", "None", "(null)", "N/A")
_WAITING = frozenset(
    ("PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT")
    + ("REVOKED",)
)
"""States of a job that waits, or waits again: its start is an estimate."""
_RUNNING = frozenset(
    ("RUNNING", "SUSPENDED", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED")
)
"""States of a job whose end is the limit of its time (squeue(1), job state codes)."""


class ReadJobs(NamedTuple):
    """Jobs in the order of their list, and a sentence on each that is left out."""

    jobs: tuple[Job, ...]
    left_out: tuple[str, ...]


def parse_slurm(text: str, name: str) -> ReadJobs:
    """Return the jobs that Slurm has printed into a file of this name.

    Raises:
        DocumentError: it is no such list.
    """
    if text.lstrip().startswith("{"):
        return collected(_objects(text, name), _job, name)
    header, _, body = text.partition("\n")
    columns = header.strip("\r").split("|")
    if not {"Start", "End"} <= set(columns) or not set(_ID).intersection(columns):
        raise DocumentError(f"{name} is no list of Slurm's jobs; ask for {_ASK}")
    rows = (line.split("|") for line in filter(str.strip, body.splitlines()))
    return collected(rows, partial(_job_of, columns), name)


JobOf = Callable[[Any], Optional[Job]]
"""Returns the job of an entry, None of one that has not begun, or raises an error."""


def collected(entries: Iterable[Any], job_of: JobOf, name: str) -> ReadJobs:
    """Return what the entries of a file say of jobs; ``name`` is that of the file."""
    results = [_job_or_error(job_of, entry) for entry in entries]
    left_out = (
        f"{name}: job {number} is left out: {result}"
        for number, result in enumerate(results, start=1)
        if isinstance(result, Exception)
    )
    return ReadJobs(tuple(job for job in results if isinstance(job, Job)), tuple(left_out))


def _job_or_error(job_of: JobOf, entry: Any) -> Any:
    try:
        return job_of(entry)
    except (KeyError, TypeError, ValueError, AttributeError, DocumentError) as error:
        return error


def _objects(text: str, name: str) -> Sequence[Any]:
    """Return the jobs of a JSON document."""
    try:
        entries = read_json(text)["jobs"]
    except (ValueError, KeyError, TypeError) as error:
        raise DocumentError(
            f"{name} is no list of Slurm's jobs ({error}); ask for {_ASK}"
        ) from error
    if not isinstance(entries, list):
        raise DocumentError(f"{name} has no list of jobs; ask for {_ASK}")
    return entries


def _job(entry: Mapping[str, Any]) -> Optional[Job]:
    states, nodes = _states(entry), entry.get("nodes")
    if _never_began(states, nodes):
        return None
    times = entry.get("time")
    begin, end = (
        (times["start"], times["end"]) if times else (entry["start_time"], entry["end_time"])
    )
    begin_s, end_s = _number(begin), _number(end)
    if begin_s is None:
        return None
    return checked_job(
        Job(
            str(entry["job_id"]),
            begin_s,
            # squeue says when a running job will be ended at the latest
            None if states & _RUNNING else end_s,
            _text(entry.get("name")),
            _text(entry.get("user") or entry.get("user_name")),
            _text(nodes),
        )
    )


def _states(entry: Mapping[str, Any]) -> frozenset[str]:
    """Return the states of a job: a word, a list of words, or an object with these."""
    state = entry.get("job_state", entry.get("state"))
    if isinstance(state, dict):
        state = state.get("current")
    words = state if isinstance(state, list) else [state]
    # sacct names who has cancelled a job: CANCELLED by 1000
    return frozenset(word.split()[0].upper() for word in words if isinstance(word, str) and word)


def _never_began(states: frozenset[str], nodes: Any) -> bool:
    """Return whether a job has had no node: it waits, or was cancelled before it began.

    One that waits again has a record of the time when it ran.
    """
    if nodes in _NO_NODES or "PENDING" in states or (states & _WAITING and not nodes):
        return True
    return bool(states) and nodes == "" and not states & _RUNNING


def _number(value: Any) -> Optional[float]:
    if isinstance(value, dict):
        value = value["number"] if value["set"] and not value.get("infinite") else 0
    if type(value) not in (int, float):
        raise TypeError(f"a time is {value!r:.40}")
    return value or None


def _text(value: Any) -> str:
    return whole(value) if isinstance(value, str) else ""


def _job_of(columns: Sequence[str], cells: Sequence[str]) -> Optional[Job]:
    """Return the job of a row; a step of a job is part of it."""
    if len(cells) != len(columns):
        raise ValueError(f"its line has {len(cells)} cells, the header {len(columns)}")
    row = dict(zip(columns, cells))
    job = row[_ID[0]] if _ID[0] in row else row[_ID[1]]
    states = _states({"state": row.get("State", "")})
    if "." in job or _never_began(states, row.get("NodeList")):
        return None
    begin = parse_moment(row["Start"])
    if begin is None:
        return None
    if _ID[0] not in row and not job.isdecimal():
        raise ValueError(
            f"servers count its traffic by another id than {job:.40}; ask for {_ID[0]}"
        )
    texts = (whole(row.get(column, "")) for column in ("JobName", "User", "NodeList"))
    return checked_job(Job(whole(job), begin, parse_moment(row["End"]), *texts))


def parse_moment(text: str) -> Optional[float]:
    """Return seconds since the epoch of a date or a number, None where there is none yet.

    A date without a zone is in that of this host.

    Raises:
        ValueError: it is neither; or DocumentError.
    """
    if text in _NEVER:
        return None
    if text[4:5] == "-":
        try:
            return datetime.fromisoformat(text).timestamp()
        except OverflowError as error:
            raise ValueError(f"{text!r} is no date") from error
    return real(text, "a time", DocumentError)
