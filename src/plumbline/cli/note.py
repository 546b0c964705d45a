"""``plumbline note``: record an event of a site, marked in the report."""

from __future__ import annotations

import argparse
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Optional

from plumbline.cli.options import common, option, parse_date
from plumbline.model.errors import UsageError

_LONGEST = 500


HELP = "record an event of the site, such as an upgrade"
DESCRIPTION = """Keep a note with its date in the history of the console; plumbline report marks
it. Without a text, show all notes."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("text", nargs="?", help='for example "Lustre 2.15.8"')
    option(parser, "--at DATE", "date, such as 2026-11-20 or 2026-11-20T14:00 (default: now)")
    common(parser, "--site-history", "--json")


def run(arguments: argparse.Namespace) -> int:
    """Keep the note, or print all of them, and return 0."""
    from plumbline.model.command import lines
    from plumbline.model.trend import Note
    from plumbline.store.collection import add_note

    path = Path(arguments.history)
    if arguments.text is None:
        if arguments.at:
            raise UsageError('--at needs the text of the note, for example "Lustre 2.15.8"')
        _print(path, as_json=arguments.json)
        return 0
    text = " ".join(" ".join(lines(arguments.text)).split())
    if not text or len(text) > _LONGEST:
        raise UsageError(f"a note has between 1 and {_LONGEST} characters; shorten it")
    add_note(path, Note(_moment(arguments.at), text))
    if arguments.json:
        _print(path, as_json=True)
    return 0


def _moment(at: Optional[str]) -> float:
    """Return seconds since the epoch; a time without a zone is that of this host."""
    return time.time() if at is None else parse_date(at, "--at").timestamp()


def _print(path: Path, *, as_json: bool) -> None:
    import json

    from plumbline.doors.table import render
    from plumbline.store.collection import read_notes

    notes = read_notes(path) if path.exists() else ()
    if as_json:
        print(json.dumps([note._asdict() for note in notes]))
        return
    rows = [
        (datetime.fromtimestamp(note.at, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ"), note.text)
        for note in notes
    ]
    print(render(("at", "note"), rows))
