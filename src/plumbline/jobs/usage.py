"""Which jobs used which targets in a time, the one that moved or asked most first."""

from __future__ import annotations

from typing import Any, Container, Iterable, Mapping, NamedTuple, Optional

from plumbline.jobs.job import Job, JobIo, JobRequests
from plumbline.model.record import Operation
from plumbline.model.validation import LATEST


class Window(NamedTuple):
    """A time in seconds since the epoch."""

    begin: float = 0.0
    end: float = LATEST


class Usage(NamedTuple):
    """What a job has moved on a target in one direction within a time.

    ``bytes`` fall into the time; ``begin`` and ``end`` are of what was moved then.  ``small`` and
    ``unaligned`` are shares of the job's calls, None where nobody counted them.
    """

    job: str
    target: str
    operation: Operation
    source: str
    bytes: float
    begin: float
    end: float
    small: Optional[float]
    unaligned: Optional[float]

    @property
    def rate_Bps(self) -> Optional[float]:
        """Return bytes per second from the first to the last of it."""
        return self.bytes / (self.end - self.begin) if self.end > self.begin else None

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {**self._asdict(), "operation": self.operation.value, "rate_Bps": self.rate_Bps}


def used(found: Iterable[JobIo], window: Window, target: str = "") -> list[Usage]:
    """Return what jobs have moved in a time, on one target or on all."""
    sums: dict[tuple[str, str, Operation, str], Usage] = {}
    for one in found:
        moved = one.within(*window)
        if moved <= 0 or target not in ("", one.target):
            continue
        key = one.job, one.target, one.operation, one.source
        begin, end = max(one.begin, window.begin), min(one.end, window.end)
        usage = Usage(*key, moved, begin, end, one.small, one.unaligned)
        sums[key] = _sum(sums[key], usage) if key in sums else usage
    return sorted(sums.values(), key=lambda usage: (-usage.bytes, usage[:4]))


def asked(found: Iterable[JobRequests], window: Window, target: str = "") -> list[JobRequests]:
    """Return what jobs have asked metadata targets in a time, those that asked most first."""
    sums: dict[tuple[str, str], JobRequests] = {}
    for one in found:
        part = one.within(*window) if target in ("", one.target) else None
        if part is not None:
            key = one.job, one.target
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


def _sum(first: Usage, second: Usage) -> Usage:
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


def without_traffic(jobs: Mapping[str, Job], known: Container[str], window: Window) -> list[Job]:
    """Return the jobs that ran in a time and are not among those of which the use is known."""
    return [job for job in jobs.values() if job.overlaps(*window) and job.id not in known]
