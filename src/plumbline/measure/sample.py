"""Sample a server's byte counters every second, and turn them into records.

Counters of the kernel and of Lustre are read from files, in a few microseconds each, without
starting a command.  Any user may read the kernel's; newer releases of Lustre use debugfs.

The loop ends at its limit or at a signal.  It sleeps between readings, so a minute of sampling
costs a few milliseconds of CPU.
"""

from __future__ import annotations

import os
import re
import stat
from array import array
from types import MappingProxyType
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Protocol, Sequence
from uuid import uuid4

from plumbline.model.codec import write
from plumbline.model.command import Files
from plumbline.model.errors import DocumentError, ToolError, UsageError
from plumbline.model.record import Operation, Outcome, Record, Scenario
from plumbline.model.trend import SERVER
from plumbline.model.units import format_duration
from plumbline.model.validation import whole
from plumbline.observe.command import Clock
from plumbline.observe.coverage import LUSTRE, REQUESTS, RequestRow
from plumbline.observe.job_stats import JobTraffic
from plumbline.observe.lustre_output import (
    METADATA,
    OPERATIONS,
    ROOTS,
    STORAGE,
    lustre_stats,
    metadata_requests,
)

DISKSTATS = "/proc/diskstats"
LUSTRE_STATS = tuple(f"{root}/obdfilter" for root in ROOTS)
"""Folders with the statistics of each OST on its server, by release of Lustre."""
_METADATA = ("/sys/fs/lustre/mdt", *(f"{root}/mdt" for root in ROOTS))
NEEDS_DEBUGFS = (
    "Lustre keeps their statistics in debugfs, which this user may not enter; set "
    "agent_lustre_capabilities of the role agent to [CAP_DAC_READ_SEARCH]"
)

_SERVED = ("/sys/fs/lustre/obdfilter", *LUSTRE_STATS)
"""Folders of a server's OSTs that any user may list, by release of Lustre."""
_SECTOR_BYTES = 512
"""Sector size in /proc/diskstats for all devices (Documentation/admin-guide/iostats)."""
_READ_PLACE, _WRITTEN_PLACE = 5, 9

Number = tuple[int, int]
"""Major and minor number of a device."""


class Counter(NamedTuple):
    """Counter of a component's bytes in one direction, or of its requests.

    ``source`` is ``diskstats`` or ``lustre``.
    """

    component: str
    operation: Operation
    source: str


Reading = Mapping[Counter, int]
"""Bytes or requests of each readable counter."""


class Source(Protocol):
    """Source of byte counters."""

    def read(self) -> Reading:
        """Return the current values of the counters; raise ToolError for unknown text."""
        ...


class Devices:
    """Block devices, with the byte counters of the kernel."""

    def __init__(self, numbers: Mapping[str, Number], files: Files) -> None:
        """Take the number of each component's device."""
        self._numbers = numbers
        self._files = files

    def read(self) -> Reading:
        """Return the bytes of each device; raise ToolError for unknown lines."""
        moved = diskstats(self._files.read(DISKSTATS))
        return {
            Counter(name, operation, "diskstats"): count
            for name, number in self._numbers.items()
            if number in moved
            for operation, count in zip((Operation.READ, Operation.WRITE), moved[number])
        }


class Targets:
    """Lustre's OSTs on this server, with the counters of bytes moved for clients."""

    def __init__(self, files: Files) -> None:
        """List the targets, readable and unreadable ones."""
        self._files = files
        self.names: dict[str, str] = {
            name: f"{folder}/{name}/stats"
            for folder in LUSTRE_STATS
            for name in files.names(folder)
            if files.read(f"{folder}/{name}/stats")
        }
        served = {name for folder in _SERVED for name in files.names(folder)}
        self.closed: tuple[str, ...] = tuple(
            sorted(name for name in served - set(self.names) if re.fullmatch(STORAGE, name))
        )
        """Targets of this server with statistics that this user may not read."""
        names = {name for folder in _METADATA for name in files.names(folder)}
        self.metadata: tuple[str, ...] = tuple(
            sorted(name for name in names if re.fullmatch(METADATA, name))
        )
        """Metadata targets, whose requests are counted: they move few bytes."""
        self._requests = {
            name: path
            for name in self.metadata
            for folder in _METADATA
            if files.read(path := f"{folder}/{name}/md_stats")
        }

    def read(self) -> Reading:
        """Return bytes and requests of each target; raise ToolError for unknown text."""
        moved = {
            Counter(name, operation, LUSTRE): count
            for name, path in self.names.items()
            if (text := self._files.read(path))
            for operation, count in lustre_stats(text, path).items()
        }
        answered = {
            Counter(name, REQUESTS, LUSTRE): metadata_requests(text, path)
            for name, path in self._requests.items()
            if (text := self._files.read(path))
        }
        return {**moved, **answered}


def closed(targets: Targets) -> dict[Counter, str]:
    """Return the counters of targets that this user may not read, with the reason."""
    return {
        Counter(name, operation, "lustre"): NEEDS_DEBUGFS
        for name in targets.closed
        for operation in OPERATIONS
    }


def unwatched(targets: Targets, planned: Sequence[str]) -> Iterator[str]:
    """Yield a sentence about unreadable targets, and one about missing ``planned`` targets.

    ``planned`` are the targets of this server in the topology.
    """
    if targets.closed:
        total = len(targets.names) + len(targets.closed)
        yield f"{len(targets.names) or 'none'} of {total} OSTs watched: {NEEDS_DEBUGFS}"
    absent = sorted({*planned} - {*targets.names, *targets.closed, *targets.metadata})
    if absent:
        yield (
            f"{', '.join(absent)} not watched: this server does not have what the topology puts "
            "on it; unmounted, or failed over to another server"
        )


def diskstats(text: str) -> dict[Number, tuple[int, int]]:
    """Return bytes read and written by device number; raise ToolError if not understood."""
    try:
        return dict(_device(line.split()) for line in text.splitlines())
    except (IndexError, ToolError) as error:
        raise ToolError(
            f"{DISKSTATS} is not understood ({error}); this kernel has another format"
        ) from error


def _device(words: Sequence[str]) -> tuple[Number, tuple[int, int]]:
    major, minor, read, written = (
        whole(words[place], DISKSTATS) for place in (0, 1, _READ_PLACE, _WRITTEN_PLACE)
    )
    return (major, minor), (read * _SECTOR_BYTES, written * _SECTOR_BYTES)


def device_number(component: str, path: str) -> Number:
    """Return the number of a block device; follow links.

    Raises:
        DocumentError: there is no such block device.
    """
    try:
        result = os.stat(path)
    except OSError as error:
        raise DocumentError(
            f"{component}: {path} cannot be found ({error.strerror}); see lsblk"
        ) from error
    if not stat.S_ISBLK(result.st_mode):
        raise DocumentError(f"{component}: {path} is no block device; see lsblk")
    return os.major(result.st_rdev), os.minor(result.st_rdev)


MAX_SAMPLING_S = 3600.0
"""Longest sampling: an hour of 100 devices, all reading and writing, takes 7 MB in the history."""

PART_S = 300
"""Length of a part; each is stored at once, so the console need not wait for the end."""

Wait = Callable[[float], bool]
"""Function that waits at most so many seconds and returns True to end the sampling."""


class Stretch(NamedTuple):
    """Rates of successive seconds, in bytes per second, from ``begin_s`` after the start."""

    begin_s: int
    rates_Bps: array[float]

    @property
    def end_s(self) -> int:
        """First second after the stretch."""
        return self.begin_s + len(self.rates_Bps)


class SamplePart(NamedTuple):
    """Part of a sampling; ``began_at`` is seconds since the epoch, ``seconds`` its length.

    A counter that was reset, or missing for a while, has several stretches or none.  ``merged`` has
    the first second and the number of seconds that share one reading; ``late_s`` is the largest
    delay of a reading.
    """

    began_at: float
    seconds: int
    courses: dict[Counter, list[Stretch]]
    merged: tuple[tuple[int, int], ...] = ()
    late_s: float = 0.0


class Origin(NamedTuple):
    """Origin of a sampling, common to all its records."""

    host: str
    run_id: str


def sample(
    sources: Sequence[Source], clock: Clock, wait: Wait, limit_s: float
) -> Iterator[SamplePart]:
    """Sample counters until the limit, or until ``wait`` ends it; yield the parts.

    Raises:
        UsageError: the limit is not between 1 s and an hour.
        ToolError: a counter is not understood.
    """
    if not 1 <= limit_s <= MAX_SAMPLING_S:
        raise UsageError(
            f"a limit of {limit_s:g} s: sampling takes 1 s to {format_duration(MAX_SAMPLING_S)}"
        )
    return _parts(_Watch(sources, clock), wait, limit_s)


def _parts(watch: _Watch, wait: Wait, limit_s: float) -> Iterator[SamplePart]:
    enough = False
    while not enough and watch.done < limit_s:
        end_s = min(limit_s, watch.done + PART_S)
        while not enough and watch.done < end_s:
            enough = wait(watch.until_next_s())
            watch.count()
        part = watch.part()
        if part.seconds:
            yield part


class _Watch:
    """Counters sampled since the start; ``done`` is the number of sampled seconds."""

    def __init__(self, sources: Sequence[Source], clock: Clock) -> None:
        self._sources = sources
        self._clock = clock
        self._began_at, self._start = clock.wall(), clock.monotonic()
        self._before, self.done = self._read(), 0
        self._lateness_s = [0.0]
        self._begin_part()

    def until_next_s(self) -> float:
        return max(0.0, self.done + 1 - self._elapsed_s())

    def count(self) -> None:
        """Read all counters, and note the rate of each since the last reading."""
        now, now_s = self._read(), self._elapsed_s()
        # after a delay one reading covers several seconds: each gets the mean
        seconds = round(now_s) - self.done
        if seconds <= 0:
            return
        for counter, value in now.items():
            # divide by all seconds of the reading, so a late one loses no bytes
            rate_Bps = (value - self._before.get(counter, value + 1)) / seconds
            if rate_Bps >= 0:
                place = self.done - self._part_begin
                _extend(self._courses.setdefault(counter, []), place, seconds, rate_Bps)
        if seconds > 1:
            self._merged.append((self.done - self._part_begin, seconds))
        self._before, self.done = now, self.done + seconds
        self._lateness_s.append(abs(now_s - self.done))

    def part(self) -> SamplePart:
        begin = self._part_begin
        part = SamplePart(
            self._began_at + begin,
            self.done - begin,
            self._courses,
            tuple(self._merged),
            max(self._lateness_s),
        )
        self._begin_part()
        return part

    def _begin_part(self) -> None:
        self._part_begin = self.done
        self._courses: dict[Counter, list[Stretch]] = {counter: [] for counter in self._before}
        self._merged: list[tuple[int, int]] = []
        self._lateness_s = self._lateness_s[-1:]

    def _elapsed_s(self) -> float:
        return self._clock.monotonic() - self._start

    def _read(self) -> Reading:
        return {
            counter: value for source in self._sources for counter, value in source.read().items()
        }


def _extend(stretches: list[Stretch], at_s: int, seconds: int, rate_Bps: float) -> None:
    if not stretches or stretches[-1].end_s != at_s:
        stretches.append(Stretch(at_s, array("d")))
    stretches[-1].rates_Bps.extend([rate_Bps] * seconds)


def records_of(
    part: SamplePart,
    origin: Origin,
    closed: Mapping[Counter, str] = MappingProxyType({}),
    jobs: Sequence[JobTraffic] = (),
) -> Iterator[Record]:
    """Yield a record for each stretch, from its first busy second to the last.

    A counter that stayed the same, or could not be read, has a record with the reason; ``closed``
    has the counters that this user may not read, with the reason.  ``jobs`` are added to the read
    record of their target; jobs of a metadata target get a separate record.
    """
    courses = {**dict.fromkeys(closed, ()), **part.courses}
    for counter, stretches in courses.items() if part.seconds else ():
        busy = [stretch for stretch in stretches if any(stretch.rates_Bps)]
        records = [_moved(part, origin, counter, stretch) for stretch in busy]
        first, *later = records or [
            _idle(part, origin, counter, stretches, closed.get(counter, ""))
        ]
        rows = [traffic.row for traffic in jobs if traffic.target == counter.component]
        if rows and counter.operation is Operation.READ:
            first = first._replace(details={**(first.details or {}), "jobs": write(rows)})
        yield from (first, *later)
    requests: dict[str, list[RequestRow]] = {}
    for traffic in jobs:
        if isinstance(traffic.row, RequestRow):
            requests.setdefault(traffic.target, []).append(traffic.row)
    for target, own in requests.items():
        yield _record(
            part,
            origin,
            Counter(target, Operation.READ, LUSTRE),
            {"requests": write(own)},
            outcome=Outcome.SKIPPED,
            reason="its requests are counted by job, and no bytes",
        )


def _record(
    part: SamplePart, origin: Origin, counter: Counter, details: Mapping[str, Any], **values: Any
) -> Record:
    """Return a record of a counter; by default it spans the part."""
    whole = {"started_at": part.began_at, "finished_at": part.began_at + part.seconds}
    return Record(
        id=str(uuid4()),
        run_id=origin.run_id,
        layer=SERVER,
        component=counter.component,
        operation=counter.operation,
        scenario=Scenario.TOGETHER,
        host=origin.host,
        details={"source": counter.source, "watched_s": part.seconds, **details},
        **{**whole, **values},
    )


def _trimmed(stretch: Stretch) -> Stretch:
    """Return a stretch without the idle seconds at its ends."""
    busy = [place for place, rate in enumerate(stretch.rates_Bps) if rate]
    begin, end = busy[0], busy[-1] + 1
    return Stretch(stretch.begin_s + begin, stretch.rates_Bps[begin:end])


def _moved(part: SamplePart, origin: Origin, counter: Counter, stretch: Stretch) -> Record:
    busy = _trimmed(stretch)
    seconds, moved = len(busy.rates_Bps), sum(busy.rates_Bps)
    return _record(
        part,
        origin,
        counter,
        _precision(part, stretch, busy.begin_s),
        started_at=part.began_at + busy.begin_s,
        finished_at=part.began_at + busy.end_s,
        outcome=Outcome.OK,
        bytes=0 if counter.operation is REQUESTS else round(moved),
        seconds=float(seconds),
        rate=moved / seconds,
        profile=tuple(map(round, busy.rates_Bps)),
    )


def _precision(part: SamplePart, stretch: Stretch, begin_s: int) -> dict[str, Any]:
    """Return the precision of the profile; its seconds count from ``begin_s``.

    ``watched`` is the time with readings; outside the profile the counter did not change.
    """
    inside = [
        [first - begin_s, count]
        for first, count in part.merged
        if first < stretch.end_s and first + count > stretch.begin_s
    ]
    return {
        "watched": [stretch.begin_s - begin_s, stretch.end_s - begin_s],
        "late_s": round(part.late_s, 3),
        **({"merged": inside} if inside else {}),
    }


def _one(counter: Counter) -> str:
    return "request" if counter.operation is REQUESTS else "byte"


def _idle(
    part: SamplePart, origin: Origin, counter: Counter, stretches: Sequence[Stretch], closed: str
) -> Record:
    seconds = format_duration(part.seconds)
    outcome, reason = (
        (Outcome.SKIPPED, f"{counter.source} counted no {_one(counter)} in {seconds}")
        if stretches
        else (Outcome.FAILED, closed or f"{counter.source} had no counter to follow for {seconds}")
    )
    precision = _precision(part, stretches[0], 0) if len(stretches) == 1 else {}
    return _record(part, origin, counter, precision, outcome=outcome, reason=reason)
