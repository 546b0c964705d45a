"""Read a history for a console that collects, by a user who may read it and nothing else.

The file belongs to the user of the probes.  SQLite reads a database with a write-ahead log only
where the log's index is there or can be made; it is there as long as a run has the database open.
Otherwise nobody writes, and the file alone is all there is: it is read as one that cannot change,
and read again if it did after all.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Optional
from urllib.parse import quote

from plumbline.model.errors import StoreError
from plumbline.model.exchange import Request
from plumbline.model.series import Running
from plumbline.store.database import RUNNING, inflated, running
from plumbline.store.snapshot import settled

MOST_BYTES = 8 << 20
"""Most bytes of records in one answer, so that neither side needs much memory."""

_TRIES = 20
_BUSY_WAIT_S = 30.0
_ROWS = "SELECT seq, body FROM records WHERE seq > ? AND started_at >= ? ORDER BY seq LIMIT ?"
_EVER = float("-inf")


class Extract(NamedTuple):
    """Records after a cursor as (place, JSON text), and what is being measured.

    ``again`` says that the cursor is not of this history and that the records begin with its first
    one; ``more`` that there are more of them.  What was interrupted is measured no longer.
    """

    again: bool
    rows: tuple[tuple[int, str], ...] = ()
    more: bool = False
    running: tuple[Running, ...] = ()


class _Changed(Exception):
    """The file has changed while it was read as one that cannot change."""


def extract(path: Path, request: Request) -> Extract:
    """Return at most ``limit`` records after a cursor, from the first where it is unknown.

    A node that has measured nothing yet has an empty history.

    Raises:
        StoreError: the history cannot be read.
    """
    for _ in range(_TRIES):
        answer = _try(path, request)
        if answer is not None:
            return answer
    raise StoreError(f"history {path} is being written all the time; try again")


def _try(path: Path, request: Request) -> Optional[Extract]:
    """Return what :func:`extract` does, None when the file has changed meanwhile."""
    try:
        return _read(path, request) if path.exists() else Extract(request.after.seq > 0)
    except _Changed:
        return None
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"history {path} cannot be read by user id {os.geteuid()}: {error}; see that it is "
            "in the group plumbline, and that plumbline history works there"
        ) from error


def _read(path: Path, request: Request) -> Extract:
    before = _state(path)
    still = before.log is None and not os.access(path.parent, os.W_OK)
    mode = "immutable=1" if still else "mode=ro"
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
        # what was half written looks damaged, and a log may go between looking and opening
        if _state(path) != before:
            raise _Changed from error
        raise
    if still and _state(path) != before:
        raise _Changed
    return answer


class _State(NamedTuple):
    """Files of a database; ``log`` is None if it has no write-ahead log."""

    file: tuple[int, ...]
    log: Optional[int]


def _state(path: Path) -> _State:
    result = path.stat()
    try:
        log: Optional[int] = path.with_name(f"{path.name}-wal").stat().st_ino
    except FileNotFoundError:
        log = None
    return _State((result.st_ino, result.st_size, result.st_mtime_ns), log)


def _extract(connection: sqlite3.Connection, request: Request) -> Extract:
    after, limit, since = request[:3]
    (tables,) = connection.execute(
        "SELECT count(*) FROM sqlite_master WHERE name IN ('records', 'running')"
    ).fetchone()
    if not tables:
        return Extract(after.seq > 0)
    last = connection.execute("SELECT id FROM records WHERE seq = ?", (after.seq,)).fetchone()
    # who could not read the record there knows its place alone
    again = after.seq > 0 and (last is None or after.id not in ("", *last))
    begun = _EVER if since is None else since
    query = connection.execute(_ROWS, (0 if again else after.seq, begun, limit + 1))
    rows: list[tuple[int, str]] = []
    size, more = 0, False
    for seq, body in query:
        text = inflated(body)
        size += len(text)
        more = len(rows) == limit or bool(rows and size > MOST_BYTES)
        if more:
            break
        rows.append((seq, text))
    every = (settled(running(row)) for row in connection.execute(RUNNING))
    living = tuple(run for run in every if not run.interrupted)
    return Extract(again, tuple(rows), more, living)
