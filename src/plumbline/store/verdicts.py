"""Read published verdicts, notes of runs, path verdicts and the last look at symptoms, for checks.

Each service has its own file, so that a check reads a few kilobytes on a node of any size.
"""

from __future__ import annotations

import os

from plumbline.model.codec import form, lenient, read, write, write_fields
from plumbline.model.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.published import Published, Unrecorded
from plumbline.model.service import NO_ALARMS, ActiveAlarms
from plumbline.model.symptom import Report
from plumbline.model.validation import times
from plumbline.model.verdict import Figure, Reason, State, Verdict
from plumbline.store.files import load, load_document, refuse

if TYPE_CHECKING:
    from typing import Annotated, Any, Iterable, Mapping

    from plumbline.model.evidence import Subject


MOST_BYTES = 16 << 20
"""Limit of a verdict: a group of 10,000 targets has 10 MB."""

VERDICT_REMEDY = "write it again with: plumbline judge --publish"

_DEPLOY = "deploy the role agent again"
_LONGEST_NAME = 240
"""File systems of Linux allow 255 bytes."""
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")
"""Characters that quoting does not change."""


def file_name(subject: Subject) -> str:
    """Return the unique file name of a component or a group."""
    layer, name, is_group = subject
    quoted = name
    if not _PLAIN.issuperset(name):
        # imported only if needed: it takes as long as reading a verdict
        from urllib.parse import quote

        quoted = quote(name, safe="", errors="surrogatepass")
    # @ is in no quoted name
    stem = f"{layer}-group@{quoted}" if is_group else f"{layer}-{quoted}"
    if len(stem) > _LONGEST_NAME:
        from hashlib import sha256

        kind = f"{layer}-group@" if is_group else f"{layer}-"
        stem = f"{kind}@{sha256(quoted.encode()).hexdigest()}"
    return f"{stem}.json"


def stamp_of(expectations: str) -> str:
    """Return the stamp of the deployed expectations.

    Raises:
        DocumentError: the file is missing.
    """
    try:
        return stamp(os.stat(expectations))
    except OSError as error:
        refuse(error, expectations, "expectations", _DEPLOY)


def stamp(status: os.stat_result) -> str:
    """Return a stamp that changes whenever a file is replaced."""
    return f"{status.st_ino}:{status.st_mtime_ns}:{status.st_size}"


def load_published(folder: str, subject: Subject, expectations: str) -> Published:
    """Return the published verdict on a component or group under the deployed expectations.

    Raises:
        DocumentError: naming file and remedy; its cause is FileNotFoundError if there is none.
    """
    file = f"{folder}/{file_name(subject)}"
    raw = load(file, "verdict", VERDICT_REMEDY, MOST_BYTES)
    published = Published.from_json(raw, file)
    if (published.layer, published.name, published.group) != subject:
        raise DocumentError(
            f"verdict {file} is of {published.layer} {published.name}; {VERDICT_REMEDY}"
        )
    if published.stamp != stamp_of(expectations):
        raise DocumentError(
            f"verdict {file} was judged by other expectations than {expectations}; {VERDICT_REMEDY}"
        )
    return published


_MOST_NOTE_BYTES = 1 << 16


def note_file(folder: str, layer: str) -> str:
    """Return the file with the note of a layer in a folder."""
    return f"{folder}/unrecorded-{layer}.json"


def unrecorded(layers: Iterable[str], state: str, locks: str) -> dict[str, Unrecorded]:
    """Return the notes of runs that could not be recorded in the folder ``state``, by layer.

    A run that can write nothing there leaves its note with its locks.

    Raises:
        DocumentError: a note is damaged, or another user's.
    """
    notes: dict[str, Unrecorded] = {}
    for layer in layers:
        for folder in (state, locks):
            try:
                note = load_document(Unrecorded, note_file(folder, layer), _MOST_NOTE_BYTES)
            except DocumentError as error:
                if not isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError)):
                    raise
                continue
            # several histories may share a folder of locks
            if note.state == os.path.realpath(state):
                notes[layer] = max(note, notes.get(layer, note), key=lambda note: note.at)
    return notes


SYMPTOMS = "/var/lib/plumbline/symptoms.json"

COMMANDS = "/etc/plumbline/symptom-commands.json"
"""The site's own commands; the role symptoms writes the file even without any."""


def load_report(path: str = SYMPTOMS) -> Report:
    """Return the report of the last look.

    Raises:
        DocumentError: the file is missing, damaged, or another user's; naming file and remedy.
    """
    return load_document(Report, path)


PATHS = "/var/lib/plumbline-console/paths.json"
COLLECTION = "collection"
"""Name of the pseudo-service whose state is that of the suspect search itself."""

_AHEAD_S = 300.0
"""Tolerance for a document from the future after a clock step."""

_JOURNAL = "see journalctl -u plumbline-console.service on the console"
_REMEDY = "write it on the console with: systemctl start plumbline-console.service"


def document(
    verdicts: Mapping[str, Verdict],
    now: float,
    stale_after_s: float,
    standing: ActiveAlarms = NO_ALARMS,
) -> dict[str, Any]:
    """Return the document form; times in seconds, ``now`` since the epoch."""
    services = {name: _lean(verdict) for name, verdict in verdicts.items()}
    return write_fields(_Paths(now, stale_after_s, services, write(standing)))


def _lean(verdict: Verdict) -> dict[str, Any]:
    """Return the document form without empty values, because a check parses all verdicts."""
    raw = {name: value for name, value in verdict.to_json().items() if value not in (None, (), [])}
    raw["figures"] = [{"label": figure.label, "value": figure.value} for figure in verdict.figures]
    return raw


@lenient
@form(2, "list of suspects", _REMEDY)
class _Paths(NamedTuple):
    """The document, with verdicts and standing alarms not yet parsed."""

    written_at: Annotated[float, times]
    stale_after_s: float
    services: Mapping[str, Any]
    standing: Mapping[str, Any] = {"notified": {}, "suspicions": {}}

    def age_s(self, now: float) -> float:
        return now - self.written_at

    def is_old(self, now: float) -> bool:
        return not -_AHEAD_S <= self.age_s(now) <= self.stale_after_s


def load_standing(file: str) -> ActiveAlarms:
    """Return the standing alarms in a document; none without a document.

    Raises:
        DocumentError: it is damaged.
    """
    try:
        return read(ActiveAlarms, load_document(_Paths, file).standing)
    except DocumentError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return NO_ALARMS
        raise
    except (KeyError, TypeError) as error:
        raise DocumentError(f"{file} is damaged ({error!r}); {_REMEDY}") from error


def load_collection(file: str, now: float) -> Verdict:
    """Return the verdict on the document itself: UNKNOWN if it is too old, or from the future.

    Raises:
        DocumentError: naming file and remedy.
    """
    paths = load_document(_Paths, file)
    age_s = paths.age_s(now)
    text = f"suspects were looked for {_when(age_s)}"
    if paths.is_old(now):
        stale = State.UNKNOWN, Reason.STALE, f"{text}, which is too old; {_JOURNAL}"
        return Verdict("path", COLLECTION, *stale)
    figures = (Figure("age", max(0, round(age_s)), "s"),)
    text = f"{text}, for {len(paths.services)} services"
    return Verdict("path", COLLECTION, State.OK, Reason.FINE, text, figures=figures)


def load_path(file: str, name: str, now: float) -> Verdict:
    """Return the verdict of one service: UNKNOWN if it is too old, or from the future.

    Raises:
        DocumentError: naming file and remedy.
    """
    paths = load_document(_Paths, file)
    if name not in paths.services:
        raise DocumentError(
            f"{file} says nothing about {name}; deploy the roles nagios and console again"
        )
    verdict = Verdict.from_json(paths.services[name])
    if paths.is_old(now):
        when = _when(paths.age_s(now))
        text = f"{name}: suspects were looked for {when}, which is too old; {_JOURNAL}"
        verdict = verdict._replace(state=State.UNKNOWN, reason=Reason.STALE)
        return verdict._replace(sentence=text, evidence=(), figures=())
    return verdict


def _when(age_s: float) -> str:
    return f"{age_s / 60:.0f} min ago" if age_s > 0 else f"{-age_s / 60:.0f} min ahead of now"
