"""Files with facts of nodes: symptoms, conditions, suspicions, and the site's own commands.

Suspicions: ``plumbline latency`` writes a file for each node next to the site's history,
``collect`` transfers it, and ``export`` stores it on the node.  A file is valid for two hours.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.codec import compact, form, read_document
from plumbline.model.errors import DocumentError
from plumbline.model.exchange import MAX_SUSPICIONS, Suspected, Suspects
from plumbline.model.ledger import FILE, MAX_BYTES, Ledger
from plumbline.model.symptom import TROUBLE, Report, SiteSymptoms, site_symptoms
from plumbline.model.validation import storable, times
from plumbline.store.collection import read_clocks
from plumbline.store.database import Store
from plumbline.store.files import READERS, load, load_document
from plumbline.store.replacing import make_folder, replace_own, writing

SYMPTOMS_FILE = "symptoms.json"
SPACE_REPORT = "space.json"
"""File of a node with its last look at the space of its file systems."""

COLLECTED_SYMPTOMS = "symptoms"
"""Folder next to a site's history with each node's symptoms, NODE.json."""


def load_report(path: str) -> Report:
    """Return the report of the last look.

    Raises:
        DocumentError: the file is missing, damaged, or another user's; naming file and remedy.
    """
    return load_document(Report, path)


class LastReport(NamedTuple):
    """Last report of a node, None with the reason if it has none; ``now`` by the node's clock."""

    report: Optional[Report]
    now: float
    trouble: str = ""


def collected_symptoms(history: Path, nodes: Iterable[str], now: float) -> SiteSymptoms:
    """Return the current symptoms of a site from the copies of its nodes' reports.

    Raises:
        StoreError: the history, which has the nodes' clocks, cannot be read.
    """
    paths = sorted((history.parent / COLLECTED_SYMPTOMS).glob("*.json"))
    if not paths:
        return SiteSymptoms()
    documents = {path.stem: _document_or_trouble(str(path)) for path in paths}
    return site_symptoms(documents, _node_times(history, nodes, now))


def collected_reports(history: Path, nodes: Iterable[str], now: float) -> dict[str, LastReport]:
    """Return the last report of each node from the copies next to the site's history.

    Raises:
        StoreError: the history cannot be read.
    """
    return {
        node: collected_report(node, str(_copy(history, COLLECTED_SYMPTOMS, node)), node_now)
        for node, node_now in _node_times(history, nodes, now).items()
    }


def has_report(history: Path, node: str) -> bool:
    """Return whether there is a copy of a node's report, valid or not."""
    return _copy(history, COLLECTED_SYMPTOMS, node).exists()


def _copy(history: Path, folder: str, node: str) -> Path:
    """Return the file of a node in a folder next to the site's history."""
    return history.parent / folder / f"{node}.json"


def _node_times(history: Path, nodes: Iterable[str], now: float) -> dict[str, float]:
    """Return the time ``now`` by each node's own clock; raise StoreError without a history."""
    with Store(history, existing=True) as store:
        ahead = {clock.node: clock.ahead_s for clock in read_clocks(store)}
    return {node: now + ahead.get(node, 0.0) for node in nodes}


def collected_report(node: str, path: str, now: float) -> LastReport:
    """Return the last report of a node from its copy at ``path``; ``now`` is by its clock."""
    document = _document_or_trouble(path)
    if isinstance(document, dict) and TROUBLE in document:
        return LastReport(None, now, storable(f"{document[TROUBLE]!s:.300}"))
    try:
        report = read_document(Report, document)
    except DocumentError as error:
        return LastReport(None, now, str(error))
    if report.node != node:
        return LastReport(None, now, f"{path} has the symptoms of {report.node}")
    return LastReport(report, now)


def _document_or_trouble(path: str) -> Any:
    remedy = "plumbline collect brings it again"
    try:
        return load(path, "symptoms", remedy)
    except DocumentError as error:
        return {TROUBLE: str(error)}


COLLECTED_CONDITIONS = "conditions"
"""Folder next to a site's history with each node's ledger, NODE.json."""


def load_ledger(path: str) -> Ledger:
    """Return a ledger.

    Raises:
        DocumentError: the file is missing, damaged, or another user's.
    """
    return load_document(Ledger, path, MAX_BYTES)


def keep_conditions(state: Path, ledger: Ledger) -> str:
    """Complete a look from the node's ledger and keep it; return the fault of a damaged ledger.

    A damaged ledger is kept under another name, and a new one is started.

    Raises:
        StoreError: it cannot be written; the old one is unchanged.
    """
    path = state / FILE
    trouble = ""
    if os.path.lexists(path):
        try:
            ledger = ledger.after(load_ledger(str(path)))
        except DocumentError as error:
            trouble = f"{error}; a new one begins, the old one is {path}.damaged"
            _set_aside(path)
    save_ledger(path, ledger)
    return trouble


def _set_aside(path: Path) -> None:
    """Rename a damaged ledger, if there is one."""
    with suppress(OSError):
        os.replace(path, f"{path}.damaged")


def save_ledger(path: Path, ledger: Ledger) -> None:
    """Atomically replace a ledger; raise StoreError if that fails."""
    replace_own(path, compact(ledger), group=READERS)


def keep_collected(history: Path, node: str, raw: Any) -> None:
    """Store the ledger that a node has sent, next to the site's history.

    Changes known only from the earlier copy are kept.

    Raises:
        DocumentError: it is no ledger of this node; the earlier copy is unchanged.
        StoreError: it cannot be written; the earlier copy is unchanged.
    """
    ledger = read_document(Ledger, raw)
    if ledger.node != node:
        raise DocumentError(f"its ledger of conditions is of {ledger.node!r:.60}")
    path = _copy(history, COLLECTED_CONDITIONS, node)
    try:
        ledger = ledger.succeeding(load_ledger(str(path)))
    except DocumentError:
        # the copy is missing or damaged
        _set_aside(path)
    with suppress(OSError):
        make_folder(path.parent)
    save_ledger(path, ledger)


def collected_at(history: Path, node: str) -> float:
    """Return the time of a node's last collected look, 0 if there is none."""
    path = str(_copy(history, COLLECTED_CONDITIONS, node))
    # called for a thousand nodes: parsing the whole ledger takes ten times as long
    with suppress(DocumentError, KeyError, TypeError, ValueError):
        return float(load(path, "ledger", "", MAX_BYTES)["taken_at"])
    return 0.0


def collected_ledgers(
    history: Path, nodes: Iterable[str]
) -> tuple[tuple[Ledger, ...], tuple[str, ...]]:
    """Return the collected ledgers of nodes, and the error of each damaged one."""
    ledgers, troubles = list[Ledger](), list[str]()
    for node in nodes:
        path = _copy(history, COLLECTED_CONDITIONS, node)
        try:
            ledgers += [load_ledger(str(path))] if path.exists() else []
        except DocumentError as error:
            troubles.append(str(error))
    return tuple(ledgers), tuple(troubles)


def notes_fingerprint(history: Path, nodes: Iterable[str], now: float) -> str:
    """Return a fingerprint of the facts of nodes that notes on verdicts depend on.

    These are the directions of symptoms, by component, and the ledgers.

    Raises:
        StoreError: the history cannot be read.
    """
    symptoms = collected_symptoms(history, nodes, now).symptoms
    directions = sorted({(symptom.component, symptom.direction.value) for symptom in symptoms})
    folder = history.parent / COLLECTED_CONDITIONS
    ledgers = sorted((path.name, path.stat().st_mtime_ns) for path in folder.glob("*.json"))
    return sha256(repr((directions, ledgers)).encode()).hexdigest()


FOLDER = "suspected"
"""Folder next to a site's history, NODE.json; on a node, created by the role export."""

_FILE = "suspected.json"
_HOLDS_S = 7200.0
_MAX_BYTES = 1 << 16


@form(1, "list of suspicions", "the next plumbline collect writes it again")
class _Suspicions(NamedTuple):
    """Content of a suspicions file; ``written_at`` is in seconds since the epoch."""

    written_at: Annotated[float, times]
    suspected: Suspects


def save_suspicions(history: Path, by_node: Mapping[str, Sequence[Suspected]], now: float) -> None:
    """Replace the suspicions of a site by node; those of a node are sorted, most likely first.

    ``now`` is in seconds since the epoch.  Only the first ``MAX_SUSPICIONS`` of a node are kept.

    Raises:
        StoreError: it cannot be written.
    """
    folder = history.parent / FOLDER
    with writing(folder):
        make_folder(folder)
        for path in folder.glob("*.json"):
            if path.stem not in by_node:
                path.unlink(missing_ok=True)
    for node, suspected in by_node.items():
        _keep(folder / f"{node}.json", suspected[:MAX_SUSPICIONS], now)


def suspicions_of(history: Path, node: str, now: float) -> Optional[tuple[Suspected, ...]]:
    """Return the suspicions of a node from the site's; None if the site does not search for any.

    Raises:
        DocumentError: the file is damaged, or another user's.
    """
    folder = history.parent / FOLDER
    return load_suspicions(folder / f"{node}.json", now) if folder.exists() else None


def save_node_suspicions(state: Path, suspected: Sequence[Suspected], now: float) -> None:
    """Replace a node's own copy of the console's suspicions.

    Raises:
        StoreError: it cannot be written.
    """
    path = state / FOLDER / _FILE
    if suspected or path.exists():
        _keep(path, suspected, now)


def node_suspicions(state: Path, layer: str, now: float) -> dict[str, float]:
    """Return the suspected components of a layer on this node, with the start of each suspicion.

    Raises:
        DocumentError: the file is damaged, or another user's.
    """
    suspicions = load_suspicions(state / FOLDER / _FILE, now)
    return {
        suspicion.component: suspicion.since for suspicion in suspicions if suspicion.layer == layer
    }


def _keep(path: Path, suspected: Sequence[Suspected], now: float) -> None:
    replace_own(path, compact(_Suspicions(now, tuple(suspected))))


def load_suspicions(path: Path, now: float) -> tuple[Suspected, ...]:
    """Return the suspicions in a file, empty if it is missing or outdated; raise DocumentError."""
    try:
        suspicions = load_document(_Suspicions, str(path), _MAX_BYTES)
    except DocumentError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return ()
        raise
    # a date far in the future comes from a wrong clock
    return suspicions.suspected if abs(now - suspicions.written_at) <= _HOLDS_S else ()
