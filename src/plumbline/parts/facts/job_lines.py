"""Jobs in one line each: what a job moved, on how many OSTs, and on which it was slowest.

Servers and Darshan count the same bytes, so of a job's sources only the one with most bytes counts.
"""

from __future__ import annotations

from statistics import median
from typing import Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.record import Operation
from plumbline.parts.facts.jobs import JobIo

_ALIKE = 0.95
"""Share of the median above which no OST of a job is called slowest."""


class SlowestTarget(NamedTuple):
    """Target on which a job was slowest, in bytes per second; ``share`` is that of the median."""

    target: str
    operation: Operation
    rate_Bps: float
    share: float


class JobLine(NamedTuple):
    """Traffic of one job over all its targets, in bytes, between two times since the epoch.

    ``small`` and ``unaligned`` are shares of its calls, None if nobody counted them; ``slowest`` is
    None for a job on one target, or on targets that are alike.
    """

    job: str
    targets: tuple[str, ...]
    read: float
    written: float
    begin: float
    end: float
    small: Optional[float]
    unaligned: Optional[float]
    slowest: Optional[SlowestTarget]
    source: str

    @property
    def moved(self) -> float:
        """Return all bytes."""
        return self.read + self.written


def job_lines(usages: Iterable[JobIo]) -> list[JobLine]:
    """Return a line for each job, those that moved most first."""
    by_job: dict[str, list[JobIo]] = {}
    for usage in usages:
        by_job.setdefault(usage.job, []).append(usage)
    lines = [_line(job, own) for job, own in by_job.items()]
    return sorted(lines, key=lambda line: (-line.moved, line.job))


def _line(job: str, usages: Sequence[JobIo]) -> JobLine:
    by_source: dict[str, list[JobIo]] = {}
    for usage in usages:
        by_source.setdefault(usage.source, []).append(usage)
    own = max(by_source.values(), key=lambda part: sum(usage.bytes for usage in part))
    read = sum(usage.bytes for usage in own if usage.operation == Operation.READ)
    return JobLine(
        job,
        tuple(dict.fromkeys(usage.target for usage in own)),
        read,
        sum(usage.bytes for usage in own) - read,
        min(usage.begin for usage in own),
        max(usage.end for usage in own),
        _mean((usage.small, usage.bytes) for usage in usages),
        _mean((usage.unaligned, usage.bytes) for usage in usages),
        _slowest(own),
        own[0].source,
    )


def _mean(shares: Iterable[tuple[Optional[float], float]]) -> Optional[float]:
    """Return the mean of the known shares, weighted by bytes; None if none is known."""
    known = [(share, weight) for share, weight in shares if share is not None]
    total = sum(weight for _, weight in known)
    return sum(share * weight for share, weight in known) / total if total else None


def _slowest(usages: Sequence[JobIo]) -> Optional[SlowestTarget]:
    """Return the slowest target in the direction in which the job moved most."""
    by_operation: dict[Operation, dict[str, float]] = {}
    moved: dict[Operation, float] = {}
    for usage in usages:
        moved[usage.operation] = moved.get(usage.operation, 0.0) + usage.bytes
        if usage.rate_Bps is not None:
            by_operation.setdefault(usage.operation, {})[usage.target] = usage.rate_Bps
    operation = max(moved, key=lambda direction: moved[direction])
    rates: Mapping[str, float] = by_operation.get(operation, {})
    if len(rates) < 2:
        return None
    target = min(rates, key=lambda name: rates[name])
    middle = median(rates.values())
    share = rates[target] / middle if middle else 1.0
    return SlowestTarget(target, operation, rates[target], share) if share < _ALIKE else None
