"""Collect records of many nodes at once into the history, and keep the history small.

A thread for each node waits for any command that connects to ``plumbline export`` there; only one
thread at a time parses an answer and writes it to the history.  A node is asked for more after its
last answer is kept, so memory has the text of one answer per node, and one that is parsed.

Nodes are not trusted: answers, time, and what is kept of a node in a day are limited, each record
is checked, and a node reports only what the plan lets it (:mod:`plumbline.site.scope`).  The cursor
passes only what was kept or left out with a sentence; the rest waits on the node.
"""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import DocumentError, PlumblineError, StoreError, ToolError
from plumbline.model.exchange import Cursor, Head, Request
from plumbline.model.record import Record
from plumbline.model.series import Running
from plumbline.model.symptom import TROUBLE
from plumbline.model.trend import NodeClock
from plumbline.model.units import DAY_S, format_size
from plumbline.model.validation import storable
from plumbline.site.conversation import (
    MAX_ANSWER_BYTES,
    Answer,
    Conversation,
    parse_answer,
)
from plumbline.site.scope import RECORDS, LeftOut, Scope, Scopes
from plumbline.store import facts
from plumbline.store.collection import ConsoleHistory
from plumbline.store.history import KEEP_DAYS, Thinned
from plumbline.store.replacing import make_folder, replace, writing

_MAX_DAMAGED = 1000
"""Most damaged records of a node in one collection; each has its reason."""

_CLOCK_WITHIN_S = 0.02
"""Sufficient accuracy of a clock: readings of counters are a second apart."""


class Quota(NamedTuple):
    """Limits of one node, so that none takes memory, disk or time of the others.

    ``answer`` and ``run`` are bytes of an answer and of all answers of one collection; ``day`` is
    bytes of new records in the history in one day (UTC).
    """

    answer: int = MAX_ANSWER_BYTES
    run: int = 64 << 20
    day: int = 128 << 20


class GatherOptions(NamedTuple):
    """Options: command that connects to ``{node}``, time limit per node, nodes at once."""

    history: Path
    remote: Sequence[str]
    limit_s: float
    at_once: int
    quota: Quota = Quota()


class NodeResult(NamedTuple):
    """Result of one node; ``trouble`` is empty if it answered to the end.

    ``clock_s`` is the lead of its clock in seconds; ``damaged`` has the records left out, with
    reasons; ``left_out`` has a sentence on each kind of what it may not report; ``waiting`` is the
    reason why records wait on the node for another collection, empty if none do.  ``unsaid``,
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
    waiting: str = ""
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


Next = Optional[Request]
"""The next request to a node, None at the end."""

Take = Callable[[Answer, int, tuple[float, float]], Next]


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
            state = _Progress(scope, self._options, console_history)
            try:
                argv = [word.replace("{node}", node) for word in self._options.remote]
                limits = self._options.limit_s, self._options.quota.answer
                with Conversation(argv, *limits) as conversation:
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
            state.note(left_out=state.left_out.sentences())
            if state.result.trouble:
                with self._keeping:
                    console_history.failed(node, state.result.trouble, time.time())
            return state.result

    def _talk(self, conversation: Conversation, state: _Progress) -> None:
        request: Optional[Request] = state.first_request()
        while request and not self._stopped:
            request = self._exchange(conversation, request, state.take)
        if state.clock_is_vague and not self._stopped:
            # without a second answer the first comparison stays
            with suppress(PlumblineError):
                self._exchange(conversation, Request(state.result.cursor, 1), state.compare)
        with self._keeping:
            state.keep_clock()

    def _exchange(self, conversation: Conversation, request: Request, take: Take) -> Next:
        """Ask, and take the answer in turn with the other nodes; return the next request."""
        asked_at = time.time()
        raw = conversation.ask(request)
        answered_at = time.time()
        with self._keeping:
            answer = parse_answer(raw, request)
            return take(answer, raw.size, (asked_at, answered_at))


class _Progress:
    """Progress of reading a node."""

    def __init__(self, scope: Scope, options: GatherOptions, kept: ConsoleHistory) -> None:
        self.result = NodeResult(scope.node, cursor=kept.cursor(scope.node))
        self.left_out = LeftOut()
        self._scope = scope
        self._history = options.history
        self._quota = options.quota
        self._kept = kept
        self._read_bytes = 0
        self._clock: Optional[NodeClock] = None

    def note(self, **changes: Any) -> None:
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

    def take(self, answer: Answer, size: int, between: tuple[float, float]) -> Next:
        """Keep an answer of ``size`` bytes that came ``between`` two times."""
        self._read_bytes += size
        self.compare(answer, size, between)
        self.keep(answer)
        if answer.more and not self.result.waiting:
            return Request(self.result.cursor)
        self.keep_last(answer.head)
        return None

    def compare(self, answer: Answer, _size: int, between: tuple[float, float]) -> None:
        """Note the lead of the node's clock; the quickest answer is the most accurate.

        The node read its clock at some time between request and answer.
        """
        asked_at, answered_at = between
        within_s = abs(answered_at - asked_at) / 2
        if self._clock is None or within_s < self._clock.within_s:
            ahead_s = answer.head.now - (asked_at + answered_at) / 2
            self._clock = NodeClock(self.result.node, answered_at, ahead_s, within_s)
            self.note(clock_s=round(ahead_s, 1))

    @property
    def clock_is_vague(self) -> bool:
        """Return whether to compare the clocks again: the first answer is slow by the login."""
        return self._clock is not None and self._clock.within_s > _CLOCK_WITHIN_S

    def keep_clock(self) -> None:
        """Keep the state of the node's clock, if it was read."""
        if self._clock:
            self._kept.clock(self._clock)

    def keep(self, answer: Answer) -> None:
        """Keep the records of an answer, its cursor, and its ledger of conditions if any."""
        before, head, now = self.result, answer.head, time.time()
        cursor = answer.cursor or (Cursor() if head.again else before.cursor)
        again = before.again or head.again
        self.note(again=again, untaken=_short(head.untaken) or before.untaken)
        if self._kept.kept_bytes(before.node, now) < self._quota.day:
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
                damaged=before.damaged + answer.damaged,
            )
        self._note_limits(answer, now)
        # a damaged ledger does not replace the earlier copy
        try:
            if head.conditions is not None:
                if TROUBLE in head.conditions:
                    raise DocumentError(f"{head.conditions[TROUBLE]!s:.300}")
                facts.keep_collected(self._history, before.node, head.conditions)
        except DocumentError as error:
            self.note(conditions=storable(str(error)))

    def _note_limits(self, answer: Answer, now: float) -> None:
        """Note why records have to wait on the node, if they do."""
        left = answer.more or self.result.cursor != (answer.cursor or self.result.cursor)
        if not left:
            return
        if self._kept.kept_bytes(self.result.node, now) >= self._quota.day:
            size = format_size(self._quota.day)
            reason = f"it sent {size} of new records today, the rest waits there until tomorrow"
            self.note(waiting=f"{reason}; see with plumbline history what it measures so often")
        elif self._read_bytes >= self._quota.run:
            size = format_size(self._quota.run)
            self.note(waiting=f"{size} read, the rest waits there for the next collection")
        elif len(self.result.damaged) >= _MAX_DAMAGED:
            self.note(waiting="the rest waits there for the next collection")

    def _own(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records that the node may send; count the others."""
        for record in records:
            whose = self._scope.foreign(record)
            if not whose:
                yield record
            # a clone, and a node that was renamed, send again what the console has already
            elif not self._kept.has(record.id):
                self.left_out.add(RECORDS, record.layer, record.component, whose)

    def keep_last(self, head: Head) -> None:
        """Keep the current state of a node: its runs, its symptoms."""
        running = self._scope.running(head.running, self.left_out)
        self._kept.replace_running(self.result.node, [Running(*begun) for begun in running])
        symptoms = self._scope.symptoms(head.symptoms, self.left_out)
        _keep_symptoms(self._history, self.result.node, symptoms)
        self.note(unsaid=_short((symptoms or {}).get(TROUBLE, "")))


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
        make_folder(folder)
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
        console_history.prune_space(now)
        thinned = console_history.thin(now, lambda: elapsed() < deadline)
        if thinned.unfinished:
            console_history.request_prune()
        return thinned
