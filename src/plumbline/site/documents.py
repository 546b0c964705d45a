"""Records and verdicts read from the JSON of ``plumbline history`` and ``plumbline judge``."""

from __future__ import annotations

import json
import sys
import time
from io import TextIOWrapper
from typing import Annotated, Any, Iterator, NamedTuple, Optional, Sequence, TextIO

from plumbline.model.codec import form, lenient, read_document
from plumbline.model.errors import DocumentError
from plumbline.model.record import Record
from plumbline.model.validation import read_json, refuse_constant, times
from plumbline.model.verdict import Judged, Verdict
from plumbline.observe.given import given_lines, open_given, read_given

STANDARD_INPUT = "-"

_MAX_BYTES = 512 << 20
"""Above the verdicts and the plan of the largest site."""

_SHOWN_EVERY = 10_000
_WRITE_RECORDS = "write the file with `plumbline history --json`"


def read_records(files: Sequence[str]) -> Iterator[Record]:
    """Yield the records of all files, ``-`` for standard input; show progress on a terminal.

    Raises:
        DocumentError: a record cannot be read; the message names file and line.
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
            with TextIOWrapper(open_given(name), encoding="utf-8") as stream:
                yield from _parse_lines(name, stream)
        except OSError as error:
            raise DocumentError(
                f"records {name} cannot be read: {error.strerror}; {_WRITE_RECORDS}"
            ) from error
        except UnicodeDecodeError as error:
            raise DocumentError(f"records {name} are no UTF-8 text; {_WRITE_RECORDS}") from error


def _parse_lines(name: str, stream: TextIO) -> Iterator[Record]:
    for number, line in enumerate(given_lines(stream), 1):
        if not line.strip():
            continue
        try:
            yield Record.from_json(read_json(line))
        except (ValueError, DocumentError) as error:
            raise DocumentError(
                f"{name} line {number} is no record: {error}; {_WRITE_RECORDS}"
            ) from error


_REMEDY = "write it again with: plumbline judge --json"


@lenient
@form(2, "document of verdicts", _REMEDY)
class VerdictDocument(NamedTuple):
    """Verdicts of one node; without ``judged_at`` they count as judged now, as by a check."""

    node: str
    verdicts: tuple[Verdict, ...]
    judged_at: Optional[Annotated[float, times]] = None


def read_verdicts(name: str) -> Iterator[Judged]:
    """Yield the verdicts of a file, which may have several documents; ``-`` is standard input.

    Raises:
        DocumentError: the file cannot be read or parsed; the message names it and the remedy.
    """
    for raw in _documents(name):
        document = read_document(VerdictDocument, raw, name)
        judged_at = time.time() if document.judged_at is None else document.judged_at
        for verdict in document.verdicts:
            yield Judged(document.node, judged_at, verdict)


def _documents(name: str) -> Iterator[Any]:
    """Yield the JSON documents of a file, one after the other."""
    decoder = json.JSONDecoder(parse_constant=refuse_constant)
    text = read_text(name, _REMEDY).rstrip()
    if not text:
        raise DocumentError(f"{name} is empty; {_REMEDY}")
    position = 0
    try:
        while position < len(text):
            while text[position].isspace():
                position += 1
            document, position = decoder.raw_decode(text, position)
            yield document
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{name} is damaged ({error}); {_REMEDY}") from error


def read_text(name: str, remedy: str) -> str:
    """Return the text of a file, or of standard input for ``-``; raise DocumentError."""
    try:
        if name == STANDARD_INPUT:
            return sys.stdin.read()
        return read_given(name, _MAX_BYTES).decode("utf-8")
    except OSError as error:
        raise DocumentError(f"{name} cannot be read: {error.strerror}; {remedy}") from error
    except UnicodeDecodeError as error:
        raise DocumentError(f"{name} is no UTF-8 text (byte {error.start}); {remedy}") from error
