"""Run a site's own command, which prints symptoms of a vendor's tool as JSON.

The format is described in docs/symptoms.md, "A command of the site".  It is checked strictly: one
wrong word makes the whole look unavailable.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Mapping, NamedTuple, Optional

from plumbline.model.codec import AtMost, form, read, read_document
from plumbline.model.command import lines
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.names import NAME, PATH
from plumbline.model.symptom import KIND_OF, KINDS, VALID_S, Direction, Look, Symptom
from plumbline.model.units import format_duration
from plumbline.model.validation import Within, counts, read_json, storable, times, unicode_text
from plumbline.model.verdict import State
from plumbline.parts.facts.node import Node, ask

MAX_BYTES = 1 << 20
"""Limit of a command's output: a symptom has about 200 bytes."""

_MAX_SYMPTOMS = 1000
_MAX_LETTERS = 300
_KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")


class SiteCommand(NamedTuple):
    """A command that runs without a shell; ``kind`` is one of KINDS."""

    name: str
    kind: str
    argv: tuple[Annotated[str, unicode_text], ...]
    timeout_s: Annotated[float, Within(1, 3600)] = 60.0

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> SiteCommand:
        """Build from the document form; raise DocumentError, KeyError or TypeError."""
        command = read(cls, raw)
        NAME.refuse("the command's name", command.name)
        PATH.refuse(f"the program of {command.name}", command.argv[0] if command.argv else "")
        if command.name in KIND_OF:
            raise DocumentError(f"{command.name} is a collector of plumbline; give another name")
        if command.kind not in KINDS:
            raise DocumentError(
                f"the kind of {command.name} is {command.kind!r:.60}; write one of "
                f"{', '.join(KINDS)}"
            )
        return command


def look(node: Node, command: SiteCommand) -> Look:
    """Run the command and return its look; raise ToolError, naming it, for any other output."""
    program = command.argv[0]
    try:
        text = ask(node.system, command.argv, command.timeout_s)
    except ToolError as error:
        # its message may be of any length
        raise ToolError(_clean(str(error))) from error
    try:
        report = read_document(_CommandReport, read_json(text))
        return report.look(node, command.name)
    except (ValueError, DocumentError) as error:
        raise ToolError(
            _clean(f"{program} printed no symptoms ({error}); see docs/symptoms.md for their form")
        ) from error


def _kind_name(kind: str) -> None:
    if not _KIND.fullmatch(kind):
        raise TypeError(f"the kind {kind!r:.60} is no word of small letters, digits and _")


def _known_severity(severity: State) -> None:
    if severity is State.UNKNOWN:
        raise TypeError("the severity UNKNOWN is none of OK, WARNING, CRITICAL")


class _CommandSymptom(NamedTuple):
    """A symptom as printed by a command; its collector is the command."""

    component: str
    kind: Annotated[str, _kind_name]
    severity: Annotated[State, _known_severity]
    direction: Direction
    sentence: str
    since: Optional[Annotated[float, times]] = None


@form(1, "report", "correct it")
class _CommandReport(NamedTuple):
    """The report of a command; ``looked_at`` in seconds since the epoch, None for now."""

    examined: Annotated[int, counts]
    symptoms: Annotated[tuple[_CommandSymptom, ...], AtMost(_MAX_SYMPTOMS)]
    notes: Annotated[tuple[str, ...], AtMost(_MAX_SYMPTOMS)] = ()
    looked_at: Optional[Annotated[float, times]] = None

    def look(self, node: Node, collector: str) -> Look:
        """Return the look; raise ValueError for an old one and for unknown components."""
        if self.looked_at is not None and node.now - self.looked_at > VALID_S:
            raise ValueError(f"its look is {format_duration(node.now - self.looked_at)} old")
        symptoms = tuple(
            Symptom(collector, *reported)._replace(sentence=_clean(reported.sentence))
            for reported in self.symptoms
        )
        for symptom in symptoms:
            if symptom.component not in node.parts.known:
                raise ValueError(
                    f"the component {symptom.component!r:.60} is none that this node knows"
                )
            if not symptom.sentence:
                raise ValueError("a sentence is empty")
        return Look(collector, self.examined, symptoms, tuple(map(_clean, self.notes)))


def _clean(text: str) -> str:
    """Return a text as one line without control characters, cut to the length of a sentence."""
    line = " ".join(lines(storable(text)))
    return line if len(line) <= _MAX_LETTERS else f"{line[: _MAX_LETTERS - 4]} ..."
