"""The last look at a node's symptoms: a report for whoever judges, and what the next one needs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Iterator, NamedTuple

from plumbline.errors import DocumentError, StoreError
from plumbline.store.database import keep_owner
from plumbline.store.snapshot import parse, read
from plumbline.symptoms.counters import Past
from plumbline.symptoms.symptom import Report, Symptom

FILE = "symptoms.json"
COLLECTED = "symptoms"
"""The folder beside a site's history in which each node's symptoms are kept, NODE.json."""


_REMEDY = "look again with: plumbline symptoms --save"


class Saved(NamedTuple):
    """What a look leaves behind."""

    report: Report
    past: Past


def load_symptoms(path: str) -> Saved:
    """Return what the last look has left.

    Raises:
        DocumentError: the file is missing, damaged, or somebody else's.
    """
    raw = parse(read(path, "symptoms", _REMEDY), path, _REMEDY)
    try:
        return Saved(Report.from_json(raw), Past.from_json(raw["past"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise DocumentError(f"symptoms {path} are damaged ({error!r}); {_REMEDY}") from error


def collected_symptoms(history: Path) -> Iterator[Symptom]:
    """Yield what the nodes of a site have said, of which copies lie beside its history.

    Raises:
        DocumentError: a copy cannot be read.
    """
    for path in sorted((history.parent / COLLECTED).glob("*.json")):
        remedy = "delete it: plumbline collect brings it again"
        raw = parse(read(str(path), "symptoms", remedy), str(path), remedy)
        if "trouble" in raw:
            # what the node could not send: plumbline collect has said so
            continue
        try:
            yield from Report.from_json(raw).symptoms
        except (DocumentError, KeyError, TypeError, AttributeError) as error:
            raise DocumentError(f"symptoms {path} are damaged ({error!r}); {remedy}") from error


def save_symptoms(path: Path, saved: Saved) -> None:
    """Put a look in the place of the one before, at once; raise StoreError when that fails."""
    document = {**saved.report.to_json(), "past": saved.past.to_json()}
    new = path.with_name(f".{path.name}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(new, flags, 0o640), "w", encoding="utf-8") as file:
            keep_owner(new)
            json.dump(document, file, allow_nan=False, separators=(",", ":"))
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except OSError as error:
        raise StoreError(
            f"symptoms {path} cannot be written: {error.strerror}; see that {path.parent} is "
            "there, has space and belongs to the user plumbline"
        ) from error
