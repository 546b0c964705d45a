"""Histograms of a target's disk I/O: ``brw_stats``, of which time and size become metrics.

A bucket is named by its largest value, a power of two (``lprocfs_oh_tally_log2`` in Lustre's
``lprocfs_status.c``), and Lustre leaves out those beyond the first and the last that are filled.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Iterator, NamedTuple, Sequence

from plumbline.counters.metric import DISK_SIZE, DISK_TIME, Count, Labels, Metric
from plumbline.errors import ToolError
from plumbline.model.printed import whole

_ROW = re.compile(r"^(\d{1,6})([KMG]?):\s+(\d{1,20})\s.*\|\s*(\d{1,20})\s")
_POWERS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_DIRECTIONS = ("read", "write")


class _Table(NamedTuple):
    """A table: its head, its metric, the unit of a bucket, and the buckets that are written.

    They are always the same, for a bucket that comes and goes has no rate.
    """

    head: str
    metric: Metric
    unit: float
    buckets: Sequence[int]


_TABLES = (
    _Table("I/O time (1/1000s)", DISK_TIME, 1e-3, [1 << power for power in range(15)]),
    _Table("disk I/O size", DISK_SIZE, 1.0, [1 << power for power in range(12, 25)]),
)


def disk_io(text: str, labels: Labels, path: str) -> Iterator[Count]:
    """Yield the buckets of time and size for both directions.

    Raises:
        ToolError: the text has no such tables.
    """
    if not text.startswith("snapshot_time"):
        raise ToolError(f"{path} is not understood: it begins with {text[:40]!r}")
    tables = text.split("\n\n")
    for table in _TABLES:
        found = next((one for one in tables if f"\n{table.head}" in one), None)
        if found is None:
            raise ToolError(f"{path} is not understood: it has no table {table.head!r}")
        counted = [_row(row, path) for row in found.partition(table.head)[2].split("\n")[1:] if row]
        for place, operation in enumerate(_DIRECTIONS, 1):
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
        bucket = next((one for one in table.buckets if upper <= one), None)
        if bucket is not None:
            counts[bucket] += count
    for bucket, below in zip(table.buckets, accumulate(counts.values())):
        yield Count(table.metric, (*labels, ("le", repr(bucket * table.unit))), below)
    total = sum(count for _, count in pairs)
    yield Count(table.metric, (*labels, ("le", "+Inf")), total)
    yield Count(table.metric, labels, total)
