"""The last look at a node's symptoms: a report for whoever judges, and what the next one needs."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any, Iterable, NamedTuple, Optional

from plumbline.errors import DocumentError, StoreError
from plumbline.model.validation import whole
from plumbline.store.clocks import read_clocks
from plumbline.store.database import Database
from plumbline.store.look import REMEDY
from plumbline.store.places import READERS
from plumbline.store.replacing import replace
from plumbline.store.trusted import parse, read
from plumbline.symptoms.counters import Past
from plumbline.symptoms.reported import TROUBLE, Said, said
from plumbline.symptoms.symptom import Report

FILE = "symptoms.json"
COLLECTED = "symptoms"
"""The folder beside a site's history in which each node's symptoms are kept, NODE.json."""


class Collected(NamedTuple):
    """What a node has said last, None where that is not known, and why; ``now`` by its clock."""

    report: Optional[Report]
    now: float
    trouble: str = ""


class Saved(NamedTuple):
    """What a look leaves behind."""

    report: Report
    past: Past


def load_symptoms(path: str) -> Saved:
    """Return what the last look has left.

    Raises:
        DocumentError: the file is missing, damaged, or somebody else's.
    """
    raw = parse(read(path, "symptoms", REMEDY), path, REMEDY)
    try:
        return Saved(Report.from_json(raw), Past.from_json(raw["past"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise DocumentError(f"symptoms {path} are damaged ({error!r}); {REMEDY}") from error


def collected_symptoms(history: Path, nodes: Iterable[str], now: float) -> Said:
    """Return what holds of what the nodes of a site have said, as copies lie beside its history.

    Raises:
        StoreError: the history, which says how their clocks stand, cannot be read.
    """
    found = sorted((history.parent / COLLECTED).glob("*.json"))
    if not found:
        return Said()
    documents = {path.stem: _collected(str(path)) for path in found}
    return said(documents, _by_their_clocks(history, nodes, now))


def collected_reports(history: Path, nodes: Iterable[str], now: float) -> dict[str, Collected]:
    """Return what each node has said last, as copies lie beside the history of their site.

    Raises:
        StoreError: the history cannot be read.
    """
    folder = history.parent / COLLECTED
    return {
        node: collected_report(node, str(folder / f"{node}.json"), its_now)
        for node, its_now in _by_their_clocks(history, nodes, now).items()
    }


def has_said(history: Path, node: str) -> bool:
    """Return whether a node has a copy beside the history, whatever it holds."""
    return (history.parent / COLLECTED / f"{node}.json").exists()


def _by_their_clocks(history: Path, nodes: Iterable[str], now: float) -> dict[str, float]:
    """Return what each node's own clock shows at ``now``; raise StoreError without a history."""
    with closing(Database(history)) as database:
        ahead = {clock.node: clock.ahead_s for clock in read_clocks(database)}
    return {node: now + ahead.get(node, 0.0) for node in nodes}


def collected_report(node: str, path: str, now: float) -> Collected:
    """Return what a node has said last, by its copy at ``path``; its clock shows ``now``."""
    document = _collected(path)
    if isinstance(document, dict) and TROUBLE in document:
        return Collected(None, now, whole(f"{document[TROUBLE]!s:.300}"))
    try:
        report = Report.from_json(document)
    except DocumentError as error:
        return Collected(None, now, str(error))
    if report.node != node:
        return Collected(None, now, f"{path} has the symptoms of {report.node}")
    return Collected(report, now)


def _collected(path: str) -> Any:
    remedy = "plumbline collect brings it again"
    try:
        return parse(read(path, "symptoms", remedy), path, remedy)
    except DocumentError as error:
        return {TROUBLE: str(error)}


def save_symptoms(path: Path, saved: Saved) -> None:
    """Put a look in the place of the one before, at once; raise StoreError when that fails."""
    document = {**saved.report.to_json(), "past": saved.past.to_json()}
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    try:
        replace(path, text, group=READERS)
    except OSError as error:
        raise StoreError(
            f"symptoms {path} cannot be written: {error.strerror}; see that {path.parent} is "
            "there, has space and belongs to the user plumbline"
        ) from error
