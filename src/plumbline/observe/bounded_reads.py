"""Read files that may hang in the kernel, in a child that is left behind where one does.

A child reads file after file and hands each one over.  Where nothing comes in time it is killed and
no longer waited for, and a new one reads on behind the file.  As long as the killed one is there,
nothing in the folder of its file is asked for again, so that children do not pile up.
"""

from __future__ import annotations

import os
import select
import signal
import struct
from contextlib import suppress
from typing import Callable, Iterator, NamedTuple, NoReturn, Sequence

from plumbline.observe.command import Clock

_MOST_BYTES = 1 << 20
"""Of a file; the statistics of a target have some 10 KiB."""
_MOST_STUCK = 16
"""Children that hang at once: with more, nothing is read before one of them comes back."""
_HEAD = struct.Struct("=cI")
_CHUNK = 1 << 16

Read = Callable[[str], bytes]


class Answer(NamedTuple):
    """Result of reading a file: its text, or why there is none.

    ``trouble`` is empty, absent, denied, failed, lost (its reader was ended), timeout (it hangs
    now) or hung (a file of its folder does).
    """

    path: str
    text: str
    trouble: str = ""


_TROUBLES = {b"o": "", b"a": "absent", b"d": "denied", b"f": "failed"}


class BoundedReads:
    """Reads files, each within some seconds, and remembers which of them hang."""

    def __init__(self, clock: Clock, deadline_s: float = 1.0) -> None:
        """Take how long one file may take."""
        self._clock = clock
        self._deadline_s = deadline_s
        self._stuck: dict[str, int] = {}

    def texts(self, paths: Sequence[str]) -> Iterator[Answer]:
        """Yield the text of each file."""
        return self._answers(paths, _text)

    def names(self, folders: Sequence[str]) -> Iterator[Answer]:
        """Yield the names in each folder, one a line."""
        return self._answers(folders, _names)

    def _answers(self, paths: Sequence[str], read: Read) -> Iterator[Answer]:
        self._stuck = {folder: pid for folder, pid in self._stuck.items() if not _over(pid)}
        remaining = list(paths)
        while remaining:
            blocked = [path for path in remaining if self._is_blocked(path)]
            yield from (Answer(path, "", "hung") for path in blocked)
            remaining = [path for path in remaining if path not in blocked]
            answered = 0
            for answer in self._of_child(remaining, read):
                answered += 1
                yield answer
            remaining = remaining[answered:]

    def _is_blocked(self, path: str) -> bool:
        return os.path.dirname(path) in self._stuck or len(self._stuck) >= _MOST_STUCK

    def _of_child(self, paths: Sequence[str], read: Read) -> Iterator[Answer]:
        """Yield what a child reads, up to the first file that gives it no answer."""
        if not paths:
            return
        pid, reader = _begin(paths, read)
        pipe = _Pipe(reader, self._clock)
        try:
            for path in paths:
                trouble, text = pipe.message(self._deadline_s)
                yield Answer(path, text, trouble)
                if trouble == "timeout":
                    self._stuck[os.path.dirname(path)] = pid
                if trouble in ("timeout", "lost"):
                    return
        finally:
            os.close(reader)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            if pid not in self._stuck.values():
                os.waitpid(pid, 0)


class _Pipe:
    """Messages of a child, one a file."""

    def __init__(self, reader: int, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._taken = bytearray()

    def message(self, limit_s: float) -> tuple[str, str]:
        """Return trouble and text of the next file; wait so many seconds at most."""
        deadline = self._clock.monotonic() + limit_s
        try:
            kind, length = _HEAD.unpack(self._bytes(_HEAD.size, deadline))
            return _TROUBLES[kind], self._bytes(length, deadline).decode("utf-8", "replace")
        except TimeoutError:
            return "timeout", ""
        except EOFError:
            return "lost", ""

    def _bytes(self, count: int, deadline: float) -> bytes:
        while len(self._taken) < count:
            wait_s = deadline - self._clock.monotonic()
            if not select.select([self._reader], [], [], max(0.0, wait_s))[0]:
                raise TimeoutError
            chunk = os.read(self._reader, _CHUNK)
            if not chunk:
                raise EOFError
            self._taken += chunk
        part = bytes(self._taken[:count])
        del self._taken[:count]
        return part


def _begin(paths: Sequence[str], read: Read) -> tuple[int, int]:
    """Start a child that reads; return its number and where its messages come from."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _serve(paths, read, writer)
    os.close(writer)
    return pid, reader


def _serve(paths: Sequence[str], read: Read, writer: int) -> NoReturn:
    """Read each file in turn and end, in a child that runs nothing else of this program."""
    try:
        for path in paths:
            kind, body = _message(path, read)
            _write(writer, _HEAD.pack(kind, len(body)) + body)
    finally:
        # whatever happens: a child never goes on as if it were its parent
        os._exit(0)


def _message(path: str, read: Read) -> tuple[bytes, bytes]:
    try:
        return b"o", read(path)[:_MOST_BYTES]
    except (FileNotFoundError, NotADirectoryError):
        return b"a", b""
    except PermissionError:
        return b"d", b""
    except OSError:
        return b"f", b""


def _text(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        text = b""
        while len(text) < _MOST_BYTES and (chunk := file.read(_CHUNK)):
            text += chunk
    return text


def _names(path: str) -> bytes:
    return "\n".join(sorted(os.listdir(path))).encode("utf-8", "replace")


def _write(writer: int, message: bytes) -> None:
    while message:
        message = message[os.write(writer, message) :]


def _over(pid: int) -> bool:
    """Return whether a killed child has ended."""
    return os.waitpid(pid, os.WNOHANG)[0] == pid
