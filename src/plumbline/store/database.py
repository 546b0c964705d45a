"""The SQLite file under the history: opening, making its tables, and what to do when it fails."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Any, Iterable, Iterator, Optional, Sequence, TypeVar

from plumbline.errors import StoreError
from plumbline.store.revisions import KEPT
from plumbline.store.thinned import THINNED

SCHEMA = 7

_BUSY_WAIT_S = 30.0
# With all that a sample takes, so that none needs the row itself, which is twenty times as long.
_SERIES = """CREATE INDEX records_series ON records (
    layer, component, operation, scenario, partner, seq,
    run_id, started_at, rate_Bps, coverage, flags
)"""
_EVIDENCE = """CREATE TABLE evidence (
    layer TEXT NOT NULL,
    name TEXT NOT NULL,
    is_group INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (layer, name, is_group)
);"""
_CONFIRMED = """CREATE TABLE confirmed (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    at REAL NOT NULL,
    layer TEXT NOT NULL,
    component TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    control INTEGER NOT NULL
);"""
_TABLES = f"""
CREATE TABLE records (
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
    rate_Bps REAL,
    coverage REAL,
    flags TEXT NOT NULL,
    body TEXT NOT NULL
);
{_SERIES};
CREATE INDEX records_run ON records (run_id, layer, operation, scenario);
CREATE INDEX records_started ON records (started_at);
CREATE TABLE running (
    layer TEXT NOT NULL,
    component TEXT NOT NULL,
    since REAL NOT NULL,
    run_id TEXT NOT NULL,
    process TEXT NOT NULL DEFAULT 'null',
    interrupted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (layer, component)
);
CREATE TABLE verdicts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    judged_at REAL NOT NULL,
    layer TEXT NOT NULL,
    component TEXT NOT NULL,
    state TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX verdicts_component ON verdicts (layer, component, seq);
{_EVIDENCE}
{_CONFIRMED}
{KEPT}
{THINNED}
"""
_FROM_1 = f"""
ALTER TABLE records ADD COLUMN flags TEXT NOT NULL DEFAULT '';
DROP INDEX records_series;
{_SERIES};
"""
_FROM_4 = f"{KEPT}\n{THINNED}\n"
_FROM_3 = f"""{_EVIDENCE}
{_CONFIRMED}
{_FROM_4}
"""
_FROM_2 = f"""
ALTER TABLE running ADD COLUMN process TEXT NOT NULL DEFAULT 'null';
ALTER TABLE running ADD COLUMN interrupted INTEGER NOT NULL DEFAULT 0;
{_FROM_3}
"""
_CHANGES = (_TABLES, f"{_FROM_1}{_FROM_2}", _FROM_2, _FROM_3, _FROM_4, THINNED, "")
"""What makes the tables of today out of those of a schema; 0 has none, 7 deflates in a console."""

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
"""What to do, by a part of SQLite's own message (sqlite.org/rescode.html, sqlite3_errstr)."""


class Database:
    """One SQLite file in which each statement is a transaction, but for those :meth:`together`."""

    def __init__(self, path: Path) -> None:
        """Open the file, and make it with its tables where there is none.

        Raises:
            StoreError: it cannot be opened, is damaged, or was written by a newer plumbline.
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

    def close(self) -> None:
        """Close the file; everything is on the disk already."""
        self._connection.close()

    def change(self, statement: str, values: Sequence[object]) -> int:
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

    def rows(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[object, ...]]:
        """Yield the rows of a query."""
        with self._trouble(), closing(self._connection.execute(query, values)) as cursor:
            yield from cursor

    def table(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query that has few, at once."""
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._sentence(error) from error

    def has(self, table: str) -> bool:
        """Return whether there is such a table."""
        return bool(self.table("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)))

    def _prepare(self, is_new: bool) -> None:
        with self._trouble():
            (schema,) = self._connection.execute("PRAGMA user_version").fetchone()
            if schema < SCHEMA:
                with _alone_in(self.path.parent):
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    self._create()
        if schema > SCHEMA:
            raise StoreError(
                f"history {self.path} has schema {schema}, this version of plumbline writes "
                f"{SCHEMA}; update plumbline on this host"
            )
        if is_new:
            with self._trouble():
                keep_owner(self.path, 0o640)

    def _create(self) -> None:
        """Make or mend the tables, once, also when two runs meet a database at the same moment."""
        self._connection.execute("BEGIN IMMEDIATE")
        (schema,) = self._connection.execute("PRAGMA user_version").fetchone()
        if schema < SCHEMA:
            for statement in _CHANGES[schema].split(";\n"):
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


_Store = TypeVar("_Store", bound="Store")

Component = tuple[str, str]
"""Layer and name."""


class Store:
    """A view of one database, which is closed at the end of its ``with``."""

    def __init__(self, path: Path) -> None:
        """Open the file, and begin it where there is none; raise StoreError if that fails."""
        self.path = path
        self._database = Database(path)

    def __enter__(self: _Store) -> _Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def revisions(self) -> dict[Component, int]:
        """Return how often the records of each component have changed."""
        rows = self._database.table("SELECT layer, component, revision FROM revisions")
        return {(layer, component): revision for layer, component, revision in rows}

    def revisions_of(self, components: Iterable[Component]) -> dict[Component, int]:
        """Return the same of some components; 0 where nothing has changed yet."""
        query = "SELECT ifnull(max(revision), 0) FROM revisions WHERE layer = ? AND component = ?"
        return {place: self._database.table(query, place)[0][0] for place in components}


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
        found = os.fstat(descriptor)
        if not S_ISREG(found.st_mode) or found.st_nlink != 1:
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
