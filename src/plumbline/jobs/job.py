"""A job, what it has moved on one target, and how its name may be shown."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional

from plumbline.model.command import lines
from plumbline.model.record import Operation
from plumbline.model.validation import LATEST, names, times, within
from plumbline.units import LARGEST

COUNTERS = "job_stats"
DARSHAN = "Darshan"
"""Who says what a job has moved."""

_LONGEST = 255
_SHOWN = 40


class Job(NamedTuple):
    """A job as its scheduler knows it; times in seconds since the epoch, ``end`` None: it runs."""

    id: str
    begin: float
    end: Optional[float] = None
    name: str = ""
    user: str = ""
    nodes: str = ""

    def overlaps(self, begin: float, end: float) -> bool:
        """Return whether it ran at any moment between two."""
        return self.begin < end and (LATEST if self.end is None else self.end) > begin


class JobIo(NamedTuple):
    """What a job has moved on a target in one direction, between two moments since the epoch.

    ``small`` and ``unaligned`` are shares of its calls, None where nobody counted them.
    """

    job: str
    target: str
    operation: Operation
    bytes: float
    begin: float
    end: float
    source: str
    small: Optional[float] = None
    unaligned: Optional[float] = None

    def within(self, begin: float, end: float) -> float:
        """Return the bytes that fall between two moments, as if it moved them evenly."""
        inside_s = min(self.end, end) - max(self.begin, begin)
        if inside_s <= 0 and not begin <= self.begin == self.end <= end:
            return 0.0
        whole_s = self.end - self.begin
        return self.bytes * inside_s / whole_s if whole_s > 0 else self.bytes


class JobRequests(NamedTuple):
    """What a job has asked a metadata target between two moments since the epoch, by operation."""

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
        asked = {name: count * share for name, count in self.requests.items()}
        return self._replace(begin=first, end=last, requests=asked)


def checked_job(job: Job) -> Job:
    """Return a job whose values are of the right kinds; raise TypeError for another one."""
    names("the job", (job.id, job.name, job.user, job.nodes))
    if not 0 < len(job.id) <= _LONGEST:
        raise TypeError(f"a job has the id {job.id!r:.60}")
    times(begin=job.begin)
    if job.end is not None:
        times(end=job.end)
        if job.end < job.begin:
            raise TypeError("it ends before it begins")
    return job


def checked_io(io: JobIo) -> JobIo:
    """Return the traffic of a job whose values are plausible; raise TypeError for another one."""
    names("the traffic of a job", (io.job, io.target))
    times(begin=io.begin, end=io.end)
    within(0, LARGEST, bytes=io.bytes, seconds=io.end - io.begin)
    for share in (io.small, io.unaligned):
        if share is not None:
            within(0, 1, share=share)
    return io


def shown(text: Any) -> str:
    """Return a name that somebody else has chosen, safe for a terminal and short for a table."""
    said = " ".join(lines(str(text)))
    return said if len(said) <= _SHOWN else f"{said[: _SHOWN - 3]}..."
