"""The ledger of a node's conditions: on the node, and the copies beside a site's history."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterable, Union

from plumbline.conditions.bill import Bill
from plumbline.conditions.ledger import FILE, MOST_BYTES, Ledger, begun
from plumbline.errors import DocumentError, StoreError
from plumbline.store.places import READERS
from plumbline.store.replacing import replace
from plumbline.store.trusted import parse, read

COLLECTED = "conditions"
"""The folder beside a site's history in which each node's ledger is kept, NODE.json."""

_BEGINNING = 400
_TAKEN_AT = re.compile(rb',"taken_at":([0-9]{1,12}(?:\.[0-9]{1,20})?),')

REMEDY = "take it again with: plumbline symptoms --save"


def load_ledger(path: str) -> Ledger:
    """Return a ledger.

    Raises:
        DocumentError: the file is missing, damaged, or somebody else's.
    """
    what = "ledger of conditions"
    raw = parse(read(path, what, REMEDY, MOST_BYTES), path, REMEDY)
    try:
        return Ledger.from_json(raw)
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from error


def keep_bill(state: Path, bill: Bill) -> str:
    """Keep a bill in a node's ledger; return what was wrong with the ledger, empty if nothing.

    A damaged one is kept under another name, and a new one begins.

    Raises:
        StoreError: it cannot be written; the old one is still there.
    """
    path = state / FILE
    trouble = ""
    ledger = begun(bill)
    if os.path.lexists(path):
        try:
            ledger = load_ledger(str(path)).after(bill)
        except DocumentError as error:
            trouble = f"{error}; a new one begins, the old one is {path}.damaged"
            _set_aside(path)
    save_ledger(path, ledger)
    return trouble


def _set_aside(path: Path) -> None:
    """Keep a damaged ledger under another name, where there is one."""
    with suppress(OSError):
        os.replace(path, f"{path}.damaged")


def save_ledger(path: Path, ledger: Ledger) -> None:
    """Put a ledger in the place of the one before, at once; raise StoreError if that fails."""
    text = json.dumps(ledger.to_json(), allow_nan=False, separators=(",", ":"))
    try:
        replace(path, text, group=READERS)
    except OSError as error:
        raise StoreError(
            f"ledger of conditions {path} cannot be written: {os.strerror(error.errno or 0)}; see "
            f"that {path.parent} is there, has space and belongs to whoever runs this"
        ) from error


def keep_collected(history: Path, node: str, raw: Any) -> None:
    """Keep what a node has sent as its ledger beside the history of the site.

    Changes that only the earlier copy knows stay in it.

    Raises:
        DocumentError: it is no ledger of this node; the earlier copy is still there.
        StoreError: it cannot be written; the same holds.
    """
    ledger = Ledger.from_json(raw)
    if ledger.bill.node != node:
        raise DocumentError(f"its ledger of conditions is of {ledger.bill.node!r:.60}")
    path = history.parent / COLLECTED / f"{node}.json"
    try:
        ledger = ledger.succeeding(load_ledger(str(path)))
    except DocumentError:
        # there is none yet, or a damaged one
        _set_aside(path)
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
    save_ledger(path, ledger)


def collected_at(history: Path, node: str) -> float:
    """Return when the bill was taken that was last collected of a node; 0 where there is none.

    It stands at the beginning of what ``save_ledger`` writes; a thousand nodes are asked at once.
    """
    with suppress(OSError), (history.parent / COLLECTED / f"{node}.json").open("rb") as file:
        found = _TAKEN_AT.search(file.read(_BEGINNING))
        return float(found[1]) if found else 0.0
    return 0.0


def collected_ledgers(
    history: Path, nodes: Iterable[str]
) -> tuple[tuple[Ledger, ...], tuple[str, ...]]:
    """Return the ledgers of nodes beside the history of a site, and of each damaged one why."""
    paths = (history.parent / COLLECTED / f"{node}.json" for node in nodes)
    found = [_ledger_or_trouble(str(path)) for path in paths if path.exists()]
    return (
        tuple(one for one in found if isinstance(one, Ledger)),
        tuple(one for one in found if isinstance(one, str)),
    )


def _ledger_or_trouble(path: str) -> Union[Ledger, str]:
    try:
        return load_ledger(path)
    except DocumentError as error:
        return str(error)
