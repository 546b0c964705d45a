"""Notes of runs, and the published suspects of a site."""

from __future__ import annotations

import os
from typing import Any, Iterable, Mapping

from plumbline.model.ages import OpenMoment, seconds_since
from plumbline.model.codec import read, write
from plumbline.model.errors import DocumentError
from plumbline.model.published import Part, Parts, Published, Stage, Unrecorded
from plumbline.model.service import NO_ALARMS, ActiveAlarms
from plumbline.model.validation import same_schema
from plumbline.model.verdict import Figure, Reason, State, Verdict
from plumbline.model.verdict_files import SCHEMA, note_file, stamp
from plumbline.store.files import load, load_document, refuse

VERDICT_REMEDY = "write it again with: plumbline judge --publish"

_DEPLOY = "deploy the role agent again"


def stamp_of(expectations: str) -> str:
    """Return the stamp of the deployed expectations.

    Raises:
        DocumentError: the file is missing.
    """
    try:
        return stamp(os.stat(expectations))
    except OSError as error:
        refuse(error, expectations, "expectations", _DEPLOY)


_MAX_NOTE_BYTES = 1 << 16


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
                note = load_document(Unrecorded, note_file(folder, layer), _MAX_NOTE_BYTES)
            except DocumentError as error:
                if not isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError)):
                    raise
                continue
            # several histories may share a folder of locks
            if note.state == os.path.realpath(state):
                notes[layer] = max(note, notes.get(layer, note), key=lambda note: note.at)
    return notes


COLLECTION = "collection"
"""Name of the pseudo-service whose state is that of the suspect search itself."""

_AHEAD_S = 300.0
"""Tolerance for a document from the future after a clock step."""

_JOURNAL = "see journalctl -u plumbline-console.service on the console"
PATHS_REMEDY = "write it on the console with: systemctl start plumbline-console.service"
PATHS_NOUN = "list of suspects"


def published_paths(
    verdicts: Mapping[str, Verdict], now: float, stale_after_s: float, standing: ActiveAlarms
) -> dict[str, Any]:
    """Return the document for check_path; times in seconds, ``now`` since the epoch."""
    looked: Parts = ("suspects were looked for ", (now,))
    search = (*looked, f", for {len(verdicts)} services")
    age = Figure("age", *seconds_since(now, OpenMoment(now)))
    services = {
        COLLECTION: Part((Stage(0.0, State.OK, Reason.FINE, search, figures=(age,)),)),
        **{
            name: Part((Stage.of(0.0, verdict),), title=f"{name}: ")
            for name, verdict in verdicts.items()
        },
    }
    old: Parts = (*looked, f", which is too old; {_JOURNAL}")
    published = Published("path", "", False, "", now, services, old, _AHEAD_S, old, stale_after_s)
    return {**published.to_json(), "standing": write(standing)}


def load_standing(file: str) -> ActiveAlarms:
    """Return the standing alarms in a document; none without a document.

    Raises:
        DocumentError: it is damaged.
    """
    try:
        raw = load(file, PATHS_NOUN, PATHS_REMEDY)
        same_schema(raw, SCHEMA, f"{PATHS_NOUN} {file}", PATHS_REMEDY)
        return read(ActiveAlarms, raw["standing"])
    except DocumentError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return NO_ALARMS
        raise
    except (KeyError, TypeError) as error:
        raise DocumentError(f"{file} is damaged ({error!r}); {PATHS_REMEDY}") from error
