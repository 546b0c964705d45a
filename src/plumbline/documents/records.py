"""Read records from JSON lines, as ``plumbline history --json`` prints them."""

from __future__ import annotations

import sys
from typing import Iterable, Iterator, Sequence

from plumbline.errors import DocumentError
from plumbline.model.json_text import read_json
from plumbline.model.record import Record

STANDARD_INPUT = "-"

_SHOWN_EVERY = 10_000


def read_records(files: Sequence[str]) -> Iterator[Record]:
    """Yield the records of all files, ``-`` being standard input; a terminal is shown how many.

    Raises:
        DocumentError: what cannot be read, naming file and line.
    """
    shown = sys.stderr.isatty()
    number = 0
    for number, record in enumerate(_all(files), 1):
        if shown and number % _SHOWN_EVERY == 0:
            print(f"\r{number} records read", end="", file=sys.stderr, flush=True)
        yield record
    if shown and number >= _SHOWN_EVERY:
        print(f"\r{number} records read", file=sys.stderr)


def _all(files: Sequence[str]) -> Iterator[Record]:
    for name in files:
        if name == STANDARD_INPUT:
            yield from _parse_lines("standard input", sys.stdin)
            continue
        try:
            with open(name, encoding="utf-8") as stream:
                yield from _parse_lines(name, stream)
        except (OSError, UnicodeDecodeError) as error:
            raise DocumentError(f"records {name} cannot be read: {error}") from error


def _parse_lines(name: str, lines: Iterable[str]) -> Iterator[Record]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield Record.from_json(read_json(line))
        except (ValueError, DocumentError) as error:
            raise DocumentError(
                f"{name} line {number} is no record: {error}; "
                "write the file with `plumbline history --json`"
            ) from error
