"""Parse Lustre's statistics files into metrics and rates.

Statistics have the same form for storage targets (``stats``), metadata targets (``md_stats``) and
clients.

A histogram bucket is named by its largest value, a power of two (``lprocfs_oh_tally_log2`` in
Lustre's ``lprocfs_status.c``); Lustre leaves out the empty buckets at both ends.

LNet's interfaces and buffers have a row for each CPU partition; their credits are added up.
"""

from __future__ import annotations

import re
from itertools import accumulate
from math import isnan, nan
from typing import Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import ToolError
from plumbline.model.metric import (
    BUFFER_CREDITS,
    BUFFER_LOWEST,
    BUFFERS,
    BYTES,
    DISK_SIZE,
    DISK_TIME,
    EVICTED,
    LNET_BYTES,
    LNET_ERRORS,
    LNET_MESSAGES,
    NI_CREDITS,
    NI_LOWEST,
    NI_UP,
    OPERATIONS,
    QUEUE_ACTIVE,
    QUEUE_REQUESTS,
    QUEUE_SECONDS,
    QUEUE_WAITING,
    RECOVERY,
    REMAINING,
    SECONDS,
    SETTLED,
    Metric,
)
from plumbline.model.validation import real, whole
from plumbline.observe.lustre_output import (
    KINDS_OF_RENAME,
    METADATA,
    MOVES,
    ROOTS,
    STORAGE,
    statistics,
    sum_of,
)

Labels = tuple[tuple[str, str], ...]
"""Names and values, in output order."""


class Count(NamedTuple):
    """Value of a metric for one set of labels; for a histogram one bucket, or its count."""

    metric: Metric
    labels: Labels
    value: float


class CountersLook(NamedTuple):
    """Counts of one look, and a sentence on each unusable file."""

    counts: tuple[Count, ...]
    troubles: tuple[str, ...]
    devices: frozenset[Labels] = frozenset()
    """Devices whose statistics were read, also those that have counted nothing yet."""


_NAME = re.compile(r"\w{1,64}", re.ASCII)
ALL_REQUESTS = "req_waittime"
"""The line of a client's connection that counts all requests, each until its answer.

Lines of single request types, such as ``ost_write``, cover only a part: ``ptlrpc_lprocfs_rpc_sent``
in Lustre's ``lproc_ptlrpc.c`` leaves out MDS_REINT, and lock requests have a count without a time.
"""

_QUEUE = {
    ALL_REQUESTS: (QUEUE_REQUESTS, QUEUE_SECONDS),
    "req_qdepth": (None, QUEUE_WAITING),
    "req_active": (None, QUEUE_ACTIVE),
}
"""Metrics of count and sum of a service's own lines: ``ptlrpc_server_handle_request`` in Lustre's
``service.c`` counts them when a thread takes a request up."""
_NO_OPERATION = frozenset(
    (
        # levels: requests in flight, opens of one inode
        *("req_active", "opencount"),
        # the time between two opens
        "openclosetime",
        # operations counted by another line: renames, reads and writes, getxattr
        *KINDS_OF_RENAME,
        *("hybrid_noswitch", "hybrid_readsize_switch", "hybrid_writesize_switch"),
        "getxattr_hits",
    )
)
_HEAD = ("snapshot_time", "start_time", "elapsed_time")


def stats(text: str, labels: Labels, path: str) -> Iterator[Count]:
    """Yield bytes, operations, and the seconds of operations.

    Raises:
        ToolError: the text has another form.
    """
    lines = statistics(text, path)
    counted = {words[0] for words in lines}
    for words in lines:
        if words[0] not in _HEAD:
            yield from _line(words, counted, labels, path)


def _line(words: Sequence[str], counted: set[str], labels: Labels, path: str) -> Iterator[Count]:
    if len(words) < 4 or words[2] != "samples" or not _NAME.fullmatch(words[0]):
        raise ToolError(f"{path} is not understood: {' '.join(words)[:80]!r} is no statistic")
    name, unit = words[0], words[3]
    if name in _NO_OPERATION:
        return
    moved = MOVES.get(name)
    operation = (*labels, ("operation", moved or name))
    if moved:
        yield Count(BYTES, operation, sum_of(words, path))
    # older releases count reads and writes only in the line of their bytes
    has_own_line = moved and counted & {moved, f"ost_{moved}"}
    if not has_own_line and (moved or unit != "[bytes]"):
        yield Count(OPERATIONS, operation, whole(words[1], f"{name} in {path}"))
    if unit in ("[usec]", "[usecs]"):
        yield Count(SECONDS, operation, sum_of(words, path) / 1e6)


def service(text: str, labels: Labels, path: str) -> Iterator[Count]:
    """Yield the queue of a server's service, and the requests that it handled, by type.

    The seconds of a type begin when a thread takes a request up; types such as lock requests and
    MDS_REINT have none.

    Raises:
        ToolError: the text has another form.
    """
    for words in statistics(text, path):
        queue = _QUEUE.get(words[0])
        if queue is None:
            if words[0] not in (*_HEAD, "req_timeout", "reqbuf_avail"):
                yield from _line(words, set(), labels, path)
            continue
        count, total = queue
        if count:
            yield Count(count, labels, whole(" ".join(words[1:2]), f"{words[0]} in {path}"))
        scale = 1e6 if total is QUEUE_SECONDS else 1
        yield Count(total, labels, sum_of(words, path) / scale)


_STATUS = re.compile(r"^status: ([A-Z_]{1,40})$", re.MULTILINE)
_FIGURES = ((REMAINING, "time_remaining"), (EVICTED, "evicted_clients"))


def recovery(text: str, labels: Labels, path: str) -> Iterator[Count]:
    """Yield the recovery status, and the figures of a running recovery.

    Raises:
        ToolError: the text has no status.
    """
    status = _STATUS.search(text)
    if not status:
        raise ToolError(f"{path} is not understood: it begins with {text[:40]!r}")
    yield Count(RECOVERY, (*labels, ("status", status[1].lower())), 1)
    for metric, name in _FIGURES:
        figure = re.search(rf"^{name}: (\S+)$", text, re.MULTILINE)
        if figure:
            yield Count(metric, labels, whole(figure[1], f"{name} in {path}"))


_ROW = re.compile(r"^(\d{1,6})([KMG]?):\s+(\d{1,20})\s.*\|\s*(\d{1,20})\s")
# copies of these files may lack the empty lines between tables
_COLUMNS = re.compile(r"\n *read +\| +write *\n")
_POWERS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_DISK_DIRECTIONS = ("read", "write")


class _Table(NamedTuple):
    """A table: its head, its metric, the unit of a bucket, and the exported buckets.

    The buckets are fixed, because a bucket that comes and goes has no rate.
    """

    head: str
    metric: Metric
    unit: float
    buckets: Sequence[int]


_TIMES = [1 << power for power in range(15)]
DISK_BUCKETS = [limit * 1e-3 for limit in _TIMES]
"""Upper limits of the buckets of disk times, in seconds."""
_TABLES = (
    _Table("I/O time (1/1000s)", DISK_TIME, 1e-3, _TIMES),
    _Table("disk I/O size", DISK_SIZE, 1.0, [1 << power for power in range(12, 25)]),
)


def disk_io(text: str, labels: Labels, path: str) -> Iterator[Count]:
    """Yield the buckets of I/O time and size for both directions.

    Raises:
        ToolError: the text has no such tables.
    """
    if not text.startswith("snapshot_time"):
        raise ToolError(f"{path} is not understood: it begins with {text[:40]!r}")
    tables = _COLUMNS.split(text)
    for table in _TABLES:
        part = next((part for part in tables if part.startswith(table.head)), None)
        if part is None:
            raise ToolError(f"{path} is not understood: it has no table {table.head!r}")
        counted = [_row(row, path) for row in part.split("\n")[1:] if row]
        for place, operation in enumerate(_DISK_DIRECTIONS, 1):
            pairs = [(row[0], row[place]) for row in counted]
            yield from _buckets(table, (*labels, ("operation", operation)), pairs)


def _row(row: str, path: str) -> tuple[int, int, int]:
    match = _ROW.match(row)
    if not match:
        raise ToolError(f"{path} is not understood: {row[:60]!r} is no row of a histogram")
    number, power, read, write = match.groups()
    upper = whole(number, path) * _POWERS[power]
    return upper, whole(read, f"a count in {path}"), whole(write, f"a count in {path}")


def _buckets(table: _Table, labels: Labels, pairs: Sequence[tuple[int, int]]) -> Iterator[Count]:
    counts = dict.fromkeys(table.buckets, 0)
    for upper, count in pairs:
        bucket = next((limit for limit in table.buckets if upper <= limit), None)
        if bucket is not None:
            counts[bucket] += count
    for bucket, below in zip(table.buckets, accumulate(counts.values())):
        yield Count(table.metric, (*labels, ("le", repr(bucket * table.unit))), below)
    total = sum(count for _, count in pairs)
    yield Count(table.metric, (*labels, ("le", "+Inf")), total)
    yield Count(table.metric, labels, total)


_DIRECTIONS = ("send", "receive", "route", "drop")
_ERRORS, _MESSAGES, _BYTES, _ALL = 2, 3, 7, 11
"""Positions in ``stats``: two levels of messages, errors, messages and bytes by direction."""


def lnet_stats(text: str, labels: Labels, path: str) -> Iterator[Count]:
    """Yield messages, bytes and errors; raise ToolError if the text has other numbers."""
    words = text.split()
    if len(words) != _ALL:
        raise ToolError(f"{path} is not understood: {text[:60]!r} has no {_ALL} numbers")
    numbers = [whole(word, path) for word in words]
    yield Count(LNET_ERRORS, labels, numbers[_ERRORS])
    for metric, first in ((LNET_MESSAGES, _MESSAGES), (LNET_BYTES, _BYTES)):
        for place, direction in enumerate(_DIRECTIONS, first):
            yield Count(metric, (*labels, ("direction", direction)), numbers[place])


class _Level(NamedTuple):
    """A metric of a column; rows of one key give their lowest value, or else their sum."""

    metric: Metric
    column: str
    lowest: bool = False


_INTERFACE = (_Level(NI_CREDITS, "tx"), _Level(NI_LOWEST, "min", True))
_BUFFER = (
    _Level(BUFFERS, "count"),
    _Level(BUFFER_CREDITS, "credits"),
    _Level(BUFFER_LOWEST, "min", True),
)


def interfaces(text: str, labels: Labels, path: str) -> Iterator[Count]:
    """Yield state and credits of each interface; raise ToolError for another table."""
    rows = _rows(text, ("nid", "status", "tx", "min"), path)
    ups: dict[str, bool] = {}
    for row in rows:
        ups[row["nid"]] = ups.get(row["nid"], True) and row["status"] == "up"
    for nid, is_up in ups.items():
        yield Count(NI_UP, (*labels, ("nid", nid)), int(is_up))
    yield from _levels(rows, "nid", labels, _INTERFACE)


def buffers(text: str, labels: Labels, path: str) -> Iterator[Count]:
    """Yield router buffers by pages, none without routing; raise ToolError for another table."""
    rows = _rows(text, ("pages", "count", "credits", "min"), path)
    yield from _levels(rows, "pages", labels, _BUFFER)


def _levels(
    rows: Sequence[Mapping[str, str]], key: str, labels: Labels, levels: Sequence[_Level]
) -> Iterator[Count]:
    for level in levels:
        values: dict[str, list[float]] = {}
        for row in rows:
            values.setdefault(row[key], []).append(real(row[level.column], level.column))
        for name, numbers in values.items():
            value = min(numbers) if level.lowest else sum(numbers)
            yield Count(level.metric, (*labels, (key, name)), value)


def _rows(text: str, needed: Sequence[str], path: str) -> list[dict[str, str]]:
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines or not set(needed) <= set(lines[0]):
        raise ToolError(f"{path} is not understood: it begins with {text[:60]!r}")
    if any(len(line) != len(lines[0]) for line in lines):
        raise ToolError(f"{path} is not understood: its rows differ in length")
    return [dict(zip(lines[0], line)) for line in lines[1:]]


Parse = Callable[[str, Labels, str], Iterator[Count]]

_MOUNT = r"(?P<mount>[0-9a-f]{8,16})"
_SERVICE = r"(?P<service>\w{1,32})"


class Source(NamedTuple):
    """A kind of device: the pattern of its folders' names, and the files in each folder.

    Devices of other names, such as a metadata server's connection to an OST, are left out.
    ``within`` is the folder of a kind below its own name, empty if it is that itself.
    """

    kind: str
    device: str
    files: Mapping[str, Parse]
    within: str = ""

    @property
    def folder(self) -> str:
        """Return the folder of its devices."""
        return f"{self.kind}/{self.within}" if self.within else self.kind


SOURCES = (
    Source("obdfilter", STORAGE, {"stats": stats, "recovery_status": recovery}),
    Source("mdt", METADATA, {"md_stats": stats, "recovery_status": recovery}),
    Source("osd-ldiskfs", STORAGE, {"brw_stats": disk_io}),
    Source("osd-zfs", STORAGE, {"brw_stats": disk_io}),
    Source("osc", f"{STORAGE}-osc-{_MOUNT}", {"stats": stats}),
    Source("mdc", f"{METADATA}-mdc-{_MOUNT}", {"stats": stats}),
    Source("llite", rf"(?P<target>[\w.-]{{1,64}})-{_MOUNT}", {"stats": stats}),
    Source("ost", _SERVICE, {"stats": service}, "OSS"),
    Source("mds", _SERVICE, {"stats": service}, "MDS"),
    Source("ldlm", _SERVICE, {"stats": service}, "services"),
)
_HOST: Mapping[str, Parse] = {"stats": lnet_stats, "nis": interfaces, "buffers": buffers}
_LNET = ("/sys/kernel/debug/lnet", "/proc/sys/lnet")


class Place(NamedTuple):
    """A statistics file, its parser, and the labels of its counts."""

    path: str
    parse: Parse
    labels: Labels


def folders() -> list[str]:
    """Return the folders in which devices may have their folders."""
    return [f"{root}/{source.folder}" for source in SOURCES for root in ROOTS]


def places(names: Mapping[str, str]) -> Iterator[Place]:
    """Yield the files to read; ``names`` has the names in each existing folder, one per line."""
    for source in SOURCES:
        for root in ROOTS:
            folder = f"{root}/{source.folder}"
            for name in names.get(folder, "").split("\n"):
                labels = _labels(source, name)
                for file, parse in source.files.items() if labels else ():
                    yield Place(f"{folder}/{name}/{file}", parse, labels or ())
    for folder in _LNET:
        for file, parse in _HOST.items():
            yield Place(f"{folder}/{file}", parse, ())


def _labels(source: Source, name: str) -> Optional[Labels]:
    match = re.fullmatch(source.device, name, re.ASCII)
    return (("source", source.kind), *match.groupdict().items()) if match else None


class Rates(NamedTuple):
    """Rates of one device; ``latency_s`` is the mean time of the timed operations.

    A client's connection counts all its requests in one line; then only that line is used.
    A rate is None if its counter is new or was reset.
    """

    source: str
    name: str
    read_Bps: Optional[float]
    write_Bps: Optional[float]
    operations_per_s: Optional[float]
    latency_s: Optional[float]
    recovery: str

    @property
    def busy(self) -> tuple[float, float]:
        """Return bytes and operations per second, the sort key of the busiest devices."""
        return (self.read_Bps or 0.0) + (self.write_Bps or 0.0), self.operations_per_s or 0.0


_Growth = dict[Metric, dict[str, float]]
"""Growth of each operation of a device; not a number if unknown, and so are sums with it."""


def rates(before: Iterable[Count], after: Iterable[Count], seconds: float) -> list[Rates]:
    """Return the rates of all devices by source, the busiest of each source first."""
    earlier = {(count.metric, count.labels): count.value for count in before}
    growths: dict[Labels, _Growth] = {}
    recovering: dict[Labels, str] = {}
    for count in after:
        label, device = dict(count.labels[-1:]), count.labels[:-1]
        if count.metric is RECOVERY:
            status = label["status"]
            recovering[device] = "" if status in SETTLED else status
            growths.setdefault(device, {})
        elif count.metric in (BYTES, OPERATIONS, SECONDS):
            amount = count.value - earlier.get((count.metric, count.labels), nan)
            growth = growths.setdefault(device, {}).setdefault(count.metric, {})
            growth[label["operation"]] = amount if amount >= 0 else nan
    devices = [
        _rates(dict(device), growth, recovering.get(device, ""), seconds)
        for device, growth in growths.items()
    ]
    order = list(dict.fromkeys(device.source for device in devices))
    return sorted(
        devices, key=lambda rate: (order.index(rate.source), *(-part for part in rate.busy))
    )


def _rates(device: Mapping[str, str], growth: _Growth, recovery: str, seconds: float) -> Rates:
    moved, operations = growth.get(BYTES, {}), growth.get(OPERATIONS, {})
    times = _without_parts(growth.get(SECONDS, {}))
    timed = sum(operations.get(operation, nan) for operation in times)
    amounts = [moved.get(direction, 0.0 if moved else nan) for direction in MOVES.values()]
    amounts.append(sum(_without_parts(operations).values()))
    read_Bps, write_Bps, operations_per_s = (
        _known(amount / seconds) if seconds > 0 else None for amount in amounts
    )
    mount = device.get("mount", "")
    name = device.get("target") or device["service"]
    return Rates(
        device["source"],
        f"{name} ({mount})" if mount else name,
        read_Bps,
        write_Bps,
        operations_per_s,
        _known(sum(times.values()) / timed) if timed else None,
        recovery,
    )


def _known(value: float) -> Optional[float]:
    return None if isnan(value) else value


def _without_parts(amounts: Mapping[str, float]) -> Mapping[str, float]:
    """Return the line of all requests if there is one, else the lines of all operations."""
    return {ALL_REQUESTS: amounts[ALL_REQUESTS]} if ALL_REQUESTS in amounts else amounts
