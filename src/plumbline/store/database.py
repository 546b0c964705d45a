"""SQLite below the history: opening, tables, daily figures, failures.

Records have more in common with one another than a record has with itself: zlib alone makes 720
bytes of the 1,270 of one by fio, and 250 where it knows typical ones (RFC 1950, preset dictionary).

The database itself counts how often the records of a component have changed, whoever wrote them.

A row holds the figures of one series for a month, so that a year of a large site is read in a
second.  A day is one of UTC, as the report counts days.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sqlite3
import sys
import zlib
from array import array
from contextlib import closing, contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional, Sequence, TypeVar

from plumbline.model.codec import read
from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.record import Record
from plumbline.model.series import Running
from plumbline.model.units import DAY_S
from plumbline.model.validation import read_json

# Histories are read by it for good: another one needs a place beside it, not its place.
_TYPICAL = (
    b'{"schema":1,"id":"","run_id":"20260101T000000Z-","layer":"server","component":"",'
    b'"operation":"read","scenario":"single","outcome":"unknown","host":"","started_at":179,'
    b'"finished_at":179,"reason":"","path":[],"partner":"","bytes":0,"seconds":0.0,"rate_Bps":null,'
    b'"repeats_Bps":[],"profile_Bps":[],"latency":null,"retransmits":0,"tool":{"name":"netperf",'
    b'"version":"2.7.0","argv":["timeout","--foreground","--signal=INT","30","sgp_dd",'
    b'"if=/dev/disk/by-id/","of=/dev/null","bs=512","bpt=2048","count=524288","thr=8",'
    b'"iflag=direct","time=1"]},"spec":{"tool":"sgp_dd","bytes":268435456,"seconds":30.0,'
    b'{"schema":1,"id":"","run_id":"","layer":"raw","component":"","operation":"write",'
    b'"scenario":"single","outcome":"ok","host":"","latency":{"mean_s":0.0,"p50_s":0.0,"p99_s":0.0,'
    b'"max_s":0.0},"retransmits":null,"tool":{"name":"fio","version":"fio-3.3","argv":["fio",'
    b'"--name=plumbline","--filename=/proc/self/fd/0","--rw=write","--size=67108864",'
    b'"--bs=1048576","--runtime=10","--ioengine=libaio","--iodepth=8","--direct=1","--end_fsync=1",'
    b'"--fallocate=none","--allow_file_create=0","--create_on_open=1","--unlink=0",'
    b'"--randrepeat=0","--zero_buffers=0","--lat_percentiles=1","--clat_percentiles=0",'
    b'"--percentile_list=50:99","--status-interval=1","--eta=never","--output-format=json"]},'
    b'"spec":{"tool":"fio","bytes":67108864,"seconds":10.0,"block_bytes":1048576,"queue_depth":8,'
    b'"repeats":2,"rate_cap_Bps":null,"direct":true},"spec_hash":"","fill":null,"coverage":1.0,'
    b'"versions":{"filesystem":"","client":"","server":""},"flags":[],"details":null}'
)

_MOST_BYTES = 64 << 20
"""More than any record has: a damaged one must not take all memory."""


def deflated(text: str) -> bytes:
    """Return the text of a record in few bytes."""
    packer = zlib.compressobj(zlib.Z_BEST_COMPRESSION, zdict=_TYPICAL)
    return packer.compress(text.encode()) + packer.flush()


def inflated(kept: object) -> str:
    """Return the text of a record, whether it was kept as it is or deflated.

    It is empty, and so no JSON, where it is damaged.
    """
    if not isinstance(kept, bytes):
        return str(kept)
    unpacker = zlib.decompressobj(zdict=_TYPICAL)
    try:
        text = unpacker.decompress(kept, _MOST_BYTES)
        return text.decode() if unpacker.eof else ""
    except (zlib.error, UnicodeDecodeError):
        return ""


SERIES = "layer, component, operation, scenario, partner"
"""The columns that tell a series from others."""

OF_SERIES = "layer = ? AND component = ? AND operation = ? AND scenario = ? AND partner = ?"

FIGURES = f"SELECT figures FROM days WHERE {OF_SERIES} AND month = ?"
"""The row of a series that has the figures of a month."""

_MONTH_DAYS = 30


class Day(NamedTuple):
    """The runs of one series on one day.

    ``at`` is when the last one began, seconds since the epoch; ``rate`` is the median of those
    that gave a rate, NaN where none did.  ``software`` is the row with host and versions of the
    last one.
    """

    at: float
    runs: float
    rate: float
    software: float


_WIDTH = len(Day._fields)


def day_of(at: float) -> int:
    """Return the number of the day of a moment."""
    return int(at // DAY_S)


def month_of(at: float) -> int:
    """Return the number of the row that has the figures of a moment."""
    return day_of(at) // _MONTH_DAYS


def packed(days: Iterable[Day]) -> bytes:
    """Return figures as they stand in a row: numbers of eight bytes, the least byte first."""
    values = array("d", (value for day in days for value in day))
    return _little(values).tobytes()


def figured(figures: bytes, *fields: str) -> list[array[float]]:
    """Return some fields of the figures of a row, each a column, in few steps."""
    values = array("d")
    values.frombytes(figures[: len(figures) // (8 * _WIDTH) * (8 * _WIDTH)])
    values = _little(values)
    return [values[Day._fields.index(field) :: _WIDTH] for field in fields]


def unpacked(figures: bytes) -> Iterator[Day]:
    """Yield the figures of a row."""
    return map(Day._make, zip(*figured(figures, *Day._fields)))


def _little(values: array[float]) -> array[float]:
    if sys.byteorder == "big":
        values.byteswap()
    return values


SCHEMA = 3

_BUSY_WAIT_S = 30.0
_REVISED = (
    "CREATE TRIGGER IF NOT EXISTS records_{event} AFTER {event} ON records BEGIN "
    "UPDATE revisions SET "
    "revision = revision + 1 WHERE layer = {row}.layer AND component = {row}.component; INSERT "
    "INTO revisions SELECT {row}.layer, {row}.component, 1 WHERE NOT EXISTS (SELECT 1 FROM "
    "revisions WHERE layer = {row}.layer AND component = {row}.component); END;"
)
_TABLES = f"""
CREATE TABLE IF NOT EXISTS records (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    run_id TEXT NOT NULL,
    layer TEXT NOT NULL,
    component TEXT NOT NULL,
    operation TEXT NOT NULL,
    scenario TEXT NOT NULL,
    partner TEXT NOT NULL,
    outcome TEXT NOT NULL,
    started_at REAL NOT NULL,
    rate REAL,
    coverage REAL,
    flags TEXT NOT NULL,
    body TEXT NOT NULL
);
-- with all that a sample takes, so that none needs the row itself, which is twenty times as long
CREATE INDEX IF NOT EXISTS records_series ON records (
    layer, component, operation, scenario, partner, seq,
    run_id, started_at, rate, coverage, flags
);
CREATE INDEX IF NOT EXISTS records_run ON records (run_id, layer, operation, scenario);
CREATE INDEX IF NOT EXISTS records_started ON records (started_at);
CREATE TABLE IF NOT EXISTS running (
    layer TEXT NOT NULL,
    component TEXT NOT NULL,
    since REAL NOT NULL,
    run_id TEXT NOT NULL,
    process TEXT NOT NULL DEFAULT 'null',
    interrupted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (layer, component)
);
CREATE TABLE IF NOT EXISTS evidence (
    layer TEXT NOT NULL,
    name TEXT NOT NULL,
    is_group INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (layer, name, is_group)
);
CREATE TABLE IF NOT EXISTS confirmed (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    at REAL NOT NULL,
    layer TEXT NOT NULL,
    component TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    control INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS revisions (
    layer TEXT NOT NULL,
    component TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (layer, component)
) WITHOUT ROWID;
{_REVISED.format(event="INSERT", row="NEW")}
{_REVISED.format(event="UPDATE", row="NEW")}
{_REVISED.format(event="DELETE", row="OLD")}
CREATE TABLE IF NOT EXISTS software (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
);
CREATE TABLE IF NOT EXISTS days (
    layer TEXT NOT NULL,
    component TEXT NOT NULL,
    operation TEXT NOT NULL,
    scenario TEXT NOT NULL,
    partner TEXT NOT NULL,
    month INTEGER NOT NULL,
    figures BLOB NOT NULL,
    PRIMARY KEY (layer, component, operation, scenario, partner, month)
) WITHOUT ROWID;
-- of a console alone: its nodes, their clocks, what people note, and what logs say of jobs
CREATE TABLE IF NOT EXISTS collected (
    node TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    answered_at REAL,
    tried_at REAL,
    trouble TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS clocks (
    node TEXT PRIMARY KEY, at REAL NOT NULL, ahead_s REAL NOT NULL, within_s REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS pruned (at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS notes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, text TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS job_traffic (
    job TEXT NOT NULL, target TEXT NOT NULL, operation TEXT NOT NULL, bytes REAL NOT NULL,
    begin REAL NOT NULL, end REAL NOT NULL, source TEXT NOT NULL, small REAL, unaligned REAL,
    PRIMARY KEY (job, target, operation, source, begin)
);
CREATE INDEX IF NOT EXISTS job_traffic_end ON job_traffic (end);
"""

_DAMAGED = (
    "it is damaged; move it aside (mv {path} {path}.damaged), run the probe again, and recover "
    "the records with: sqlite3 {path}.damaged .recover"
)
_REMEDIES = {
    "disk is full": "no space is left on {folder}; free some: all earlier records are kept",
    # a full disk has no room for SQLite's shared index either, and then says this
    "disk I/O error": "{folder} is full, or cannot be read or written; free some space, or look "
    "at its disk and the kernel log",
    "not a database": _DAMAGED,
    "malformed": _DAMAGED,
    "readonly": "it may not be written; run as the user plumbline or root, and see in the kernel "
    "log why {folder} is mounted read-only if it is",
    "unable to open": "it cannot be opened; see that {folder} exists, and run as the user "
    "plumbline or root",
    "locked": "another process keeps it locked; end that process and run again",
}
"""Remedies, by a part of SQLite's own message (sqlite.org/rescode.html, sqlite3_errstr)."""


_Store = TypeVar("_Store", bound="Store")
_Row = TypeVar("_Row")

Component = tuple[str, str]
"""Layer and name."""


class Selection(NamedTuple):
    """Selection of records; None takes all.  The span of starts is in seconds since the epoch."""

    layer: Optional[str] = None
    component: Optional[str] = None
    since: Optional[float] = None
    run_id: Optional[str] = None
    until: Optional[float] = None


_SPAN = {"since": "started_at >= ?", "until": "started_at <= ?"}


class Store:
    """One SQLite file, which is closed at the end of its ``with``.

    Each statement is a transaction, but for those :meth:`together`.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, and make it with its tables where there is none.

        Raises:
            StoreError: it cannot be opened, is damaged, or has another schema.
        """
        self.path = path
        is_new = not path.exists()
        with self._trouble():
            _refuse_link(path)
            self._connection = sqlite3.connect(
                str(path), timeout=_BUSY_WAIT_S, isolation_level=None
            )
        try:
            self._prepare(is_new)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self: _Store) -> _Store:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; everything is on the disk already."""
        self._connection.close()

    def change(self, statement: str, values: Sequence[object] = ()) -> int:
        """Carry out a statement for good and return the number of rows that it touched."""
        with self._trouble():
            return self._connection.execute(statement, values).rowcount

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make all changes inside it for good at its end, or none of them."""
        with self._trouble():
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with self._trouble():
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.rollback()

    def rows(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query."""
        with self._trouble(), closing(self._connection.execute(query, values)) as cursor:
            yield from cursor

    def table(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query that has few, at once."""
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._sentence(error) from error

    def select(self, kind: Callable[..., _Row], rest: str, *values: object) -> list[_Row]:
        """Return rows as named tuples with a field for each column; ``rest`` is behind SELECT."""
        columns = ", ".join(vars(kind)["_fields"])
        return [kind(*row) for row in self.table(f"SELECT {columns} {rest}", values)]

    def records(self, selection: Selection) -> Iterator[Record]:
        """Yield the selected records in the order of their arrival.

        Raises:
            StoreError: the file cannot be read.
            DocumentError: a record is damaged.
        """
        chosen = {name: value for name, value in selection._asdict().items() if value is not None}
        tests = [_SPAN.get(name, f"{name} = ?") for name in chosen]
        where = f"WHERE {' AND '.join(tests)}" if tests else ""
        # the names are those of Selection's own fields, the values are bound
        query = f"SELECT body FROM records {where} ORDER BY seq"
        for (body,) in self.rows(query, tuple(chosen.values())):
            yield read_record(body, self.path)

    def revisions_of(self, components: Iterable[Component]) -> dict[Component, int]:
        """Return how often the records of components have changed; 0 where nothing has yet."""
        query = "SELECT ifnull(max(revision), 0) FROM revisions WHERE layer = ? AND component = ?"
        return {place: self.table(query, place)[0][0] for place in components}

    def _prepare(self, is_new: bool) -> None:
        with self._trouble():
            if not self._schema():
                with _alone_in(self.path.parent):
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    self._create()
            schema = self._schema()
        if schema != SCHEMA:
            raise StoreError(
                f"history {self.path} has schema {schema}, this version of plumbline reads "
                f"{SCHEMA}; update plumbline on this host, or move the file aside "
                f"(mv {self.path} {self.path}.other)"
            )
        if is_new:
            with self._trouble():
                keep_owner(self.path, 0o640)

    def _schema(self) -> int:
        ((schema,),) = self._connection.execute("PRAGMA user_version")
        return int(schema)

    def _create(self) -> None:
        """Make the tables, once, also when two runs meet a database at the same moment."""
        self._connection.execute("BEGIN IMMEDIATE")
        for statement in _TABLES.split(";\n"):
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA user_version = {SCHEMA}")
        self._connection.execute("COMMIT")

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """Turn what SQLite says into a sentence with a remedy."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self._sentence(error) from error

    def _sentence(self, error: Exception) -> StoreError:
        return StoreError(f"history {self.path}: {_remedy(str(error), self.path)}")


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Let one process at a time begin a database: SQLite does not wait to change its journal."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def keep_owner(path: Path, mode: Optional[int] = None) -> None:
    """Give a new file that root has made to the owner of its directory: the user of the probes.

    Raises:
        OSError: it is no plain file with one name any more; that owner may have exchanged it.
    """
    if os.geteuid() != 0:
        if mode is not None:
            os.chmod(path, mode)
        return
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        result = os.fstat(descriptor)
        if not S_ISREG(result.st_mode) or result.st_nlink != 1:
            raise OSError(errno.EPERM, "it is no plain file with one name", str(path))
        # fchmod and fchown take no such descriptor
        opened, directory = f"/proc/self/fd/{descriptor}", path.parent.stat()
        if mode is not None:
            os.chmod(opened, mode)
        os.chown(opened, directory.st_uid, directory.st_gid)
    finally:
        os.close(descriptor)


def _refuse_link(path: Path) -> None:
    """Raise OSError where root would follow a link of somebody else to the file."""
    if os.geteuid() == 0 and path.is_symlink() and path.lstat().st_uid != 0:
        raise OSError(errno.ELOOP, "it is a symbolic link that root has not made", str(path))


def _remedy(message: str, path: Path) -> str:
    for part, remedy in _REMEDIES.items():
        if part in message:
            return remedy.format(path=path, folder=path.parent)
    return f"{message}; see that {path.parent} is in order"


RECORD = (
    "INTO records (id, run_id, layer, component, operation, scenario, partner, "
    "outcome, started_at, rate, coverage, flags, body) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
"""Text after the word INSERT, for the values of :func:`row`."""


RUNNING = (
    "SELECT layer, component, since, process, interrupted FROM running ORDER BY layer, component"
)
"""Rows for :func:`running`."""


def compact(document: dict[str, Any]) -> str:
    """Return a document as JSON without blanks."""
    return json.dumps(document, separators=(",", ":"))


def series_of(record: Record) -> tuple[str, str, str, str, str]:
    """Return what tells the series of a record, as the tables have it."""
    step = record.operation.value, record.scenario.value
    return (record.layer, record.component, *step, record.partner or "")


def row(record: Record, kept: Callable[[str], object] = str) -> tuple[object, ...]:
    """Return the values of a record for the statement ``RECORD``; ``kept`` is how its text is."""
    return (
        record.id,
        record.run_id,
        *series_of(record),
        record.outcome.value,
        record.started_at,
        record.rate,
        record.coverage,
        " ".join(flag.value for flag in record.flags),
        kept(compact(record.to_json())),
    )


def read_record(body: object, history: Path) -> Record:
    """Return the record that stands in a history; raise DocumentError when it is damaged."""
    try:
        return Record.from_json(read_json(inflated(body)))
    except (ValueError, DocumentError) as error:
        raise DocumentError(
            f"history {history} holds a damaged record: {error}; measure again to have a sound one "
            "after it"
        ) from error


def running(row: tuple[Any, ...]) -> Running:
    """Return what a row of the query ``RUNNING`` says; raise DocumentError when it is damaged."""
    layer, component, since, process, interrupted = row
    try:
        document = [layer, component, since, read_json(str(process)), bool(interrupted)]
        return read(Running, document)
    except (ValueError, TypeError) as error:
        raise DocumentError(
            f"the history's note of a run of {layer} {component} is damaged: {error}; probe it "
            "again to replace it"
        ) from error
