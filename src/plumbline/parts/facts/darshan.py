"""Darshan logs: a job's files on Lustre, their OSTs, and the bytes of each OST.

Darshan records the layout of a file and the bytes moved, but not their offsets.  So the bytes are
spread evenly over the stripes up to the last byte accessed.
"""

from __future__ import annotations

from math import ceil, inf
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation
from plumbline.model.validation import Within, amounts, counts, names, numbers, texts, times
from plumbline.parts.facts.jobs import DARSHAN, Job, JobIo, checked_io, checked_job

SIDES = (Operation.READ, Operation.WRITE)

_MAX_OSTS = 65536
"""An OST index has 16 bits."""

Naming = Callable[[str, int], str]
"""Returns the name of a target from the mount point of its file system and its index."""


class FileIo(NamedTuple):
    """Traffic of a job in one file in one direction.

    ``seconds`` is the time in calls, summed over all processes; ``begin`` and ``end`` are the start
    of the first and the end of the last call, since the epoch.  ``shares`` are the OSTs' shares of
    the bytes, by index.
    """

    mount: str
    operation: Operation
    bytes: int
    seconds: float
    begin: float
    end: float
    calls: int
    small: Optional[float]
    unaligned: Optional[float]
    shares: tuple[tuple[int, float], ...]

    @property
    def rate_Bps(self) -> Optional[float]:
        """Return the rate of one process during its calls; None without a time."""
        return self.bytes / self.seconds if self.seconds > 0 else None


class Log(NamedTuple):
    """One log: a job, or one of its programs, and its files."""

    job: Job
    files: tuple[FileIo, ...]

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Log:
        """Build from the output of pydarshan.py; raise DocumentError if it is damaged."""
        try:
            texts("the log", (raw["job"], raw["program"]))
            times(begin=raw["begin"], end=raw["end"])
            counts(processes=raw["processes"])
            processes = f"{raw['processes']} processes"
            job = Job(raw["job"], raw["begin"], raw["end"], raw["program"], nodes=processes)
            return cls(checked_job(job), tuple(_files(raw, job)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DocumentError(f"the log has an impossible value: {error}") from error

    def traffic(self, naming: Naming) -> Iterator[JobIo]:
        """Yield the job's traffic on each target in each direction."""
        places: dict[tuple[str, Operation], list[tuple[FileIo, float]]] = {}
        for file in self.files:
            for index, share in file.shares:
                place = naming(file.mount, index), file.operation
                places.setdefault(place, []).append((file, share))
        for (target, operation), parts in places.items():
            yield checked_io(
                JobIo(
                    self.job.id,
                    target,
                    operation,
                    sum(file.bytes * share for file, share in parts),
                    min(file.begin for file, _ in parts),
                    max(file.end for file, _ in parts),
                    DARSHAN,
                    _mean([(file.small, file.calls * share) for file, share in parts]),
                    _mean([(file.unaligned, file.calls * share) for file, share in parts]),
                )
            )


class Stripes(NamedTuple):
    """Fewest and most OSTs that hold data of one file of a job."""

    least: int
    most: int

    def __str__(self) -> str:
        """Return e.g. ``4``, or ``1 to 8``."""
        return str(self.most) if self.least == self.most else f"{self.least} to {self.most}"


def stripes_of(logs: Iterable[Log]) -> dict[str, Stripes]:
    """Return the stripes of the files of each job with a log."""
    stripes: dict[str, list[int]] = {}
    for log in logs:
        stripes.setdefault(log.job.id, []).extend(
            len(file.shares) for file in log.files if file.shares
        )
    return {job: Stripes(min(own), max(own)) for job, own in stripes.items() if own}


def _mean(shares: Sequence[tuple[Optional[float], float]]) -> Optional[float]:
    """Return the weighted mean of the known shares, None if there are none."""
    known = [(share, weight) for share, weight in shares if share is not None and weight > 0]
    if not known:
        return None
    return min(1.0, sum(share * weight for share, weight in known) / sum(w for _, w in known))


def _files(raw: Mapping[str, Any], job: Job) -> Iterator[FileIo]:
    for file in raw["files"]:
        names("the mount", (file["mount"],))
        calls = sum(max(0, file[side.value]["calls"]) for side in SIDES)
        for side in SIDES:
            io = file[side.value]
            counts(bytes=io["bytes"])
            if not io["bytes"]:
                continue
            numbers(last=io["last"], begin=io["begin"], end=io["end"])
            amounts(seconds=io["seconds"], calls=io["calls"])
            begin, end = _times(job, io)
            yield FileIo(
                file["mount"],
                side,
                io["bytes"],
                io["seconds"],
                begin,
                end,
                io["calls"],
                _share(io["small"], io["calls"]),
                _share(file["unaligned"], calls),
                _shares(file["layout"], io["last"]),
            )


def _times(job: Job, io: Mapping[str, Any]) -> tuple[float, float]:
    """Return start of the first and end of the last call, limited to the time of the job."""
    assert job.end is not None
    begin, end = (min(job.begin + max(0.0, io[name]), job.end) for name in ("begin", "end"))
    return (begin, end) if begin < end else (job.begin, job.end)


def _share(part: Optional[int], calls: int) -> Optional[float]:
    if part is None or calls <= 0:
        return None
    numbers(part=part)
    return min(1.0, max(0.0, part / calls))


def _shares(layout: Sequence[Mapping[str, Any]], last: float) -> tuple[tuple[int, float], ...]:
    """Return each OST's share of a file up to the last byte accessed."""
    sizes: dict[int, float] = {}
    for part in layout:
        numbers(stripe=part["stripe"], begin=part["begin"], end=part["end"])
        osts = [ost for ost in part["osts"] if ost >= 0]
        Within(0, _MAX_OSTS)(ost=max(osts, default=0))
        end = part["end"] if part["end"] > part["begin"] else inf
        size = min(end, max(0, last) + 1) - max(0, part["begin"])
        if size <= 0 or not osts:
            continue
        stripes = ceil(size / part["stripe"]) if part["stripe"] > 0 else len(osts)
        for ost in osts[: max(1, stripes)]:
            sizes[ost] = sizes.get(ost, 0.0) + size / min(len(osts), max(1, stripes))
    total = sum(sizes.values())
    return tuple((ost, size / total) for ost, size in sizes.items())
