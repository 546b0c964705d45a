"""Records and verdicts from JSON lines, as ``plumbline history`` and ``judge`` print them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, Iterable, Iterator, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.record import Record
from plumbline.model.validation import read_json, refuse_constant, texts, times
from plumbline.model.verdict import Judged, Verdict

STANDARD_INPUT = "-"

_SHOWN_EVERY = 10_000


def read_records(files: Sequence[str]) -> Iterator[Record]:
    """Yield the records of all files, ``-`` being standard input; a terminal is shown how many.

    Raises:
        DocumentError: what cannot be read, naming file and line.
    """
    on_terminal = sys.stderr.isatty()
    number = 0
    for number, record in enumerate(_all(files), 1):
        if on_terminal and number % _SHOWN_EVERY == 0:
            print(f"\r{number} records read", end="", file=sys.stderr, flush=True)
        yield record
    if on_terminal and number >= _SHOWN_EVERY:
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


SCHEMA = 2

_REMEDY = "write it again with: plumbline judge --json"


def read_verdicts(name: str) -> Iterator[Judged]:
    """Yield the verdicts of one file, which may hold several documents; ``-`` is standard input.

    Raises:
        DocumentError: what cannot be read or understood, naming the file and the remedy.
    """
    try:
        for document in _documents(name):
            if document["schema"] != SCHEMA:
                raise DocumentError(
                    f"{name}: verdicts of schema {document['schema']!r}, this version reads "
                    f"{SCHEMA}; {_REMEDY}"
                )
            # without the moment it is that of handing over, as for a check that runs now
            judged_at = document.get("judged_at", time.time())
            times(judged_at=judged_at)
            texts("node", (document["node"],))
            for raw in document["verdicts"]:
                yield Judged(document["node"], judged_at, Verdict.from_json(raw))
    except (KeyError, TypeError, AttributeError) as error:
        raise DocumentError(
            f"{name} holds no verdicts of plumbline ({error!r}); {_REMEDY}"
        ) from error


def _documents(name: str) -> Iterator[Any]:
    """Yield the JSON documents of a file, one after the other."""
    decoder = json.JSONDecoder(parse_constant=refuse_constant)
    text = read_text(name, _REMEDY).rstrip()
    if not text:
        raise DocumentError(f"{name} is empty; {_REMEDY}")
    at = 0
    try:
        while at < len(text):
            while text[at].isspace():
                at += 1
            document, at = decoder.raw_decode(text, at)
            yield document
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{name} is damaged ({error}); {_REMEDY}") from error


def read_text(name: str, remedy: str) -> str:
    """Return the text of a file, of standard input for ``-``; raise DocumentError."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise DocumentError(f"{name} cannot be read: {error.strerror}; {remedy}") from error
    except UnicodeDecodeError as error:
        raise DocumentError(f"{name} is no UTF-8 text (byte {error.start}); {remedy}") from error
