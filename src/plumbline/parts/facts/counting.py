"""Read all Lustre counters of a host, and LNet's health.

lnetctl blocks LNet's messages while it reads, so it runs once a minute; its output is reused in
between.

Files that may hang in the kernel are read by a child process, one after the other.  If a file does
not arrive in time, the child is killed and abandoned, and a new child continues with the next file.
While the killed child still exists, no file in the same folder is read, so that children do not
pile up.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import suppress
from itertools import chain
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Callable, Iterator, Mapping, NamedTuple, NoReturn, Optional, Sequence

from plumbline.model.command import CommandRunner
from plumbline.model.errors import ToolError
from plumbline.model.metric import LOOKED, TIMEOUTS, UNREADABLE
from plumbline.observe.command import Clock, any_abandoned
from plumbline.observe.query import complaint
from plumbline.parts.facts.counters import (
    Count,
    CountersLook,
    Labels,
    Place,
    folders,
    places,
    recovery,
)
from plumbline.parts.facts.lnet_output import (
    INTERFACES,
    MODULE,
    PEER_INTERFACES,
    ROUTES,
    failure_kind,
    interface_health,
    peer_health,
    route_states,
)

MAX_BYTES = 32 << 20
"""Output for 17,000 peers; each takes 1.9 kB at detail 4."""

_COMMANDS: Mapping[str, Place] = {
    " ".join(argv): Place(" ".join(argv), parse, ())
    for argv, parse in (
        (INTERFACES, interface_health),
        (PEER_INTERFACES, peer_health),
        (ROUTES, route_states),
    )
}

_EVERY_S = 60.0
_LIMIT_S = 5.0


class LnetHealth:
    """The last output of lnetctl, and its number of time-outs."""

    def __init__(
        self, runner: CommandRunner, clock: Clock, hangs: Callable[[], bool] = any_abandoned
    ) -> None:
        """Take the runner of commands and the test for a command that cannot be ended."""
        self._runner = runner
        self._clock = clock
        self._hangs = hangs
        self._started_at = -_EVERY_S
        self._answers: tuple[Answer, ...] = ()
        self.timeouts: Counter[str] = Counter()

    def answers(self) -> tuple[Answer, ...]:
        """Return each command's output, at most a minute old, or the reason for its absence."""
        now = self._clock.monotonic()
        if not self._answers or now - self._started_at >= _EVERY_S:
            self._started_at = now
            self._answers = tuple(map(self._ask, _COMMANDS))
        return self._answers

    def _ask(self, path: str) -> Answer:
        if self._hangs():
            return Answer(path, "", "hung")
        try:
            completed = self._runner(path.split(), _LIMIT_S)
        except ToolError as error:
            return Answer(path, str(error), "failed")
        if completed.ok:
            return Answer(path, completed.stdout)
        reason = failure_kind(completed)
        if reason == "timeout":
            self.timeouts[path] += 1
        words = {"denied": f"{path} {_REFUSED}", "failed": complaint(completed)}
        return Answer(path, words.get(reason, ""), reason)


_REASONS = {
    "denied": "may not be read by this user; give the unit CAP_DAC_READ_SEARCH",
    "failed": "cannot be read",
    "lost": "was not read, because its reader was ended from outside; see journalctl -k for memory",
    "timeout": "gave no answer in time and is left out until it does",
    "hung": "is left out, because what was asked before it has given no answer yet",
    "not_understood": "",
}
_REFUSED = (
    "is refused to this user; set counters_lnet_health of the role counters, or ask as root where "
    "Lustre is older than 2.16"
)


class Counters:
    """Lustre's counters of this host; ``root`` is empty, or a copy of another host's files.

    ``lnet`` queries the health of LNet, which is in no file.
    """

    def __init__(
        self, reads: BoundedReads, clock: Clock, root: str = "", lnet: Optional[LnetHealth] = None
    ) -> None:
        self._reads = reads
        self._clock = clock
        self._root = root
        self._lnet = lnet
        self._timeouts: Counter[str] = Counter()

    def look(self) -> CountersLook:
        """Read all files; one that hangs, is refused or not understood does not stop the rest."""
        counts: list[Count] = []
        devices: set[Labels] = set()
        troubles: dict[str, Answer] = {}
        files = {self._root + place.path: place for place in self._places(troubles)}
        sources = {**files, **_COMMANDS}
        for answer in chain(self._reads.texts(list(files)), self._lnet_answers()):
            if answer.trouble:
                self._note(answer, troubles)
                continue
            try:
                file = sources[answer.path]
                # all counts of a file or none: a missing part would look like a lost counter
                counts += list(file.parse(answer.text, file.labels, file.path))
                if file.parse is not recovery:
                    devices.add(file.labels)
            except ToolError as error:
                troubles[answer.path] = Answer(answer.path, str(error), "not_understood")
        counts += self._self_counts(troubles)
        return CountersLook(tuple(counts), tuple(_sentences(troubles)), frozenset(devices))

    def _lnet_answers(self) -> Sequence[Answer]:
        """Return the answers of lnetctl, empty if LNet is not loaded."""
        if self._lnet is None:
            return ()
        (module,) = self._reads.names([self._root + MODULE])
        return () if module.trouble else self._lnet.answers()

    def _places(self, troubles: dict[str, Answer]) -> Iterator[Place]:
        names = {}
        for answer in self._reads.names([self._root + folder for folder in folders()]):
            if answer.trouble:
                self._note(answer, troubles)
            else:
                names[answer.path[len(self._root) :]] = answer.text
        return places(names)

    def _note(self, answer: Answer, troubles: dict[str, Answer]) -> None:
        if answer.trouble == "timeout" and answer.path not in _COMMANDS:
            self._timeouts[answer.path.removeprefix(self._root)] += 1
        if answer.trouble != "absent":
            troubles[answer.path] = answer

    def _self_counts(self, troubles: dict[str, Answer]) -> Iterator[Count]:
        yield Count(LOOKED, (), self._clock.wall())
        of_lnet = self._lnet.timeouts if self._lnet else {}
        for path, times in {**self._timeouts, **of_lnet}.items():
            yield Count(TIMEOUTS, (("file", path),), times)
        # all reasons, also those with 0 files: an alarm rule needs the metric to exist
        reasons = Counter(dict.fromkeys(_REASONS, 0))
        reasons.update(answer.trouble for answer in troubles.values())
        for reason, files in reasons.items():
            yield Count(UNREADABLE, (("reason", reason),), files)


def _sentences(troubles: dict[str, Answer]) -> Iterator[str]:
    """Yield one sentence for each reason, with the first file and the number of others."""
    by_words: dict[str, list[str]] = {}
    for path, text, trouble in sorted(troubles.values()):
        if text:
            yield text
        else:
            by_words.setdefault(_REASONS[trouble], []).append(path)
    for words, paths in by_words.items():
        more = f" ({len(paths) - 1} more files as well)" if paths[1:] else ""
        yield f"{paths[0]} {words}{more}"


_MAX_BYTES = 1 << 20
"""Limit of a file; a target's statistics have about 10 KiB."""
_MAX_STUCK = 16
"""Most hanging children at a time: with more, nothing is read until one of them ends."""
_CHUNK = 1 << 16

Read = Callable[[str], bytes]


class Answer(NamedTuple):
    """Result of reading a file or running a command: its text, or why it cannot be used.

    ``trouble`` is empty, absent, denied, failed, lost (its reader was killed), timeout (the file
    hangs), hung (another file of its folder hangs) or not_understood.  With a trouble, ``text`` is
    the sentence about it, empty for the usual one.
    """

    path: str
    text: str
    trouble: str = ""


_TROUBLES = {b"o": "", b"a": "absent", b"d": "denied", b"f": "failed"}


class BoundedReads:
    """Reads files, each with a time limit, and remembers the folders that hang."""

    def __init__(self, deadline_s: float = 1.0) -> None:
        """Take the time limit for one file."""
        self._deadline_s = deadline_s
        self._stuck: dict[str, int] = {}

    def texts(self, paths: Sequence[str]) -> Iterator[Answer]:
        """Yield the text of each file."""
        return self._answers(paths, _text)

    def names(self, folders: Sequence[str]) -> Iterator[Answer]:
        """Yield the names in each folder, one per line."""
        return self._answers(folders, _names)

    def _answers(self, paths: Sequence[str], read: Read) -> Iterator[Answer]:
        self._stuck = {folder: pid for folder, pid in self._stuck.items() if not _has_ended(pid)}
        remaining = list(paths)
        while remaining:
            blocked = [path for path in remaining if self._is_blocked(path)]
            yield from (Answer(path, "", "hung") for path in blocked)
            remaining = [path for path in remaining if path not in blocked]
            answered = 0
            for answer in self._child_answers(remaining, read):
                answered += 1
                yield answer
            remaining = remaining[answered:]

    def _is_blocked(self, path: str) -> bool:
        return os.path.dirname(path) in self._stuck or len(self._stuck) >= _MAX_STUCK

    def _child_answers(self, paths: Sequence[str], read: Read) -> Iterator[Answer]:
        """Yield the answers of one child, up to the first file that hangs."""
        if not paths:
            return
        pid, reader = _start_child(paths, read)
        try:
            for path in paths:
                trouble, text = _receive(reader, self._deadline_s)
                yield Answer(path, text, trouble)
                if trouble == "timeout":
                    self._stuck[os.path.dirname(path)] = pid
                if trouble in ("timeout", "lost"):
                    return
        finally:
            reader.close()
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            if pid not in self._stuck.values():
                os.waitpid(pid, 0)


def _receive(reader: Connection, limit_s: float) -> tuple[str, str]:
    """Return trouble and text of the next file; wait ``limit_s`` seconds at most."""
    try:
        if not reader.poll(limit_s):
            return "timeout", ""
        message = reader.recv_bytes()
    except (EOFError, OSError):
        return "lost", ""
    return _TROUBLES[message[:1]], message[1:].decode("utf-8", "replace")


def _start_child(paths: Sequence[str], read: Read) -> tuple[int, Connection]:
    """Start a child that reads the files; return its process id and the reading end of its pipe."""
    reader, writer = Pipe(duplex=False)
    pid = os.fork()
    if pid == 0:
        _serve(paths, read, writer)
    writer.close()
    return pid, reader


def _serve(paths: Sequence[str], read: Read, writer: Connection) -> NoReturn:
    """Body of the child: read all files in turn and exit."""
    try:
        for path in paths:
            writer.send_bytes(_message(path, read))
    finally:
        # in any case: a child must never continue as its parent
        os._exit(0)


def _message(path: str, read: Read) -> bytes:
    """Return the code of a trouble, or of none and the content of a file."""
    try:
        return b"o" + read(path)[:_MAX_BYTES]
    except (FileNotFoundError, NotADirectoryError):
        return b"a"
    except PermissionError:
        return b"d"
    except OSError:
        return b"f"


def _text(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        text = b""
        while len(text) < _MAX_BYTES and (chunk := file.read(_CHUNK)):
            text += chunk
    return text


def _names(path: str) -> bytes:
    return "\n".join(sorted(os.listdir(path))).encode("utf-8", "replace")


def _has_ended(pid: int) -> bool:
    return os.waitpid(pid, os.WNOHANG)[0] == pid
