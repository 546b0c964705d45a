"""Jobs of Slurm, and their traffic on each target.

Keys are those of Slurm 21.08 and later.  A time is a number, or since 23.02 an object with ``set``
and ``number``; 0 means not known yet.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import (
    Annotated,
    Any,
    Callable,
    Iterable,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    TypeVar,
)

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
    storable,
    times,
    unicode_text,
)

COUNTERS = "job_stats"
DARSHAN = "Darshan"
"""Sources of job traffic."""

_MAX_FIELD = 255
_MAX_ERRORS = 3
_MAX_NAME = 40


def _short(**values: str) -> None:
    for name, value in values.items():
        if not 0 < len(value) <= _MAX_FIELD:
            raise TypeError(f"a job has the {name} {value!r:.60}")


class Job(NamedTuple):
    """A job of the scheduler; times in seconds since the epoch, ``end`` None while it runs."""

    id: Annotated[str, unicode_text, _short]
    begin: Annotated[float, times]
    end: Optional[Annotated[float, times]] = None
    name: Annotated[str, unicode_text] = ""
    user: Annotated[str, unicode_text] = ""
    nodes: Annotated[str, unicode_text] = ""

    def overlaps(self, begin: float, end: float) -> bool:
        """Return whether the job ran at any time between two times."""
        return self.begin < end and (LATEST if self.end is None else self.end) > begin


@positional
class JobIo(NamedTuple):
    """Traffic of a job on a target in one direction, between two times since the epoch.

    ``small`` and ``unaligned`` are shares of its calls, None if they were not counted.
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
        """Return the mean rate in bytes per second, None without a duration."""
        return self.bytes / (self.end - self.begin) if self.end > self.begin else None

    @property
    def amount(self) -> float:
        """Return the bytes."""
        return self.bytes

    @property
    def key(self) -> tuple[str, ...]:
        """Return the key by which traffic is added up."""
        return self.job, self.target, self.operation, self.source

    def within(self, begin: float, end: float) -> Optional[JobIo]:
        """Return the traffic between two times, assuming an even rate; None if there is none."""
        first, last = max(self.begin, begin), min(self.end, end)
        whole_s = self.end - self.begin
        if first > last or (first == last and whole_s):
            return None
        moved = self.bytes * (last - first) / whole_s if whole_s else self.bytes
        return self._replace(bytes=moved, begin=first, end=last)

    def plus(self, part: JobIo) -> JobIo:
        """Return the sum of both; the shares are weighted by bytes."""
        total = self.bytes + part.bytes
        return self._replace(
            bytes=total,
            begin=min(self.begin, part.begin),
            end=max(self.end, part.end),
            small=_mean(self.small, part.small, part.bytes / total),
            unaligned=_mean(self.unaligned, part.unaligned, part.bytes / total),
        )


def _mean(first: Optional[float], second: Optional[float], weight: float) -> Optional[float]:
    if first is None or second is None:
        return second if first is None else first
    return first * (1 - weight) + second * weight


class JobRequests(NamedTuple):
    """Requests of a job to a metadata target between two times since the epoch."""

    job: str
    target: str
    begin: float
    end: float
    requests: Mapping[str, float]

    @property
    def amount(self) -> float:
        """Return the total number of requests."""
        return sum(self.requests.values())

    @property
    def key(self) -> tuple[str, ...]:
        """Return the key by which requests are added up."""
        return self.job, self.target

    def within(self, begin: float, end: float) -> Optional[JobRequests]:
        """Return the requests between two times, assuming an even rate; None if there are none."""
        first, last = max(self.begin, begin), min(self.end, end)
        if first >= last:
            return None
        share = (last - first) / (self.end - self.begin)
        requests = {name: count * share for name, count in self.requests.items()}
        return self._replace(begin=first, end=last, requests=requests)

    def plus(self, part: JobRequests) -> JobRequests:
        """Return the sum of both."""
        requests = dict(self.requests)
        for name, count in part.requests.items():
            requests[name] = requests.get(name, 0.0) + count
        begin, end = min(self.begin, part.begin), max(self.end, part.end)
        return self._replace(begin=begin, end=end, requests=requests)


def checked_job(job: Job) -> Job:
    """Return the job; raise TypeError if a value is impossible."""
    refuse_impossible(job)
    if job.end is not None and job.end < job.begin:
        raise TypeError("it ends before it begins")
    return job


def checked_io(io: JobIo) -> JobIo:
    """Return the traffic of a job; raise TypeError if a value is impossible."""
    refuse_impossible(io)
    return in_order(io)


def in_order(io: JobIo) -> JobIo:
    """Return the traffic; raise TypeError if it ends before it begins."""
    amounts(seconds=io.end - io.begin)
    return io


def shown(text: Any) -> str:
    """Return a foreign name, made safe for a terminal and short enough for a table."""
    line = " ".join(lines(str(text)))
    return line if len(line) <= _MAX_NAME else f"{line[: _MAX_NAME - 3]}..."


class Window(NamedTuple):
    """A period in seconds since the epoch."""

    begin: float = 0.0
    end: float = LATEST


Traffic = TypeVar("Traffic", JobIo, JobRequests)


def sum_traffic(parts: Iterable[Traffic], window: Window, target: str = "") -> list[Traffic]:
    """Return the traffic of jobs in a period, on one target or on all, largest first.

    Bytes of the same job, target, direction and source are added up, and requests of the same job
    to the same target.
    """
    sums: dict[tuple[str, ...], Traffic] = {}
    for whole in parts:
        part = whole.within(*window) if target in ("", whole.target) else None
        if part is not None and part.amount > 0:
            sums[part.key] = sums[part.key].plus(part) if part.key in sums else part
    return sorted(sums.values(), key=lambda part: (-part.amount, part.key))


def without_traffic(jobs: Mapping[str, Job], counted: set[str], window: Window) -> list[Job]:
    """Return the jobs that ran in a period and whose traffic was not counted."""
    return [job for job in jobs.values() if job.overlaps(*window) and job.id not in counted]


_ASK = "sacct --allusers --json, or --parsable2 --format=JobIDRaw,JobName,User,Start,End,NodeList"

_ID = ("JobIDRaw", "JobID")
_NEVER = ("", "Unknown", "None", "N/A")
_NO_NODES = ("None assigned", "None", "(null)", "N/A")
_WAITING = frozenset(
    ("PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT")
    + ("REVOKED",)
)
"""States of a job that waits, possibly once more: its start is an estimate."""
_RUNNING = frozenset(
    ("RUNNING", "SUSPENDED", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED")
)
"""States of a job whose end is its time limit (squeue(1), job state codes)."""


def parse_slurm(text: str, name: str) -> tuple[list[Job], list[str]]:
    """Return the jobs in a list that Slurm printed, and a sentence on each one left out.

    ``name`` is that of the file.

    Raises:
        DocumentError: the text is no such list.
    """
    if text.lstrip().startswith("{"):
        entries, errors = _objects(text, name)
        jobs, left_out = parse_entries(entries, _job, name)
        return jobs, [*errors, *left_out]
    header, _, body = text.partition("\n")
    columns = header.strip("\r").split("|")
    if not {"Start", "End"} <= set(columns) or not set(_ID).intersection(columns):
        raise DocumentError(f"{name} is no list of Slurm's jobs; ask for {_ASK}")
    # users name jobs, so only a line feed ends a line
    body_lines = (line.strip("\r") for line in body.split("\n"))
    rows = (line.split("|") for line in filter(str.strip, body_lines))
    return parse_entries(rows, partial(_job_from_row, columns), name)


ParseEntry = Callable[[Any], Optional[Job]]
"""Returns the job of an entry, None before it begins, or raises an error."""


def parse_entries(
    entries: Iterable[Any], parse: ParseEntry, name: str
) -> tuple[list[Job], list[str]]:
    """Return the jobs in the entries of the file ``name``, and a sentence on each one left out."""
    results = [_job_or_error(parse, entry) for entry in entries]
    left_out = [
        f"{name}: job {number} is left out: {result}"
        for number, result in enumerate(results, start=1)
        if isinstance(result, Exception)
    ]
    return [job for job in results if isinstance(job, Job)], left_out


def _job_or_error(parse: ParseEntry, entry: Any) -> Any:
    try:
        return parse(entry)
    except (KeyError, TypeError, ValueError, AttributeError, DocumentError) as error:
        return error


def _objects(text: str, name: str) -> tuple[Sequence[Any], list[str]]:
    """Return the jobs of a JSON document, and a sentence if Slurm could not list all of them.

    Raises:
        DocumentError: there is no list of jobs, or an error in place of jobs.
    """
    try:
        document = read_json(text)
        entries = document["jobs"]
    except (ValueError, KeyError, TypeError) as error:
        raise DocumentError(
            f"{name} is no list of Slurm's jobs ({error}); ask for {_ASK}"
        ) from error
    if not isinstance(entries, list):
        raise DocumentError(f"{name} has no list of jobs; ask for {_ASK}")
    words = _error_words(document.get("errors"))
    if words and not entries:
        raise DocumentError(f"{name} has no job, and an error of Slurm: {words}; ask again later")
    missing = f"{name}: other jobs may be missing, since Slurm reports an error: {words}"
    return entries, [missing] if words else []


def _error_words(errors: Any) -> str:
    """Return the errors of a document of Slurm as a phrase, empty without any."""
    entries = errors if isinstance(errors, list) else [errors] if errors else []
    words = (
        entry.get("description") or entry.get("error") or entry.get("error_number")
        if isinstance(entry, dict)
        else entry
        for entry in entries
    )
    phrases = [" ".join(lines(f"{word!s:.{_MAX_FIELD}}")) for word in words]
    return "; ".join(dict.fromkeys(phrases[:_MAX_ERRORS]))


def _job(entry: Mapping[str, Any]) -> Optional[Job]:
    states, nodes = _states(entry), entry.get("nodes")
    if _never_began(states, nodes):
        return None
    times = entry.get("time")
    begin, end = (
        (times["start"], times["end"]) if times else (entry["start_time"], entry["end_time"])
    )
    texts = (entry.get("name"), entry.get("user") or entry.get("user_name"), nodes)
    return _begun(states, str(entry["job_id"]), (_number(begin), _number(end)), texts)


def _begun(
    states: frozenset[str],
    job: str,
    times: tuple[Optional[float], Optional[float]],
    texts: Sequence[Any],
) -> Optional[Job]:
    """Return a job with its name, user and nodes; None if it was cancelled before its start.

    The start of such a job was an estimate.
    """
    begin, end = times
    if begin is None or ("CANCELLED" in states and end is not None and end < begin):
        return None
    # squeue prints the latest possible end of a running job
    end = None if states & _RUNNING else end
    return checked_job(Job(job, begin, end, *map(_text, texts)))


def _states(entry: Mapping[str, Any]) -> frozenset[str]:
    """Return the states of a job: a word, a list of words, or an object with these."""
    state = entry.get("job_state", entry.get("state"))
    if isinstance(state, dict):
        state = state.get("current")
    words = state if isinstance(state, list) else [state]
    # sacct appends the user: CANCELLED by 1000
    return frozenset(word.split()[0].upper() for word in words if isinstance(word, str) and word)


def _never_began(states: frozenset[str], nodes: Any) -> bool:
    """Return whether a job never had a node: it waits, or was cancelled before it began.

    A requeued job has another record of the time when it ran.
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
    return storable(value) if isinstance(value, str) else ""


def _job_from_row(columns: Sequence[str], cells: Sequence[str]) -> Optional[Job]:
    """Return the job of a row; None for a step of a job, and before it begins."""
    if len(cells) != len(columns):
        raise ValueError(f"its line has {len(cells)} cells, the header {len(columns)}")
    row = dict(zip(columns, cells))
    number = row[_ID[0]] if _ID[0] in row else row[_ID[1]]
    states = _states({"state": row.get("State", "")})
    if "." in number or _never_began(states, row.get("NodeList")):
        return None
    times = parse_moment(row["Start"]), parse_moment(row["End"])
    texts = [row.get(column) for column in ("JobName", "User", "NodeList")]
    job = _begun(states, storable(number), times, texts)
    if job and _ID[0] not in row and not number.isdecimal():
        raise ValueError(
            f"servers count its traffic by another id than {number:.40}; ask for {_ID[0]}"
        )
    return job


def parse_moment(text: str) -> Optional[float]:
    """Return a date or number as seconds since the epoch, None if it is not known yet.

    A date without a time zone is in that of this host.

    Raises:
        ValueError, DocumentError: the text is neither.
    """
    if text in _NEVER:
        return None
    if text[4:5] == "-":
        try:
            return datetime.fromisoformat(text).timestamp()
        except OverflowError as error:
            raise ValueError(f"{text!r} is no date") from error
    return real(text, "a time", DocumentError)
