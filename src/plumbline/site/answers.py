"""Answers of a node to the collecting console, on standard input and output."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any, Optional

from plumbline import __version__
from plumbline.model.codec import read_document, write
from plumbline.model.errors import DocumentError, PlumblineError, reason_in
from plumbline.model.exchange import Begun, Head, Request
from plumbline.model.ledger import FILE as LEDGER
from plumbline.model.ledger import MAX_BYTES, is_newer
from plumbline.model.symptom import TROUBLE
from plumbline.model.units import format_duration
from plumbline.model.validation import read_json
from plumbline.store.export import extract
from plumbline.store.facts import SYMPTOMS_FILE as FILE
from plumbline.store.facts import save_node_suspicions
from plumbline.store.files import DATABASE

_MAX_SYMPTOMS = 1 << 20
_MAX_REQUEST = 1 << 16
_FOR_COLLECT = "this is for plumbline collect on the console, a person reads with plumbline history"


def answer(state: Path, wait_s: float) -> None:
    """Answer all requests from the records in the folder ``state``.

    Raises:
        DocumentError: a line is no request, or none comes within ``wait_s`` seconds.
        StoreError: the history cannot be read.
    """
    while line := _next_line(wait_s):
        _answer(state, read_document(Request, _parse(line)))


def _next_line(wait_s: float) -> str:
    """Return the next line of standard input, empty at its end.

    Raises:
        DocumentError: the input is no request, or none comes: sftp and scp send a word of their own
            first, or wait for one.
    """

    def give_up(_number: int, _frame: Optional[FrameType]) -> None:
        raise DocumentError(f"no request came within {format_duration(wait_s)}; {_FOR_COLLECT}")

    handler = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, wait_s)
    try:
        first = sys.stdin.read(1)
        if first not in ("", "{"):
            raise DocumentError(f"the request is no JSON, it begins with {first!r}; {_FOR_COLLECT}")
        return first + sys.stdin.readline(_MAX_REQUEST) if first else ""
    except UnicodeDecodeError as error:
        raise DocumentError(f"the request is no text ({error.reason}); {_FOR_COLLECT}") from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)


def _parse(line: str) -> Any:
    try:
        return read_json(line)
    except ValueError as error:
        raise DocumentError(f"the request is no JSON ({error}); {_FOR_COLLECT}") from error


def _answer(state: Path, request: Request) -> None:
    extracted = extract(state / DATABASE, request)
    untaken = _keep_suspicions(state, request)
    head = Head(
        __version__,
        time.time(),
        extracted.again,
        tuple(Begun(run.layer, run.component, run.since) for run in extracted.running),
        document_of(state / FILE, "symptoms", _MAX_SYMPTOMS),
        _conditions(state / LEDGER, request.conditions_at),
        untaken,
    )
    print(json.dumps(write(head), allow_nan=False))
    for seq, body in extracted.rows:
        # a damaged record may have line breaks, which must not end its line
        print(f"[{seq},{' '.join(body.splitlines())}]")
    print(json.dumps({"end": len(extracted.rows), "more": extracted.more}), flush=True)


def _keep_suspicions(state: Path, request: Request) -> str:
    """Keep the console's suspicions of this node; return the error if that fails, else empty."""
    try:
        if request.suspected is not None:
            save_node_suspicions(state, request.suspected, time.time())
    except PlumblineError as error:
        return f"deploy the role export again: {error}"
    return ""


def _conditions(path: Path, known_at: Optional[float]) -> Optional[dict[str, Any]]:
    """Return the ledger of conditions if it is requested and has news, else None.

    News are a change, or conditions of another day.
    """
    ledger = None if known_at is None else document_of(path, "conditions", MAX_BYTES)
    return None if ledger and known_at is not None and not is_newer(ledger, known_at) else ledger


def document_of(path: Path, content: str, most_bytes: int) -> Optional[dict[str, Any]]:
    """Return a node's document of other evidence, None if there is none.

    An unreadable document becomes ``{"trouble": SENTENCE}``, so records are still sent.
    """
    try:
        if path.stat().st_size > most_bytes:
            return {TROUBLE: f"{path} has more than {most_bytes} bytes and was left out"}
        document = read_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        return {TROUBLE: f"{path} cannot be read: {reason_in(error)}"}
    if not isinstance(document, dict):
        return {TROUBLE: f"{path} is no document of {content}"}
    return document
