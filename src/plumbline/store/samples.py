"""Read samples recorded elsewhere: CSV with named columns, plain or compressed by gzip.

Two formats: one row per sample of a component (docs/verdicts.md lists the columns), and summaries
of scheduled benchmarks from NERSC's pytokio.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from contextlib import contextmanager
from datetime import date, datetime, timezone
from io import TextIOWrapper
from math import log2
from pathlib import Path
from typing import Callable, Iterator, Mapping, NamedTuple, Optional, Sequence, TextIO

from plumbline.model.errors import DocumentError
from plumbline.model.series import Sampled
from plumbline.model.validation import MIN_RATE, real
from plumbline.observe.given import open_given
from plumbline.observe.rows import Rows, unreadable

_COMPONENT = ("component", "disk")
_LATENCY = ("latency", "latency_us")
_US_PER_S = 1e6
_RATE = ("rate", "rate_Bps")
_GIB = 2.0**30
_MIB = 2.0**20

_PER_S = {"nanoseconds": 1e9, "microseconds": 1e6, "milliseconds": 1e3}
_MAX_STAMP = 20
_EARLIEST_S = 1e8
"""In 1973: time stamps above a thousand times this, the year 5138, are not in seconds."""

_TOKIO_RATE = "darshan_agg_perf_by_slowest_posix"
_TOKIO = (
    "_datetime_start",
    "_file_system",
    "darshan_app",
    "darshan_nprocs",
    _TOKIO_RATE,
    "darshan_tot_bytes_read_posix",
    "darshan_tot_bytes_written_posix",
)

Row = Mapping[str, str]


class Read(NamedTuple):
    """The samples of a file, the unit of their rates, and the number of unusable rows.

    A latency in microseconds becomes its inverse, calls per second.  Rows without a figure, or
    without the name of a component, are unusable.
    """

    samples: Sequence[Sampled]
    unit: str
    without: int


def read_samples(path: Path) -> Read:
    """Return the samples of a file in its order.

    Raises:
        DocumentError: it cannot be read, lacks a column, or a row has an impossible value.
    """
    samples, without = [], 0
    with _opened(path) as file:
        rows = Rows(path, file)
        convert = _form(path, rows.columns)
        for row in rows:
            try:
                sample = convert(row)
            except (ValueError, OverflowError) as error:
                raise rows.wrong(str(error)) from error
            if sample is None:
                without += 1
            else:
                samples.append(sample)
    inverse = _first(rows.columns, _LATENCY) is not None
    return Read(samples, "calls/s" if inverse else "B/s", without)


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        with open_given(path) as given:
            unpacked = gzip.GzipFile(fileobj=given) if path.suffix == ".gz" else given
            with TextIOWrapper(unpacked, encoding="utf-8-sig", newline="") as file:
                yield file
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise unreadable(path, error) from error


def _form(path: Path, columns: Sequence[str]) -> Callable[[Row], Optional[Sampled]]:
    if _TOKIO[0] in columns:
        missing = [name for name in _TOKIO if name not in columns]
        if missing:
            raise DocumentError(
                f"{path} has {_TOKIO[0]} as summaries of pytokio do, and lacks the column"
                f"{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
            )
        return _tokio
    component, latency = _first(columns, _COMPONENT), _first(columns, _LATENCY)
    figure = latency or _first(columns, _RATE)
    if component is None or "ts" not in columns or figure is None:
        raise DocumentError(
            f"{path} needs the columns ts, component, and latency or rate; it has "
            f"{', '.join(columns) or 'none'}"
        )

    def convert(row: Row) -> Optional[Sampled]:
        value = _figure(row, figure)
        if value is None or not row[component]:
            return None
        at = _moment(row, "ts")
        return Sampled(
            host=row.get("host", ""),
            day=_day(row.get("day"), at),
            at=at,
            component=row[component],
            rate=_US_PER_S / value if latency else value,
            coverage=_optional(row, "coverage"),
            baseline=_baseline(row, inverse=bool(latency)),
        )

    return convert


def _tokio(row: Row) -> Optional[Sampled]:
    """Return a run of a scheduled benchmark; runs of other sizes are other components."""
    rate_MiBps = _figure(row, _TOKIO_RATE)
    system = row["_file_system"]
    if rate_MiBps is None or not system:
        return None
    read, written = (
        _optional(row, f"darshan_tot_bytes_{way}_posix") or 0.0 for way in ("read", "written")
    )
    at = _moment(row, "_datetime_start")
    operation = "read" if read > written else "write"
    moved = read + written
    size = f"2^{log2(moved):.0f} bytes" if moved else "no bytes"
    name = row["darshan_app"].rpartition("/")[2]
    component = f"{system} {name} {operation} {row['darshan_nprocs']} ranks {size}"
    return Sampled(
        # benchmarks ran one after the other, so none has peers
        host=component,
        day=_day(None, at),
        at=at,
        component=component,
        rate=rate_MiBps * _MIB,
        coverage=_tokio_coverage(row, moved),
    )


def _tokio_coverage(row: Row, moved: float) -> Optional[float]:
    """Return the job's share of the file system's bytes, limited to 1 because of rounding."""
    sizes = [_optional(row, f"fs_tot_gibs_{size}") for size in ("read", "written")]
    total = sum(size for size in sizes if size is not None) * _GIB
    return min(1.0, moved / total) if total else None


def _first(columns: Sequence[str], names: Sequence[str]) -> Optional[str]:
    return next((name for name in names if name in columns), None)


def _figure(row: Row, column: str) -> Optional[float]:
    """Return a positive figure, None if there is none: an idle disk has no latency."""
    value = _optional(row, column)
    return value if value is not None and value >= MIN_RATE else None


def _baseline(row: Row, inverse: bool) -> Optional[float]:
    value = _figure(row, "baseline")
    return _US_PER_S / value if value is not None and inverse else value


def _optional(row: Row, column: str) -> Optional[float]:
    return _number(row, column) if row.get(column) else None


def _moment(row: Row, column: str) -> float:
    """Return seconds since the epoch; raise ValueError for a time stamp in a finer unit."""
    digits = (row.get(column) or "").strip().lstrip("-").partition(".")[0]
    # longer numbers are no time stamps in any unit
    magnitude = float(digits) if len(digits) <= _MAX_STAMP and digits.isdecimal() else 0.0
    for unit, per_s in _PER_S.items():
        if magnitude >= _EARLIEST_S * per_s:
            raise ValueError(
                f"{column} {row[column]} is in {unit} by its magnitude; divide the column by "
                f"{per_s:.0f}, seconds since the epoch are expected"
            )
    return _number(row, column)


def _number(row: Row, column: str) -> float:
    text = row.get(column) or ""
    try:
        return real(text, column, DocumentError)
    except DocumentError as error:
        raise ValueError(str(error)) from error


def _day(text: Optional[str], at: float) -> str:
    """Return an ISO date: the row's own, or that of its time in UTC."""
    if not text:
        return datetime.fromtimestamp(at, timezone.utc).date().isoformat()
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise ValueError(f"day is {text[:40]!r}, which is no date; write 2026-11-20") from error
