"""Conversation with one node: requests, and answers that are read with limits and checked later.

Nodes are not trusted.  An answer is kept as text, whose size is limited; parsed it would take many
times as much memory, so only one is parsed at a time (:mod:`plumbline.site.gather`).
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import threading
from contextlib import suppress
from typing import Any, NamedTuple, Optional, Sequence

from plumbline.model.codec import read_document, write
from plumbline.model.errors import DocumentError, PlumblineError, ToolError
from plumbline.model.exchange import MAX_RECORDS, Cursor, Head, Request
from plumbline.model.record import SCHEMA, Record
from plumbline.model.units import LARGEST, format_size
from plumbline.model.validation import read_json, storable

MAX_ANSWER_BYTES = 12 << 20
"""Limit of an answer: a ledger of 8 MiB, symptoms of 1 MiB, and some megabytes of records."""

_MAX_RECORD_BYTES = 4 << 20
"""Limit of the records in an answer, twice what a node sends (plumbline.store.export)."""

_MAX_PARSED_BYTES = 80_000_000
_LIST_BYTES, _VALUE_BYTES = 200, 60
"""Limit of the memory of a parsed answer, and the most that a list or mapping and another value
take: a list has two characters as text, and the longest honest ledger takes half of the limit."""

_BUFFER_BYTES = 1 << 20
"""Size of a read: the C library gives large blocks back to the system, and keeps small ones."""

_BEGINNING = 64
_MAX_ERROR = 1 << 16
_MAX_COMPLAINTS = 1 << 16
_MAX_DIGITS = 20
_GRACE_S = 2.0


class Unreachable(ToolError):
    """A node did not answer, or its answer is invalid; the message has the reason."""


class Answer(NamedTuple):
    """One answer of a node.

    ``cursor`` is the place of the last record, None if there is none; ``damaged`` has a reason for
    each record that cannot be kept.
    """

    head: Head
    records: tuple[Record, ...]
    cursor: Optional[Cursor]
    more: bool
    damaged: tuple[str, ...]


class RawAnswer(NamedTuple):
    """Text of an answer: its first line, a line for each record, and its last line."""

    head: bytes
    lines: tuple[bytes, ...]
    end: bytes

    @property
    def size(self) -> int:
        """Return the number of bytes."""
        return len(self.head) + sum(map(len, self.lines)) + len(self.end)


class Conversation:
    """A connection to one node; a context manager that ends it."""

    def __init__(
        self, argv: Sequence[str], limit_s: float, most_bytes: int = MAX_ANSWER_BYTES
    ) -> None:
        """Start the command; kill it after ``limit_s`` seconds.

        ``most_bytes`` is the limit of an answer.

        Raises:
            ToolError: it is not installed or cannot be started, or no thread can watch it.
        """
        self._limit_s = limit_s
        self._most_bytes = most_bytes
        self._left_bytes = self._left_parsed = 0
        self._late = False
        self._complaints = _limited_file()
        try:
            self._process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                start_new_session=True,
                bufsize=_BUFFER_BYTES,
            )
        except OSError as error:
            os.close(self._complaints)
            raise ToolError(f"{argv[0]} cannot be started: {error.strerror}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._streams = self._process.stdin, self._process.stdout
        self._alarm = threading.Timer(limit_s, self._ring)
        self._alarm.daemon = True
        try:
            self._alarm.start()
        except RuntimeError as error:
            self.kill()
            self.__exit__()
            raise ToolError(
                f"no thread can be had to watch {argv[0]}; ask fewer at once"
            ) from error

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self._alarm.cancel()
        for stream in self._streams:
            with suppress(OSError):
                stream.close()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_S)
        os.close(self._complaints)

    def kill(self) -> None:
        """Kill the command and its child processes."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def ask(self, request: Request) -> RawAnswer:
        """Return the text of the answer to a request.

        Raises:
            Unreachable: there is no answer, or it is cut or too long.
        """
        try:
            self._streams[0].write(json.dumps(write(request)).encode() + b"\n")
            self._streams[0].flush()
        except OSError as error:
            raise self._silence() from error
        self._left_bytes, self._left_parsed = self._most_bytes, _MAX_PARSED_BYTES
        head = self._line()
        if b'"schema"' not in head[:_BEGINNING]:
            # no answer, such as an error or the greeting of a shell: there may be no more lines
            _parse_head(head[:_MAX_ERROR])
        self._left_bytes = min(self._left_bytes, _MAX_RECORD_BYTES)
        lines: list[bytes] = []
        while (line := self._line()).startswith(b"["):
            lines.append(line)
            if len(lines) > MAX_RECORDS:
                raise Unreachable(f"it sent more than the {MAX_RECORDS} records asked for")
        return RawAnswer(head, tuple(lines), line)

    def _line(self) -> bytes:
        text = self._streams[1].readline(self._left_bytes)
        self._left_bytes -= len(text)
        self._left_parsed -= _LIST_BYTES * (text.count(b"[") + text.count(b"{"))
        self._left_parsed -= _VALUE_BYTES * text.count(b",")
        if self._left_bytes <= 0:
            raise Unreachable(
                f"it sent more than {format_size(self._most_bytes)} in one answer, or more than "
                f"{format_size(_MAX_RECORD_BYTES)} of records"
            )
        if self._left_parsed < 0:
            raise Unreachable("it sent an answer with more values than any node has")
        if not text.endswith(b"\n"):
            raise self._silence()
        return text

    def _silence(self) -> PlumblineError:
        if self._late:
            return Unreachable(f"it did not finish within {self._limit_s:g} s")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_S)
        written = os.pread(self._complaints, _MAX_COMPLAINTS, 0).rstrip(b"\0")
        complaints = written.decode("utf-8", "replace")
        last = next((line for line in reversed(complaints.splitlines()) if line.strip()), "")
        code = self._process.poll()
        ended = "ended without an answer" if code is None else f"ended with code {code}"
        return Unreachable(last.strip()[:300] or f"the connection {ended}")

    def _ring(self) -> None:
        self._late = True
        self.kill()


def _limited_file() -> int:
    """Return the descriptor of a file in memory that does not grow, for what a node complains."""
    descriptor = os.memfd_create("stderr", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, _MAX_COMPLAINTS)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
    return descriptor


def parse_answer(raw: RawAnswer, request: Request) -> Answer:
    """Return the answer to a request from its text.

    Raises:
        Unreachable: it is invalid, or of a newer plumbline.
    """
    head = _parse_head(raw.head)
    try:
        return _parsed(head, raw, request)
    except DocumentError as error:
        raise Unreachable(storable(str(error))) from error


def _parse_head(text: bytes) -> Head:
    """Return the first line of an answer; raise Unreachable if it is none."""
    try:
        first = _parse_line(text)
        if isinstance(first, dict) and "error" in first:
            raise DocumentError(f"it says: {first['error']!s:.500}")
        return read_document(Head, first, "its answer")
    except DocumentError as error:
        raise Unreachable(storable(str(error))) from error


def _parsed(head: Head, raw: RawAnswer, request: Request) -> Answer:
    cursor = Cursor() if head.again else request.after
    records: list[Record] = []
    damaged: list[str] = []
    last: Optional[Cursor] = None
    for text in raw.lines:
        line = _parse_line(text)
        place = _place(line, last or cursor)
        try:
            records.append(_record_of(line[1]))
            last = Cursor(place, records[-1].id)
        except DocumentError as error:
            damaged.append(storable(str(error)))
            last = Cursor(place)
    end = _parse_line(raw.end)
    if not isinstance(end, dict) or end.get("end") != len(raw.lines):
        raise DocumentError(f"its answer was cut: it ends with {end!r:.80}")
    more = end.get("more") is True
    if more and not raw.lines:
        raise DocumentError("it promises more records and sends none")
    return Answer(head, tuple(records), last, more, tuple(damaged))


def _parse_line(text: bytes) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return _unreadable(text)


def _unreadable(text: bytes) -> list[Any]:
    """Return the place of a record that is no JSON, with None; raise DocumentError otherwise."""
    place, comma, _ = text.partition(b",")
    if comma and place[:1] == b"[" and place[1:].isdigit() and len(place) <= _MAX_DIGITS:
        return [int(place[1:]), None]
    raise DocumentError(f"its answer begins with {text[:80].decode('utf-8', 'replace')!r}")


def _place(line: Any, before: Cursor) -> int:
    """Return the place of a record; raise DocumentError if it does not follow ``before``."""
    if not isinstance(line, list):
        raise DocumentError(f"its answer is damaged at {line!r:.80}")
    if len(line) != 2 or type(line[0]) is not int or not before.seq < line[0] <= LARGEST:
        raise DocumentError(f"its answer is damaged at {line!r:.80}")
    return int(line[0])


def _record_of(raw: Any) -> Record:
    """Return a record; raise DocumentError if it is damaged, Unreachable if it is too new."""
    schema = raw.get("schema") if isinstance(raw, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise Unreachable(
            f"it has records of schema {schema}, this plumbline reads {SCHEMA}; "
            "deploy the role console again"
        )
    record = Record.from_json(raw)
    if not record.id:
        raise DocumentError(f"a record of {record.component} has no id")
    return record
