"""Facts of nodes on disk: symptoms, conditions, suspicions, the site's own commands.

Suspicions: ``plumbline latency`` writes a file for each node beside the history of the site,
``collect`` takes it along, and ``export`` keeps it on the node.  A file holds for two hours.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Iterable, Mapping, NamedTuple, Optional, Sequence, Union

from plumbline.model.codec import lenient, read_document, write
from plumbline.model.codec import read as read_value
from plumbline.model.errors import DocumentError
from plumbline.model.exchange import MOST, Suspected, Suspects
from plumbline.model.validation import times
from plumbline.model.validation import whole_text as whole
from plumbline.observe.changes import FILE, MOST_BYTES, Ledger, first_ledger
from plumbline.observe.conditions import Bill
from plumbline.observe.node import Past
from plumbline.observe.site_command import SiteCommand
from plumbline.observe.symptom import TROUBLE, Report, SiteSymptoms, site_symptoms
from plumbline.store.collection import read_clocks
from plumbline.store.database import Store
from plumbline.store.files import READERS, load
from plumbline.store.replacing import replace_own, writing
from plumbline.store.verdicts import LOOK_REMEDY as REMEDY

SYMPTOMS_FILE = "symptoms.json"
COLLECTED_SYMPTOMS = "symptoms"
"""The folder beside a site's history in which each node's symptoms are kept, NODE.json."""


class Collected(NamedTuple):
    """Last answer of a node, None if unknown, and why; ``now`` by its clock."""

    report: Optional[Report]
    now: float
    trouble: str = ""


class Saved(NamedTuple):
    """Result of a look."""

    report: Report
    past: Past


def load_symptoms(path: str) -> Saved:
    """Return what the last look has left.

    Raises:
        DocumentError: the file is missing, damaged, or somebody else's.
    """
    raw = load(path, "symptoms", REMEDY)
    try:
        return Saved(Report.from_json(raw), read_value(Past, raw["past"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise DocumentError(f"symptoms {path} are damaged ({error!r}); {REMEDY}") from error


def collected_symptoms(history: Path, nodes: Iterable[str], now: float) -> SiteSymptoms:
    """Return what holds of what the nodes of a site have said, as copies lie beside its history.

    Raises:
        StoreError: the history, which says how their clocks stand, cannot be read.
    """
    paths = sorted((history.parent / COLLECTED_SYMPTOMS).glob("*.json"))
    if not paths:
        return SiteSymptoms()
    documents = {path.stem: _collected(str(path)) for path in paths}
    return site_symptoms(documents, _by_their_clocks(history, nodes, now))


def collected_reports(history: Path, nodes: Iterable[str], now: float) -> dict[str, Collected]:
    """Return what each node has said last, as copies lie beside the history of their site.

    Raises:
        StoreError: the history cannot be read.
    """
    return {
        node: collected_report(node, str(_copy(history, COLLECTED_SYMPTOMS, node)), its_now)
        for node, its_now in _by_their_clocks(history, nodes, now).items()
    }


def has_said(history: Path, node: str) -> bool:
    """Return whether a node has a copy beside the history, whatever it holds."""
    return _copy(history, COLLECTED_SYMPTOMS, node).exists()


def _copy(history: Path, folder: str, node: str) -> Path:
    """Return the file of a node in a folder beside the history of its site."""
    return history.parent / folder / f"{node}.json"


def _by_their_clocks(history: Path, nodes: Iterable[str], now: float) -> dict[str, float]:
    """Return what each node's own clock shows at ``now``; raise StoreError without a history."""
    with Store(history) as store:
        ahead = {clock.node: clock.ahead_s for clock in read_clocks(store)}
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
        return load(path, "symptoms", remedy)
    except DocumentError as error:
        return {TROUBLE: str(error)}


def save_symptoms(path: Path, saved: Saved) -> None:
    """Put a look in the place of the one before, at once; raise StoreError when that fails."""
    document = {**saved.report.to_json(), "past": write(saved.past)}
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    replace_own(path, text, group=READERS)


SITE_COMMANDS_SCHEMA = 1

_SITE_COMMANDS_REMEDY = "correct symptoms_commands and deploy the role symptoms again"


@lenient
class _SiteCommands(NamedTuple):
    commands: tuple[SiteCommand, ...]


def load_site_commands(path: str) -> tuple[SiteCommand, ...]:
    """Return the commands in their order; none where there is no such file.

    Raises:
        DocumentError: the file is damaged, or somebody else's; naming file and remedy.
    """
    if not os.path.lexists(path):
        return ()
    raw = load(path, "commands", _SITE_COMMANDS_REMEDY)
    what = f"the file of commands {path}"
    commands = read_document(
        _SiteCommands, raw, SITE_COMMANDS_SCHEMA, what, _SITE_COMMANDS_REMEDY
    ).commands
    names = [command.name for command in commands]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise DocumentError(f"commands {path} name {twice} twice; {_SITE_COMMANDS_REMEDY}")
    return commands


COLLECTED_CONDITIONS = "conditions"
"""The folder beside a site's history in which each node's ledger is kept, NODE.json."""

CONDITIONS_REMEDY = "take it again with: plumbline symptoms --save"


def load_ledger(path: str) -> Ledger:
    """Return a ledger.

    Raises:
        DocumentError: the file is missing, damaged, or somebody else's.
    """
    raw = load(path, "ledger of conditions", CONDITIONS_REMEDY, MOST_BYTES)
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
    ledger = first_ledger(bill)
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
    replace_own(path, text, group=READERS)


def keep_collected(history: Path, node: str, raw: Any) -> None:
    """Keep what a node has sent as its ledger beside the history of the site.

    Changes that only the earlier copy knows stay in it.

    Raises:
        DocumentError: it is no ledger of this node; the earlier copy is still there.
        StoreError: it cannot be written; the same holds.
    """
    ledger = Ledger.from_json(raw)
    if ledger.node != node:
        raise DocumentError(f"its ledger of conditions is of {ledger.node!r:.60}")
    path = _copy(history, COLLECTED_CONDITIONS, node)
    try:
        ledger = ledger.succeeding(load_ledger(str(path)))
    except DocumentError:
        # there is none yet, or a damaged one
        _set_aside(path)
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
    save_ledger(path, ledger)


def collected_at(history: Path, node: str) -> float:
    """Return when the bill was taken that was last collected of a node; 0 where there is none."""
    path = str(_copy(history, COLLECTED_CONDITIONS, node))
    # a thousand nodes are asked at once: the ledger itself takes ten times as long
    with suppress(DocumentError, KeyError, TypeError, ValueError):
        return float(load(path, "ledger of conditions", CONDITIONS_REMEDY, MOST_BYTES)["taken_at"])
    return 0.0


def collected_ledgers(
    history: Path, nodes: Iterable[str]
) -> tuple[tuple[Ledger, ...], tuple[str, ...]]:
    """Return the ledgers of nodes beside the history of a site, and of each damaged one why."""
    paths = (_copy(history, COLLECTED_CONDITIONS, node) for node in nodes)
    answers = [_ledger_or_trouble(str(path)) for path in paths if path.exists()]
    return (
        tuple(answer for answer in answers if isinstance(answer, Ledger)),
        tuple(answer for answer in answers if isinstance(answer, str)),
    )


def _ledger_or_trouble(path: str) -> Union[Ledger, str]:
    try:
        return load_ledger(path)
    except DocumentError as error:
        return str(error)


SCHEMA = 1
FOLDER = "suspected"
"""Beside the history of a site, NODE.json; in the state of a node, made by the role export."""

_FILE = "suspected.json"
_HOLDS_S = 7200.0
_MOST_BYTES = 1 << 16
_REMEDY = "the next plumbline collect writes it again"


class _Suspicions(NamedTuple):
    """Content of a file; ``written_at`` is in seconds since the epoch."""

    written_at: Annotated[float, times]
    suspected: Suspects


def keep_site(history: Path, by_node: Mapping[str, Sequence[Suspected]], now: float) -> None:
    """Keep what is suspected of each node, the likeliest first, in the place of all before.

    ``now`` is in seconds since the epoch.  Beyond ``MOST`` of a node the least likely is left out.

    Raises:
        StoreError: it cannot be written.
    """
    folder = history.parent / FOLDER
    with writing(folder):
        folder.mkdir(exist_ok=True)
        for path in folder.glob("*.json"):
            if path.stem not in by_node:
                path.unlink(missing_ok=True)
    for node, suspected in by_node.items():
        _keep(folder / f"{node}.json", suspected[:MOST], now)


def of_node(history: Path, node: str, now: float) -> Optional[tuple[Suspected, ...]]:
    """Return what is suspected of a node; None where nobody looks for it.

    Raises:
        DocumentError: the file is damaged, or somebody else's.
    """
    folder = history.parent / FOLDER
    return _suspicions_in(folder / f"{node}.json", now) if folder.exists() else None


def keep_here(state: Path, suspected: Sequence[Suspected], now: float) -> None:
    """Keep on a node what a console suspects of it, in the place of all before.

    Raises:
        StoreError: it cannot be written.
    """
    path = state / FOLDER / _FILE
    if suspected or path.exists():
        _keep(path, suspected, now)


def suspected_here(state: Path, layer: str, now: float) -> dict[str, float]:
    """Return the components of a layer that are suspected, each since when.

    Raises:
        DocumentError: the file is damaged, or somebody else's.
    """
    suspicions = _suspicions_in(state / FOLDER / _FILE, now)
    return {
        suspicion.component: suspicion.since for suspicion in suspicions if suspicion.layer == layer
    }


def _keep(path: Path, suspected: Sequence[Suspected], now: float) -> None:
    document = write(_Suspicions(now, tuple(suspected)))
    replace_own(path, json.dumps({"schema": SCHEMA, **document}))


def _suspicions_in(path: Path, now: float) -> tuple[Suspected, ...]:
    try:
        path.lstat()
    except FileNotFoundError:
        return ()
    except PermissionError:
        pass  # reading it says so
    return load_suspicions(str(path), now)


def load_suspicions(path: str, now: float) -> tuple[Suspected, ...]:
    """Return what a file says, nothing where it does not hold any longer; raise DocumentError."""
    raw = load(path, "suspicions", _REMEDY, _MOST_BYTES)
    suspicions = read_document(_Suspicions, raw, SCHEMA, f"the file of suspicions {path}", _REMEDY)
    # a date in the future is that of a clock that was wrong
    return suspicions.suspected if abs(now - suspicions.written_at) <= _HOLDS_S else ()
