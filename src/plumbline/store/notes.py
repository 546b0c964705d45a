"""What people noted in the history of a console: upgrades, repairs, anything with a date.

A note is one row of a table of its own, so it neither waits for a collection for long nor disturbs
one.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from plumbline.model.trend import Note
from plumbline.store.database import Database

_TABLE = (
    "CREATE TABLE IF NOT EXISTS notes (seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, "
    "text TEXT NOT NULL)"
)


def add_note(path: Path, note: Note) -> None:
    """Keep a note for good, in a history that may not be there yet; raise StoreError if not."""
    with closing(Database(path)) as database:
        database.change(_TABLE, ())
        database.change("INSERT INTO notes (at, text) VALUES (?, ?)", note)


def read_notes(path: Path) -> tuple[Note, ...]:
    """Return all notes of a history, by their dates; raise StoreError when it cannot be read."""
    with closing(Database(path)) as database:
        there = database.has("notes")
        rows = database.table("SELECT at, text FROM notes ORDER BY at, seq") if there else []
    return tuple(Note(at, text) for at, text in rows)
