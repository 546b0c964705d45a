"""Collect records of many nodes at once into the history, and keep the history small.

A thread for each node waits for any command that connects to ``plumbline export`` there; only one
thread writes to the history at a time.  A node is asked for more after its last answer is kept, so
memory has one answer per node.  Nodes are not trusted: lines, answers and time are limited, each
record is checked, and a node reports only what the plan lets it (:mod:`plumbline.site.scope`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.codec import read_document, write
from plumbline.model.errors import DocumentError, PlumblineError, StoreError, ToolError
from plumbline.model.exchange import MOST_RECORDS, Cursor, Head, Request
from plumbline.model.record import SCHEMA, Record
from plumbline.model.series import Running
from plumbline.model.trend import NodeClock
from plumbline.model.units import DAY_S, LARGEST
from plumbline.model.validation import read_json, storable
from plumbline.observe.symptom import TROUBLE
from plumbline.site.scope import RECORDS, LeftOut, Scope, Scopes
from plumbline.store import facts
from plumbline.store.collection import ConsoleHistory
from plumbline.store.history import KEEP_DAYS, Thinned
from plumbline.store.replacing import replace, writing

_LONGEST_LINE = 16 << 20
_MOST_COMPLAINTS = 1 << 16
_MOST_DIGITS = 20
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


class Conversation:
    """A connection to one node; a context manager that ends it."""

    def __init__(self, argv: Sequence[str], limit_s: float) -> None:
        """Start the command; kill it after ``limit_s`` seconds.

        Raises:
            ToolError: it is not installed or cannot be started, or no thread can watch it.
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

    def ask(self, request: Request) -> Answer:
        """Return the answer to a request.

        Raises:
            Unreachable: there is no answer, or it is cut or invalid.
        """
        try:
            self._streams[0].write(json.dumps(write(request)).encode() + b"\n")
            self._streams[0].flush()
        except OSError as error:
            raise self._silence() from error
        try:
            return self._answer(request)
        except DocumentError as error:
            raise Unreachable(storable(str(error))) from error

    def _answer(self, request: Request) -> Answer:
        first = self._line()
        if isinstance(first, dict) and "error" in first:
            raise DocumentError(f"it says: {first['error']!s:.500}")
        head = read_document(Head, first, "its answer")
        cursor = Cursor() if head.again else request.after
        records: list[Record] = []
        damaged: list[str] = []
        last: Optional[Cursor] = None
        while isinstance(line := self._line(), list):
            place = _place(line, last or cursor)
            if len(records) + len(damaged) == MOST_RECORDS:
                raise DocumentError(f"it sent more than the {MOST_RECORDS} records asked for")
            try:
                records.append(_record_of(line[1]))
                last = Cursor(place, records[-1].id)
            except DocumentError as error:
                damaged.append(storable(str(error)))
                last = Cursor(place)
        if not isinstance(line, dict) or line.get("end") != len(records) + len(damaged):
            raise DocumentError(f"its answer was cut: it ends with {line!r:.80}")
        return Answer(head, tuple(records), last, line.get("more") is True, tuple(damaged))

    def _line(self) -> Any:
        text = self._streams[1].readline(_LONGEST_LINE)
        if not text.endswith(b"\n"):
            if len(text) == _LONGEST_LINE:
                raise DocumentError(f"it sent a line of more than {_LONGEST_LINE} bytes")
            raise self._silence()
        try:
            return read_json(text)
        except ValueError:
            return _unreadable(text)

    def _silence(self) -> PlumblineError:
        """Return the error for the end of the input."""
        if self._late:
            return Unreachable(f"it did not finish within {self._limit_s:g} s")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_S)
        complaints = os.pread(self._complaints, _MOST_COMPLAINTS, 0).decode("utf-8", "replace")
        last = next((line for line in reversed(complaints.splitlines()) if line.strip()), "")
        code = self._process.poll()
        ended = "ended without an answer" if code is None else f"ended with code {code}"
        return Unreachable(last.strip()[:300] or f"the connection {ended}")

    def _ring(self) -> None:
        self._late = True
        self.kill()


def _unreadable(text: bytes) -> list[Any]:
    """Return the place of a record that is no JSON, with None; raise DocumentError otherwise."""
    place, comma, _ = text.partition(b",")
    if comma and place[:1] == b"[" and place[1:].isdigit() and len(place) <= _MOST_DIGITS:
        return [int(place[1:]), None]
    raise DocumentError(f"its answer begins with {text[:80].decode('utf-8', 'replace')!r}")


def _place(line: list[Any], before: Cursor) -> int:
    """Return the place of a record; raise DocumentError if it does not follow ``before``."""
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


_CLOCK_WITHIN_S = 0.02
"""Sufficient accuracy of a clock: readings of counters are a second apart."""


class GatherOptions(NamedTuple):
    """Options: command that connects to ``{node}``, time limit per node, nodes at once."""

    history: Path
    remote: Sequence[str]
    limit_s: float
    at_once: int


class NodeResult(NamedTuple):
    """Result of one node; ``trouble`` is empty if it answered to the end.

    ``clock_s`` is the lead of its clock in seconds; ``damaged`` has the records left out, with
    reasons; ``left_out`` has a sentence on each kind of what it may not report.  ``unsaid``,
    ``conditions`` and ``untaken`` are the reasons why its symptoms did not arrive, its ledger was
    not kept, and it did not get its suspicions.
    """

    node: str
    new: int = 0
    cursor: Cursor = Cursor()
    again: bool = False
    clock_s: float = 0.0
    damaged: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    trouble: str = ""
    unsaid: str = ""
    conditions: str = ""
    untaken: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {**self._asdict(), "cursor": self.cursor._asdict()}


def gather(nodes: Sequence[str], scopes: Scopes, options: GatherOptions) -> Iterator[NodeResult]:
    """Yield the result of each node as it finishes.

    Raises:
        StoreError: the history cannot be written; records of earlier nodes are kept.
        ToolError: no thread can be started for a node.
    """
    work = _Collection(scopes, options)
    with ConsoleHistory(options.history), ThreadPoolExecutor(options.at_once) as pool:
        try:
            for answer in as_completed([pool.submit(work.node, node) for node in nodes]):
                yield answer.result()
        except RuntimeError as error:
            raise ToolError(
                f"no thread can be had to ask a node: {error}; ask fewer at once"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            work.stop()


class _Collection:
    """Requests to nodes, each in its own thread, until stopped."""

    def __init__(self, scopes: Scopes, options: GatherOptions) -> None:
        self._scopes = scopes
        self._options = options
        self._keeping = threading.Lock()
        self._stopped = False
        self._open: set[Conversation] = set()

    def stop(self) -> None:
        """Kill open connections; a write in progress is completed."""
        self._stopped = True
        for conversation in list(self._open):
            conversation.kill()

    def node(self, node: str) -> NodeResult:
        """Collect from one node; raise StoreError if the history cannot be written."""
        with ConsoleHistory(self._options.history) as console_history:
            scope = self._scopes.of(node)
            state = _Progress(scope, self._options.history, console_history)
            try:
                argv = [word.replace("{node}", node) for word in self._options.remote]
                with Conversation(argv, self._options.limit_s) as conversation:
                    self._open.add(conversation)
                    try:
                        self._talk(conversation, state)
                    finally:
                        self._open.discard(conversation)
            except StoreError:
                raise
            except PlumblineError as error:
                state.note(trouble=str(error))
            # an unexpected error fails this node only
            except Exception as error:  # noqa: BLE001
                state.note(trouble=f"its answer cannot be kept: {error!r}")
            if state.result.trouble:
                with self._keeping:
                    console_history.failed(node, state.result.trouble, time.time())
            return state.result

    def _talk(self, conversation: Conversation, state: _Progress) -> None:
        request = state.first_request()
        while not self._stopped:
            asked_at = time.time()
            answer = conversation.ask(request)
            state.compare(answer.head.now, asked_at, time.time())
            with self._keeping:
                state.keep(answer)
            if not answer.more:
                state.look_again(conversation)
                state.keep_last(answer.head)
                return
            request = Request(state.result.cursor)


class _Progress:
    """Progress of reading a node."""

    def __init__(self, scope: Scope, history: Path, kept: ConsoleHistory) -> None:
        self.result = NodeResult(scope.node, cursor=kept.cursor(scope.node))
        self._scope = scope
        self._left_out = LeftOut()
        self._history = history
        self._kept = kept
        self._clock: Optional[NodeClock] = None

    def note(self, **changes: Any) -> None:
        """Change the result of the node."""
        self.result = self.result._replace(**changes)

    def first_request(self) -> Request:
        """Return the only request that asks for the ledger, which may have some megabytes."""
        node, suspected = self.result.node, None
        try:
            suspected = facts.suspicions_of(self._history, node, time.time())
        except DocumentError as error:
            self.note(untaken=_short(error))
        known_at = facts.collected_at(self._history, node)
        return Request(self.result.cursor, conditions_at=known_at, suspected=suspected)

    def compare(self, node_time: float, asked_at: float, answered_at: float) -> None:
        """Note the lead of the node's clock; the quickest answer is the most accurate.

        The node read its clock at some time between request and answer.
        """
        within_s = abs(answered_at - asked_at) / 2
        if self._clock is None or within_s < self._clock.within_s:
            ahead_s = node_time - (asked_at + answered_at) / 2
            self._clock = NodeClock(self.result.node, answered_at, ahead_s, within_s)
            self.note(clock_s=round(ahead_s, 1))

    def look_again(self, conversation: Conversation) -> None:
        """Compare the clocks again if the first answer was slow, because of a login.

        Without a second answer the first comparison stays.
        """
        if self._clock is None or self._clock.within_s <= _CLOCK_WITHIN_S:
            return
        asked_at = time.time()
        with suppress(PlumblineError):
            answer = conversation.ask(Request(self.result.cursor, 1))
            self.compare(answer.head.now, asked_at, time.time())

    def keep(self, answer: Answer) -> None:
        """Keep the records of an answer, its cursor, and its ledger of conditions if any."""
        before, head, now = self.result, answer.head, time.time()
        cursor = answer.cursor or (Cursor() if head.again else before.cursor)
        again = before.again or head.again
        oldest = now - KEEP_DAYS * DAY_S
        # records dropped here for their age must not come back
        records = [
            record
            for record in self._own(answer.records)
            if not again or (record.started_at >= oldest and not self._kept.is_thinned(record))
        ]
        self.note(
            new=before.new + self._kept.keep(before.node, records, cursor, now),
            cursor=cursor,
            again=again,
            damaged=before.damaged + answer.damaged,
            left_out=self._left_out.sentences(),
            untaken=_short(head.untaken) or before.untaken,
        )
        # a damaged ledger does not replace the earlier copy
        try:
            if head.conditions is not None:
                if TROUBLE in head.conditions:
                    raise DocumentError(f"{head.conditions[TROUBLE]!s:.300}")
                facts.keep_collected(self._history, before.node, head.conditions)
        except DocumentError as error:
            self.note(conditions=storable(str(error)))

    def _own(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records that the node may send; count the others."""
        for record in records:
            whose = self._scope.foreign(record)
            if not whose:
                yield record
            # a clone, and a node that was renamed, send again what the console has already
            elif not self._kept.has(record.id):
                self._left_out.add(RECORDS, record.layer, record.component, whose)

    def keep_last(self, head: Head) -> None:
        """Keep the current state of a node: its clock, its runs, its symptoms."""
        if self._clock:
            self._kept.clock(self._clock)
        running = self._scope.running(head.running, self._left_out)
        self._kept.replace_running(self.result.node, [Running(*begun) for begun in running])
        symptoms = self._scope.symptoms(head.symptoms, self._left_out)
        _keep_symptoms(self._history, self.result.node, symptoms)
        unsaid = _short((symptoms or {}).get(TROUBLE, ""))
        self.note(unsaid=unsaid, left_out=self._left_out.sentences())


def _short(trouble: object) -> str:
    return storable(f"{trouble!s:.300}")


def _keep_symptoms(history: Path, node: str, symptoms: Optional[Mapping[str, Any]]) -> None:
    """Keep a node's symptoms beside the history; delete the old ones if there are none."""
    folder = history.parent / facts.COLLECTED_SYMPTOMS
    path = folder / f"{node}.json"
    with writing(path):
        if symptoms is None:
            path.unlink(missing_ok=True)
            return
        folder.mkdir(exist_ok=True)
        replace(path, json.dumps(symptoms, allow_nan=False))


_LIMIT_S = 60.0
"""Time limit of one call: the first may find years of records, and delays the collection."""


def tidy(history: Path, now: float, elapsed: Callable[[], float]) -> Optional[Thinned]:
    """Turn old records into daily figures once a day; return their numbers, None if not due.

    ``now`` is in seconds since the epoch; ``elapsed`` returns the seconds of a monotonic clock.

    Raises:
        StoreError: the history cannot be read or written.
    """
    deadline = elapsed() + _LIMIT_S
    with ConsoleHistory(history) as console_history:
        if not console_history.prune_is_due(now):
            return None
        console_history.prune(now - KEEP_DAYS * DAY_S)
        console_history.prune_servers(now)
        thinned = console_history.thin(now, lambda: elapsed() < deadline)
        if thinned.unfinished:
            console_history.request_prune()
        return thinned
