"""Ask one node for its records, through any command that connects to ``plumbline export`` there.

The other side is not believed: lines, answers and time are bounded, and each record is checked.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from contextlib import suppress
from types import TracebackType
from typing import IO, Any, NamedTuple, Optional, Sequence

from plumbline.model.errors import DocumentError, PlumblineError, ToolError
from plumbline.model.exchange import MOST_RECORDS, Cursor, Head, Request
from plumbline.model.record import SCHEMA, Record
from plumbline.model.units import LARGEST
from plumbline.model.validation import read_json
from plumbline.model.validation import whole_text as whole

_LONGEST_LINE = 16 << 20
_MOST_COMPLAINTS = 1 << 16
_MOST_DIGITS = 20
_GRACE_S = 2.0


class Unreachable(ToolError):
    """A node did not answer, or not so that it can be understood; the message says why."""


class Answer(NamedTuple):
    """One answer of a node.

    ``cursor`` is the place of the last record, None where there was none; ``damaged`` says of each
    record that cannot be kept which it is and why.
    """

    head: Head
    records: tuple[Record, ...]
    cursor: Optional[Cursor]
    more: bool
    damaged: tuple[str, ...]


class Conversation:
    """A connection to one node; use it in a ``with``, which ends it in any case."""

    def __init__(self, argv: Sequence[str], limit_s: float) -> None:
        """Start the command; after ``limit_s`` seconds it is ended, whatever it does.

        Raises:
            ToolError: it is not installed or cannot be started, or nothing can watch over it.
        """
        self._limit_s = limit_s
        self._late = False
        self._complaints = os.memfd_create("stderr")
        try:
            self._process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                start_new_session=True,
            )
        except OSError as error:
            os.close(self._complaints)
            raise ToolError(f"{argv[0]} cannot be started: {error.strerror}") from error
        self._alarm = threading.Timer(limit_s, self._ring)
        self._alarm.daemon = True
        try:
            self._alarm.start()
        except RuntimeError as error:
            self.kill()
            self.__exit__(None, None, None)
            raise ToolError(
                f"no thread can be had to watch {argv[0]}; ask fewer at once"
            ) from error

    def __enter__(self) -> Conversation:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._alarm.cancel()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                _open(stream).close()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_S)
        os.close(self._complaints)

    def kill(self) -> None:
        """End the command and what it has started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def ask(self, request: Request) -> Answer:
        """Return the answer to a request.

        Raises:
            Unreachable: there is none, it was cut, or it is not understood.
        """
        try:
            stream = _open(self._process.stdin)
            stream.write(json.dumps(request.to_json()).encode() + b"\n")
            stream.flush()
        except OSError as error:
            raise self._silence() from error
        try:
            return self._answer(request)
        except DocumentError as error:
            raise Unreachable(whole(str(error))) from error

    def _answer(self, request: Request) -> Answer:
        head = Head.from_json(self._line())
        cursor = Cursor() if head.again else request.after
        records: list[Record] = []
        damaged: list[str] = []
        last: Optional[Cursor] = None
        while isinstance(line := self._line(), list):
            place = _place(line, last or cursor)
            if len(records) + len(damaged) == MOST_RECORDS:
                raise DocumentError(f"it sent more than the {MOST_RECORDS} records asked for")
            try:
                records.append(_record(line[1]))
                last = Cursor(place, records[-1].id)
            except DocumentError as error:
                damaged.append(whole(str(error)))
                last = Cursor(place)
        if not isinstance(line, dict) or line.get("end") != len(records) + len(damaged):
            raise DocumentError(f"its answer was cut: it ends with {line!r:.80}")
        return Answer(head, tuple(records), last, line.get("more") is True, tuple(damaged))

    def _line(self) -> Any:
        text = _open(self._process.stdout).readline(_LONGEST_LINE)
        if not text.endswith(b"\n"):
            if len(text) == _LONGEST_LINE:
                raise DocumentError(f"it sent a line of more than {_LONGEST_LINE} bytes")
            raise self._silence()
        try:
            return read_json(text)
        except ValueError:
            return _unreadable(text)

    def _silence(self) -> PlumblineError:
        """Return why there is no more to read."""
        if self._late:
            return Unreachable(f"it did not finish within {self._limit_s:g} s")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_S)
        said = os.pread(self._complaints, _MOST_COMPLAINTS, 0).decode("utf-8", "replace")
        last = next((line for line in reversed(said.splitlines()) if line.strip()), "")
        code = self._process.poll()
        ended = "ended without an answer" if code is None else f"ended with code {code}"
        return Unreachable(last.strip()[:300] or f"the connection {ended}")

    def _ring(self) -> None:
        self._late = True
        self.kill()


def _open(stream: Optional[IO[bytes]]) -> IO[bytes]:
    assert stream is not None
    return stream


def _unreadable(text: bytes) -> list[Any]:
    """Return what stands for a record that is no JSON; raise DocumentError for anything else."""
    place, comma, _ = text.partition(b",")
    if comma and place[:1] == b"[" and place[1:].isdigit() and len(place) <= _MOST_DIGITS:
        return [int(place[1:]), None]
    raise DocumentError(f"its answer begins with {text[:80].decode('utf-8', 'replace')!r}")


def _place(line: list[Any], before: Cursor) -> int:
    """Return the place of a record; raise DocumentError when it cannot follow ``before``."""
    if len(line) != 2 or type(line[0]) is not int or not before.seq < line[0] <= LARGEST:
        raise DocumentError(f"its answer is damaged at {line!r:.80}")
    return int(line[0])


def _record(raw: Any) -> Record:
    """Return a record; raise DocumentError when it is damaged, Unreachable when it is too new."""
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
