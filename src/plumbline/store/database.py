"""SQLite database of the history: opening, tables, daily figures, error messages.

Records resemble each other: zlib compresses a record of fio from 1,270 bytes to 720, and to 250
with a preset dictionary of typical records (RFC 1950).

Triggers count the changes of each component's records, whatever process writes them.

A row has the daily figures of one series for a month, so that a year of a large site is read in a
second.  Days are in UTC, as in the report.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import sys
import zlib
from array import array
from contextlib import closing, contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional, Sequence, TypeVar

from plumbline.model.codec import compact, read
from plumbline.model.errors import DocumentError, StoreError, reason_in
from plumbline.model.record import Record
from plumbline.model.series import Running
from plumbline.model.units import DAY_S
from plumbline.model.validation import read_json

# Never change it: existing histories depend on it.  Add a second one instead.
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

_MAX_BYTES = 64 << 20
"""Above the size of any record; bounds the memory for a damaged one."""


def deflate(text: str) -> bytes:
    """Compress the text of a record."""
    packer = zlib.compressobj(zlib.Z_BEST_COMPRESSION, zdict=_TYPICAL)
    return packer.compress(text.encode()) + packer.flush()


def inflate(body: object) -> str:
    """Return the text of a record that was stored as text or compressed.

    Empty, and so no JSON, if it is damaged.
    """
    if not isinstance(body, bytes):
        return str(body)
    unpacker = zlib.decompressobj(zdict=_TYPICAL)
    try:
        text = unpacker.decompress(body, _MAX_BYTES)
        return text.decode() if unpacker.eof else ""
    except (zlib.error, UnicodeDecodeError):
        return ""


SERIES = "layer, component, operation, scenario, partner"
"""The columns that identify a series."""

OF_SERIES = "layer = ? AND component = ? AND operation = ? AND scenario = ? AND partner = ?"

FIGURES = f"SELECT figures FROM days WHERE {OF_SERIES} AND month = ?"
"""Query of the row with a series' figures of a month."""

_MONTH_DAYS = 30


class Day(NamedTuple):
    """The runs of one series on one day.

    ``at`` is the start of the last run, in seconds since the epoch; ``rate`` the median of the
    rates, NaN without any; ``software`` the row with host and versions of the last run.
    """

    at: float
    runs: float
    rate: float
    software: float


_WIDTH = len(Day._fields)


def day_of(at: float) -> int:
    """Return the day number of a time."""
    return int(at // DAY_S)


def month_of(at: float) -> int:
    """Return the number of the row with the figures of a time."""
    return day_of(at) // _MONTH_DAYS


def pack_days(days: Iterable[Day]) -> bytes:
    """Encode figures as in a row: numbers of eight bytes, little-endian."""
    values = array("d", (value for day in days for value in day))
    return _to_little_endian(values).tobytes()


def day_columns(rows: Iterable[bytes], *fields: str) -> list[array[float]]:
    """Return the given fields of the figures of rows, each as a column; fast."""
    values = array("d")
    for figures in rows:
        values.frombytes(figures[: len(figures) // (8 * _WIDTH) * (8 * _WIDTH)])
    values = _to_little_endian(values)
    return [values[Day._fields.index(field) :: _WIDTH] for field in fields]


def unpack_days(figures: bytes) -> Iterator[Day]:
    """Decode the figures of a row."""
    return map(Day._make, zip(*day_columns([figures], *Day._fields)))


def _to_little_endian(values: array[float]) -> array[float]:
    if sys.byteorder == "big":
        values.byteswap()
    return values


SCHEMA = 9
"""Never lower than before: states of plumbline 0.1.0 have written 1 to 7."""

_WITHOUT_SOFTWARE = 8
"""Schema whose records have no column of software; a history of it is completed."""

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
    body TEXT NOT NULL,
    -- host and versions; null in records from before the column, whose body has them
    software INTEGER
);
-- with all that a sample takes, so that none needs the row itself, which is twenty times as long
CREATE INDEX IF NOT EXISTS records_series ON records (
    layer, component, operation, scenario, partner, seq,
    run_id, started_at, rate, coverage, flags, software
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
    trouble TEXT NOT NULL,
    -- bytes of new records on a day, since 1970
    day INTEGER NOT NULL DEFAULT 0,
    kept INTEGER NOT NULL DEFAULT 0
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
    # the message if a full disk has no room for SQLite's shared index
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
_Row = TypeVar("_Row", bound=tuple[Any, ...])

Component = tuple[str, str]
"""Layer and name."""


class Selection(NamedTuple):
    """Selection of records; None selects all.  Starts are in seconds since the epoch."""

    layer: Optional[str] = None
    component: Optional[str] = None
    since: Optional[float] = None
    run_id: Optional[str] = None
    until: Optional[float] = None

    def where(self) -> tuple[str, list[object]]:
        """Return the clause of a query, empty without criteria, and its values."""
        spans = {"since": "started_at >= ?", "until": "started_at <= ?"}
        criteria = {name: value for name, value in self._asdict().items() if value is not None}
        conditions = [spans.get(name, f"{name} = ?") for name in criteria]
        return f"WHERE {' AND '.join(conditions)}" if conditions else "", list(criteria.values())


class Store:
    """One SQLite file; a context manager that closes it.

    Each statement is its own transaction, except within :meth:`transaction`.
    """

    def __init__(self, path: Path, *, existing: bool = False) -> None:
        """Open the file, or create it with its tables unless it is to be ``existing``.

        Raises:
            StoreError: it cannot be opened, is damaged, missing, or has another schema.
        """
        self.path = path
        is_new = not path.exists()
        if existing and is_new:
            raise StoreError(
                f"there is no history {path}; name the one that holds the records of all nodes"
            )
        if not is_new and not path.is_file():
            raise StoreError(f"history {path} is no plain file; name the file itself")
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
        """Close the file; all changes are on disk already."""
        self._connection.close()

    def change(self, statement: str, values: Sequence[object] = ()) -> int:
        """Execute and commit a statement; return the number of affected rows."""
        with self._trouble():
            return self._connection.execute(statement, values).rowcount

    @contextmanager
    def transaction(self, kind: str = "IMMEDIATE") -> Iterator[None]:
        """Commit all changes inside together, or none of them.

        For reading, ``kind`` is DEFERRED: all statements see the same state, and are faster.
        """
        with self._trouble():
            self._connection.execute(f"BEGIN {kind}")
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
        """Return all rows of a query with few rows."""
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._sentence(error) from error

    def select(self, kind: type[_Row], rest: str, *values: object) -> list[_Row]:
        """Return rows as named tuples with a field per column; ``rest`` follows in the query."""
        columns = ", ".join(vars(kind)["_fields"])
        return [tuple.__new__(kind, row) for row in self.table(f"SELECT {columns} {rest}", values)]

    def records(self, selection: Selection) -> Iterator[Record]:
        """Yield the selected records in order of arrival.

        Raises:
            StoreError: the file cannot be read.
            DocumentError: a record is damaged.
        """
        where, values = selection.where()
        # the column names are Selection's fields, the values are bound
        for (body,) in self.rows(f"SELECT body FROM records {where} ORDER BY seq", values):
            yield read_record(body, self.path)

    def revisions_of(self, components: Iterable[Component]) -> dict[Component, int]:
        """Return the number of changes of each component's records."""
        query = "SELECT ifnull(max(revision), 0) FROM revisions WHERE layer = ? AND component = ?"
        return {place: self.table(query, place)[0][0] for place in components}

    def revision(self, layers: Sequence[str]) -> int:
        """Return the number of changes of all records of some layers."""
        marks = ", ".join("?" * len(layers))
        query = f"SELECT ifnull(sum(revision), 0) FROM revisions WHERE layer IN ({marks})"
        return int(self.table(query, [*layers])[0][0])

    def _prepare(self, is_new: bool) -> None:
        with self._trouble():
            if self._schema() in (0, _WITHOUT_SOFTWARE):
                with _creation_lock(self.path.parent):
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    self._create()
            schema = self._schema()
        if schema != SCHEMA:
            raise StoreError(self._other_schema(schema))
        if is_new:
            with self._trouble():
                keep_owner(self.path, 0o640)

    def _other_schema(self, schema: int) -> str:
        """Return the sentence on a history of another version."""
        if schema > SCHEMA:
            return (
                f"history {self.path} is of a newer plumbline (schema {schema}, this version reads "
                f"{SCHEMA}); update plumbline on this host"
            )
        return (
            f"history {self.path} is of plumbline 0.1.0 (schema {schema}), which this version does "
            f"not read; move it aside (mv {self.path} {self.path}.0.1.0) and measure again: its "
            "records no longer count, baselines stay in the inventory"
        )

    def _schema(self) -> int:
        ((schema,),) = self._connection.execute("PRAGMA user_version")
        return int(schema)

    def _create(self) -> None:
        """Create the tables once, or complete them, even if two runs start at the same time."""
        self._connection.execute("BEGIN IMMEDIATE")
        if self._schema() == _WITHOUT_SOFTWARE:
            # half a second for 100,000 records
            self._connection.execute("ALTER TABLE records ADD COLUMN software INTEGER")
            self._connection.execute("DROP INDEX records_series")
        for statement in _TABLES.split(";\n"):
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA user_version = {SCHEMA}")
        self._connection.execute("COMMIT")

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """Convert SQLite's errors into StoreError with a remedy."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self._sentence(error) from error

    def _sentence(self, error: Exception) -> StoreError:
        folder, message = self.path.parent, reason_in(error)
        remedies = (remedy for part, remedy in _REMEDIES.items() if part in message)
        remedy = next(remedies, f"{message}; see that {{folder}} is in order")
        return StoreError(f"history {self.path}: {remedy.format(path=self.path, folder=folder)}")


@contextmanager
def _creation_lock(folder: Path) -> Iterator[None]:
    """Lock the creation of a database: SQLite does not wait for a change of the journal mode."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def keep_owner(path: Path, mode: Optional[int] = None) -> None:
    """Give a new file of root to the owner of its directory, the user of the probes.

    Raises:
        OSError: it is no longer a regular file with one name: that owner may have replaced it.
    """
    if os.geteuid() != 0:
        if mode is not None:
            os.chmod(path, mode)
        return
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise OSError(errno.EPERM, "it is no plain file with one name", str(path))
        # fchmod and fchown do not accept an O_PATH descriptor
        descriptor_path, directory = f"/proc/self/fd/{descriptor}", path.parent.stat()
        if mode is not None:
            os.chmod(descriptor_path, mode)
        os.chown(descriptor_path, directory.st_uid, directory.st_gid)
    finally:
        os.close(descriptor)


def _refuse_link(path: Path) -> None:
    """Raise OSError if root would follow another user's link to the file."""
    if os.geteuid() == 0 and path.is_symlink() and path.lstat().st_uid != 0:
        raise OSError(errno.ELOOP, "it is a symbolic link that root has not made", str(path))


SOFTWARE = "INSERT OR IGNORE INTO software (text) VALUES (?)"
"""Statement for the last value of :func:`row`, before that of the record."""

RECORD = (
    "INTO records (id, run_id, layer, component, operation, scenario, partner, "
    "outcome, started_at, rate, coverage, flags, body, software) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT id FROM software WHERE text = ?))"
)
"""Text after the word INSERT, for the values of :func:`row`."""


RUNNING = (
    "SELECT layer, component, since, process, interrupted FROM running ORDER BY layer, component"
)
"""Rows for :func:`running`."""


def series_of(record: Record) -> tuple[str, str, str, str, str]:
    """Return the key of a record's series, as in the tables."""
    step = record.operation.value, record.scenario.value
    return (record.layer, record.component, *step, record.partner or "")


def row(record: Record, encode: Callable[[str], object] = str) -> tuple[object, ...]:
    """Return a record's values for the statement ``RECORD``; ``encode`` is applied to its text."""
    text = compact(record)
    return (
        record.id,
        record.run_id,
        *series_of(record),
        record.outcome.value,
        record.started_at,
        record.rate,
        record.coverage,
        " ".join(flag.value for flag in record.flags),
        encode(text),
        software_of(text),
    )


SOFTWARE_SEPARATOR = "\n"
"""Separates host and versions; JSON without whitespace does not contain it."""


def software_of(body: object) -> str:
    """Return the text of host and versions in a record as stored, much faster than reading it.

    The order of fields is fixed, and quotes in texts are escaped, so that the keys are unambiguous.
    """
    text = inflate(body)
    host = _cut(text, '"host":', ',"started_at":')
    return host + SOFTWARE_SEPARATOR + _cut(text, '"versions":', ',"flags":')


def _cut(text: str, begin: str, end: str) -> str:
    """Return the text from ``begin`` up to ``end``, empty without ``begin``."""
    start = text.find(begin)
    return text[start : text.find(end, start)] if start >= 0 else ""


def read_record(body: object, history: Path) -> Record:
    """Parse a record of a history; raise DocumentError if it is damaged."""
    try:
        return Record.from_json(read_json(inflate(body)))
    except (ValueError, DocumentError) as error:
        raise DocumentError(
            f"history {history} holds a damaged record: {error}; measure again to have a sound one "
            "after it"
        ) from error


def running(row: tuple[Any, ...]) -> Running:
    """Parse a row of the query ``RUNNING``; raise DocumentError if it is damaged."""
    layer, component, since, process, interrupted = row
    try:
        document = [layer, component, since, read_json(str(process)), bool(interrupted)]
        return read(Running, document)
    except (ValueError, TypeError) as error:
        raise DocumentError(
            f"the history's note of a run of {layer} {component} is damaged: {error}; probe it "
            "again to replace it"
        ) from error
