"""Files of a node's collectors: the last look at symptoms, and the site's own commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from plumbline.model.codec import FORMS, compact, form, lenient, read_document, write
from plumbline.model.codec import read as read_value
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.symptom import Look, Report
from plumbline.model.units import DAY_S, format_duration
from plumbline.parts.facts.node import Past
from plumbline.parts.facts.site_command import SiteCommand
from plumbline.store.files import READERS, load, load_document
from plumbline.store.replacing import replace_own


class SavedLook(NamedTuple):
    """A report, and the past for the next look."""

    report: Report
    past: Past


def load_symptoms(path: str) -> SavedLook:
    """Return the last look at symptoms.

    Raises:
        DocumentError: the file is missing, damaged, or another user's.
    """
    noun, remedy = FORMS[Report][1:]
    raw, what = load(path, noun, remedy), f"{noun} {path}"
    try:
        return SavedLook(read_document(Report, raw, what), read_value(Past, raw["past"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise DocumentError(f"{what} is damaged ({error!r}); {remedy}") from error


def save_symptoms(path: Path, saved: SavedLook) -> None:
    """Atomically replace the last look; raise StoreError if that fails."""
    text = compact({**write(saved.report), "past": saved.past})
    replace_own(path, text, group=READERS)


FABRIC_FILE = "fabric.json"
"""File of a node with its last look at the InfiniBand fabric."""

_FABRIC_VALID_S = 2 * DAY_S
_FABRIC_UNIT = "plumbline-fabric"


def load_fabric(path: str, now: float) -> Look:
    """Return the daily look at the fabric, for the report of all symptoms.

    Raises:
        ToolError: there is none, it is damaged or old, or nothing could be read.
    """
    if not os.path.lexists(path):
        raise ToolError(f"nobody has looked at the fabric; systemctl start {_FABRIC_UNIT}")
    try:
        report = load_symptoms(path).report
    except DocumentError as error:
        raise ToolError(str(error)) from error
    age_s = now - report.looked_at
    if age_s > _FABRIC_VALID_S:
        raise ToolError(
            f"the last look at the fabric is {format_duration(age_s)} old; see systemctl status "
            f"{_FABRIC_UNIT}.timer"
        )
    if not report.looks:
        raise ToolError(f"the look {path} is empty; systemctl start {_FABRIC_UNIT}")
    look = report.looks[0]
    if look.unavailable:
        raise ToolError(look.unavailable)
    return look


_SITE_COMMANDS_REMEDY = "correct symptoms_commands and deploy the role symptoms again"


@lenient
@form(1, "list of commands", _SITE_COMMANDS_REMEDY)
class _SiteCommands(NamedTuple):
    commands: tuple[SiteCommand, ...]


def load_site_commands(path: str) -> tuple[SiteCommand, ...]:
    """Return the commands in their order; empty without the file.

    Raises:
        DocumentError: the file is damaged, or another user's; naming file and remedy.
    """
    if not os.path.lexists(path):
        return ()
    commands = load_document(_SiteCommands, path).commands
    names = [command.name for command in commands]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate:
        raise DocumentError(f"commands {path} name {duplicate} twice; {_SITE_COMMANDS_REMEDY}")
    return commands
