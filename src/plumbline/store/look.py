"""Read what the last look at a node's symptoms has found, for the check of it."""

from __future__ import annotations

from plumbline.errors import DocumentError
from plumbline.store.trusted import parse, read
from plumbline.symptoms.symptom import Report

SYMPTOMS = "/var/lib/plumbline/symptoms.json"

COMMANDS = "/etc/plumbline/symptom-commands.json"
"""The commands of the site's own, written by the role symptoms even where there are none."""

REMEDY = "look again with: plumbline symptoms --save"


def load_report(path: str = SYMPTOMS) -> Report:
    """Return what the last look has found.

    Raises:
        DocumentError: the file is missing, damaged, or somebody else's; naming file and remedy.
    """
    raw = parse(read(path, "symptoms", REMEDY), path, REMEDY)
    if not isinstance(raw, dict):
        raise DocumentError(f"symptoms {path} are damaged (no JSON object); {REMEDY}")
    try:
        return Report.from_json(raw)
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from error
