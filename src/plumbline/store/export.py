"""Read a node's history for the console, as a user with read permission only.

The file belongs to the user of the probes.  SQLite can read a database with a write-ahead log only
if the log's index exists or can be created; it exists while a run has the database open.  Otherwise
nobody writes: the file is read as immutable, and read again if it changed nevertheless.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple, Optional
from urllib.parse import quote

from plumbline.model.errors import StoreError, reason_in
from plumbline.model.exchange import Request
from plumbline.model.series import Running
from plumbline.store.database import RUNNING, inflate, running
from plumbline.store.snapshot import mark_interrupted

MAX_BYTES = 2 << 20
"""Limit of records' bytes in one answer; bounds the memory on both sides."""

_TRIES = 20
_BUSY_WAIT_S = 30.0
_ROWS = "SELECT seq, body FROM records WHERE seq > ? AND started_at >= ? ORDER BY seq LIMIT ?"
_EVER = float("-inf")


class Extract(NamedTuple):
    """Records after a cursor as (sequence number, JSON text), and running measurements.

    ``again``: the cursor is not of this history, so the records start from its first one; ``more``:
    further records remain.  Interrupted measurements are left out.
    """

    again: bool
    rows: tuple[tuple[int, str], ...] = ()
    more: bool = False
    running: tuple[Running, ...] = ()


class _Changed(Exception):
    """The file has changed while it was read as immutable."""


def extract(path: Path, request: Request) -> Extract:
    """Return at most ``limit`` records after a cursor, or from the first one if it is unknown.

    Before the first measurement the history is empty.

    Raises:
        StoreError: the history cannot be read.
    """
    try:
        for _ in range(_TRIES):
            with suppress(_Changed):
                return _read(path, request) if path.exists() else Extract(request.after.seq > 0)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"history {path} cannot be read by user id {os.geteuid()}: {reason_in(error)}; see "
            "that it is in the group plumbline, and that plumbline history works there"
        ) from error
    raise StoreError(f"history {path} is being written all the time; try again")


def _read(path: Path, request: Request) -> Extract:
    before = _state(path)
    immutable = before.log is None and not os.access(path.parent, os.W_OK)
    mode = "immutable=1" if immutable else "mode=ro"
    try:
        with closing(
            sqlite3.connect(
                f"file:{quote(str(path.absolute()))}?{mode}",
                uri=True,
                timeout=_BUSY_WAIT_S,
                isolation_level=None,
            )
        ) as connection:
            connection.execute("BEGIN")
            answer = _extract(connection, request)
    except sqlite3.Error as error:
        # a partial write looks damaged, and the log may vanish before the file is opened
        if _state(path) != before:
            raise _Changed from error
        raise
    if immutable and _state(path) != before:
        raise _Changed
    return answer


class _State(NamedTuple):
    """Files of a database; ``log`` is None if it has no write-ahead log."""

    file: tuple[int, ...]
    log: Optional[int]


def _state(path: Path) -> _State:
    status = path.stat()
    try:
        log: Optional[int] = path.with_name(f"{path.name}-wal").stat().st_ino
    except FileNotFoundError:
        log = None
    return _State((status.st_ino, status.st_size, status.st_mtime_ns), log)


def _extract(connection: sqlite3.Connection, request: Request) -> Extract:
    after, limit, since = request[:3]
    (tables,) = connection.execute(
        "SELECT count(*) FROM sqlite_master WHERE name IN ('records', 'running')"
    ).fetchone()
    if not tables:
        return Extract(after.seq > 0)
    last = connection.execute("SELECT id FROM records WHERE seq = ?", (after.seq,)).fetchone()
    # after an unreadable record the cursor has no id
    again = after.seq > 0 and (last is None or after.id not in ("", *last))
    start = _EVER if since is None else since
    query = connection.execute(_ROWS, (0 if again else after.seq, start, limit + 1))
    rows: list[tuple[int, str]] = []
    size, more = 0, False
    for seq, body in query:
        text = inflate(body)
        size += len(text)
        more = len(rows) == limit or bool(rows and size > MAX_BYTES)
        if more:
            break
        rows.append((seq, text))
    running_rows = (mark_interrupted(running(row)) for row in connection.execute(RUNNING))
    alive = tuple(run for run in running_rows if not run.interrupted)
    return Extract(again, tuple(rows), more, alive)
